"""Run one step of one tool, once warm-up is over, and print what it cost as JSON.

A process of its own, in the tool's own environment: nothing but the standard library here.
Called as `python worker.py '{"tool": FILE, "step": NAME, "warm": FOLDER, "part": FOLDER, …}'`.
A tool is a file with `STEPS`, a mapping of names to functions `(part, scratch) -> work`;
what they read and build is not timed, only `work()`, which returns counts worth knowing.
"""

import contextlib
import importlib.util
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

PEAK = "VmHWM:"


def main() -> None:
    given = json.loads(sys.argv[1])
    sys.path[0] = given.get("root", "")  # not this folder: its names could hide a library's
    if given["core"] is not None:
        os.sched_setaffinity(0, {given["core"]})
    tool = load(Path(given["tool"]))
    imported = cpu_s()
    make = tool.STEPS[given["step"]]
    with tempfile.TemporaryDirectory(dir=given["scratch"]) as folder:
        scratch = Path(folder)
        make(Path(given["warm"]), new(scratch / "warm"))()
        warmed = cpu_s()
        work = make(Path(given["part"]), new(scratch / "run"))
        forget_peak()
        rss, cpu, wall = resident_mb(), cpu_s(), time.perf_counter()
        counts = work()
        cost = {"cpu_s": cpu_s() - cpu, "wall_s": time.perf_counter() - wall}
        cost |= {"peak_mb": peak_mb(), "before_mb": rss}
    cost |= {"import_s": imported, "warm_s": warmed - imported, "counts": counts or {}}
    print("\n" + json.dumps(cost))


def load(path: Path):
    """The tool's module, under a name that hides no library's."""
    spec = importlib.util.spec_from_file_location("bench_tool", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_tool"] = module  # so that what is pickled finds it
    spec.loader.exec_module(module)
    return module


def new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def cpu_s() -> float:
    """CPU seconds of all threads, and of children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def forget_peak() -> None:
    """Let the peak begin here, where the kernel can (Linux); else it is that of the process."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def resident_mb() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * resource.getpagesize() / 1e6


def peak_mb() -> float:
    """Peak resident memory of this process, or of its largest child."""
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        own = next(int(line.split()[1]) for line in lines if line.startswith(PEAK)) * 1024 / 1e6
    except (OSError, StopIteration):
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return max(own, child)


if __name__ == "__main__":
    main()
