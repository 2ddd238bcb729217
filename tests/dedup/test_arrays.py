import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tokenmill.dedup.arrays import order_of, parts


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
