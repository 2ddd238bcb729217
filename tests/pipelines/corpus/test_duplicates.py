"""The same duplicates are found whatever memory, groups and ranges there are: the plain ones."""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dedup.same.labels import candidate_pairs, clusters
from tests.pipelines.keyed import (
    ESTIMATED,
    find,
    found,
    job_of,
    part_of,
    verdict_bytes,
    write_shards,
)
from tests.strategies import examples
from tokenmill.dedup.same.lsh import NO_KEY, band_keys
from tokenmill.dedup.same.minhash import EMPTY, pair_similarity
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.corpus import equal, near, pairs, rows
from tokenmill.pipelines.corpus.equal import ExactDedup, SameUrl
from tokenmill.pipelines.corpus.near import NearDedup

MIB = 1 << 20
EXACT = ExactDedup()
NEAR = NearDedup(num_perm=24, bands=5, rows=4, **ESTIMATED)
STEPS = {"near alone": (NEAR,), "exact, near": (EXACT, NEAR), "near, exact": (NEAR, EXACT)}
SIZES = (9_000, 0, 7_000, 1, 14_000)
N = sum(SIZES)


def documents(n, *, families, same=0):
    """(n, 24) signatures and (n, 2) digests: `families` of like ones, `same` equal documents."""
    rng = np.random.default_rng(7)
    family = rng.integers(0, families, n)
    signed = rng.integers(0, 2**32, (families, NEAR.num_perm), dtype=np.uint32)[family]
    changed = rng.random(signed.shape) < 0.12
    signed[changed] = rng.integers(0, 2**32, int(changed.sum()), np.uint32)
    copies = rng.integers(0, n, (2, n // 10))
    signed[copies[0]] = signed[copies[1]]
    signed[rng.permutation(n)[:same]] = signed[0]
    signed[rng.random(n) < 0.01] = EMPTY
    # the texts of equal signatures differ, but for some: exact and near find other clusters
    digests = np.ascontiguousarray(signed[:, :4]).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    digests[:, 1] += (rng.random(n) < 0.3).astype(np.uint64)
    return signed, digests


def parted(monkeypatch, groups, ranges):
    """Have so many groups of 30,000 rows, about, and so many ranges of keys."""
    monkeypatch.setattr(rows, "GROUP_ROWS", -(-N // groups))
    monkeypatch.setattr(rows, "RANGE_ROWS", -(-N // ranges))


def files(job, *folders):
    return {
        p.relative_to(job.out).as_posix(): p.read_bytes()
        for folder in folders
        for p in (job.out / folder).iterdir()
    }


def facts(receipts):
    """What is told of each step that found something, of all its works."""
    told = {"exact-0": ("clusters",), "bands-0": ("candidates", "edges"), "near-0": ("clusters",)}
    return {
        (step, name): sum(r.facts[name] for r in receipts[step])
        for step, names in told.items()
        for name in names
        if step in receipts
    }


@pytest.mark.long_but("near, exact")  # both steps in one
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_memory_groups_and_ranges_change_no_byte(tmp_path, steps, monkeypatch):
    for module in (near, pairs):
        monkeypatch.setattr(module, "PAIRS_AT_ONCE", 1_000)
    monkeypatch.setattr(near, "FAN_IN", 3)
    n_parts = []
    for module in (near, equal):
        monkeypatch.setattr(module, "parts", counted(module.parts, n_parts))
    told = []
    for name, budget, workers, groups, ranges in [
        ("whole", 4096, 1, 1, 1),
        ("little memory", 1.66, 1, 1, 1),
        ("workers", 2.4, 3, 2, 1),
        ("parts", 4096, 2, 2, 32),
    ]:
        parted(monkeypatch, groups, ranges)
        job = job_of(tmp_path / name, steps, int(budget * MIB), workers)
        write_shards(job, steps, SIZES, *documents(N, families=4_000, same=6_000))
        n_parts.clear()
        receipts = find(job, steps, SIZES)
        told.append((facts(receipts), verdict_bytes(job, *steps)))
        assert len(receipts["keys-near-0"]) == groups
        assert len(receipts["bands-0"]) == NEAR.bands * ranges
        assert len(receipts.get("forests-0", ())) == {1: 2, 32: 54 + 18 + 6 + 2}[ranges]
        assert (max(n_parts) > 1) == (budget < 4)
    assert told[0][1]
    assert all(other == told[0] for other in told[1:])


def counted(parts, numbers):
    """`parts`, and how many there were each time."""

    def wrapped(*args):
        made = list(parts(*args))
        numbers.append(len(made))
        return made

    return wrapped


class Truth(NamedTuple):
    """signed, digests: of the documents.  n_candidates: pairs that meet, of all bands.

    label: (N,) the lowest row of each row's cluster.  similarity: of those that go, to it.
    """

    signed: np.ndarray
    digests: np.ndarray
    n_candidates: int
    label: np.ndarray
    similarity: np.ndarray


@cache
def all_at_once(same):
    """All candidate pairs at once; `same` documents are equal."""
    signed, digests = documents(N, families=4_000, same=same)
    keys = band_keys(signed, NEAR.lsh())
    candidates = np.concatenate([candidate_pairs(keys[:, b]) for b in range(NEAR.bands)])
    alike = pair_similarity(signed, *candidates.T) >= np.float32(NEAR.verify)
    label = clusters(N, candidates[alike])
    gone = np.flatnonzero(label != np.arange(N))
    similarity = pair_similarity(signed, gone, label[gone])
    return Truth(signed, digests, len(candidates), label, similarity)


@pytest.mark.long  # any corpus is that of plain loops, and memory changes no byte: see the others
@pytest.mark.parametrize(
    ("same", "budget", "groups", "ranges"),
    [
        (0, "4GiB", 1, 1),
        (0, "1.3MiB", 2, 16),
        (20_000, "4GiB", 2, 16),
        (20_000, "1.3MiB", 1, 1),
    ],
)
def test_duplicates_are_those_of_all_candidate_pairs_at_once(
    tmp_path, budget, same, groups, ranges, monkeypatch
):
    """With 20,000 equal documents too, more than fit into memory at once with their keys."""
    parted(monkeypatch, groups, ranges)
    if ranges > 1:
        monkeypatch.setattr(near, "MOST_MEMBERS", 300)
    signed, digests, n_candidates, label, similarity = all_at_once(same)
    job = job_of(tmp_path, (NEAR,), budget)
    ids = write_shards(job, (NEAR,), SIZES, signed, digests)
    receipts = find(job, (NEAR,), SIZES)
    assert facts(receipts)["bands-0", "candidates"] == n_candidates
    gone = np.flatnonzero(label != np.arange(N))
    assert len(gone) > 10_000
    expected = zip(ids[label[gone]].tolist(), similarity.tolist(), strict=True)
    assert found(job, NEAR, SIZES) == dict(zip(gone.tolist(), expected, strict=True))
    sizes = np.bincount(label)
    largest = sorted(np.flatnonzero(sizes > 1), key=lambda row: (-sizes[row], row))[:20]
    (last,) = receipts["near-0"]
    assert last.facts == {
        "docs": N,
        "clusters": int((sizes > 1).sum()),
        "largest": [[int(ids[row]), int(sizes[row])] for row in largest],
    }


@pytest.mark.long_but("4GiB-2-16", "1.7MiB-1-1")  # each value once
@pytest.mark.parametrize(("groups", "ranges"), [(1, 1), (2, 16)])
@pytest.mark.parametrize("budget", ["4GiB", "1.7MiB"])
def test_exact_duplicates_are_those_a_dictionary_finds(
    tmp_path, budget, groups, ranges, monkeypatch
):
    parted(monkeypatch, groups, ranges)
    signed, digests = documents(N, families=4_000, same=20_000)
    job = job_of(tmp_path, (EXACT,), budget)
    ids = write_shards(job, (EXACT,), SIZES, signed, digests)
    receipts = find(job, (EXACT,), SIZES)
    first, expected = {}, {}
    for row, digest in enumerate(map(tuple, digests.tolist())):
        of = first.setdefault(digest, row)
        if of != row:
            expected[row] = int(ids[of]), 1.0
    assert found(job, EXACT, SIZES) == expected
    assert len(receipts["exact-0"]) == ranges
    assert max(r.facts["largest"][0][1] for r in receipts["exact-0"]) > 10_000


def test_documents_without_words_and_those_gone_before_are_no_candidates(tmp_path):
    signed, digests = documents(N, families=4_000)
    signed[:5_000] = EMPTY
    assert np.all(band_keys(signed[:5_000], NEAR.lsh()) == NO_KEY)
    job = job_of(tmp_path, (EXACT, NEAR))
    ids = write_shards(job, (EXACT, NEAR), SIZES, signed, digests)
    find(job, (EXACT, NEAR), SIZES)
    by_text, by_words = (found(job, step, SIZES) for step in (EXACT, NEAR))
    assert len(by_text) > 1_000
    assert len(by_words) > 1_000
    assert min(by_words) >= 5_000
    assert not set(by_text) & set(by_words)
    assert not set(ids[list(by_text)].tolist()) & {of for of, _ in by_words.values()}


def truth(step, keys, signed, ids, gone, n_earlier):
    """{row: (id of the document kept, similarity)}, row by row; rows of `gone` are not there."""
    there = [row for row in range(len(ids)) if row not in gone]
    if isinstance(step, NearDedup):
        bands = band_keys(signed, step.lsh())
        pairs = [
            (x, y)
            for x in there
            for y in there
            if x < y
            and np.any((bands[x] == bands[y]) & (bands[x] != NO_KEY))
            and np.mean(signed[x] == signed[y], dtype=np.float32) >= np.float32(step.verify)
        ]
        of = clusters(len(ids), np.array(pairs, np.int64).reshape(-1, 2))
    else:
        of, kept = np.arange(len(ids)), {}
        last = isinstance(step, SameUrl) and step.keep == "last"
        for row in reversed(there) if last else there:
            key = tuple(keys[row].tolist())
            if isinstance(step, ExactDedup) or any(key):
                of[row] = kept.setdefault(key, row)
    expected = {}
    for row in range(n_earlier, len(ids)):
        if of[row] != row:
            alike = {True: None, False: 1.0}[isinstance(step, SameUrl)]
            if isinstance(step, NearDedup):
                alike = float(np.float32(np.mean(signed[row] == signed[of[row]])))
            expected[row] = int(ids[of[row]]), alike
    return expected


SMALL = NearDedup(num_perm=8, bands=4, rows=2, verify=0.5, **ESTIMATED)


@settings(max_examples=examples(12, 6), deadline=None)
@given(
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=6),
    earlier=st.integers(0, 2),
    orders=st.sampled_from([(EXACT, SMALL), (SMALL, EXACT), (SameUrl(), EXACT, SMALL)]),
    keep=st.sampled_from(["first", "last"]),
    group_rows=st.integers(1, 40),
    range_rows=st.integers(1, 60),
    seed=st.integers(0, 1_000),
)
def test_any_corpus_in_any_parts_is_that_of_plain_loops(
    tmp_path_factory, sizes, earlier, orders, keep, group_rows, range_rows, seed
):
    """Documents of earlier runs stay, and those of this one that are like them go."""
    earlier = min(earlier, len(sizes))
    kind = "first" if earlier else keep
    steps = tuple(SameUrl(keep=kind) if isinstance(s, SameUrl) else s for s in orders)
    n, rng = sum(sizes), np.random.default_rng(seed)
    signed = rng.integers(0, 3, (n, 8), dtype=np.uint32) << 30
    signed[rng.random(n) < 0.1] = EMPTY
    keys = rng.integers(0, 6, (n, 2), dtype=np.uint64) << np.uint64(61)
    job = job_of(tmp_path_factory.mktemp("run"), steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "GROUP_ROWS", group_rows)
        patch.setattr(rows, "RANGE_ROWS", range_rows)
        patch.setattr(near, "FAN_IN", 2)
        ids = write_shards(job, steps, sizes, signed, keys, earlier=earlier, batch=5)
        find(job, steps, sizes, earlier=earlier)
        gone, n_earlier = set(), sum(sizes[:earlier])
        for step in steps:
            expected = truth(step, keys, signed, ids, gone, n_earlier)
            assert found(job, step, sizes, earlier=earlier) == expected
            gone |= set(expected)


def test_a_new_document_goes_for_one_of_an_earlier_run_and_never_the_other_way(
    tmp_path, monkeypatch
):
    """Two of an earlier run that are like each other both stay, though a new one joins them."""
    monkeypatch.setattr(rows, "GROUP_ROWS", 2)
    signed = np.arange(6 * 24, dtype=np.uint32).reshape(6, 24)
    signed[1] = signed[2] = signed[4] = signed[5] = signed[0]
    signed[1, :6] += 1_000  # like row 0 in 18 of 24 slots
    digests = np.stack([np.arange(6), np.arange(6)], axis=1).astype(np.uint64)
    digests[1], digests[5] = digests[0], digests[3]
    steps, sizes = (EXACT, NEAR), (2, 1, 3)
    job = job_of(tmp_path, steps)
    ids = write_shards(job, steps, sizes, signed, digests, earlier=1).tolist()
    receipts = find(job, steps, sizes, earlier=1)
    assert found(job, EXACT, sizes, earlier=1) == {5: (ids[3], 1.0)}
    assert receipts["exact-0"][0].facts == {"docs": 4, "clusters": 1, "largest": [[ids[3], 2]]}
    assert (len(receipts["keys-near-0"]), len(receipts["kept-near-0"])) == (2, 1)
    assert found(job, NEAR, sizes, earlier=1) == {2: (ids[0], 1.0), 4: (ids[0], 1.0)}
    assert receipts["near-0"][0].facts == {"docs": 4, "clusters": 1, "largest": [[ids[0], 3]]}
    assert [p.name for p in (job.out / "13-exact").iterdir()] == ["00001.arrow"]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (EXACT, "exact: needs 1.08 MiB of memory for 30,001 documents,"),
        (NEAR, "near: needs 871 KiB of memory for 30,001 documents,"),
    ],
)
def test_what_cannot_be_held_of_a_group_is_refused(tmp_path, step, message):
    job = job_of(tmp_path, (step,), "600KiB")
    write_shards(job, (step,), SIZES, *documents(N, families=4_000))
    with pytest.raises(ConfigError) as e:
        find(job, (step,), SIZES)
    budget = " run.memory_budget is 600 KiB; raise it or split the corpus"
    assert str(e.value) == message + budget


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({"slurm": {"memory": "350MB"}}, "run.slurm.memory leaves 47.7 MiB"),
        ({"slurm": {"memory": "350MB"}, "memory_budget": "50MB"}, "run.memory_budget is 47.7 MiB"),
        ({"slurm": {"memory": "8GB"}}, "run.memory_budget is 4 GiB"),
    ],
)
def test_what_a_job_has_too_little_of_is_told_by_its_key(tmp_path, run, told):
    job = job_of(tmp_path, (EXACT,))
    recipe = job.recipe.model_copy(update={"run": RunOptions(runner="slurm", **run)})
    corpus = rows.Corpus(replace(job, recipe=recipe), part_of((EXACT,)))
    with pytest.raises(ConfigError, match=f"{told}; raise it or split the corpus"):
        corpus.memory_left("exact", 10**9, 8)


def test_works_at_once_share_the_memory(tmp_path):
    for workers in (3, 5):
        job = job_of(tmp_path / str(workers), (NEAR,), "1.5MiB", workers)
        write_shards(job, (NEAR,), SIZES, *documents(N, families=4_000))
    find(job_of(tmp_path / "3", (NEAR,), "1.5MiB", 3), (NEAR,), SIZES)
    with pytest.raises(ConfigError, match="raise it, use fewer workers or split the corpus") as e:
        find(job_of(tmp_path / "5", (NEAR,), "1270KiB", 5), (NEAR,), SIZES)
    assert str(e.value).startswith("near: needs 1.25 MiB of memory for ")
