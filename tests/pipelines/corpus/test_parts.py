"""Keys of a corpus in parts: every row once, equal keys together, within the room there is."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.keyed import rows_of
from tokenmill.pipelines.corpus.parts import KeyColumn, Room, parts

BATCH = 7


def column_of(keys, wanted):
    """A key column in batches of 7 rows, two of them a shard."""
    flat = pa.array(keys.reshape(-1))
    values = flat if keys.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, keys.shape[1])
    whole = pa.record_batch({"key": values})
    batches = [whole.slice(at, BATCH) for at in range(0, len(keys), BATCH)]
    rows = rows_of([batches[at : at + 2] for at in range(0, len(batches), 2)])
    return KeyColumn(rows, "key", lambda start, k: wanted[start : start + len(k)], keys.shape[1:])


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
    for part in parts(column_of(keys, wanted), Room(budget, 3, 2)):
        assert np.all(part.rows[1:] > part.rows[:-1])
        expected = keys[part.rows]
        if part.all_equal:
            assert np.all(expected == part.keys[0])
        else:
            assert np.array_equal(part.keys, expected)
            assert 3 * len(part.rows) <= budget or np.all(expected == expected[0])
        seen += part.rows.tolist()
        keys_seen.append({tuple(np.atleast_1d(k).tolist()) for k in expected})
    assert sorted(seen) == np.flatnonzero(wanted).tolist()
    assert sum(map(len, keys_seen)) == len(set().union(*keys_seen))


@pytest.mark.parametrize("shape", [(0,), (0, 2)])
def test_no_documents_no_parts(shape):
    column = column_of(np.empty(shape, np.uint64), np.empty(0, bool))
    assert list(parts(column, Room(100, 3, 2))) == []
