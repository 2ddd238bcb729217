"""What of this machine the process may use: processors and memory, by affinity and control groups.

A job of a cluster, or a container, sees all of its host and is given a part. Linux tells which: the
processors that the process may run on, and the limits of its control group and of all above it
(cgroup v2: cpu.max and memory.max; v1: cpu.cfs_quota_us, cpu.cfs_period_us, memory.limit_in_bytes).
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
CPU, MEMORY = "cpu", "memory"  # controllers
_UNIFIED = ""  # the name of v2's in /proc/self/cgroup


def cores(root: Path = ROOT) -> int:
    """Processors that this process may use, 1 at least; root: where /proc and /sys are."""
    affinity = getattr(os, "sched_getaffinity", None)
    found = (os.cpu_count() or 1) if affinity is None else len(affinity(0))
    return max(math.ceil(min([found, *_quotas(root)])), 1)


def memory_bytes(root: Path = ROOT) -> int:
    """Bytes of memory that this process may have, with all others of its control group."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    names = {_UNIFIED: "memory.max", MEMORY: "memory.limit_in_bytes"}
    told = (_number(group / names[of]) for of, group in _groups(root, MEMORY))
    return int(min([physical, *(n for n in told if n is not None)]))


def _quotas(root: Path) -> Iterator[float]:
    """Processors' worth of time, of each control group that has a limit."""
    for controller, group in _groups(root, CPU):
        if controller == _UNIFIED:
            quota, period = _number(group / "cpu.max"), _number(group / "cpu.max", 1)
        else:
            quota = _number(group / "cpu.cfs_quota_us")
            period = _number(group / "cpu.cfs_period_us")
        if quota is not None and period and quota > 0:  # -1 is no limit
            yield quota / period


def _groups(root: Path, controller: str) -> Iterator[tuple[str, Path]]:
    """(controller, folder) of the control groups from its own up; of v2 the controller is ""."""
    mounts = root / "sys" / "fs" / "cgroup"
    try:
        lines = (root / "proc" / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, names, path = line.split(":", 2)
        if controller not in names.split(",") and names != _UNIFIED:
            continue
        top = mounts if names == _UNIFIED else mounts / controller
        group = top / path.lstrip("/")
        # within a container the path may be the host's, and the mount is the group itself
        for folder in (group, *group.parents) if group.is_dir() else (top,):
            yield (_UNIFIED if names == _UNIFIED else controller), folder
            if folder == top:
                break


def _number(file: Path, field: int = 0) -> float | None:
    """A field of a file, if it is there and a number: "max" is no limit."""
    try:
        return float(file.read_text().split()[field])
    except (OSError, ValueError, IndexError):
        return None
