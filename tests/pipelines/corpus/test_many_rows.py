"""A corpus of more than 2**32 documents, or units, is one like any other: rows have 64 bits.

No such corpus is at hand. A small one whose rows are numbered across 2**32 must be given the
verdicts, the files and the facts of one whose rows begin at 0.
"""

import numpy as np
import pytest

from tests.pipelines.corpus import spans_corpora
from tests.pipelines.corpus.counted.test_count import (
    IMAGE_STEPS,
    PARAGRAPH_STEPS,
    expected,
    find_repeats,
    find_same,
    found_in,
    write_sidecars,
)
from tests.pipelines.corpus.counted.test_count import job_of as counting_job
from tests.pipelines.corpus.repeats_corpora import corpus
from tests.pipelines.corpus.test_spans import set_sizes
from tests.pipelines.keyed import ESTIMATED, find, found, job_of, verdict_bytes, write_shards
from tests.strategies import few
from tokenmill.dedup.same.minhash import EMPTY
from tokenmill.pipelines.corpus import near, rows
from tokenmill.pipelines.corpus.counted import count as table
from tokenmill.pipelines.corpus.counted.images import RepeatedImages
from tokenmill.pipelines.corpus.equal import ExactDedup, SameUrl
from tokenmill.pipelines.corpus.near import NearDedup

MANY = 1 << 32
SIZES = (300, 0, 250, 1, 350)
N = sum(SIZES)
EXACT, NEAR = ExactDedup(), NearDedup(num_perm=16, bands=8, rows=2, verify=0.6, **ESTIMATED)
NEWEST, LAST = SameUrl(keep="newest"), SameUrl()
STEPS = {
    "exact, near": (EXACT, NEAR),
    "exact": (EXACT,),
    "near": (NEAR,),
    "last": (LAST,),
    "newest": (NEWEST,),
}


def keys_of_documents():
    """(N, 16) signatures of families that differ a little, (N, 2) keys, and (N,) dates."""
    rng = np.random.default_rng(5)
    family = rng.integers(0, 200, N)
    signed = rng.integers(0, 2**32, (200, NEAR.num_perm), dtype=np.uint32)[family]
    changed = rng.random(signed.shape) < 0.15
    signed[changed] = rng.integers(0, 2**32, int(changed.sum()), np.uint32)
    signed[rng.random(N) < 0.02] = EMPTY
    keys = rng.integers(0, 24, (N, 2), dtype=np.uint64) << np.uint64(59)
    return signed, keys, rng.integers(0, 40, N, dtype=np.uint64)


def files(job, folder):
    paths = sorted((job.out / folder).iterdir())
    assert paths
    return {path.name: path.read_bytes() for path in paths}


@pytest.mark.parametrize("earlier", [0, 1])
@pytest.mark.parametrize("begin", few([MANY - 400, MANY, MANY << 8], 3))
@pytest.mark.parametrize("name", few(STEPS, 3))
def test_documents_are_compared_as_if_their_rows_began_at_0(
    tmp_path, monkeypatch, name, begin, earlier
):
    steps = STEPS[name]
    if earlier and isinstance(steps[0], SameUrl):
        pytest.skip("what stands against earlier runs keeps the first")
    monkeypatch.setattr(rows, "GROUP_ROWS", 280)
    monkeypatch.setattr(rows, "RANGE_ROWS", 240)
    monkeypatch.setattr(near, "FAN_IN", 3)
    signed, keys, dates = keys_of_documents()
    made = []
    for first in (0, begin):
        monkeypatch.setattr(rows, "FIRST_ROW", first)
        job = job_of(tmp_path / str(first), steps)
        of_dates = dates if steps[0] is NEWEST else None
        write_shards(job, steps, SIZES, signed, keys, earlier=earlier, batch=90, dates=of_dates)
        receipts = find(job, steps, SIZES, earlier=earlier)
        gone = [found(job, step, SIZES, earlier=earlier) for step in steps]
        told = {step: [receipt.facts for receipt in some] for step, some in receipts.items()}
        verdicts = verdict_bytes(job, *steps)
        made.append((gone, told, verdicts))
    assert all(len(one) > 30 for one in made[0][0])
    assert made[1] == made[0]
    if NEAR in steps:
        assert len(made[0][1]["forests-0"]) > 2


@pytest.mark.parametrize("begin", few([MANY - 100, MANY, MANY << 8], 3))
@pytest.mark.parametrize(
    "step",
    few(
        [
            IMAGE_STEPS["once"],
            RepeatedImages(more_than=2, keep="first"),
            *(PARAGRAPH_STEPS[name] for name in ("domain", "first", "buckets", "ccnet")),
        ],
        2,
    ),
    ids=repr,
)
@pytest.mark.parametrize("before", [(), (SameUrl(),)], ids=["alone", "behind same_url"])
def test_units_are_counted_as_if_their_rows_began_at_0(tmp_path, monkeypatch, step, begin, before):
    shards = corpus(3, (30, 0, 60, 5, 0, 20))
    for docs in shards if before else ():
        docs[::3] = [{**doc, "url": "https://same.org"} for doc in docs[::3]]
    monkeypatch.setattr(table, "GROUP_ROWS", 100)
    monkeypatch.setattr(table, "RANGE_UNITS", 60)
    made = []
    for first in (0, begin):
        monkeypatch.setattr(rows, "FIRST_ROW", first)
        monkeypatch.setattr(table, "FIRST_UNIT", first)
        job = counting_job(tmp_path / str(first), [*before, step])
        write_sidecars(job, shards)
        if before:
            find_same(job, (*before, step))
        facts, _ = find_repeats(job, (*before, step))
        made.append((found_in(job, shards), facts, files(job, "19-repeated")))
    assert len(made[0][0]) > 10
    assert made[1] == made[0]
    if not before:
        assert made[1][0] == expected(step, shards)


@pytest.mark.parametrize("begin", few([MANY - 5, MANY, (1 << 35) - 5], 3))
@pytest.mark.parametrize("step", [{"ngram": 3}, {"ngram": 2, "keep": "none"}], ids=str)
def test_spans_are_found_as_if_rows_began_at_0(tmp_path, monkeypatch, step, begin):
    set_sizes(monkeypatch, 200, 100, 20)
    shards = [
        [f"{word} b c d e {word} f {word}{n}" for n, word in enumerate(words)]
        for words in ("aab", "", "ab", "cabb")
    ]
    made = []
    for first in (0, begin):
        monkeypatch.setattr(rows, "FIRST_ROW", first)
        job = spans_corpora.job_of(tmp_path / str(first), [{"repeated_spans": step}])
        spans_corpora.find(job, shards)
        left = spans_corpora.left(spans_corpora.taken(job, shards))
        made.append((left, files(job, "19-spans")))
    assert made[1] == made[0]
    assert len(set(made[0][0].values())) > 2
