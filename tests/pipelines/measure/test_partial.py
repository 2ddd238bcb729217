"""What is predicted when a part of the inputs is read: bounds, or a model; never a plain point."""

import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.e2e.corpus import prose, write_corpus
from tests.pipelines.keyed import PUBLISHED
from tests.running import one_by_one, prepare
from tests.strategies import few
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure import sample as sampling
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.remarks import decompressed_frac
from tokenmill.pipelines.measure.run import measure_corpus, sample_of
from tokenmill.pipelines.prepare.prepare import plan_run
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.sizing.corpus import Estimate
from tokenmill.sizing.units import format_quantity

TRUTHS = (0.05, 0.3, 0.73)
DOCS = 2_500
PART_BYTES = 8_192
GOPHER = {"gopher_quality": {"min_words": 40, "min_stop_words": None}}


def cluster_sizes(truth, rng):
    """Of about DOCS documents: most stand alone, a few very often."""
    sizes = []
    heavy = {0.05: 1.02, 0.3: 1.75, 0.73: 3.0}[truth]
    while sum(sizes) < DOCS:
        sizes.append(int(min(rng.pareto(heavy - 0.75) + 1, DOCS // 8)))
    n = max(round(truth * sum(sizes)), 1)
    return [*sizes[:n], *[1] * (n - len(sizes))] if len(sizes) != n else sizes


@cache
def documents(truth):
    """Texts, copies anywhere, of which about `truth` are unique."""
    rng = np.random.default_rng(int(truth * 100))
    words = np.array(sorted({w for text in prose() for w in text.split() if w.isalpha()}))
    sizes = cluster_sizes(truth, rng)
    texts = [" ".join(rng.choice(words, int(n))) for n in rng.integers(20, 60, len(sizes))]
    order = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return [texts[i] for i in order]


def write_lines(path, texts):
    data = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("recipe"))


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(sampling, "LEAST_PART_BYTES", PART_BYTES)
    monkeypatch.setattr(sampling, "MANY_PARTS", 60)


def recipe_of(base, folder, inputs, **settings):
    data = {**yaml.safe_load(base.read_text()), "shard_bytes": "4MB"}
    data["inputs"] = [{"path": str(p)} for p in inputs]
    (folder / "recipe.yaml").write_text(yaml.safe_dump({**data, **settings}))
    return load_recipe(folder / "recipe.yaml")


def measured(recipe, folder, **how):
    return measure_corpus(
        Measuring(recipe=recipe, **{"sample": 0.2, **how}), folder / "estimate.json", one_by_one
    )


@pytest.fixture(scope="module", params=TRUTHS)
def corpus(request, base, tmp_path_factory):
    """A folder with documents, their number and the unique ones."""
    folder = tmp_path_factory.mktemp("corpus")
    texts = documents(request.param)
    write_lines(folder / "docs.jsonl", texts)
    assert len(set(texts)) / len(texts) == pytest.approx(request.param, rel=0.3)
    return folder, len(texts), len(set(texts)), sum(len(t) for t in set(texts))


def holds(figure, actual):
    low, high = figure.limits()
    return (
        (figure.value if low is None else low) <= actual <= (figure.value if high is None else high)
    )


@pytest.mark.long_but("0.3-0.3-near", "0.05-0.3-exact")  # a small and a middle share
@pytest.mark.parametrize("step", ["exact", PUBLISHED], ids=["exact", "near"])
@pytest.mark.parametrize("budget", few([0.3, 0.6, 0.05], 3))
def test_the_truth_lies_in_the_interval(base, corpus, tmp_path, step, budget):
    folder, docs, unique, unique_bytes = corpus
    recipe = recipe_of(base, tmp_path, [folder / "docs.jsonl"], steps=[step])
    estimate = measured(recipe, tmp_path, budget=budget, probes=1_000).estimate
    assert estimate.unique_by == ("model" if budget > 0.5 else "bounds")
    assert estimate.docs_in.value == pytest.approx(docs, rel=0.1)
    assert holds(estimate.unique_frac, unique / docs)
    assert holds(estimate.corpus.docs, unique)
    assert holds(estimate.corpus.text_bytes, unique_bytes)
    for figure in (estimate.unique_frac, *estimate.kept_frac.values()):
        low, high = figure.limits()
        assert low is None or 0 <= low <= figure.value <= high <= 1
    spans = np.ptp(estimate.unique_frac.limits())
    assert spans > 0


def test_bounds_span_all_that_new_documents_might_be(base, tmp_path):
    """Every document new in what is read: they may all be, or no other may be."""
    rng = np.random.default_rng(0)
    texts = [" ".join(map(str, rng.integers(0, 10**6, 12))) for _ in range(1_000)]
    for name, lines in (("all", texts), ("few", texts[:100] * 10)):
        write_lines(tmp_path / f"{name}.jsonl", rng.permutation(lines).tolist())
    alone = recipe_of(base, tmp_path, [tmp_path / "all.jsonl"], steps=["exact"])
    estimate = measured(alone, tmp_path, budget=0.1).estimate
    low, high = estimate.unique_frac.limits()
    assert low < 0.2
    assert high > 0.95
    again = recipe_of(base, tmp_path, [tmp_path / "few.jsonl"], steps=["exact"])
    low, high = measured(again, tmp_path, budget=0.3).estimate.unique_frac.limits()
    assert low <= 0.1 <= high


@pytest.mark.long_but("steps1")  # the other has a part of it
@pytest.mark.parametrize("steps", [[], ["normalize", GOPHER]])
def test_without_duplicates_to_find_all_is_told_by_ratios(base, tmp_path, steps):
    write_lines(tmp_path / "docs.jsonl", documents(0.73))
    recipe = recipe_of(base, tmp_path, [tmp_path / "docs.jsonl"], steps=steps)
    estimate = measured(recipe, tmp_path, budget=0.4).estimate
    total = prepare(recipe, tmp_path / "run", one_by_one)["measurement"]["total"]
    assert (estimate.unique_by, estimate.growth) == (None, None)
    for name in ("docs", "tokens", "text_bytes"):
        figure = getattr(estimate.corpus, name)
        assert holds(figure, total[name]), name
        assert figure.limits() != (None, None), name


def characters_read():
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(lines[0].removeprefix("rchar: "))


@pytest.mark.parametrize("budget", [0.05, 0.3])
def test_no_more_is_read_than_the_budget(base, tmp_path, budget, monkeypatch):
    monkeypatch.setattr(sampling, "MANY_PARTS", 20)
    data = "".join(json.dumps({"text": f"{i} " * 2_000}) + "\n" for i in range(1_000))
    (tmp_path / "docs.jsonl").write_text(data)
    recipe = recipe_of(base, tmp_path, [tmp_path / "docs.jsonl"], steps=["exact"])
    outcome = measured(recipe, tmp_path, budget=budget)
    sample = outcome.sample
    # where a few parts are too many, smaller ones, to tell how they differ
    assert sample.read.sum() == (25 if budget < 0.25 else budget * 20)
    assert sample.read_frac <= max(budget, 0.1) + 1e-9
    assert (sample.drawn <= sample.read).all()
    parts = [part for part, read in zip(sample.plan.shards, sample.read, strict=True) if read]
    assert set(outcome.finished.parts) == {part.key for part in parts}
    before = characters_read()
    for part in parts:
        assert sum(batch.documents.num_rows for batch in read_shard(part, limits=recipe.limits))
    behind = len(parts) * 2**17  # each ends within a line, which is read to its end
    assert characters_read() - before < sum(part.bytes for part in parts) + behind


def test_of_several_compressed_files_whole_ones_are_read(base, tmp_path):
    texts = documents(0.3)
    paths = [tmp_path / f"part-{i}.jsonl.gz" for i in range(10)]
    for i, path in enumerate(paths):
        write_lines(path, texts[i::10])
    recipe = recipe_of(base, tmp_path, [tmp_path / "*.gz"], steps=["exact"])
    outcome = measured(recipe, tmp_path, budget=0.5)
    files = [part.paths[0] for part in outcome.sample.plan.shards]
    of_file = {file: set() for file in files}
    for file, is_read in zip(files, outcome.sample.read.tolist(), strict=True):
        of_file[file].add(is_read)
    assert len(files) > len(of_file) == 10
    assert all(len(kinds) == 1 for kinds in of_file.values())
    assert 0.3 < outcome.sample.read_frac <= 0.5
    assert holds(outcome.estimate.unique_frac, len(set(texts)) / len(texts))
    assert not any("compressed" in line for line in outcome.predicted.remarks)


def test_a_compressed_file_that_is_read_in_part_is_said_to_be(base, tmp_path):
    texts = documents(0.3)
    write_lines(tmp_path / "docs.jsonl.gz", texts)
    recipe = recipe_of(base, tmp_path, [tmp_path / "docs.jsonl.gz"], steps=["exact"])
    outcome = measured(recipe, tmp_path, budget=0.3)
    assert holds(outcome.estimate.unique_frac, len(set(texts)) / len(texts))
    assert outcome.predicted.remarks[-1] == (
        "docs.jsonl.gz: compressed, and can only be read from the beginning, so that"
        f" {format_quantity(decompressed_frac(outcome.sample), 'fraction')} of all bytes were"
        " decompressed to reach those that count"
    )
    last = int(np.flatnonzero(outcome.sample.read)[-1])
    sizes = outcome.sample.part_bytes
    assert decompressed_frac(outcome.sample) == sizes[: last + 1].sum() / sizes.sum()
    assert decompressed_frac(outcome.sample) > outcome.sample.read_frac


@pytest.mark.parametrize("apart", [False, True], ids=["one input", "an input each"])
def test_many_files_do_not_exceed_the_budget(base, tmp_path, apart):
    """Of each file, or input, a part would be more."""
    for i in range(12):
        write_lines(tmp_path / f"docs-{i}.jsonl", documents(0.3)[i::12])
    places = sorted(tmp_path.glob("*.jsonl")) if apart else [tmp_path / "*.jsonl"]
    recipe = recipe_of(base, tmp_path, places, steps=["exact"])
    plan = plan_run(recipe)
    for share in (0.1, 0.3):
        sample = sample_of(Measuring(recipe=recipe, sample=0.2, budget=share), plan)
        assert share / 2 < sample.read_frac <= share
    sample = sample_of(Measuring(recipe=recipe, sample=0.05), plan)
    assert sample.choice.share == pytest.approx(0.05)
    assert sample.read.all()
    few = sample_of(Measuring(recipe=recipe, sample=0.3), plan)
    assert set(few.strata[few.drawn]) == set(few.strata)


def test_a_budget_of_half_is_enough_for_a_model_of_many_files(base, tmp_path):
    """Of each file some 7 parts, so that whole parts of all are less than half."""
    for i in range(6):
        write_lines(tmp_path / f"docs-{i}.jsonl", documents(0.3)[i::6])
    recipe = recipe_of(base, tmp_path, [tmp_path / "*.jsonl"], steps=["exact"])
    outcome = measured(recipe, tmp_path, budget=0.5)
    assert 0.48 < outcome.sample.read_frac <= 0.5
    assert outcome.estimate.unique_by == "model"


def test_what_is_read_beyond_the_budget_is_told(base, tmp_path):
    write_lines(tmp_path / "docs.jsonl", documents(0.3))
    recipe = recipe_of(base, tmp_path, [tmp_path / "docs.jsonl"], steps=["exact"])
    remarks = measured(recipe, tmp_path, budget=9.0).predicted.remarks
    assert remarks[-1].startswith("--budget allows 9 B, ")
    assert remarks[-1].endswith(
        " kB were read: a few parts of the inputs, which tell how parts differ"
    )


def test_bounds_say_what_would_tell_and_what_it_costs(base, tmp_path):
    write_lines(tmp_path / "docs.jsonl", documents(0.3))
    recipe = recipe_of(base, tmp_path, [tmp_path / "docs.jsonl"], steps=["exact"])
    few, half = (measured(recipe, tmp_path, budget=b).predicted.remarks for b in (0.1, 0.5))
    assert few[0].startswith(
        "9.84 % of the bytes were read, in 6 parts or whole files, and no sample of documents"
        " tells how many"
    )
    assert "a full scan reads" in few[0]
    assert "50% of the documents, in 5 parts or whole files, at least (--budget 50% reads" in few[0]
    assert "is a model's figure" in half[0]
    assert measured(recipe, tmp_path).predicted.remarks == ()


def test_of_few_files_more_than_half_has_bounds_and_says_so(base, tmp_path):
    """Compressed, each is read whole: four of six, and a curve of growth takes five."""
    texts = documents(0.3)
    for i in range(6):
        write_lines(tmp_path / f"part-{i}.jsonl.gz", texts[i::6])
    recipe = recipe_of(base, tmp_path, [tmp_path / "*.gz"], steps=["exact"])
    few, enough = (measured(recipe, tmp_path, budget=b) for b in (0.75, 0.9))
    assert few.sample.read_frac > 0.5
    assert (few.estimate.unique_by, enough.estimate.unique_by) == ("bounds", "model")
    (told,) = (r for r in few.predicted.remarks if "in 4 parts or whole files, and" in r)
    assert "--budget" not in told  # half was read, and did not do


def test_growth_is_told_of_a_full_scan_and_carried_on(base, tmp_path):
    texts = documents(0.3)
    write_lines(tmp_path / "docs.jsonl", texts)
    recipe = recipe_of(base, tmp_path, [tmp_path / "docs.jsonl"], steps=["exact"])
    outcome = measured(recipe, tmp_path, grow_to=1.5)
    growth = outcome.estimate.growth
    assert growth.docs[-1] == len(texts)
    assert growth.unique[-1] == pytest.approx(len(set(texts)))
    curve = [growth.scale * n**growth.exponent.value for n in growth.docs]
    assert curve == pytest.approx(growth.unique, rel=0.2)
    low, high = growth.exponent.limits()
    assert 0 < low < growth.exponent.value < high <= 1
    assert growth.grown_docs.value == pytest.approx(1.5 * len(texts))
    low, high = growth.grown_unique.limits()
    assert len(set(texts)) * 0.9 < low < growth.grown_unique.value < high
    written = json.loads((tmp_path / "estimate.json").read_text())
    assert Estimate.model_validate(written) == outcome.estimate


def test_a_corpus_grown_beyond_the_model_is_refused_and_all_else_stays(base, tmp_path):
    write_lines(tmp_path / "docs.jsonl", documents(0.3))
    recipe = recipe_of(base, tmp_path, [tmp_path / "docs.jsonl"], steps=["exact"])
    outcome = measured(recipe, tmp_path, grow_to=1e6)
    assert outcome.estimate.growth.grown_unique is None
    (line,) = outcome.predicted.remarks
    assert line.startswith("--grow-to: 1,000,000 documents are ")
    assert "a model of growth is carried to 2 times as many at most" in line


def test_another_budget_does_not_go_on_with_what_was_read(base, tmp_path):
    write_lines(tmp_path / "docs.jsonl", documents(0.3))
    recipe = recipe_of(base, tmp_path, [tmp_path / "docs.jsonl"], steps=["exact"])

    def stopped(job, phase):
        if phase.name == "probe":
            raise KeyboardInterrupt
        return one_by_one(job, phase)

    out = tmp_path / "estimate.json"
    with pytest.raises(KeyboardInterrupt):
        measure_corpus(Measuring(recipe=recipe, sample=0.2, budget=0.6), out, stopped)
    with pytest.raises(ConfigError, match=r"measuring\.budget is 0\.6 there, 0\.3 here"):
        measured(recipe, tmp_path, budget=0.3)
    assert measured(recipe, tmp_path, budget=0.6).estimate.unique_by == "model"
