"""Who leaves is like the one it names, which stays: as every pair, in order, has it."""

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.pipelines.keyed import find, found, job_of, verdict_bytes, write_texts
from tests.reference import stars as reference
from tests.strategies import examples
from tokenmill.dedup.same.minhash import signed_shingles
from tokenmill.pipelines.corpus import buckets, edges, rows, stars
from tokenmill.pipelines.corpus.equal import ExactDedup
from tokenmill.pipelines.corpus.near import NearDedup

# words are shingles: what two texts share is seen at a glance
SMALL = {"ngram": 1, "words": "whitespace", "num_perm": 8, "bands": 4, "rows": 2}


def near(**given):
    return NearDedup(**{**SMALL, **given})


def compared(step, shards, sources=None):
    """The sets of shingles of all documents, and their keys by band."""
    texts = [text for shard in shards for text in shard]
    _, shingles = signed_shingles(pa.array(texts, pa.string()), step.minhash())
    sets = [set(shingles.hashes[a:b].tolist()) for a, b in pairwise(shingles.offsets)]
    names = [sources[i] if sources else "docs" for i, shard in enumerate(shards) for _ in shard]
    columns = [
        step.key_columns(pa.RecordBatch.from_pydict({"text": [text]}), name)
        for text, name in zip(texts, names, strict=True)
    ]
    return sets, [[column[0].as_py() for column in of[-step.bands :]] for of in columns]


def truth(step, shards, *, earlier=0, sources=None, gone=()):
    """{row: (row, similarity)}; rows of `gone` are not there."""
    sets, keys = compared(step, shards, sources)
    for row in gone:
        keys[row] = [0] * step.bands
    n_earlier = sum(map(len, shards[:earlier]))
    return reference.leaving(sets, keys, repr(step.verify), n_earlier)


def as_verdicts(leaving, ids):
    return {row: (int(ids[of]), float(np.float32(j))) for row, (of, j) in leaving.items()}


def run(folder, step, shards, *, earlier=0, sources=None, packed=False, budget="64MiB", workers=1):
    job = job_of(folder, (step,), budget, workers)
    made = write_texts(
        job, (step,), shards, earlier=earlier, batch=7, sources=sources, packed=packed
    )
    sizes = [len(shard) for shard in shards]
    receipts = find(job, (step,), sizes, earlier=earlier)
    return found(job, step, sizes, earlier=earlier), made, receipts


def slid(at, n=10):
    """Windows over one text: a chain, of which neighbours are alike and the ends are not."""
    return " ".join(f"w{i}" for i in range(at, at + n))


texts = st.one_of(
    st.integers(0, 12).map(slid),
    st.lists(st.sampled_from("abcdefg"), max_size=7).map(" ".join),
    st.just(""),
    st.just("a b c d"),
)


@settings(max_examples=examples(30), deadline=None)
@given(
    shards=st.lists(st.lists(texts, max_size=25), min_size=1, max_size=4),
    verify=st.sampled_from([0.0, 0.5, 0.6, 0.7, 1.0]),
    earlier=st.integers(0, 1),
    packed=st.booleans(),
    by_source=st.booleans(),
    crowded=st.sampled_from([2, 3, 5, 128]),
    at_once=st.integers(1, 40),
    keys_at_once=st.sampled_from([1, 60, 1 << 20]),
    parts=st.tuples(st.integers(1, 40), st.integers(1, 60)),
)
@example(
    [["a b c d", "a b c d e", "a b c d e f"], ["a b c d"]], 0.5, 1, True, False, 128, 9, 1, (7, 9)
)
@example([[slid(i) for i in range(40)]], 0.6, 0, False, False, 2, 3, 80, (7, 9))
def test_any_corpus_in_any_parts_is_that_of_every_pair_in_order(
    tmp_path_factory,
    shards,
    verify,
    earlier,
    packed,
    by_source,
    crowded,
    at_once,
    keys_at_once,
    parts,
):
    earlier = min(earlier, len(shards))
    sources = [str(i % 2) for i in range(len(shards))] if by_source else None
    step = near(verify=verify, scope="source" if by_source else "corpus")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stars, "MAX_BUCKET", crowded)
        patch.setattr(buckets, "MAX_BUCKET", crowded)
        patch.setattr(buckets, "KEYS_AT_ONCE", keys_at_once)
        patch.setattr(stars, "LED", 1_000)
        patch.setattr(stars, "MOST_ROUNDS", 60)
        patch.setattr(stars, "FAN_IN", 2)
        patch.setattr(buckets, "MEMBERS", at_once)
        patch.setattr(stars, "MOST_PAIRS", at_once)
        patch.setattr(stars, "MOST_TAKEN", at_once)
        patch.setattr(edges, "EDGE_BYTES", (64 << 20) // 4 // at_once)
        patch.setattr(edges, "SHINGLE_BYTES", (32 << 20) // 4 // at_once)
        patch.setattr(edges, "PAIRS_AT_ONCE", 5)
        patch.setattr(rows, "GROUP_ROWS", parts[0])
        patch.setattr(rows, "RANGE_ROWS", parts[1])
        made, ids, receipts = run(
            tmp_path_factory.mktemp("run"),
            step,
            shards,
            earlier=earlier,
            sources=sources,
            packed=packed,
        )
    expected = truth(step, shards, earlier=earlier, sources=sources)
    assert made == as_verdicts(expected, ids)
    assert not {of for of, _ in expected.values()} & expected.keys()
    told = step.told(None, 0, [r for some in receipts.values() for r in some])["duplicates"]
    assert told["bands"]["given_up"] == 0
    assert told["near"]["clusters"] == len({of for of, _ in expected.values()})


def test_copies_take_one_comparison_each_and_one_document_stays(tmp_path):
    shards = [["a b c d e f"] * 3_000, ["a b c d e f"] * 2_000]
    made, ids, receipts = run(tmp_path, near(), shards)
    assert made == dict.fromkeys(range(1, 5_000), (int(ids[0]), 1.0))
    for step, candidates in {"bands-0": 4_999, "crowded-0": 0}.items():
        assert [receipt.facts["candidates"] for receipt in receipts[step]] == [candidates]


def test_a_similarity_that_is_verify_to_the_last_shingle_is_one(tmp_path):
    """7 of 10 words; 0.7 as a float is less than 7 / 10."""
    shards = [["a b c d e f g h i j", "a b c d e f g", "a b c d e f g k l m n"]]
    alike = NearDedup(**{**SMALL, "num_perm": 64, "bands": 64, "rows": 1})
    assert run(tmp_path, alike, shards)[0] == {1: (0, float(np.float32(0.7)))}


def test_stars_keep_the_first():
    with pytest.raises(ValueError, match="keep: leading is of cluster: components"):
        near(keep="leading")


def windows(n):
    """n windows over one text, which crowd: of each 20 that follow each other, all are alike."""
    return [slid(i % 60, 40) for i in range(n)]


def test_what_is_given_up_is_told_and_no_other_is_taken_for_a_copy(tmp_path, monkeypatch):
    monkeypatch.setattr(buckets, "MAX_BUCKET", 8)
    monkeypatch.setattr(stars, "LED", 1)
    common = [f"c{i}" for i in range(20)]  # two in three words of any two; crowds by itself
    own = [[f"{n}-{i}" for i in range(10)] for n in range(100)]
    docs = [" ".join([*common, *words, more]) for more in "xy" for words in own]
    step, shards = near(verify=0.9), [docs]
    made, _, receipts = run(tmp_path, step, shards)
    told = step.told(None, 0, [r for some in receipts.values() for r in some])["duplicates"]
    assert told["bands"]["given_up"] > 0
    whole = truth(step, shards)
    assert 0 < len(made) < len(whole)
    assert all(alike >= 0.9 for _, alike in made.values())
    sets, keys = compared(step, shards)
    sizes = [Counter(column) for column in zip(*keys, strict=True)]
    small = [
        {x, y}
        for x, y in combinations(range(200), 2)
        if any(a == b and of[a] <= 8 for a, b, of in zip(keys[x], keys[y], sizes, strict=True))
        and len(sets[x] & sets[y]) >= 0.9 * len(sets[x] | sets[y])
    ]
    assert len(small) > 50
    assert all(pair & made.keys() for pair in small), "pairs of small buckets are given up"


# each value once
@pytest.mark.long_but("exact-stars", "estimate-components", "estimate-leading")
@pytest.mark.parametrize(
    "kind",
    [
        {"cluster": "stars"},
        {"cluster": "components"},
        {"cluster": "components", "keep": "leading"},
    ],
    ids=["stars", "components", "leading"],
)
@pytest.mark.parametrize("similarity", ["exact", "estimate"])
def test_memory_workers_and_parts_change_no_byte(tmp_path, monkeypatch, similarity, kind):
    step = near(similarity=similarity, verify=0.6, **kind)
    docs = windows(200)
    np.random.default_rng(3).shuffle(docs)
    for module in (stars, buckets):
        monkeypatch.setattr(module, "MAX_BUCKET", 60)
    shards, told = [docs[:90], [], docs[90:]], []
    for name, budget, workers, group_rows, range_rows in [
        ("whole", "1GiB", 1, 10_000, 10_000),
        ("little", "1.5MiB", 1, 10_000, 10_000),
        ("parts", "64MiB", 2, 95, 30),
    ]:
        monkeypatch.setattr(rows, "GROUP_ROWS", group_rows)
        monkeypatch.setattr(rows, "RANGE_ROWS", range_rows)
        monkeypatch.setattr(edges, "SHINGLE_BYTES", 2_000 if name == "little" else 16)
        made, *_ = run(tmp_path / name, step, shards, budget=budget, workers=workers)
        job = job_of(tmp_path / name, [step])
        told.append((made, verdict_bytes(job, step)))
    assert len(told[0][0]) > 150
    assert told[1:] == [told[0]] * 2


@pytest.mark.parametrize("steps", ["exact, near", "near, exact"])
def test_the_named_one_stays_at_this_step_whatever_stands_beside_it(tmp_path, steps):
    """A copy that exact takes out before is not there; what exact takes behind has its receipt."""
    step, docs = near(verify=0.6), windows(300)
    by_name = {"exact": ExactDedup(), "near": step}
    order = tuple(by_name[name] for name in steps.split(", "))
    job = job_of(tmp_path, order, "64MiB")
    ids = write_texts(job, order, [docs])
    find(job, order, [300])
    gone, copies = found(job, step, [300]), found(job, by_name["exact"], [300])
    before = copies if steps == "exact, near" else ()
    assert gone == as_verdicts(truth(step, [docs], gone=before), ids)
    assert not {of for of, _ in gone.values()} & {int(ids[row]) for row in gone}
