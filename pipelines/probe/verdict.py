"""Whether the storage passed, and if that cannot be said, why not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from tokenmill.pipelines.probe.cache import LEAST_DEVICE_FRAC, RAM_TIMES, Sight
from tokenmill.pipelines.probe.checkpoints import CheckpointRates
from tokenmill.pipelines.probe.demand import LEAST_AU
from tokenmill.pipelines.probe.search import SearchResult
from tokenmill.pipelines.probe.team import Run
from tokenmill.sizing.units import format_bytes, format_quantity, format_rate

Outcome: TypeAlias = Literal["PASS", "FAIL", "UNDECIDED"]

RUNS = 5
REPEATS = 0.35  # of the time, that they may take
MOST_HELD_FRAC = 0.1  # of the dataset that a run may fetch where rows are read ahead
MOST_SPREAD = 0.05  # of MLPerf Storage, for runs that replicate each other


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """reason: in a sentence without its full stop."""

    outcome: Outcome
    reason: str


def device_frac(runs: Sequence[Run]) -> float | None:
    """Bytes fetched from disks for each byte that was asked for; None where nobody counted."""
    if not runs or any(run.device_bytes is None for run in runs):
        return None
    asked = sum(run.logical_bytes for run in runs)
    return sum(run.device_bytes or 0 for run in runs) / asked if asked else None


def mean_kept(runs: Sequence[Run]) -> float:
    """0 without runs."""
    return fmean(run.kept for run in runs) if runs else 0.0


def judge(
    *,
    need: int,
    result: SearchResult,
    runs: Sequence[Run],
    sight: Sight,
    reads_ahead: bool,
    dataset_bytes: int,
    memory: int,
) -> Verdict:
    """The verdict on training reads.

    runs: repeats with `result.supported` accelerators.  memory: bytes of the host's.
    reads_ahead: the order has the kernel fetch rows that are read later, or never.
    A FAIL stands whatever was cached: a cache only helps.
    """
    if result.failing is not None and result.failing <= need:
        reason = (
            f"{need:,} accelerators are needed: {result.supported:,} keep a utilisation of"
            f" {LEAST_AU:.2f}, {result.failing:,} do not"
        )
        return Verdict(outcome="FAIL", reason=reason)
    if sight.seen:
        cached = _cached(runs)
        held = _held(runs, dataset_bytes) if reads_ahead else ""
        doubts = (_late(need, result, runs), cached, held)
    else:  # MLPerf Storage's own rule: no memory of this host holds so much
        unseen = "" if dataset_bytes >= RAM_TIMES * memory else _unseen(sight, memory)
        doubts = (unseen, _late(need, result, runs), "")
    for doubt in doubts:
        if doubt:
            return Verdict(outcome="UNDECIDED", reason=doubt)
    return Verdict(outcome="PASS", reason=f"{so_many(result)} are fed, {need:,} are needed")


def so_many(result: SearchResult) -> str:
    """How many are supported, and whether it may be more."""
    least = "" if result.ended == "found" else "at least "
    return f"{least}{result.supported:,} accelerators"


def _late(need: int, result: SearchResult, runs: Sequence[Run]) -> str:
    """Why the time was too short; empty if it was not."""
    if result.supported < need:
        return f"the time was up before {need:,} accelerators could be tried; give more --seconds"
    if len(runs) == RUNS:
        return ""
    advice = f"the time was up after {len(runs)} of {RUNS} runs; give more --seconds"
    if not runs:
        return advice
    enough = RUNS * max(run.whole_s for run in runs) / REPEATS
    return f"{advice}, {10 * math.ceil(enough / 10 + 1)} at least"


def _unseen(sight: Sight, memory: int) -> str:
    """Why nobody knows what came from memory, and what to do."""
    if sight.is_memory:
        return f"{sight.why}; give a folder on the storage that is to be judged"
    enough = format_bytes(RAM_TIMES * memory)
    return (
        f"cache share unknown: {sight.why}; probe {RAM_TIMES} times the host's memory: --fill"
        f" {enough.replace(' ', '')}"
    )


def _cached(runs: Sequence[Run]) -> str:
    """Why what was read may have come from memory; empty if it did not."""
    share = device_frac(runs)
    if share is None or share < LEAST_DEVICE_FRAC:
        shown = "an unknown share" if share is None else percent(share)
        return (
            f"the page cache served it: {shown} of the bytes asked for came from the device,"
            f" {percent(LEAST_DEVICE_FRAC)} must; end what else has the files open, or see --fill"
        )
    return ""


def _held(runs: Sequence[Run], dataset_bytes: int) -> str:
    """Why what was read ahead may have served later reads; empty if little of it could."""
    fetched = max((run.device_bytes or 0 for run in runs), default=0)
    share = fetched / dataset_bytes
    if share <= MOST_HELD_FRAC:
        return ""
    return (
        f"the dataset is small: what was read ahead in a run is {percent(share)} of it, so that"
        " later reads found their rows in the page cache; probe a larger one, --fill"
        f" {format_bytes(fetched / MOST_HELD_FRAC, digits=2).replace(' ', '')} at least"
    )


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.9487), percent(1)
    ('94.9 %', '100 %')
    """
    return format_quantity(share, "fraction")


def spread(values: Sequence[float]) -> float | None:
    """(most - least) / mean; None of fewer than two.

    >>> spread([95.0, 100.0, 105.0])
    0.1
    """
    if len(values) < 2:
        return None
    mean = fmean(values)
    return (max(values) - min(values)) / mean if mean else 0.0


def judge_writes(written: CheckpointRates, required: float) -> Verdict:
    """The verdict on checkpoints.  required: bytes/s of one node."""
    if not written.verified:
        return Verdict(outcome="FAIL", reason="what was read back is not what was written")
    rates = f"{format_rate(written.write_bytes_per_s)}, one node needs {format_rate(required)}"
    outcome: Outcome = "PASS" if written.write_bytes_per_s >= required else "FAIL"
    return Verdict(outcome=outcome, reason=rates)


def judge_restart(written: CheckpointRates, required: float) -> Verdict:
    """The verdict on reading checkpoints.  required: bytes/s of one node."""
    share = written.device_frac
    rates = f"{format_rate(written.read_bytes_per_s)}, one node needs {format_rate(required)}"
    if written.read_bytes_per_s < required:
        return Verdict(outcome="FAIL", reason=rates)
    if share is None or share < LEAST_DEVICE_FRAC:
        return Verdict(outcome="UNDECIDED", reason=f"{rates}; it may have come from a cache")
    return Verdict(outcome="PASS", reason=rates)


def judge_both(run: Run, accelerators: int) -> Verdict:
    """The verdict on reads while checkpoints are written."""
    reason = f"{accelerators:,} accelerators at a utilisation of {run.kept:.3f}"
    return Verdict(outcome="PASS" if run.kept >= LEAST_AU else "FAIL", reason=reason)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The one that decides; the first of several alike."""
    return max(verdicts, key=lambda v: ("PASS", "UNDECIDED", "FAIL").index(v.outcome))
