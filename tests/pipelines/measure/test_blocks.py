import numpy as np
import pytest

from tokenmill.pipelines.measure.drawn import between


def test_what_lies_between_two_numbers_has_them_as_its_interval():
    found = between(2.0, 200.0, order=0)
    assert found.value == pytest.approx(20)
    assert found.limits() == pytest.approx((2, 200), rel=1e-5)
    assert between(2.0, 200.0, order=0, value=3.0).value == 3
    assert between(7.0, 7.0, order=0).figure().draws == ()


def test_two_that_are_drawn_apart_do_not_go_together():
    one, other = (np.log(between(1.0, 9.0, order=order).draws) for order in (0, 1))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.2
