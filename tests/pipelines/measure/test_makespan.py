import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import estimate as reference
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.joint import makespan, stretch


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=40), st.integers(1, 12))
def test_it_is_the_reference_s_and_within_graham_s_bounds(seconds, cores):
    wall = makespan(seconds, cores)
    assert wall == pytest.approx(reference.makespan(seconds, cores))
    even, longest = sum(seconds) / cores, max(seconds)
    assert max(even, longest) <= wall * (1 + 1e-9)
    assert wall <= (even + (1 - 1 / cores) * longest) * (1 + 1e-9)


def test_one_shard_keeps_the_other_cores_idle():
    assert stretch([5.0], cores=8) == 8
    assert stretch([1.0] * 8, cores=8) == 1
    assert stretch([0.0], cores=8) == 1


def test_no_cores_are_refused():
    with pytest.raises(ConfigError, match="0 cores do no work; give 1 or more"):
        makespan([1.0], 0)
