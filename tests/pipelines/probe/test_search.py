"""The count that is found, against the one that is true."""

import time

from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.probe.demand import search

LONG = float("inf")


@given(
    fed=st.integers(0, 5000),
    need=st.integers(1, 64),
    first=st.integers(1, 2000),
    most=st.integers(1, 4096),
)
def test_the_true_count_to_a_twentieth(fed, need, first, most):
    found = search(
        lambda n: 1.0 if n <= fed else 0.5, need=need, first=first, most=most, until=LONG
    )
    if fed >= most:
        assert (found.supported, found.failing, found.ended) == (most, None, "most")
        return
    assert found.ended == "found"
    assert found.supported <= fed < found.failing <= most
    assert found.failing - found.supported <= max(1, found.supported // 20)
    assert len(found.tried) < 40


def test_the_limit_is_ninety_percent():
    found = search(lambda n: 0.9 if n == 1 else 0.8999, need=1, first=1, most=8, until=LONG)
    assert (found.supported, found.failing) == (1, 2)


def test_time_that_is_up_leaves_what_was_found():
    over = time.perf_counter() - 1
    found = search(lambda _: 1.0, need=8, first=8, most=1024, until=over)
    assert (found.supported, found.failing, found.ended) == (8, None, "time")
    assert [t.accelerators for t in found.tried] == [8]


def test_what_is_needed_is_tried_as_soon_as_more_is_too_many():
    found = search(lambda n: 1.0 if n <= 20 else 0.1, need=8, first=1000, most=4000, until=LONG)
    assert [t.accelerators for t in found.tried][:3] == [1000, 8, 504]
    assert found.supported == 20
