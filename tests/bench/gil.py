"""How long a thread that does works holds Python's lock, and what many threads come to by a model.

    pip install gilknocker; python -m tests.bench.gil RECIPE

Of a run of the recipe, its works one by one, after another that compiles: of each phase CPU seconds
and the share of its time that the lock was held, as a thread that asks for it each millisecond
finds. The model is a queue of one server: n threads, each of which wants the lock for that share of
its own time and works without it for the rest. It knows nothing of memory that all cores share.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.running import one_by_one
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.runs.work import Job, Outcome, Phase

THREADS = (1, 2, 3, 4, 6, 8, 16, 32, 96)
POLL_US = 1000


def main() -> None:
    ask = argparse.ArgumentParser(prog="python -m tests.bench.gil", description=__doc__)
    ask.add_argument("recipe", type=Path)
    recipe, held = load_recipe(ask.parse_args().recipe), Held()
    with tempfile.TemporaryDirectory() as folder:
        for turn in ("warm", "run"):
            held.phases.clear()
            run_recipe(recipe, Path(folder, turn), held)
    for name, (cpu_s, share) in held.phases.items():
        print(f"{name:16}{cpu_s:8.2f} CPU s{share:8.1%}")
    print(f"{'all':16}{held.cpu_s:8.2f} CPU s{held.share:8.1%}\n\nthreads  do the work of")
    for n in THREADS:
        print(f"{n:7}{at_work(n, held.share):16.2f}")


class Held:
    """Executes works; phases: of each CPU seconds, and the share of its time."""

    def __init__(self) -> None:
        self.phases: dict[str, tuple[float, float]] = {}

    def __call__(self, job: Job, phase: Phase) -> Sequence[Outcome]:
        from gilknocker import KnockKnock

        knocker, began = KnockKnock(polling_interval_micros=POLL_US), time.thread_time()
        knocker.start()
        outcomes = one_by_one(job, phase)
        knocker.stop()
        self.phases[phase.name] = time.thread_time() - began, knocker.contention_metric
        return outcomes

    @property
    def cpu_s(self) -> float:
        return sum(cpu_s for cpu_s, _ in self.phases.values())

    @property
    def share(self) -> float:
        return sum(cpu_s * share for cpu_s, share in self.phases.values()) / self.cpu_s


def at_work(n: int, share: float) -> float:
    """What n threads do in the time that one does 1, by mean value analysis.

    >>> [round(at_work(n, 0.2), 2) for n in (1, 2, 96)]
    [1.0, 1.92, 5.0]
    """
    waiting, does = 0.0, 0.0
    for threads in range(1, n + 1):
        takes = share * (1 + waiting)
        does = threads / (1 - share + takes)
        waiting = does * takes
    return does


if __name__ == "__main__":
    main()
