"""How many works make a bundle."""

import pytest

from tokenmill.flows.pools.lane import Pace
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Outcome, Work


def ended(step, seconds, *, fresh=True):
    work = Work(step=step, key="k", inputs="i", call=Done)
    receipt = Receipt(step=step, key="k", inputs="i", seconds=(seconds, seconds))
    return Outcome(work=work, receipt=receipt, fresh=fresh)


@pytest.mark.parametrize(
    ("seconds", "works"), [([], 1), ([2.0], 30), ([1.0, 3.0], 30), ([90.0], 1), ([0.0], 1)]
)
def test_as_many_as_take_the_time(seconds, works):
    pace = Pace(60.0)
    for each in seconds:
        pace.note(ended("a", each))
    assert pace.works("a") == works
    assert pace.works("another") == 1


def test_what_was_found_done_says_nothing():
    pace = Pace(60.0)
    pace.note(ended("a", 0.001, fresh=False))
    pace.note(Outcome(work=Work(step="a", key="k", inputs="i", call=Done), error=OSError()))
    assert pace.works("a") == 1
