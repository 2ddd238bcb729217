import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference import containment as reference
from tokenmill.dedup.arrays import text_buffers
from tokenmill.dedup.overlap import own
from tokenmill.dedup.overlap.own import Own

some_text = st.text("abcdäж ,", max_size=30)


@given(
    st.lists(st.tuples(some_text, st.integers(0, 3), st.booleans()), min_size=1, max_size=8),
    st.lists(some_text, min_size=1, max_size=4),
    st.sets(st.integers(0, 3)),
    st.sampled_from([1, 1 << 22]),
    st.data(),
)
@example(  # its letters stand apart
    [("aaaa", 0, True), ("aaaa\nbcdbbddcab", 0, False)],
    ["bcdbbd,aaaaaaaadcab"],
    *(set(), 1),
    None,
)
def test_shares_of_own_windows_equal_the_reference(rows, docs, dense, part_bytes, data):
    texts, items, is_context = (list(column) for column in zip(*rows, strict=True))
    contexts = {i for i, one in enumerate(is_context) if one}
    column = pa.array(docs, pa.large_string())
    buffer, offsets = text_buffers(column)
    asked = [(t, d) for t in range(len(texts)) for d in range(len(docs))]
    if data is not None:
        asked = data.draw(st.lists(st.sampled_from(asked), max_size=9))
    of = np.array(asked, np.int64).reshape(-1, 2)
    bounds = offsets[of[:, 1]], offsets[of[:, 1] + 1]
    by = np.where(np.isin(items, list(dense)), 2, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own, "PART_BYTES", part_bytes)
        made = Own.of(pa.array(texts, pa.string()), np.array(items), np.array(is_context), by)
    got = made.shares(buffer, bounds, (of[:, 0], *bounds))
    expected = [
        reference.own_share(
            docs[d].encode(), t, texts, items, contexts, 3 if items[t] in dense else 4
        )
        for t, d in asked
    ]
    assert got.tolist() == expected
    assert (made.widths == own.CONTEXT).tolist() == is_context


def test_only_what_stands_near_a_stretch_is_looked_at():
    texts = pa.array(["passage", "passage\nquestion"])
    made = Own.of(texts, np.zeros(2, np.int64), np.array([True, False]), np.ones(2, np.int64))
    doc = "passage, then for as long as it question, and question"
    buffer, offsets = text_buffers(pa.array([doc]))
    shares = [
        made.shares(buffer, (offsets[:1], offsets[1:]), tuple(np.array([n]) for n in (1, 0, end)))
        for end in (7, 39)
    ]
    assert shares[0] == [0]
    assert shares[1] > [0.5]


@pytest.mark.parametrize("seed", range(16))
def test_shares_near_stretches_equal_the_reference(seed, monkeypatch):
    """Many items of several texts, each item by itself or all; stretches anywhere in documents."""
    monkeypatch.setattr(own, "PART_BYTES", 1 << seed % 2 * 20)
    rng = np.random.default_rng(seed)
    docs = ["".join(rng.choice([*"abc ,"], 40)) for _ in range(3)]
    cuts = rng.integers(0, 40, (12, 2))
    texts = [docs[n % 3][a : a + 4 + b % 25] for n, (a, b) in enumerate(cuts.tolist())]
    items, is_context = rng.integers(3, 7, 12), rng.random(12) < 0.4
    dense = rng.random(7) < 0.5
    made = Own.of(pa.array(texts), items, is_context, np.where(dense[items], 2, 1))
    data, offsets = text_buffers(pa.array(docs, pa.large_string()))
    of, t = rng.integers(0, 3, 60), rng.integers(0, 12, 60)
    ends = offsets[of][:, None] + np.sort(rng.integers(0, 41, (60, 2)), axis=1)
    starts, stops = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    got = made.shares(data, (offsets[of], offsets[of + 1]), (t, starts, stops))
    contexts = set(np.flatnonzero(is_context).tolist())
    asked_of = set(items[is_context].tolist())
    for i in range(60):
        size, d = stops[i] - starts[i], of[i]
        near = data[max(starts[i] - size, offsets[d]) : min(stops[i] + size, offsets[d + 1])]
        own_size = 3 if dense[items[t[i]]] else 4
        wanted = reference.own_share(
            near.tobytes(), t[i], texts, items.tolist(), contexts, own_size
        )
        assert got[i] == (wanted if made.widths[t[i]] > 0 else 1.0)
    assert {int(n) for n in items[made.widths != 0]} == asked_of
