"""What is predicted of a run, and what the run then makes."""

import json
import re
from collections.abc import Iterator

import numpy as np
import pytest
import yaml

from tests.e2e.corpus import prose, write_corpus
from tests.pipelines.keyed import PUBLISHED
from tests.pipelines.plugged import plug
from tests.running import one_by_one, prepare
from tokenmill.flows.exits import PARTIAL, exit_code_of
from tokenmill.pipelines.core import step
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.measure.compare import compare
from tokenmill.pipelines.measure.job import Measuring, scratch_of
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.dry_run import dry_run
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.sizing.corpus import Estimate, load_corpus
from tokenmill.sizing.figure import Figure
from tokenmill.sizing.plan.plan import Plan
from tokenmill.sizing.requirements import requirement_sheet

GOPHER = {"gopher_quality": {"min_words": 60}}
ROUGH = {"12-edges", "removed"}  # small, and told no closer than within some times as much
STEPS = {
    "nothing": [],
    "one pass": ["normalize", GOPHER],
    "near alone": [PUBLISHED],
    "a filter before": [GOPHER, "exact", PUBLISHED],
    "a filter behind": ["exact", PUBLISHED, GOPHER],
}


@pytest.fixture(scope="module")
def recipe_path(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def recipe_of(recipe_path, folder, **settings):
    path = folder / "changed.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(recipe_path.read_text()), **settings}))
    return load_recipe(path)


def measured(recipe, folder, **how):
    return measure_corpus(
        Measuring(recipe=recipe, **{"sample": 0.2, **how}), folder / "estimate.json", one_by_one
    )


def figures(estimate) -> Iterator[tuple[str, Figure]]:
    corpus = estimate.corpus
    for name in ("docs", "tokens", "text_bytes", "text_bytes_per_token"):
        yield name, getattr(corpus, name)
    yield from corpus.stored_bytes.items()


def actual_of(report):
    total = report["measurement"]["total"]
    stored = {"inputs": report["inputs"]["bytes"], **report["stored_bytes"]}
    return {**total, **stored}


def test_a_small_corpus_of_which_filters_leave_one_document_is_counted(recipe_path, tmp_path):
    inputs = tmp_path / "small.jsonl"
    lengths = [300, *[6_000] * 200]  # 1.2 MB: five parts
    lines = [json.dumps({"text": f"{n:05d} " * (length // 6)}) for n, length in enumerate(lengths)]
    inputs.write_text("\n".join(lines))
    steps = [{"length": {"max_chars": 1_000}}, "exact", "near"]
    kept = {"keep_intermediates": True}
    recipe = recipe_of(recipe_path, tmp_path, inputs=str(inputs), steps=steps, run=kept)
    estimate = measured(recipe, tmp_path, sample=None).estimate
    rows = compare(estimate, run_recipe(recipe, tmp_path / "run", one_by_one))
    exact = {name: actual for name, told, actual, _ in rows if told.value == actual}
    assert exact["documents"] == 1
    assert {"tokens", "text bytes", "stored in 12-buckets", "stored in 12-stars"} <= exact.keys()


@pytest.mark.long_but("a filter before")  # the others have less of these steps
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_all_of_the_bytes_tell_what_the_run_makes(recipe_path, tmp_path, steps):
    recipe = recipe_of(recipe_path, tmp_path, steps=steps, run={"keep_intermediates": True})
    estimate = measured(recipe, tmp_path, sample=1.0).estimate
    actual = actual_of(prepare(recipe, tmp_path / "run", one_by_one))
    for name in ("docs", "text_bytes"):
        assert getattr(estimate.corpus, name).value == pytest.approx(actual[name]), name
    for name, figure in figures(estimate):
        if name in ROUGH:
            low, high = figure.ends()
            assert low <= actual[name] <= high, name
            assert figure.value == pytest.approx(actual[name], rel=0.7), name
        else:
            assert figure.value == pytest.approx(actual[name], rel=0.05), name
    *_, peak = estimate.disk_bytes.values()
    written = sum(size for name, size in actual.items() if name in estimate.disk_bytes)
    assert peak.value == pytest.approx(written, rel=0.05)
    for name, figure in estimate.kept_frac.items():
        assert 0 < figure.value <= 1, name


@pytest.mark.long_but("a filter behind")  # the others have less of its steps
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_sample_is_near_what_the_run_makes_and_its_intervals_are_not_absurd(
    recipe_path, tmp_path, steps
):
    recipe = recipe_of(recipe_path, tmp_path, steps=steps, run={"keep_intermediates": True})
    estimate = measured(recipe, tmp_path, sample=0.5, probes=300).estimate
    actual = actual_of(prepare(recipe, tmp_path / "run", one_by_one))
    for name, figure in figures(estimate):
        low, high = figure.limits()
        wide = actual[name] * 0.5
        assert low is None or low - wide <= actual[name] <= high + wide, name
    for name, figure in [*estimate.kept_frac.items(), ("unique", estimate.unique_frac)]:
        low, high = figure.limits() if figure else (None, None)
        assert low is None or 0 <= low <= figure.value <= high <= 1, name


def test_the_same_seed_gives_the_same_estimate_but_for_time(recipe_path, tmp_path):
    recipe = recipe_of(recipe_path, tmp_path)
    one, same, other = (
        measured(recipe, tmp_path, sample=0.4, probes=200, seed=seed).estimate.corpus
        for seed in (0, 0, 1)
    )
    assert one == same
    assert one.tokens != other.tokens


def test_an_estimate_is_a_corpus_to_size(recipe_path, tmp_path):
    recipe = recipe_of(recipe_path, tmp_path, steps=["normalize", "exact", PUBLISHED])
    estimate = measured(recipe, tmp_path, sample=0.4, probes=200).estimate
    data = json.loads((tmp_path / "estimate.json").read_text())
    assert Estimate.model_validate(data) == estimate
    corpus = load_corpus(tmp_path / "estimate.json")
    told = {"growth_exponent": estimate.growth and estimate.growth.exponent}
    told["unique_by"] = estimate.unique_by
    assert corpus == estimate.corpus.model_copy(update=told)
    assert len(corpus.tokens.draws) == 400
    sheet = requirement_sheet(Plan(), {"corpus": corpus})
    assert any(row.interval != (None, None) for row in sheet)
    assert "documents probed" in corpus.source


def test_scratch_goes_and_a_stopped_estimate_continues(recipe_path, tmp_path):
    recipe = recipe_of(recipe_path, tmp_path)
    phases = []

    def stopped(job, phase):
        if phase.name == "probe":
            raise KeyboardInterrupt
        return one_by_one(job, phase)

    def counted(job, phase):
        outcomes = one_by_one(job, phase)
        phases.append((phase.name, sum(o.fresh for o in outcomes)))
        return outcomes

    out = tmp_path / "estimate.json"
    with pytest.raises(KeyboardInterrupt):
        measure_corpus(Measuring(recipe=recipe, sample=0.2), out, stopped)
    assert scratch_of(out).is_dir()
    assert not out.exists()
    measure_corpus(Measuring(recipe=recipe, sample=0.2), out, counted)
    assert phases == [("scan", 0), ("probe", 1)]
    assert not scratch_of(out).exists()


def corpus_of(folder, recipe_path, texts, **settings):
    lines = [json.dumps({"text": text}) + "\n" for text in texts]
    (folder / "docs.jsonl").write_text("".join(lines))
    inputs = [{"path": str(folder / "docs.jsonl")}]
    return recipe_of(recipe_path, folder, inputs=inputs, **settings)


def test_one_document_is_predicted_as_it_is(recipe_path, tmp_path):
    recipe = corpus_of(tmp_path, recipe_path, ["one document of a few words that stands alone"])
    estimate = measured(recipe, tmp_path).estimate
    assert (estimate.docs_in.value, estimate.corpus.docs.value) == (1, 1)
    assert estimate.unique_frac == Figure(value=1.0)
    assert estimate.corpus.text_bytes_per_token.limits() == (None, None)


@pytest.mark.parametrize("text", ["", "a"])
def test_documents_of_next_to_no_text_do_no_harm(recipe_path, tmp_path, text):
    recipe = corpus_of(tmp_path, recipe_path, [text, "word " * 9, text])
    estimate = measured(recipe, tmp_path).estimate
    assert estimate.corpus.docs.value == pytest.approx(2)


def test_mistakes_are_one_line(recipe_path, tmp_path):
    with pytest.raises(ConfigError, match="the inputs hold no document; nothing to predict"):
        measured(corpus_of(tmp_path, recipe_path, []), tmp_path)
    with pytest.raises(ConfigError, match="the 3 documents that read leaves have no text"):
        measured(corpus_of(tmp_path, recipe_path, [""] * 3), tmp_path)
    short = corpus_of(tmp_path, recipe_path, ["too short"] * 5, steps=[GOPHER])
    with pytest.raises(ConfigError) as e:
        measured(short, tmp_path)
    assert str(e.value) == (
        "gopher_quality leaves none of 5 documents (most often: too_few_words); nothing to predict"
    )
    behind = corpus_of(tmp_path, recipe_path, ["too short"] * 5, steps=["exact", GOPHER])
    with pytest.raises(ConfigError, match="gopher_quality leaves none of 5 documents"):
        measured(behind, tmp_path)
    twice = recipe_of(recipe_path, tmp_path, steps=["exact", GOPHER, PUBLISHED])
    with pytest.raises(ConfigError, match="step 'near' stands behind a corpus-wide step"):
        measured(twice, tmp_path)
    with pytest.raises(ConfigError, match="is a folder; name the file"):
        measure_corpus(Measuring(recipe=recipe_of(recipe_path, tmp_path)), tmp_path, one_by_one)


ODD = """
import numpy as np

from tokenmill.pipelines.core.step import Step, keep_where, register


@register
class Odd(Step):
    name = "odd"

    def __call__(self, batch):
        if "odd" in batch["text"].to_pylist():
            return 1 // 0
        return keep_where(self.name, batch, np.zeros(batch.num_rows, np.uint8), [])
"""


@pytest.fixture
def odd_step(tmp_path, monkeypatch):
    (tmp_path / "odd_step.py").write_text(ODD)
    monkeypatch.syspath_prepend(tmp_path)
    plug(monkeypatch, "odd_step", step.STEPS)


@pytest.mark.usefixtures("odd_step")
def test_a_step_that_fails_in_every_part_is_told_by_its_cause(recipe_path, tmp_path):
    """Inputs are not blamed for it, as none of what they hold came through."""
    with pytest.raises(ShardError) as e:
        measured(corpus_of(tmp_path, recipe_path, ["odd"], steps=["odd"]), tmp_path)
    assert re.fullmatch(
        r"all 1 parts failed; [-\w]+: ZeroDivisionError: integer division or modulo by zero"
        r" in step odd \(odd_step.py:13\)",
        str(e.value),
    )
    assert exit_code_of(e.value) == PARTIAL, "as of a run in which every part fails"


@pytest.mark.usefixtures("odd_step")
def test_parts_that_are_left_out_are_told_with_what_was_read(recipe_path, tmp_path):
    (tmp_path / "odd.jsonl").write_text('{"text": "odd"}\n')
    corpus_of(tmp_path, recipe_path, ["one", "two words"])
    recipe = recipe_of(
        recipe_path, tmp_path, inputs=str(tmp_path / "*.jsonl"), steps=["odd", "exact"]
    )
    outcome = measured(recipe, tmp_path, sample=1.0)
    assert outcome.estimate.corpus.sample == (
        "2 of 2 documents probed, 100 % of the bytes tokenized, 1 of 2 parts left out"
    )


def test_a_benchmark_without_its_fields_is_told_before_anything_is_written(recipe_path, tmp_path):
    bench = tmp_path / "arc.jsonl"
    bench.write_text('{"message": "Which gas is it?"}\n')
    steps = [{"decontaminate": {"benchmarks": [{"name": "arc", "path": str(bench)}]}}]
    recipe = recipe_of(recipe_path, tmp_path, steps=steps)
    for begin in (measured, lambda recipe, folder: dry_run(recipe, folder / "run")):
        with pytest.raises(ConfigError, match=r"'arc': .*/arc.jsonl: lacks the fields of"):
            begin(recipe, tmp_path)
    assert not scratch_of(tmp_path / "estimate.json").exists()


@pytest.mark.parametrize("steps", [["exact"], [PUBLISHED]], ids=["exact", "near"])
def test_copies_do_not_decide_the_bytes_of_a_token(recipe_path, tmp_path, steps):
    """Of digits a token is a byte, of prose some three: what is left is prose."""
    digits = " ".join(str(number) for number in range(400))
    recipe = corpus_of(tmp_path, recipe_path, [*prose()[:60], *[digits] * 200], steps=steps)
    estimate = measured(recipe, tmp_path, sample=1.0).estimate
    total = prepare(recipe, tmp_path / "run", one_by_one)["measurement"]["total"]
    assert estimate.corpus.tokens.value == pytest.approx(total["tokens"], rel=1e-3)


def test_a_source_without_survivors_does_no_harm(recipe_path, tmp_path):
    corpus_of(tmp_path, recipe_path, ["too short"] * 50)
    prose = yaml.safe_load(recipe_path.read_text())["inputs"][0]
    inputs = [
        {"path": str(tmp_path / "docs.jsonl"), "source": "short"},
        {**prose, "source": "long"},
    ]
    recipe = recipe_of(recipe_path, tmp_path, inputs=inputs, steps=[GOPHER, "exact", PUBLISHED])
    estimate = measured(recipe, tmp_path, sample=0.3, probes=100).estimate
    actual = prepare(recipe, tmp_path / "run", one_by_one)["measurement"]["total"]
    low, high = estimate.corpus.tokens.limits()
    assert low < actual["tokens"] < high
    assert np.isfinite(estimate.corpus.tokens.draws).all()


def test_wide_figures_say_how_much_more_sample_would_help_and_no_more_than_there_is(
    recipe_path, tmp_path
):
    """Filters leave a third of the documents, as long as those that go."""
    rng = np.random.default_rng(4)
    words = np.array(["words", "that", "are", "long", "enough", "of", "the", "kind"])
    texts = [" ".join(rng.choice(words, 100)) for _ in range(1_000)] + ["a" * 430] * 2_000
    lines = [json.dumps({"text": f"{n} {text}"}) + "\n" for n, text in enumerate(texts)]
    (tmp_path / "docs.jsonl").write_text("".join(rng.permutation(lines)))
    inputs = [{"path": str(tmp_path / "docs.jsonl"), "source": "odd"}]
    recipe = recipe_of(recipe_path, tmp_path, inputs=inputs, steps=[GOPHER, "exact"])
    made = measured(recipe, tmp_path, sample=0.05, probes=50)
    (told,) = [
        remark for remark in made.predicted.remarks if "100 % of its variance by odd" in remark
    ]
    share, probes = re.search(r"--sample (\d+)% --probes ([\d,]+) would make", told).groups()
    more = {"sample": int(share) / 100, "probes": int(probes.replace(",", ""))}
    assert 50 < more["probes"] <= 3_000
    low, high = measured(recipe, tmp_path, **more).estimate.corpus.tokens.limits()
    assert high / low < 1.2


def test_a_step_that_removes_nearly_all_of_a_source_is_told(recipe_path, tmp_path):
    inputs = []
    for name, chars in (("laws", 10), ("web", 100)):
        path = tmp_path / f"{name}.jsonl"
        lines = [json.dumps({"text": f"{n:05d} " * (chars // 6)}) for n in range(20)]
        path.write_text("\n".join(lines))
        inputs.append({"path": str(path), "source": name})
    recipe = recipe_of(recipe_path, tmp_path, inputs=inputs, steps=[{"length": {"min_chars": 50}}])
    told = measured(recipe, tmp_path).predicted.remarks
    assert "length removed 100 % of the documents read of laws, mostly too_short" in told
    assert not [line for line in told if "web" in line]


def test_what_a_step_removes_of_a_sample_is_weighed_by_the_chance_of_each(recipe_path, tmp_path):
    """Long ones leave, and are chosen more often: over 90 % of those, of all 86 %."""
    texts = [f"{n} " + "words " * (100 if n % 7 else 5) for n in range(2_000)]
    (tmp_path / "mix.jsonl").write_text("\n".join(json.dumps({"text": t}) for t in texts))
    inputs = [{"path": str(tmp_path / "mix.jsonl"), "source": "mix"}]
    steps = [{"length": {"min_chars": 1, "max_chars": 300}}, "exact"]
    recipe = recipe_of(recipe_path, tmp_path, inputs=inputs, steps=steps)
    made = measured(recipe, tmp_path, sample=0.4, probes=50).predicted
    stats = made.totals["length"]
    assert stats.docs_out < 0.1 * stats.docs_in
    assert [line for line in made.remarks if line.startswith("length removed")] == []
