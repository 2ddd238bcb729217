"""What passes, and what is refused a PASS."""

from dataclasses import replace

import pytest

from tokenmill.pipelines.probe.cache import Sight
from tokenmill.pipelines.probe.checkpoints import CheckpointRates
from tokenmill.pipelines.probe.demand import SearchResult
from tokenmill.pipelines.probe.report import (
    Verdict,
    _depth_json,
    _limit,
    judge,
    judge_both,
    judge_restart,
    judge_writes,
    spread,
    stored,
    worst,
)
from tokenmill.pipelines.probe.team import Run, together

SEEN, UNSEEN = Sight(True, ""), Sight(False, "/data is nfs4: what it caches is not told")
IN_MEMORY = Sight(False, "/tmp is tmpfs: what lies there lies in memory", is_memory=True)
NOT_STORED = (
    "/tmp is tmpfs: what lies there lies in memory; give a folder on the storage that is to be"
    " judged"
)


def found(supported, failing=None, ended="found"):
    return SearchResult(supported=supported, failing=failing, ended=ended, tried=())


def a_run(device_bytes=1000, *, steps=10, elapsed_s=10.0, useful_bytes=1000):
    return Run(
        steps=steps,
        elapsed_s=elapsed_s,
        compute_s=float(steps),
        step_s=1.0,
        step_bytes=80,
        read_s=elapsed_s + 1,
        whole_s=elapsed_s + 2,
        logical_bytes=1000,
        useful_bytes=useful_bytes,
        device_bytes=device_bytes,
        requests=0,
        again=0,
        reads=10,
        cpu_s=1.0,
    )


def verdict(need=8, of=None, runs=None, sight=SEEN, dataset_bytes=10, memory=10, ahead=False):
    return judge(
        need=need,
        result=of or found(100, 104),
        runs=(a_run(),) * 5 if runs is None else runs,
        sight=sight,
        reads_ahead=ahead,
        dataset_bytes=dataset_bytes,
        memory=memory,
    )


def test_enough_from_the_device_passes():
    assert verdict() == Verdict(outcome="PASS", reason="100 accelerators are fed, 8 are needed")
    assert "at least 64" in verdict(of=found(64, ended="most")).reason


def test_too_few_fail_whatever_was_cached():
    got = verdict(need=101, runs=(a_run(0),) * 5, sight=UNSEEN, of=found(90, 95))
    assert got.outcome == "FAIL"
    assert got.reason == ("101 accelerators are needed: 90 keep a utilisation of 0.90, 95 do not")


@pytest.mark.parametrize("device_bytes", [0, 949])
def test_a_page_cache_that_served_is_refused(device_bytes):
    got = verdict(runs=(a_run(device_bytes),) * 5)
    assert got.outcome == "UNDECIDED"
    assert got.reason.startswith(f"the page cache served it: {device_bytes / 10:g} % of the")


def test_95_percent_from_the_device_is_enough():
    assert verdict(runs=(a_run(950),) * 5).outcome == "PASS"


def test_a_cache_that_nobody_can_see_is_refused_unless_the_dataset_is_too_large_for_it():
    got = verdict(sight=UNSEEN, dataset_bytes=49)
    assert got.outcome == "UNDECIDED"
    assert got.reason == (
        "cache share unknown: /data is nfs4: what it caches is not told; probe 5 times the host's"
        " memory: --fill 50B"
    )
    assert verdict(sight=UNSEEN, dataset_bytes=50).outcome == "PASS"


def test_memory_is_no_storage():
    assert verdict(sight=IN_MEMORY) == Verdict("UNDECIDED", NOT_STORED)


@pytest.mark.parametrize("sight", [SEEN, UNSEEN, IN_MEMORY])
def test_checkpoints_that_lie_in_memory_pass_nothing(sight):
    for told in (Verdict("PASS", "fast"), Verdict("UNDECIDED", "cached"), Verdict("FAIL", "slow")):
        is_told = sight is not IN_MEMORY or told.outcome == "FAIL"
        assert stored(told, sight) == (told if is_told else Verdict("UNDECIDED", NOT_STORED))


def test_rows_that_were_read_ahead_are_no_reads_of_the_device():
    small = verdict(ahead=True, dataset_bytes=9_999)
    assert small.outcome == "UNDECIDED"
    assert small.reason.startswith("the dataset is small: what was read ahead in a run is 10 % of")
    assert verdict(ahead=True, dataset_bytes=10_000).outcome == "PASS"
    assert verdict(dataset_bytes=9_999).outcome == "PASS"


def test_time_that_was_up_is_no_answer():
    few = verdict(runs=(a_run(),) * 4)  # of 12 s: five take 60 s, 0.35 of 171 s
    assert few == Verdict(
        outcome="UNDECIDED",
        reason="the time was up after 4 of 5 runs; give more --seconds, 190 at least",
    )
    assert verdict(runs=()).reason.endswith("0 of 5 runs; give more --seconds")
    assert "/data is nfs4" in verdict(runs=(), sight=UNSEEN).reason  # which more time cannot mend
    too_early = verdict(need=50, of=found(8, 100, "time"))
    assert too_early.outcome == "UNDECIDED"
    assert too_early.reason.startswith("the time was up before 50 accelerators could be tried")


def test_utilisation_excludes_the_first_step():
    assert a_run().au == 1.0
    assert a_run(elapsed_s=12.5).au == 0.8


def test_a_run_that_lives_on_its_first_fetch_is_not_fed():
    # 10 steps of 80 bytes and the first one in 11 s of compute 1 s each ask for 880 bytes
    assert a_run(useful_bytes=880).fed == 1.0
    assert a_run(useful_bytes=440).fed == pytest.approx(0.5)
    assert a_run(useful_bytes=440).kept == pytest.approx(0.5)


def test_runs_together():
    both = together([a_run(), a_run(steps=5, elapsed_s=20.0)])
    assert (both.steps, both.elapsed_s, both.step_bytes) == (15, 30.0, 80)
    assert together([a_run(), a_run(None)]).device_bytes is None


def turns(*rates):
    one = replace(a_run(steps=0), whole_s=1.0, cpu_s=0.0)
    return tuple(replace(one, useful_bytes=rate) for rate in rates)


@pytest.mark.parametrize(
    ("raw", "arrow", "full", "limit"),
    [
        ((100, 100), (100, 100), (90, 95), "storage"),
        ((304, 6197), (500, 500), (400, 400), "undecided"),
        ((1000, 2000), (100, 100), (90, 95), "memory map"),
        ((1000, 2000), (900, 1900), (90, 95), "collation"),
    ],
)
def test_what_limits_is_told_only_where_every_turn_says_so(raw, arrow, full, limit):
    depths = {"raw": turns(*raw), "arrow": turns(*arrow), "full": turns(*full)}
    assert _limit(depths, processes=2) == limit


def test_the_rate_of_turns_is_their_mean_where_one_ended_in_its_first_step():
    of = _depth_json([a_run(), a_run(steps=0, elapsed_s=8.0, useful_bytes=900)], seen=True)
    assert (of["low"], of["high"]) == (80.0, 90.0)
    assert of["bytes_per_s"] == 85.0
    assert of["reads_per_s"] == pytest.approx((0.8 + 1.0) / 2)


def test_bytes_and_requests_of_a_row_have_one_clock():
    run = a_run(useful_bytes=800)  # in 10 reads
    assert run.bytes_per_s / run.reads_per_s == pytest.approx(80)


@pytest.mark.parametrize("values", [[], [0.97]])
def test_fewer_than_two_runs_have_no_spread(values):
    assert spread(values) is None


def test_the_worst_decides():
    three = [Verdict(outcome=o, reason="") for o in ("PASS", "FAIL", "UNDECIDED")]
    assert worst(three).outcome == "FAIL"
    assert worst([three[0], three[2]]).outcome == "UNDECIDED"


def checkpoints(**changes):
    made = {
        "n_bytes": 100,
        "ranks": 1,
        "write_bytes_per_s": 50e6,
        "read_bytes_per_s": 70e6,
        "device_frac": 1.0,
        "verified": True,
    }
    return CheckpointRates(**{**made, **changes})


def test_checkpoints_are_judged_by_what_one_node_needs():
    assert judge_writes(checkpoints(), 50e6).outcome == "PASS"
    short = judge_writes(checkpoints(), 51e6)
    assert short == Verdict(
        outcome="FAIL", reason="writes 50 MB/s, one node needs 51 MB/s for checkpoints"
    )
    assert judge_writes(checkpoints(verified=False), 1.0).outcome == "FAIL"


@pytest.mark.parametrize(
    ("changes", "needed", "outcome"),
    [
        ({}, 70e6, "PASS"),
        ({}, 71e6, "FAIL"),
        ({"device_frac": 0.5}, 70e6, "UNDECIDED"),
        ({"device_frac": None}, 70e6, "UNDECIDED"),
        ({"device_frac": 0.5}, 71e6, "FAIL"),
    ],
)
def test_checkpoints_read_from_a_cache_prove_nothing(changes, needed, outcome):
    assert judge_restart(checkpoints(**changes), needed).outcome == outcome


def test_reads_beside_checkpoints_keep_the_same_utilisation():
    assert judge_both(a_run(), 8).outcome == "PASS"
    assert judge_both(a_run(elapsed_s=20.0), 8).outcome == "FAIL"
