"""Whether the storage passed, and if that cannot be said, why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from pipelines.probe.cache import LEAST_DEVICE_FRAC, RAM_TIMES, Sight
from pipelines.probe.checkpoints import CheckpointRates
from pipelines.probe.demand import LEAST_AU
from pipelines.probe.search import Found
from pipelines.probe.team import Run
from sizing.units import format_rate

Outcome: TypeAlias = Literal["PASS", "FAIL", "UNDECIDED"]

RUNS = 5
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
    found: Found,
    runs: Sequence[Run],
    sight: Sight,
    reads_ahead: bool,
    dataset_bytes: int,
    memory: int,
) -> Verdict:
    """The verdict on training reads.

    runs: repeats with `found.supported` accelerators.  memory: bytes of the host's.
    reads_ahead: the order has the kernel fetch rows that are read later, or never.
    A FAIL stands whatever was cached: a cache only helps.
    """
    supported = found.supported
    if supported < need:
        if found.failing is None or found.failing > need:
            reason = (
                f"the time was up before {need:,} accelerators could be tried; give more --seconds"
            )
            return Verdict(outcome="UNDECIDED", reason=reason)
        reason = (
            f"{need:,} accelerators are needed: {supported:,} keep a utilisation of"
            f" {LEAST_AU:.2f}, {found.failing:,} do not"
        )
        return Verdict(outcome="FAIL", reason=reason)
    if len(runs) < RUNS:
        told = f"the time was up after {len(runs)} of {RUNS} runs; give more --seconds"
        return Verdict(outcome="UNDECIDED", reason=told)
    doubt = _cached(runs, sight, dataset_bytes >= RAM_TIMES * memory)
    if not doubt and sight.seen and reads_ahead:
        doubt = _held(runs, dataset_bytes)
    if doubt:
        return Verdict(outcome="UNDECIDED", reason=doubt)
    told = f"{so_many(found)} are fed, {need:,} are needed"
    return Verdict(outcome="PASS", reason=told)


def so_many(found: Found) -> str:
    """How many are supported, and whether it may be more."""
    least = "" if found.ended == "found" else "at least "
    return f"{least}{found.supported:,} accelerators"


def _cached(runs: Sequence[Run], sight: Sight, is_large: bool) -> str:
    """Why what was read may have come from memory; empty if it did not."""
    if not sight.seen:
        if is_large:
            return ""  # MLPerf Storage's own rule: no memory of this host holds it
        return (
            f"cache share unknown: {sight.why}; probe a dataset of {RAM_TIMES} times the host's"
            " memory, see --fill"
        )
    share = device_frac(runs)
    if share is None or share < LEAST_DEVICE_FRAC:
        told = "an unknown share" if share is None else f"{share:.1%}"
        return (
            f"the page cache served it: {told} of the bytes asked for came from the device,"
            f" {LEAST_DEVICE_FRAC:.0%} must; end what else has the files open, or see --fill"
        )
    return ""


def _held(runs: Sequence[Run], dataset_bytes: int) -> str:
    """Why what was read ahead may have served later reads; empty if little of it could."""
    share = max(run.device_bytes or 0 for run in runs) / dataset_bytes
    if share <= MOST_HELD_FRAC:
        return ""
    return (
        f"the dataset is small: what was read ahead in a run is {share:.0%} of it, so that later"
        " reads found their rows in the page cache; probe a larger one, see --fill"
    )


def spread(values: Sequence[float]) -> float:
    """(most - least) / mean.

    >>> spread([95.0, 100.0, 105.0])
    0.1
    """
    mean = fmean(values) if values else 0.0
    return (max(values) - min(values)) / mean if mean else 0.0


def judge_writes(written: CheckpointRates, required: float) -> Verdict:
    """The verdict on checkpoints.  required: bytes/s of one node."""
    if not written.verified:
        return Verdict(outcome="FAIL", reason="what was read back is not what was written")
    told = f"{format_rate(written.write_bytes_per_s)}, one node needs {format_rate(required)}"
    return Verdict(outcome="PASS" if written.write_bytes_per_s >= required else "FAIL", reason=told)


def judge_restart(written: CheckpointRates, required: float) -> Verdict:
    """The verdict on reading checkpoints.  required: bytes/s of one node."""
    share = written.device_frac
    told = f"{format_rate(written.read_bytes_per_s)}, one node needs {format_rate(required)}"
    if written.read_bytes_per_s < required:
        return Verdict(outcome="FAIL", reason=told)
    if share is None or share < LEAST_DEVICE_FRAC:
        return Verdict(outcome="UNDECIDED", reason=f"{told}; it may have come from a cache")
    return Verdict(outcome="PASS", reason=told)


def judge_both(run: Run, accelerators: int) -> Verdict:
    """The verdict on reads while checkpoints are written."""
    told = f"{accelerators:,} accelerators at a utilisation of {run.kept:.3f}"
    return Verdict(outcome="PASS" if run.kept >= LEAST_AU else "FAIL", reason=told)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The one that decides; the first of several alike."""
    return max(verdicts, key=lambda v: ("PASS", "UNDECIDED", "FAIL").index(v.outcome))
