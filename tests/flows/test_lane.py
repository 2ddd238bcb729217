"""How many works make a bundle, and how many bundles are at a pool."""

from concurrent.futures import Future
from itertools import count
from threading import Event

import pytest

from tokenmill.flows.executing import Lane, Pace
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


class Held:
    """A pool that ends works once so many wait; check: nothing more is handed in."""

    bundles = False

    def __init__(self, n_workers, lanes, at_once):
        self.n_workers, self.lanes, self.at_once = n_workers, lanes, at_once
        self.waiting, self.handed = [], 0

    def submit(self, _job, works):
        self.handed += 1
        self.waiting.append((Future(), [Outcome(work=work) for work in works]))
        future = self.waiting[-1][0]
        if len(self.waiting) == self.at_once:
            for each, outcomes in self.waiting:
                each.set_result(outcomes)
            self.waiting.clear()
        return future

    def check(self):
        pytest.fail(f"{len(self.waiting)} wait, not {self.at_once}")


@pytest.mark.parametrize(
    ("workers", "lanes", "at_once"), [(1, 1, 2), (4, 1, 8), (4, 2, 4), (3, 2, 3), (1, 4, 1)]
)
def test_two_works_wait_for_each_worker_among_all_lanes_and_one_at_least(workers, lanes, at_once):
    pool, ahead = Held(workers, lanes, at_once), []
    noted = count(1)
    lane = Lane(pool, Pace(60.0), lambda _: ahead.append(pool.handed - next(noted)), Event())
    works = [Work(step="a", key=str(k), inputs="i", call=Done) for k in range(3 * at_once)]
    outcomes = lane.run(None, [[work] for work in works])
    assert sorted(int(o.work.key) for o in outcomes) == list(range(3 * at_once))
    assert max(ahead) == at_once - 1  # handed in and not told of, beside the one that is
