"""A probe as JSON. The schema; a key's own keys stand beneath it, rates are per second:

probe           its version, "1"
verdict         of all: the worst of `verdicts`
    outcome         "PASS", "FAIL" or "UNDECIDED"
    reason          in words
verdicts        of reads, of checkpoints written and read back, of both at once
    what            is judged
    outcome, reason as of `verdict`
    judged          whether it counts for the verdict of all
dataset         what was read
    folder, files, bytes, rows
    seq_len         tokens of a row, or null where a row is a document
    dtype           of a token id
    fstype, mount   of the file system
    read_ahead_bytes    the kernel's around what is asked for, or null
    memory_bytes    of the host
    memory_times    how often the dataset holds the host's memory
plan            what was asked for
    name            of the plan
    tokens_per_s    of one accelerator
    step_s, seq_len, accelerators, per_node
    checkpoint_bytes, write_bytes_per_s, restart_bytes_per_s    of one node
settings        order, accelerators (that this host must feed), most, processes, seconds
search          how many accelerators the storage feeds
    supported       of which `runs` were made
    failing         the fewest that were not fed, or null
    ended           "found", "most" (all asked for were fed) or "time"
    tried           accelerators and their utilisation `au`, in the order tried
step            of the emulation at `supported`: ranks, sequences of each, compute_s
runs            repeats with `supported` accelerators, each
    au              accelerator utilisation, the first step excluded
    kept            the lower of `au` and `fed`, by which all is judged
    fed             share of the compute that what was fetched allows, the first step included
    steps           that were counted
    bytes_per_s     of ids that training used
    reads_per_s     runs of rows that were fetched
    device_frac     bytes from the device / bytes asked for; null where nobody can count them
    amplification   bytes from the device / bytes used; null likewise
    asked_frac      bytes asked for / bytes used: what the loader itself throws away
    cores           that all processes kept busy
reads           means of `runs` by the same names
                au_spread, rate_spread: (most - least) / mean, or null of fewer than two runs
                required_bytes_per_s: of the accelerators that this host must feed
depths          reading without compute: "raw" bytes, "arrow" decoded, "full" batches; each as a run
limit           of whole batches: "storage" where raw reads are about as fast; else "processor"
                where the cores were busy, "memory map" where decoding from it is what takes
                long, or "collation"
checkpoints     null without them
    alone           n_bytes, ranks, write_bytes_per_s, read_bytes_per_s, device_frac, verified
    both            the same while training, with au and accelerators; null if nothing trained
conditions      of MLPerf Storage: name, met, told
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from tokenmill.pipelines.probe.cache import LEAST_DEVICE_FRAC, RAM_TIMES, Mount, Sight
from tokenmill.pipelines.probe.checkpoints import CheckpointRates
from tokenmill.pipelines.probe.demand import LEAST_AU, Demand, Step
from tokenmill.pipelines.probe.loader import DEPTHS, READ_AHEAD, Depth, Order
from tokenmill.pipelines.probe.search import SearchResult
from tokenmill.pipelines.probe.shards import Shards
from tokenmill.pipelines.probe.team import Run
from tokenmill.pipelines.probe.verdict import (
    MOST_SPREAD,
    RUNS,
    Verdict,
    device_frac,
    judge,
    judge_both,
    judge_restart,
    judge_writes,
    mean_kept,
    percent,
    spread,
    worst,
)

VERSION = "1"  # raise it when a key changes its meaning
AS_FAST = 0.7  # of the raw rate that whole batches reach, where storage still decides
BUSY = 0.8  # of the cores, from which on they decide
READS = "training reads"


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """both: training and checkpoints at once, with so many accelerators; None if none are fed."""

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
    result: SearchResult
    step: Step
    runs: tuple[Run, ...]
    depths: Mapping[Depth, Run]
    checkpoints: Checkpoints | None
    is_async: bool


def probe_json(of: Probed, wanted: Demand, plan: str) -> dict[str, Any]:
    """The probe as plain data."""
    runs = [run_json(run, seen=of.sight.seen) for run in of.runs]
    depths = {depth: run_json(run, seen=of.sight.seen) for depth, run in of.depths.items()}
    for depth_run in depths.values():
        for name in ("au", "fed", "kept", "steps"):
            del depth_run[name]
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
        "reads_per_s": run.reads / run.whole_s,
        "device_frac": None if device is None or not asked else device / asked,
        "amplification": None if device is None or not used else device / used,
        "asked_frac": asked / used if used else None,
        "cores": run.cpu_s / run.whole_s,
    }


def _dataset(of: Probed) -> dict[str, Any]:
    shards = of.shards
    return {
        "folder": str(shards.folder),
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


def _limit(depths: Mapping[Depth, Run], processes: int) -> str:
    raw, arrow, full = (depths[d].bytes_per_s for d in DEPTHS)
    if full >= AS_FAST * raw:
        return "storage"
    run = depths["full"]
    if run.cpu_s / run.whole_s >= BUSY * min(processes, os.cpu_count() or 1):
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
        reads_ahead=of.order in READ_AHEAD,
        dataset_bytes=of.shards.bytes,
        memory=of.memory,
    )
    verdicts = [(READS, reads, True)]
    if of.checkpoints is not None:
        alone = of.checkpoints.alone
        verdicts.append(("checkpoint writes", judge_writes(alone, wanted.write_bytes_per_s), True))
        back = judge_restart(alone, wanted.restart_bytes_per_s)
        verdicts.append(("checkpoint reads at a restart", back, back.outcome != "UNDECIDED"))
        if of.checkpoints.both is not None:
            both = judge_both(of.checkpoints.both[0], of.checkpoints.accelerators)
            if not of.is_async:
                reason = f"{both.reason}; not judged: training waits for checkpoints"
                both = Verdict(outcome=both.outcome, reason=reason)
            verdicts.append(("reads while checkpoints are written", both, of.is_async))
    return verdicts


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
