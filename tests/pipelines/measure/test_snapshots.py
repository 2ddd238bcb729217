"""A hundred identical snapshots (FineWeb, Penedo et al. 2024, appendix), by way of the command."""

import json
import random

import numpy as np
import pytest

from tests.e2e.corpus import write_corpus
from tests.pipelines.keyed import PUBLISHED as NEAR
from tests.pipelines.measure.test_run import recipe_of
from tests.running import one_by_one
from tokenmill.pipelines.measure.copies import draw_rows
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus

SNAPSHOTS, DOCS = 100, 1_000
FEWER = 300  # documents of a snapshot that is read
# share of the corpus that is drawn, and of it the duplicates: 1 G to 1 T of 20 T tokens
PUBLISHED = {5e-5: 0.0025, 5e-4: 0.024, 5e-3: 0.212, 1.75e-2: 0.526, 5e-2: 0.801}
DRAWN = 20_000  # documents in all, so that a duplicate in 400 is seen


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    """The recipe of a hundred files that are all the same."""
    folder = tmp_path_factory.mktemp("snapshots")
    draw = random.Random(0)
    words = [f"word{n}" for n in range(500)]
    texts = [" ".join(draw.choices(words, k=12)) for _ in range(FEWER)]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    for number in range(SNAPSHOTS):
        (folder / f"{number:03d}.jsonl").write_text(lines)
    return write_corpus(tmp_path_factory.mktemp("recipe")), [{"path": str(folder / "*.jsonl")}]


@pytest.mark.parametrize(("share", "published"), PUBLISHED.items())
def test_documents_that_are_drawn_look_unique(share, published):
    n = SNAPSHOTS * DOCS
    size = round(share * n)
    none = np.zeros(0, np.int64)
    repeated = []
    for seed in range(DRAWN // size):
        rows = draw_rows(n, size, certain=none, seed=seed)
        assert len(rows) == size
        repeated.append(1 - len(np.unique(rows % DOCS)) / size)
    error = 4 * (published / (size * len(repeated))) ** 0.5
    assert np.mean(repeated) == pytest.approx(published, rel=0.02, abs=error)


@pytest.mark.long_but("exact")  # near as exact
@pytest.mark.parametrize("steps", [["exact"], ["exact", NEAR]], ids=["exact", "near"])
def test_the_estimate_says_that_99_percent_are_duplicates(snapshots, tmp_path, steps):
    recipe_path, inputs = snapshots
    recipe = recipe_of(recipe_path, tmp_path, inputs=inputs, steps=steps)
    measuring = Measuring(recipe=recipe, probes=2_000, sample=0.2)
    estimate = measure_corpus(measuring, tmp_path / "estimate.json", one_by_one).estimate
    assert estimate.docs_in.value == SNAPSHOTS * FEWER
    low, high = estimate.unique_frac.limits()
    if steps == ["exact"]:  # all clusters are known
        assert (estimate.unique_frac.value, low, high) == (1 / SNAPSHOTS, None, None)
    else:
        assert low <= 1 / SNAPSHOTS <= high
        assert high - low < 0.002
    assert estimate.corpus.docs.value == pytest.approx(FEWER, rel=0.02)
