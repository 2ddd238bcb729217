"""What duplicates leave of inputs that were read whole."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.e2e.corpus import corpus, prose, write_corpus
from tests.pipelines.keyed import PUBLISHED
from tests.running import one_by_one, prepare
from tests.strategies import examples
from tokenmill.pipelines.corpus.passes import corpus_steps
from tokenmill.pipelines.measure import clusters as key_sample
from tokenmill.pipelines.measure.compare import compare
from tokenmill.pipelines.measure.drawn import DRAWS, Drawn, exact
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.measure.scratch import of_step
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import load_recipe

GOPHER = {"gopher_quality": {"min_words": 60}}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("recipe"))


def recipe_of(base, folder, steps, documents):
    (folder / "docs.jsonl").write_text("".join(json.dumps(d) + "\n" for d in documents))
    data = {**yaml.safe_load(base.read_text()), "steps": steps}
    data["inputs"] = [{"path": str(folder / "docs.jsonl")}]
    (folder / "recipe.yaml").write_text(yaml.safe_dump(data))
    return load_recipe(folder / "recipe.yaml")


@pytest.mark.long  # by test_passing and test_images
@pytest.mark.parametrize("steps", [[GOPHER, "exact"], ["exact", GOPHER]], ids=str)
def test_filters_are_asked_of_some_documents_and_their_intervals_hold(base, tmp_path, steps):
    recipe = recipe_of(base, tmp_path, steps, [{"text": text} for text in corpus()])
    total = prepare(recipe, tmp_path / "run", one_by_one)["measurement"]["total"]
    held = []
    for seed in range(8):
        measuring = Measuring(recipe=recipe, probes=100, sample=0.1, seed=seed)
        made = measure_corpus(measuring, tmp_path / "e.json", one_by_one).estimate.corpus
        for name in ("docs", "text_bytes"):
            low, high = getattr(made, name).limits()
            held.append(low <= total[name] <= high)
    assert np.mean(held) >= 0.8


@pytest.mark.long_but("['normalize', 'exact']")  # the other has a part of it
@pytest.mark.parametrize("steps", [["exact"], ["normalize", "exact"]], ids=str)
def test_equal_documents_of_all_inputs_are_counted_however_few_were_probed(base, tmp_path, steps):
    recipe = recipe_of(base, tmp_path, steps, [{"text": text} for text in corpus()])
    measured = measure_corpus(
        Measuring(recipe=recipe, probes=50, sample=0.2), tmp_path / "e.json", one_by_one
    )
    total = prepare(recipe, tmp_path / "run", one_by_one)["measurement"]["total"]
    made = measured.estimate.corpus
    for name in ("docs", "text_bytes"):
        assert getattr(made, name).value == pytest.approx(total[name]), name
        assert getattr(made, name).limits() == (None, None), name
    assert measured.estimate.unique_frac.limits() == (None, None)


def test_a_share_of_the_clusters_does_not_pass_for_all(base, tmp_path, monkeypatch):
    def sampled(rows, units, *, column):
        return key_sample.sample_keys(rows, units, most=40)

    monkeypatch.setattr("tokenmill.pipelines.measure.copies.sample_keys", sampled)
    recipe = recipe_of(base, tmp_path, ["exact"], [{"text": text} for text in corpus()])
    measured = measure_corpus(
        Measuring(recipe=recipe, probes=50, sample=0.2), tmp_path / "e.json", one_by_one
    )
    low, high = measured.estimate.unique_frac.limits()
    assert low < len(set(corpus())) / len(corpus()) < high


def test_one_id_that_is_longer_than_all_that_were_probed_does_no_harm(base, tmp_path):
    documents = [{"id": f"{i}", "text": f"document {i}"} for i in range(300)]
    documents[7]["id"] = "long " * 3_000
    recipe = recipe_of(base, tmp_path, ["exact"], documents)
    measuring = Measuring(recipe=recipe, probes=3, sample=1.0)
    measured = measure_corpus(measuring, tmp_path / "e.json", one_by_one)
    report = prepare(recipe, tmp_path / "run", one_by_one)
    stored = measured.estimate.corpus.stored_bytes["dataset"]
    assert stored.value == pytest.approx(report["stored_bytes"]["dataset"], rel=0.1)


@pytest.mark.long_but("near")  # exact by test_run
@pytest.mark.parametrize("steps", [["exact"], [PUBLISHED]], ids=["exact", "near"])
def test_of_one_part_documents_tell_how_far_off_tokens_may_be(base, tmp_path, steps):
    """As a Parquet file of one row group is, however large."""
    recipe_of(base, tmp_path, steps, [])
    data = yaml.safe_load((tmp_path / "recipe.yaml").read_text())
    pq.write_table(pa.table({"text": prose()}), tmp_path / "docs.parquet")
    data["inputs"] = [{"path": str(tmp_path / "docs.parquet")}]
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(data))
    recipe = load_recipe(tmp_path / "recipe.yaml")
    held = []
    total = prepare(recipe, tmp_path / "run", one_by_one)["measurement"]["total"]
    for seed in range(4):
        measuring = Measuring(recipe=recipe, probes=60, sample=0.9, seed=seed)
        tokens = measure_corpus(measuring, tmp_path / "e.json", one_by_one).estimate.corpus.tokens
        low, high = tokens.limits()
        held.append(low < total["tokens"] < high)
        assert 0.5 * total["tokens"] < low < high < 2 * total["tokens"]
    assert sum(held) >= 3


def test_text_that_normalizing_lengthens_is_no_mistake(base, tmp_path):
    documents = [{"text": f"\u0958\u0959\u095a {i}"} for i in range(20)]
    recipe = recipe_of(base, tmp_path, ["exact", "normalize"], documents)
    measured = measure_corpus(Measuring(recipe=recipe, sample=0.2), tmp_path / "e.json", one_by_one)
    assert measured.estimate.corpus.docs.value == 20


def test_long_documents_do_not_draw_tokens_their_way(base, tmp_path):
    """Of digits a token is a byte, of prose some three; the long ones are taken for certain."""
    digits = [{"text": " ".join(str(i * k) for i in range(40))} for k in range(1, 600)]
    long = [{"text": " ".join(prose()[i::8])} for i in range(8)]
    recipe = recipe_of(base, tmp_path, ["exact"], [*digits, *long])
    total = prepare(recipe, tmp_path / "run", one_by_one)["measurement"]["total"]
    off = []
    for seed in range(examples(6, 3)):
        measuring = Measuring(recipe=recipe, sample=0.2, seed=seed)
        tokens = measure_corpus(measuring, tmp_path / "e.json", one_by_one).estimate.corpus.tokens
        off.append(tokens.value / total["tokens"] - 1)
    assert abs(sum(off) / len(off)) < 0.01


def test_what_a_further_step_takes_of_those_not_drawn_is_in_its_interval(base, tmp_path):
    """Of none that was drawn by chance; that of both steps cancelled in what the second took."""
    rng = np.random.default_rng(5)
    short, long = rng.integers(0, 5_000, (1_500, 12)), rng.integers(0, 5_000, (20, 2_000))
    texts = [" ".join(f"w{word}" for word in words) for words in (*short.tolist(), *long.tolist())]
    documents = [{"text": text} for text in (*texts, *(f"{text} more" for text in texts[-20:]))]
    recipe = recipe_of(base, tmp_path, ["exact", "near"], documents)
    measuring = Measuring(recipe=recipe, probes=100, sample=0.2)
    estimate = measure_corpus(measuring, tmp_path / "e.json", one_by_one).estimate
    for figure in (estimate.kept_frac["near"], estimate.corpus.stored_bytes["12-stars"]):
        low, high = figure.ends()
        assert high - low > 0.005 * figure.value


@pytest.mark.parametrize("copies", [1, 2])
def test_who_leaves_of_a_few_documents_is_told_to_the_byte(base, tmp_path, copies):
    """An odd number of rows has columns that end within a word; empty ones weigh nothing."""
    texts = ["", "", *(" ".join(f"w{n * k}" for n in range(60)) for k in range(1, 20))]
    texts += [f"{text} more" for text in texts[:copies]]
    recipe = recipe_of(base, tmp_path, ["near"], [{"text": text} for text in texts])
    estimate = measure_corpus(Measuring(recipe=recipe), tmp_path / "e.json", one_by_one).estimate
    report = prepare(recipe, tmp_path / "run", one_by_one)
    assert estimate.corpus.stored_bytes["12-stars"].value == report["stored_bytes"]["12-stars"]
    total = report["measurement"]["total"]
    assert estimate.corpus.text_bytes.value == pytest.approx(total["text_bytes"], rel=1e-12)


def test_a_crowd_may_be_decided_in_one_round_whatever_its_size_is(base, tmp_path):
    """One round was the end of the interval, so that half of such runs were outside."""
    recipe = recipe_of(base, tmp_path, ["near"], [{"text": "one"}])
    left = Drawn(9_000.0, np.linspace(8_900, 9_100, DRAWS))
    (near,) = corpus_steps(recipe.steps)
    one, more = (
        of_step(near, exact(10_000), left, unknown=unknown)["2-stars"] for unknown in (0.0, 1e-3)
    )
    assert more.limits()[0] < one.value < 0.2 * more.limits()[1]
    assert np.mean(more.draws <= one.limits()[1]) > 0.4


def crowd(rng):
    """Documents that share a key, more than a bucket has room for; some of them are alike."""
    shared = rng.integers(0, 3_000, 80).tolist()
    return [[*shared, *rng.integers(0, 3_000, rng.integers(5, 45)).tolist()] for _ in range(500)]


def families(rng):
    """Sixty that are alike, again and again."""
    made = []
    for _ in range(8):
        base = rng.integers(0, 3_000, 200)
        made += [np.where(rng.random(200) < 0.005, 7, base).tolist() for _ in range(60)]
    return made


@pytest.mark.long_but("crowd")  # it has leaders, which families have not
@pytest.mark.parametrize("alike", [crowd, families])
def test_disk_is_held_where_many_are_alike(base, tmp_path, alike):
    rng = np.random.default_rng(1)
    others = rng.integers(0, 3_000, (200, 90)).tolist()
    texts = [" ".join(f"w{word}" for word in words) for words in (*alike(rng), *others)]
    recipe = recipe_of(base, tmp_path, ["exact", "near"], [{"text": text} for text in texts])
    measured = measure_corpus(Measuring(recipe=recipe, sample=0.2), tmp_path / "e.json", one_by_one)
    report = run_recipe(recipe, tmp_path / "run", one_by_one)
    rows = compare(measured.estimate, report)
    assert {f"stored in {folder}" for folder in report.stored_bytes} <= {row.name for row in rows}
    assert ("12-leaders" in report.stored_bytes) == (alike is crowd)
    of_near = ("stored in 12-", "stored in 15-", "stored in 89-", "disk after removed")
    assert [row for row in rows if not row.held and row.name.startswith(of_near)] == []


def test_sets_of_a_near_that_is_not_predicted_may_be_of_any_language(base, tmp_path):
    characters = np.random.default_rng(1).integers(0x4E00, 0x9FA5, (300, 400))
    documents = [{"text": "".join(map(chr, row))} for row in characters.tolist()]
    recipe = recipe_of(base, tmp_path, [{"near": {"cluster": "components"}}], documents)
    measured = measure_corpus(Measuring(recipe=recipe, sample=0.2), tmp_path / "e.json", one_by_one)
    rows = compare(measured.estimate, run_recipe(recipe, tmp_path / "run", one_by_one))
    assert measured.estimate.not_predicted == ["near"]
    assert [row.held for row in rows if row.name == "stored in 11-keys"] == [True]


def test_the_index_of_benchmarks_is_counted(base, tmp_path):
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": " ".join(prose()[:50])}))
    benchmarks = {"benchmarks": [{"name": "b", "path": str(tmp_path / "b.jsonl")}]}
    documents = [{"text": text} for text in corpus()]
    recipe = recipe_of(base, tmp_path, ["exact", {"decontaminate": benchmarks}], documents)
    estimate = measure_corpus(
        Measuring(recipe=recipe, sample=0.2), tmp_path / "e.json", one_by_one
    ).estimate
    report = run_recipe(recipe, tmp_path / "run", one_by_one)
    assert estimate.corpus.stored_bytes["05-index"].value == report.stored_bytes["05-index"] > 0
    assert estimate.not_predicted == ["decontaminate"]


@pytest.mark.long_but("cut", "report", "edited")  # a document as a piece
@pytest.mark.parametrize(
    ("settings", "least"),
    [({}, 0.9), ({"action": "document"}, 0.9), ({"action": "report"}, 1.0), ({"edited": "cut"}, 0)],
    ids=["cut", "document", "report", "edited"],
)
def test_no_less_is_left_than_what_has_nothing_of_the_benchmarks(base, tmp_path, settings, least):
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{w}" for w in rng.integers(0, 5_000, 400)) for _ in range(200)]
    item = " ".join(f"item{i}" for i in range(30))
    texts[:6] = [f"{text[:1_200]} {item} {text[1_200:]}" for text in texts[:6]]
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": item}))
    benchmarks = [{"name": "b", "path": str(tmp_path / "b.jsonl")}]
    steps = ["exact", {"decontaminate": {"benchmarks": benchmarks, "most_docs": None, **settings}}]
    recipe = recipe_of(base, tmp_path, steps, [{"text": text} for text in texts])
    estimate = measure_corpus(
        Measuring(recipe=recipe, sample=0.2), tmp_path / "e.json", one_by_one
    ).estimate
    report = run_recipe(recipe, tmp_path / "run", one_by_one)
    assert ("removed" in estimate.corpus.stored_bytes) == (least == 1)
    told = ("documents", "tokens", "text bytes")
    told += ("text bytes per token",) if least else ()
    told += ("stored in dataset",) if least < 1 else ()  # a report has columns besides
    rows = [row for row in compare(estimate, report) if row.name in told]
    assert len(rows) == len(told)
    assert [row for row in rows if not row.held] == []
    for figure in (estimate.corpus.docs, estimate.corpus.tokens, estimate.corpus.text_bytes):
        low, _ = figure.ends()
        assert least * figure.value <= low <= max(least, 0.98) * figure.value
        assert least or low == 1.0
        assert (figure.bounds is None) == (least == 1)
    corpus = estimate.corpus
    per_token = corpus.stored_bytes_per_token.ends()[1]
    assert corpus.stored_bytes["dataset"].ends()[1] < 1.01 * corpus.tokens.ends()[1] * per_token
    assert per_token < 1.2 * corpus.stored_bytes_per_token.value  # a piece adds no text


def test_what_a_filter_keeps_behind_a_step_that_leaves_all_has_no_bounds(base, tmp_path):
    """Its interval reached up to 1, as if the step could take documents out."""
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": " ".join(f"item{i}" for i in range(30))}))
    benchmarks = [{"name": "b", "path": str(tmp_path / "b.jsonl")}]
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{w}" for w in rng.integers(0, 5_000, n)) for n in range(50, 350)]
    steps = [
        {"decontaminate": {"benchmarks": benchmarks, "action": "report"}},
        {"gopher_quality": {"min_words": 200, "min_stop_words": 0}},
    ]
    recipe = recipe_of(base, tmp_path, steps, [{"text": text} for text in texts])
    measuring = Measuring(recipe=recipe, sample=0.2)
    estimate = measure_corpus(measuring, tmp_path / "e.json", one_by_one).estimate
    kept = estimate.kept_frac["gopher_quality"]
    assert kept.bounds is None
    assert kept.ends()[1] < 0.7


def families(n, size, *, edited):
    """Documents in families of `size`; of each family some are blocked by their URL, by chance."""
    rng = np.random.default_rng(11)
    words = np.array([f"word{i}" for i in range(5_000)])
    made = []
    for family in range(n):
        text = rng.choice(words, 90).tolist()
        for member in range(size):
            own = [*text, *(["more"] * member)] if edited else text
            host = "blocked" if rng.random() < 0.6 else "open"
            url = f"https://{host}.example/{family}/{member}"
            made.append({"text": " ".join(own), "url": url})
    return [made[i] for i in rng.permutation(len(made))]


@pytest.mark.long_but("near")  # near is the harder one
@pytest.mark.parametrize("step", ["exact", "near"])
def test_of_copies_that_were_not_asked_as_many_pass_as_of_the_others(base, tmp_path, step):
    """Were all taken to pass, or none, half of what is left would be missed, or too much."""
    steps = [{"url_filter": {"domains": ["blocked.example"]}}, step]
    documents = families(500, 4, edited=step == "near")
    recipe = recipe_of(base, tmp_path, steps, documents)
    open_ones = {d["url"].split("/")[3] for d in documents if "open" in d["url"]}
    told = []
    for seed in range(examples(3, 2)):
        measuring = Measuring(recipe=recipe, probes=560, sample=0.1, seed=seed)
        estimate = measure_corpus(measuring, tmp_path / "e.json", one_by_one).estimate
        assert estimate.kept_frac["url_filter"].limits() != (None, None), "all were asked"
        told.append(estimate.corpus.docs.value)
    assert np.mean(told) == pytest.approx(len(open_ones), rel=0.12)
