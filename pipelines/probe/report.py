"""A probe as JSON: whether the storage passed, or why that cannot be said, and what was measured.

README.md has its keys.
"""

import math
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Literal, TypeAlias

from tokenmill.pipelines.core.options import cores
from tokenmill.pipelines.probe.cache import LEAST_DEVICE_FRAC, RAM_TIMES, Mount, Sight
from tokenmill.pipelines.probe.checkpoints import CheckpointRates
from tokenmill.pipelines.probe.demand import LEAST_AU, Demand, SearchResult, Step
from tokenmill.pipelines.probe.loader import READ_AHEAD, Depth, Order
from tokenmill.pipelines.probe.medium import Folder
from tokenmill.pipelines.probe.shards import Shards
from tokenmill.pipelines.probe.team import Run, together
from tokenmill.sizing.units import format_bytes, format_rate, percent

VERSION = "1"  # raise it when a key changes its meaning
AS_FAST = 0.7  # of the raw rate that whole batches reach, where storage still decides
BUSY = 0.8  # of the cores, from which on they decide
READS = "training reads"
WAY_OUT = "give a folder on the storage that is to be judged"
RUNS = 5
REPEATS = 0.35  # of the time, that they may take
MOST_HELD_FRAC = 0.1  # of the dataset that a run may fetch where rows are read ahead
MOST_SPREAD = 0.05  # of MLPerf Storage, for runs that replicate each other
Outcome: TypeAlias = Literal["PASS", "FAIL", "UNDECIDED"]


@dataclass(frozen=True)
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
    reads_ahead: the kernel fetches rows that are read later, or never, as of a page of several.
    A FAIL stands whatever was cached: a cache only helps.
    """
    if result.failing is not None and result.failing <= need:
        reason = (
            f"{need:,} accelerators are needed: {result.supported:,} keep a utilisation of"
            f" {LEAST_AU:.2f}, {result.failing:,} do not"
        )
        return Verdict("FAIL", reason)
    if sight.seen:
        cached = _cached(runs)
        held = _held(runs, dataset_bytes) if reads_ahead else ""
        doubts = (_late(need, result, runs), cached, held)
    else:  # MLPerf Storage's own rule: no memory of this host holds so much
        unseen = "" if dataset_bytes >= RAM_TIMES * memory else _unseen(sight, memory)
        doubts = (unseen, _late(need, result, runs), "")
    for doubt in doubts:
        if doubt:
            return Verdict("UNDECIDED", doubt)
    fed = f"{'' if result.ended == 'found' else 'at least '}{result.supported:,} accelerators"
    return Verdict("PASS", f"{fed} are fed, {need:,} are needed")


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
        return f"{sight.why}; {WAY_OUT}"
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
        return Verdict("FAIL", "what was read back is not what was written")
    rates = f"writes {format_rate(written.write_bytes_per_s)}, one node needs"
    rates += f" {format_rate(required)} for checkpoints"
    outcome: Outcome = "PASS" if written.write_bytes_per_s >= required else "FAIL"
    return Verdict(outcome, rates)


def judge_restart(written: CheckpointRates, required: float) -> Verdict:
    """The verdict on reading checkpoints.  required: bytes/s of one node."""
    share = written.device_frac
    rates = f"reads {format_rate(written.read_bytes_per_s)}, one node needs"
    rates += f" {format_rate(required)} to restart"
    if written.read_bytes_per_s < required:
        return Verdict("FAIL", rates)
    if share is None or share < LEAST_DEVICE_FRAC:
        return Verdict("UNDECIDED", f"{rates}; it may have come from a cache")
    return Verdict("PASS", rates)


def stored(verdict: Verdict, sight: Sight) -> Verdict:
    """A verdict on checkpoints, but no PASS where they lay in memory: nothing was stored."""
    if verdict.outcome == "FAIL" or not sight.is_memory:
        return verdict
    return Verdict("UNDECIDED", f"{sight.why}; {WAY_OUT}")


def judge_both(run: Run, accelerators: int) -> Verdict:
    """The verdict on reads while checkpoints are written."""
    reason = f"{accelerators:,} accelerators at a utilisation of {run.kept:.3f}"
    return Verdict("PASS" if run.kept >= LEAST_AU else "FAIL", reason)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The one that decides; the first of several alike."""
    return max(verdicts, key=lambda v: ("PASS", "UNDECIDED", "FAIL").index(v.outcome))


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """both: training and checkpoints at once, with so many accelerators; None if none are fed.

    sight: of their folder.
    """

    sight: Sight
    alone: CheckpointRates
    both: tuple[Run, CheckpointRates] | None
    accelerators: int


@dataclass(frozen=True, kw_only=True)
class Probed:
    """All that was measured.  need: accelerators to feed.  memory: bytes of the host's.

    read_ahead: the kernel's, in bytes.
    """

    shards: Shards
    mount: Mount
    sight: Sight
    memory: int
    read_ahead: int | None
    order: Order
    need: int
    most: int
    processes: int
    seconds: float
    connections: int | None
    result: SearchResult
    step: Step
    runs: tuple[Run, ...]
    depths: Mapping[Depth, tuple[Run, ...]]
    checkpoints: Checkpoints | None
    is_async: bool


def probe_json(of: Probed, wanted: Demand, plan: str) -> dict[str, Any]:
    """The probe as plain data."""
    runs = [run_json(run, seen=of.sight.seen) for run in of.runs]
    depths = {depth: _depth_json(runs, seen=of.sight.seen) for depth, runs in of.depths.items()}
    verdicts = _verdicts(of, wanted)
    overall = worst([v for _, v, judged in verdicts if judged])
    return {
        "probe": VERSION,
        "verdict": asdict(overall),
        "verdicts": [{"what": w, **asdict(v), "judged": j} for w, v, j in verdicts],
        "dataset": _dataset(of),
        "plan": {"name": plan, **asdict(wanted)},
        "settings": {
            "order": of.order,
            "accelerators": of.need,
            "most": of.most,
            "processes": of.processes,
            "seconds": of.seconds,
            "connections": of.connections,
        },
        "search": {**asdict(of.result), "tried": [asdict(t) for t in of.result.tried]},
        "step": asdict(of.step),
        "runs": runs,
        "reads": _means(runs, wanted.bytes_per_s(of.need, of.shards.width)),
        "depths": depths,
        "limit": _limit(of.depths, of.processes),
        "checkpoints": None if of.checkpoints is None else _checkpoints(of.checkpoints),
        "conditions": _conditions(of),
    }


def _depth_json(turns: Sequence[Run], *, seen: bool) -> dict[str, Any]:
    """All turns as one run, its rates their mean, with the slowest and the fastest of them."""
    made = run_json(together(turns), seen=seen)
    for name in ("au", "fed", "kept", "steps"):
        del made[name]
    rates = [run.bytes_per_s for run in turns]
    made |= {"bytes_per_s": fmean(rates), "reads_per_s": fmean(run.reads_per_s for run in turns)}
    return {**made, "turns": len(turns), "low": min(rates), "high": max(rates)}


def run_json(run: Run, *, seen: bool) -> dict[str, Any]:
    """A run by the names of the schema."""
    device = run.device_bytes if seen else None
    used, asked = run.useful_bytes, run.logical_bytes
    return {
        "au": run.au,
        "fed": run.fed,
        "kept": run.kept,
        "steps": run.steps,
        "bytes_per_s": run.bytes_per_s,
        "reads_per_s": run.reads_per_s,
        "device_frac": None if device is None or not asked else device / asked,
        "amplification": None if device is None or not used else device / used,
        "asked_frac": asked / used if used else None,
        "requests": run.requests,
        "again": run.again,
        "cores": run.cpu_s / run.whole_s,
    }


def _dataset(of: Probed) -> dict[str, Any]:
    shards = of.shards
    return {
        "folder": str(shards.medium),
        "files": len(shards.files),
        "bytes": shards.bytes,
        "rows": shards.rows,
        "seq_len": shards.seq_len,
        "dtype": shards.dtype,
        "fstype": of.mount.fstype,
        "mount": of.mount.at,
        "read_ahead_bytes": of.read_ahead,
        "memory_bytes": of.memory,
        "memory_times": shards.bytes / of.memory,
    }


def _means(runs: list[dict[str, Any]], required: float) -> dict[str, Any]:
    means: dict[str, Any] = {"required_bytes_per_s": required}
    for name in runs[0] if runs else ():
        values = [run[name] for run in runs if run[name] is not None]
        means[name] = fmean(values) if values else None
    if runs:
        means["au_spread"] = spread([run["kept"] for run in runs])
        means["rate_spread"] = spread([run["bytes_per_s"] for run in runs])
    return means


def _limit(depths: Mapping[Depth, Sequence[Run]], processes: int) -> str:
    """By what holds whichever turns are compared, those of one way there or back."""
    rates = {depth: [run.bytes_per_s for run in turns] for depth, turns in depths.items()}
    pairs = list(zip(rates["full"], rates["raw"], strict=True))
    as_fast = [full >= AS_FAST * raw for full, raw in pairs]
    if all(as_fast):
        return "storage"
    if any(as_fast):
        return "undecided"
    raw, arrow = fmean(rates["raw"]), fmean(rates["arrow"])
    run = together(depths["full"])
    if run.cpu_s / run.whole_s >= BUSY * min(processes, cores()):
        return "processor"
    return "memory map" if arrow < AS_FAST * raw else "collation"


def _checkpoints(of: Checkpoints) -> dict[str, Any]:
    both = None
    if of.both is not None:
        run, written = of.both
        both = {**asdict(written), "au": run.kept, "accelerators": of.accelerators}
    return {"alone": asdict(of.alone), "both": both}


def _verdicts(of: Probed, wanted: Demand) -> list[tuple[str, Verdict, bool]]:
    reads = judge(
        need=of.need,
        result=of.result,
        runs=of.runs,
        sight=of.sight,
        reads_ahead=of.order in READ_AHEAD or (of.order == "random" and shares_pages(of.shards)),
        dataset_bytes=of.shards.bytes,
        memory=of.memory,
    )
    verdicts = [(READS, reads, True)]
    if of.checkpoints is not None:
        alone, on = of.checkpoints.alone, of.checkpoints.sight
        written = stored(judge_writes(alone, wanted.write_bytes_per_s), on)
        verdicts.append(("checkpoint writes", written, True))
        back = stored(judge_restart(alone, wanted.restart_bytes_per_s), on)
        verdicts.append(("checkpoint reads at a restart", back, back.outcome != "UNDECIDED"))
        if of.checkpoints.both is not None:
            both = stored(judge_both(of.checkpoints.both[0], of.checkpoints.accelerators), on)
            if not of.is_async:
                reason = f"{both.reason}; not judged: training waits for checkpoints"
                both = Verdict(both.outcome, reason)
            verdicts.append(("reads while checkpoints are written", both, of.is_async))
    return verdicts


def shares_pages(shards: Shards) -> bool:
    """Whether a page of the kernel's cache holds several rows; nothing is held of a bucket."""
    row_bytes = (shards.seq_len or 0) * shards.width or shards.bytes / shards.rows
    return isinstance(shards.medium, Folder) and row_bytes < mmap.PAGESIZE


def _conditions(of: Probed) -> list[dict[str, Any]]:
    share, times = device_frac(of.runs), of.shards.bytes / of.memory
    apart = spread([run.kept for run in of.runs])
    counted = "cannot be counted" if not of.sight.seen or share is None else percent(min(share, 1))
    rows = [
        (
            f"utilisation {LEAST_AU:.2f}, first step excluded",
            bool(of.runs) and mean_kept(of.runs) >= LEAST_AU,
            f"{mean_kept(of.runs):.3f}",
        ),
        (f"{RUNS} runs, each with its own seed", len(of.runs) == RUNS, f"{len(of.runs)}"),
        (
            f"runs agree to {percent(MOST_SPREAD)}",
            apart is not None and apart <= MOST_SPREAD,
            "cannot be told" if apart is None else percent(apart),
        ),
        (
            f"dataset of {RAM_TIMES} times the host's memory",
            times >= RAM_TIMES,
            f"{times:.3g} times",
        ),
        (
            f"{percent(LEAST_DEVICE_FRAC)} of what was read came from the device",
            of.sight.seen and share is not None and share >= LEAST_DEVICE_FRAC,
            counted,
        ),
    ]
    return [{"name": name, "met": met, "told": shown} for name, met, shown in rows]
