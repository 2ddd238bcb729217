"""How far a run is, in numbers and in words."""

import time
from collections import Counter
from dataclasses import replace

import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.runs.receipt import Receipt, note_failure, save_receipt
from tokenmill.pipelines.runs.standing import Standing, begin, bytes_in, in_words, look
from tokenmill.pipelines.runs.work import Coming, Outcome, Phase, Work


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
        "25% of the run, 1.5 MB/s of text, 3,000 documents kept, 2,000 removed, 1,000 failed,"
        " about 5 min left; to come: b"
    )
    slow, told = standing(n_bytes=2_499_999, fresh=0.0), standing(n_bytes=2_500_000, fresh=0.0)
    assert (slow.in_words(), told.in_words()) == (
        "25% of the run; to come: b",
        "25% of the run, 0.1 MB/s of text; to come: b",
    )
    of_one = {"fresh": 0.0, "behind": ()}
    assert standing(removed=1, **of_one).in_words() == (
        "50% of the run, 0 documents kept, 1 removed"
    )
    assert standing(failed=Counter(odd=1), **of_one).in_words() == (
        "50% of the run, 0 documents kept, 0 removed, 1 failed"
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


def receipt(key, seconds=1.0, **stats):
    """Of a work that read documents; stats: as of `StageStats`."""
    told = StageStats(**{"docs_in": 10, "docs_out": 6, "bytes_in": 1000, "bytes_out": 1000,
                         "removed": {"short": 3}, "failed": {"odd": 1}} | stats)  # fmt: skip
    return Receipt(step="pass-0", key=key, inputs="i", stats=(("read", told),),
                   seconds=(seconds, 0.5))  # fmt: skip


def phase(n, done=()):
    works = tuple(Work(step="pass-0", key=str(i), inputs="i", call=print) for i in range(n))
    return Phase(name="documents", works=works, done=done, cost=12.0, behind=(Coming("b", 4.0),))


def test_a_standing_counts_works_as_they_end():
    found = Standing(passed=4.0)
    found.start(phase(3, (receipt("a"),)), 4)
    assert (found.phase, found.works, found.done, found.cost) == ("documents", 4, 1, 12.0)
    assert (found.kept, found.removed, found.failed["odd"]) == (6, 3, 1)
    assert (found.share, found.fresh, found.n_bytes) == ((4 + 3) / 20, 0.0, 0)
    work = phase(1).works[0]
    found.advance(Outcome(work=work, receipt=receipt("b"), fresh=True))
    assert (found.done, found.fresh, found.n_bytes, found.kept) == (2, 3.0, 1000, 12)
    found.advance(Outcome(work=work, receipt=receipt("c")))
    found.advance(Outcome(work=work, error=ValueError()))
    found.advance()
    assert (found.done, found.fresh, found.n_bytes, found.kept) == (5, 3.0, 1000, 18)
    found.end()
    assert (found.passed, found.cost, found.done, found.share) == (16.0, 0.0, 4, 16 / 20)
    pieces = receipt("p", docs_created=2, docs_out=8)
    found.count(replace(pieces, stats=(("cut", pieces.stats[0][1]),)))
    assert found.kept == 18 + 2 - 3 - 1
    assert bytes_in(pieces) == 1000
    assert bytes_in(replace(pieces, stats=())) == 0


def test_a_run_is_looked_at_by_what_its_directory_has(tmp_path):
    assert look(tmp_path) is None
    before = time.time()
    begin(tmp_path, Standing(passed=4.0, kept=100), phase(3, (receipt("d"),)))
    for key, seconds in (("d", 2.0), ("0", 9.0), ("1", 5.0)):
        save_receipt(tmp_path, receipt(key, seconds))
    for key in ("1", "2"):
        note_failure(tmp_path, phase(3).works[int(key)], "ValueError: x")
    seen = look(tmp_path)
    found = seen.standing
    assert (found.works, found.done, found.behind) == (4, 3, (Coming("b", 4.0),))
    assert (found.kept, found.removed, found.failed["odd"]) == (100 + 18, 9, 3)
    assert (found.n_bytes, found.fresh) == (2000, 6.0)  # of two that were not found done
    assert seen.longest_s == 9.0
    assert seen.failures == (("pass-0", "2", "ValueError: x"),)
    assert 0 <= seen.age_s < 600
    assert before - 600 < found.at <= time.time()
    (tmp_path / "receipts" / "standing.json").write_text("{")
    with pytest.raises(ConfigError, match=r"standing.json: not JSON \("):
        look(tmp_path)
