"""Keys by range and in parts: every row once, equal keys together, within the room there is."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokenmill.pipelines.corpus import shuffle
from tokenmill.pipelines.corpus.shuffle import (
    Range,
    RangeWriter,
    Room,
    parts,
    row_schema,
    turned,
)
from tokenmill.pipelines.storage.files import arrow_file

BATCH = 7
FAR = (1 << 40) + 3  # where rows may begin


class Column:
    """Keys of rows in memory, 7 at a time: those that are wanted."""

    def __init__(self, keys, wanted):
        self._keys, self._wanted = keys, wanted
        self.n, self.shape = len(keys), keys.shape[1:]

    def batches(self):
        for at in range(0, self.n, BATCH):
            here = np.flatnonzero(self._wanted[at : at + BATCH]) + at
            yield here + FAR, shuffle.words(self._keys[here])


few = st.sampled_from([0, 1, 1 << 63, (1 << 63) + 1, 2**64 - 1])
words = st.one_of(few, few, st.integers(0, 2**64 - 1))


@given(
    st.lists(st.tuples(words, words), max_size=60),
    st.booleans(),
    st.integers(0, 200),
    st.randoms(),
)
@example([(5, 6)] * 30 + [(5, 7)] * 3, True, 40, None)
def test_every_wanted_row_is_in_one_part_with_all_of_its_key(pairs, two_words, budget, random):
    keys = np.array(pairs, np.uint64).reshape(-1, 2)
    keys = keys if two_words else keys[:, 0].copy()
    draw = np.random.default_rng(random.getrandbits(32) if random else 0)
    wanted = draw.random(len(keys)) < 0.8
    seen, keys_seen = [], []
    for part in parts(Column(keys, wanted), Room(budget, 3, 2)):
        assert np.all(part.rows[1:] > part.rows[:-1])
        expected = keys[part.rows - FAR]
        if part.all_equal:
            assert np.all(expected == part.keys[0])
        else:
            assert np.array_equal(part.keys, expected)
            assert 3 * len(part.rows) <= budget or np.all(expected == expected[0])
        seen += (part.rows - FAR).tolist()
        keys_seen.append({tuple(np.atleast_1d(k).tolist()) for k in expected})
    assert sorted(seen) == np.flatnonzero(wanted).tolist()
    assert sum(map(len, keys_seen)) == len(set().union(*keys_seen))


@pytest.mark.parametrize("shape", [(0,), (0, 2)])
def test_no_documents_no_parts(shape):
    column = Column(np.empty(shape, np.uint64), np.empty(0, bool))
    assert list(parts(column, Room(100, 3, 2))) == []


@given(
    st.lists(st.lists(st.tuples(words, words), max_size=30), min_size=1, max_size=4),
    st.integers(0, 3),
    st.sampled_from([1, 2]),
    st.integers(1, 12),
)
def test_what_groups_write_comes_back_by_range(tmp_path_factory, groups, bits, n_words, chunk_rows):
    """Rows and columns as they were, each key in the range of its first bits, in row order."""
    folder, schema = (
        tmp_path_factory.mktemp("keys"),
        row_schema(n_words, pa.field("of", pa.int64())),
    )
    firsts = (FAR + np.cumsum([0, *map(len, groups)])).tolist()
    paths, keys, column = [], {}, {}
    for group, pairs in enumerate(groups):
        paths.append(folder / str(group))
        of_group = np.array(pairs, np.uint64).reshape(-1, 2)[:, :n_words]
        of_group = of_group[:, 0].copy() if n_words == 1 else of_group.copy()
        others = np.arange(len(pairs)) * 3 - group
        keys |= {firsts[group] + row: np.atleast_1d(k).tolist() for row, k in enumerate(of_group)}
        column |= {firsts[group] + row: of for row, of in enumerate(others.tolist())}
        with arrow_file(paths[-1], schema) as writer:
            by_range = RangeWriter(writer, schema, bits, chunk_rows)
            half = len(pairs) // 2
            for at in (slice(half), slice(half, None)):
                rows = np.arange(len(pairs), dtype=np.uint32)[at]
                by_range.write(of_group[at].copy(), rows, others[at])
            by_range.flush()
    seen = []
    for number in range(1 << bits):
        of_range = Range(paths, bits, number, firsts=firsts[:-1], n_words=n_words)
        batches = list(of_range.batches())
        rows = [row for some, _ in batches for row in some.tolist()]
        for some, of_batch in batches:
            first = turned(of_batch[:, 0], 64 - bits) if bits else of_batch[:, 0]
            for row, word, key in zip(some.tolist(), first.tolist(), of_batch, strict=True):
                assert [word, *key[1:].tolist()] == keys[row]
                assert word >> (64 - bits) == number
        assert rows == sorted(rows)
        assert of_range.n == len(rows)
        wanted = np.array(rows[::-2] + rows[:1], np.int64)
        assert of_range.take("of", wanted).tolist() == [column[row] for row in wanted.tolist()]
        seen += rows
    assert sorted(seen) == sorted(keys)
