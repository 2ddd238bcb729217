"""How far a run is, in numbers and in words."""

from collections import Counter

import pytest

from tokenmill.pipelines.runs.standing import Standing, in_words
from tokenmill.pipelines.runs.work import Coming


def standing(**told):
    """Half of a phase of 100 is done, another of 100 is behind; 100 s since the run began."""
    known = {"phase": "a", "works": 10, "done": 5, "cost": 100.0, "behind": (Coming("b", 100.0),),
             "fresh": 50.0, "began": 1000.0, "phase_began": 1050.0, "at": 1100.0}  # fmt: skip
    return Standing(**known | told)


@pytest.mark.parametrize(
    ("told", "share"),
    [
        ({}, 0.25),
        ({"passed": 200.0}, 0.625),
        ({"done": 10, "behind": ()}, 1.0),
        ({"works": 0, "done": 0}, 0.0),
        ({"cost": 0.0, "behind": ()}, None),
    ],
)
def test_the_share_of_a_run_is_by_cost(told, share):
    assert standing(**told).share == share


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ({}, 50 * 3 * 100 / 50),
        ({"fresh": 25.0}, 50 * 3 * 100 / 25),  # half of it was found done
        ({"passed": 200.0, "fresh": 250.0}, 150 * 100 / 250),
        ({"fresh": 0.0}, None),
        ({"done": 10, "behind": ()}, None),
        ({"at": 1005.0}, 15.0),
        ({"at": 1004.9}, None),
        ({"behind": (Coming("b", 2400.0),)}, 50 * 49 * 100 / 50),
        ({"behind": (Coming("b", 2401.0),)}, None),
    ],
)
def test_the_time_left_is_guessed_at_once_enough_is_done(told, left):
    """5 s, and 2 % of the run."""
    assert standing(**told).seconds_left() == (None if left is None else pytest.approx(left))


def test_text_is_told_by_the_second_of_a_phase():
    assert standing().bytes_per_s() is None
    assert standing(n_bytes=10**6).bytes_per_s() == 20_000
    assert standing(n_bytes=10**6, phase_began=1100.0).bytes_per_s() is None


def test_a_standing_in_words():
    gone = Counter(invalid_json=1000)
    full = standing(kept=3000, removed=2000, failed=gone, n_bytes=75 * 10**6)
    assert full.in_words() == (
        "25% of the run, 1.5 MB/s of text, 3,000 documents kept, 3,000 removed, about 5 min left;"
        " to come: b"
    )
    slow, told = standing(n_bytes=2_499_999, fresh=0.0), standing(n_bytes=2_500_000, fresh=0.0)
    assert (slow.in_words(), told.in_words()) == (
        "25% of the run; to come: b",
        "25% of the run, 0.1 MB/s of text; to come: b",
    )
    assert standing(removed=1, fresh=0.0, behind=()).in_words() == (
        "50% of the run, 0 documents kept, 1 removed"
    )


@pytest.mark.parametrize(
    ("n", "told"),
    [(1, "1"), (5, "1, 2, 3, 4, 5"), (6, "1, 2, 3, 4, 2 more"), (9, "1, 2, 3, 4, 5 more")],
)
def test_four_stages_that_come_are_named_or_five(n, told):
    behind = tuple(Coming(str(i + 1), 1.0) for i in range(n))
    assert standing(behind=behind).in_words().endswith(f"; to come: {told}")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "10 s"), (14, "10 s"), (16, "20 s"), (89, "90 s"), (90, "2 min"), (149, "2 min"),
        (151, "3 min"), (4859, "81 min"), (4860, "1.4 h"), (7200, "2.0 h"),
    ],
)  # fmt: skip
def test_a_time_in_words(seconds, told):
    assert in_words(seconds) == told
