"""Which stages are counted, measured where a run was, assumed where none was."""

import pytest

from tests.sizing.corpora import estimate, measured
from tests.sizing.sections.begun import begun, names
from tokenmill.dedup.same.lsh import Bands
from tokenmill.pipelines.corpus.near import SHINGLES_FRAC, NearDedup
from tokenmill.sizing.corpus import read_corpus
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.data import sheet_json
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.sections import stages

WEB = """
corpus: {tokens: 1T, text_bytes_per_token: 4.0, kept_frac: 0.5, compression_ratio: 4.0}
"""
KEYS, SETS = "digests and band keys", "sets of n-grams"
MIXED = """
sources:
  - {name: web, tokens: 1T}
  - {name: photos, tokens: 112.4B, kept_frac: 0.5, image_text: {}}
"""


def sheet(text, **measurements):
    return begun(text, until=stages, **measurements)


def test_of_an_unmeasured_corpus_each_stage_follows_from_its_tokens():
    made = sheet(WEB)
    stored = {name: made[name].value for name in names(made, "stored: ")}
    docs_in = 1e12 / 700 / 0.5
    assert stored == {
        "stored: inputs": 1e12 * 4 / 0.5 / 4,
        "stored: text": 1e12 * 4 / 0.5 / 1.6,
        f"stored: {KEYS}": pytest.approx(144 * docs_in),
        f"stored: {SETS}": pytest.approx(1e12 * 4 / 0.5 * 0.6),
        "stored: token shards": 4e12,
        "stored: dataset": 4e12,
        "stored: logs": pytest.approx(1024 * made["training time"].value * 1e6),
    }
    assert made["documents that come in"].value == pytest.approx(docs_in)
    assert made[f"stored: {SETS}"].interval == pytest.approx((8e12 * 0.14, 8e12 * 4 / 3))


def test_keys_are_those_of_the_step_as_it_is_unless_told():
    near = NearDedup()
    assert near.exact  # so that sets are stored, not signatures
    assert near.lsh() == Bands(bands=stages.BANDS, rows=stages.ROWS)
    bands = next(i for i in sheet(WEB)[f"stored: {KEYS}"].inputs if i.name == "bands")
    assert (bands.value, bands.source.rpartition(": ")[2]) == (14, "14 bands of 5")
    assert stages.SETS_ENDS[1] == SHINGLES_FRAC


def test_what_is_stored_is_told_by_what_it_may_be_bought_for():
    stored = {"inputs": 9, "10-docs": 3, "dataset": 4_400_000, "removed": 7}
    run, assumed = sheet("", corpus=measured(stored_bytes=stored)), sheet(WEB)
    told = {part: [row.name for row in rows] for part, rows in stages.parts(run).items()}
    assert told == {
        "dataset": ["stored: dataset"],
        "checkpoints": ["stored: logs"],
        "inputs": ["stored: inputs"],
        "scratch": ["stored: scratch, docs", "stored: rows of removed documents"],
        "others": [],
    }
    scratch = {row.name for row in stages.parts(assumed)["scratch"]}
    assert scratch == {f"stored: {name}" for name in ("text", "token shards", KEYS, SETS)}


GROWTH = {"value": 0.5, "low": 0.4, "high": 0.6}
RUN = {"inputs": 9e6, "05-index": 4.5e6, "10-keys": 1e6, "10-tokens": 2e6, "dataset": 4.4e6}


def test_of_a_larger_corpus_a_benchmark_index_stays_and_documents_grow_faster_than_tokens():
    made = sheet("corpus: {tokens: 4M}", corpus=measured(stored_bytes=RUN, growth_exponent=GROWTH))
    assert made["stored: scratch, n-grams of benchmarks"].value == 4.5e6
    assert made["stored: scratch, token shards"].value == 2 * 2e6
    assert made["stored: inputs"].value == 2**2 * 9e6  # half of further documents are duplicates
    low, high = made["stored: inputs"].interval
    assert (low, high) == pytest.approx((2 ** (1 / 0.6) * 9e6, 2 ** (1 / 0.4) * 9e6))


def test_far_beyond_what_was_measured_duplicates_are_told_between_bounds():
    far = measured(stored_bytes=RUN, growth_exponent=GROWTH)
    made = sheet("corpus: {tokens: 20M}", corpus=far)
    assert made["stored: inputs"].interval == pytest.approx((10 * 9e6, 10**2 * 9e6))
    assert not made["stored: inputs"].measured
    assert not made["stored: dataset"].measured
    without = sheet("corpus: {tokens: 20M}", corpus=measured(stored_bytes=RUN))
    assert without["stored: inputs"].value == 10 * 9e6  # at least


def test_folders_that_words_do_not_tell_apart_are_both_counted():
    stored = {"10-docs": 3, "11-docs": 5, "20-docs": 7, "dataset": 4_400_000}
    made = sheet("", corpus=measured(stored_bytes=stored))
    named = {
        "stored: scratch, docs": 3,
        "stored: scratch, docs (11-docs)": 5,
        "stored: scratch, docs, pass 2": 7,
    }
    assert {name: made[name].value for name in named} == named


def test_a_corpus_measured_whole_is_exact_and_a_larger_one_is_not():
    same = sheet("", corpus=measured())
    assert same["stored: dataset"].value == 4_400_000
    assert same["stored: dataset"].measured
    assert same["stored: dataset"].interval == (None, None)
    twice = sheet("corpus: {tokens: 4M}", corpus=measured())
    assert twice["stored: scratch, docs"].value == 6_000_000
    assert twice["stored: dataset"].value == pytest.approx(2.2 * 4e6)
    assert twice["stored: dataset"].interval[0] < 2.2 * 4e6 < twice["stored: dataset"].interval[1]


def test_the_files_that_come_in_are_known_however_little_will_be_left_of_them():
    made = sheet("", corpus=read_corpus(estimate(), where="e"))
    assert made["stored: inputs"].told == "10 TB"
    low, high = made["stored: dataset"].interval
    assert low < made["stored: dataset"].value < high


@pytest.mark.parametrize("measurements", [{}, {"corpus": measured()}])
def test_raw_bytes_that_the_plan_states_take_the_place_of_others(measurements):
    made = sheet("corpus: {raw_bytes: 386TiB}", **measurements)
    assert made["stored: inputs"].value == 386 * 2**40


def test_versions_of_the_dataset_multiply_it():
    made = sheet(WEB + "storage: {token_versions: 2}")
    assert made["stored: dataset"].value == 2 * made["dataset, one version"].value == 8e12
    assert made["stored: token shards"].value == 4e12  # of one run at a time


def test_each_source_has_stages_of_its_own():
    made = sheet(MIXED)
    assert made["stored: dataset, web"].value == 4e12
    assert made["stored: inputs, web"].value == pytest.approx(1e12 * 4 * 3 / 2.6)
    photos = made["stored: dataset, photos"].value
    assert photos == pytest.approx(100e6 * 250_400)
    assert made["stored: inputs, photos"].value == pytest.approx(2 * photos)
    assert "stored: token shards, photos" not in made  # images are read as they are
    assert "stored: token shards, web" in made
    assert stages.one_dataset(made, made.sources[1]).value == photos


def test_logs_are_as_stated_or_a_megabyte_for_each_accelerator_and_day():
    assert sheet("storage: {logs: 3TB}")["stored: logs"].value == 3e12
    logs = sheet("training: {days: 10}")["stored: logs"]
    assert logs.value == pytest.approx(1024 * 10 * 1e6)
    assert not logs.verified


def test_images_are_all_kept_until_it_is_stated():
    images = "corpus: {tokens: 1T, image_text: {}%s}"
    made = sheet(images % "")
    assert made["stored: inputs"].value == pytest.approx(made["stored: dataset"].value)
    assert "corpus.kept_frac" in made["stored: inputs"].inputs[1].source
    half = sheet(images % ", kept_frac: 0.5")
    assert half["stored: inputs"].value == pytest.approx(2 * half["stored: dataset"].value)


def test_stages_of_a_run_do_not_take_the_sheet_s_own_names():
    corpus = measured(stored_bytes={"logs": 1, "checkpoints": 2, "dataset": 3})
    made = sheet("", corpus=corpus)
    assert made["stored: logs of the run"].value == 1
    assert made["stored: checkpoints of the run"].value == 2


def test_raw_input_is_counted_where_a_measurement_has_none():
    corpus = measured(stored_bytes={"dataset": 3})
    assert sheet("corpus: {raw_bytes: 900TB}", corpus=corpus)["stored: inputs"].value == 900e12


def test_what_an_estimate_leaves_out_is_told_and_its_bounds_are_no_interval():
    """A step that is not predicted may leave one token; documents come in by 15 T of these."""
    told = estimate()
    tokens = {**told["corpus"]["tokens"], "bounds": [1.0, 2.1e12]}
    plan = parse_plan("corpus: {tokens: 15T}\njobs: [{name: b}]", where="p")
    sure = requirement_sheet(plan, {"corpus": read_corpus(told, where="e")})
    told["corpus"]["tokens"] = tokens
    told["not_predicted"] = ["decontaminate", "output.text"]
    made = requirement_sheet(plan, {"corpus": read_corpus(told, where="e")})
    assert made["raw capacity"].interval == sure["raw capacity"].interval
    step, text = (w for w in made.warnings if w not in sure.warnings)
    assert "of 2 trillion tokens it may leave as few as 1 token, so" in step
    assert step.startswith("crawl: decontaminate is not predicted, and its folders are left out")
    assert text == (
        "crawl: the estimate, and all capacity here, leaves out kept text: folder text, and what"
        " token shards have of it, of 4 bytes of text a token before compression"
    )
    assert sheet_json(made)["warnings"] == made.warnings
    del told["corpus"]["tokens"]["bounds"]  # known to leave all, as with action: report
    (step, _) = read_corpus(told, where="e").left_out()
    assert step == "crawl: the folders of decontaminate are left out"


@pytest.mark.parametrize(("by", "is_told"), [("scan", False), ("model", False), ("bounds", True)])
def test_where_only_bounds_of_what_is_unique_are_known_it_is_told(by, is_told):
    plan = parse_plan("corpus: {tokens: 15T}\njobs: [{name: b}]", where="p")
    corpus = read_corpus(estimate() | {"unique_by": by}, where="e")
    told = [w for w in requirement_sheet(plan, {"corpus": corpus}).warnings if "unique" in w]
    assert told == is_told * [
        "crawl: how many documents are unique is not known, as a part of the inputs was read: what"
        " the estimate tells of tokens, and all that follows from it, lies anywhere in its"
        " interval, which is no 95 % interval; `measure` says how much to read"
    ]
    assert read_corpus(corpus.to_json(), where="e") == corpus
