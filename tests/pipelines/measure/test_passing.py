"""Filters that were asked of some documents alone: what is told of all."""

import numpy as np
import pytest

from tokenmill.pipelines.measure.chosen import Choice, chance, chosen, moments, ratio_of
from tokenmill.pipelines.measure.passing import NO, NOT_ASKED, YES, Passing

EVERY = Choice(0.1, 0.0, 1e9, 0.1)


def families(rng, n, size, *, share, alike, asked):
    """(n, size) who passes of families that have one who does, and who was asked.

    alike: those of a family pass together; else each by itself.
    """
    together = rng.random((n, 1)) < share
    each = rng.random((n, size - 1)) < share
    others = np.broadcast_to(together, each.shape) if alike else each
    return others, rng.random(others.shape) < asked


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("size", [2, 5, 60])
def test_of_copies_as_many_are_left_as_if_all_had_been_asked(size, share, alike):
    rng = np.random.default_rng(size)
    others, asked = families(rng, 4_000, size, share=share, alike=alike, asked=0.3)
    yes, no = ((others == verdict) & asked for verdict in (True, False))
    yes, no = (counts.sum(axis=1).astype(np.int64) for counts in (yes, no))
    left = (1 / (1 + others.sum(axis=1))).mean()
    told = 1 / Passing(yes, no).copies(np.full(len(yes), size), yes, no)
    assert told.mean() == pytest.approx(left, rel=0.05)


def test_where_all_were_asked_copies_are_counted():
    yes, no = np.array([0, 3, 7]), np.array([2, 0, 1])
    assert Passing(yes, no).copies(1 + yes + no, yes, no).tolist() == [1, 4, 8]
    none = np.zeros(3, np.int64)
    assert Passing(none, none).copies(np.array([1, 2, 9]), none, none) == pytest.approx([1, 2, 9])


@pytest.mark.parametrize("alike", [False, True])
def test_earlier_documents_pass_as_those_do_beside_the_same_one(alike):
    rng = np.random.default_rng(4)
    others, asked = families(rng, 6_000, 4, share=0.6, alike=alike, asked=0.4)
    verdicts = np.where(asked, np.where(others, YES, NO), NOT_ASKED).astype(np.uint8)
    left, right = np.arange(others.size), np.repeat(np.arange(len(others)), 3)
    keys, later = rng.integers(0, 2**64, others.size, np.uint64), rng.permutation(left)[:6_000]
    later = later.astype(np.uint64) * np.uint64(2**64 // others.size)
    counts = [((verdicts == v).sum(axis=1)).astype(np.int64) for v in (YES, NO)]
    there = Passing(*counts).supposed(left, right, verdicts.ravel(), keys, later)
    assert there[verdicts.ravel() == YES].all()
    assert not there[verdicts.ravel() == NO].any()
    none = (~there.reshape(others.shape)).all(axis=1).mean()
    assert none == pytest.approx((~others).all(axis=1).mean(), abs=0.02)


def documents(n, seed):
    """Bytes of each, its id, and whether a filter keeps it, which hangs on how long it is."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(rng.lognormal(7, 1.2, n), 1).astype(np.int64)
    kept = rng.random(n) < np.where(sizes > 1_500, 0.9, 0.5)
    return sizes, rng.permutation(n).astype(np.uint64), kept


def test_intervals_of_what_a_filter_keeps_hold_it_as_often_as_they_say():
    sizes, ids, kept = documents(3_000, 3)
    truth = {"s docs": kept.mean(), "s bytes": (sizes * kept).sum() / sizes.sum()}
    held = {name: [] for name in truth}
    for seed in range(300):
        chances = chance(sizes, EVERY, read_bytes=float(sizes.sum()))
        there = chosen(ids, chances, seed)
        its = chances[there]
        sums = moments("s docs", np.ones(len(its)), kept[there] * 1.0, its)
        sums |= moments("s bytes", sizes[there] * 1.0, (sizes * kept)[there] * 1.0, its)
        for name, fact in truth.items():
            low, high = ratio_of(name, sums, seed).limits()
            assert high - low < 0.35
            held[name].append(low <= fact <= high)
    assert all(np.mean(h) >= 0.91 for h in held.values()), {n: np.mean(h) for n, h in held.items()}


def test_what_all_were_asked_of_is_exact_and_few_are_all_asked():
    sizes, _, kept = documents(400, 4)
    chances = chance(sizes, EVERY._replace(docs_per_byte=500 / sizes.sum()), read_bytes=sizes.sum())
    assert (chances == 1).all()
    sums = moments("s docs", np.ones(400), kept * 1.0, chances)
    assert ratio_of("s docs", sums, 0).limits() == (kept.mean(), kept.mean())


def test_those_chosen_have_the_share_of_the_bytes_and_the_longest_are_among_them():
    sizes, ids, _ = documents(20_000, 5)
    sizes[17] = 3_000_000
    chances = chance(sizes, EVERY._replace(longest=1e6), read_bytes=float(sizes.sum()))
    assert chances[17] == 1
    others = np.delete(np.arange(len(sizes)), 17)
    of_them = (sizes * chances)[others].sum() / sizes[others].sum()
    assert of_them == pytest.approx(0.1, rel=0.15)
    assert chosen(ids, chances, 2).mean() == pytest.approx(chances.mean(), rel=0.1)
