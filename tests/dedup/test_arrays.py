from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokenmill.dedup.arrays import large_strings, order_of, parts, text_buffers


@given(st.lists(st.integers(0, 9)), st.integers(1, 12))
def test_parts_are_all_rows_in_order_and_not_too_many(sizes, most):
    made = [sizes[part] for part in parts(np.array(sizes, np.int64), most)]
    assert [size for part in made for size in part] == sizes
    assert all(part and sum(part[:-1]) < most for part in made)
    assert len(made) <= sum(sizes) // most + 1


@given(st.lists(st.integers(0, 9) | st.integers(0, 2**63 - 1), max_size=40))
@example([1 << 61, 0])  # two bits for the places: the first number that has no room beside them
def test_order_is_that_of_a_stable_sort_however_large_the_numbers(numbers):
    rows = np.array(numbers, np.int64)
    assert order_of(rows).tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_text_column_is_viewed_where_it_begins_and_ends(kind):
    texts = ["ä", "", "bc", "東京", "d"]
    for start, stop in combinations(range(6), 2):
        column = pa.array(texts, kind)[start:stop]
        data, offsets, *_ = text_buffers(column)
        assert offsets.dtype == np.int64
        assert not data.flags.writeable
        assert not offsets.flags.writeable
        told = [data[a:b].tobytes().decode() for a, b in pairwise(offsets)]
        assert told == texts[start:stop]
        assert text_buffers(column).lengths.tolist() == [len(t.encode()) for t in told]
        assert large_strings(data, offsets).to_pylist() == told
    assert text_buffers(pa.array([], kind)).offsets.tolist() == [0]


def test_what_is_no_text_is_refused_with_its_way_out():
    with pytest.raises(TypeError, match="^expected a string or large_string column, got int64$"):
        text_buffers(pa.array([1]))
    with pytest.raises(ValueError, match="^text column has 2 nulls in 3 documents; fill them with"):
        text_buffers(pa.array([None, "a", None]))
