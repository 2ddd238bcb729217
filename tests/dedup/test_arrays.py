import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.dedup.arrays import parts


@given(st.lists(st.integers(0, 9)), st.integers(1, 12))
def test_parts_are_all_rows_in_order_and_not_too_many(sizes, most):
    made = [sizes[part] for part in parts(np.array(sizes, np.int64), most)]
    assert [size for part in made for size in part] == sizes
    assert all(part and sum(part[:-1]) < most for part in made)
    assert len(made) <= sum(sizes) // most + 1
