"""Kill runs at random moments, over and over; each must end as one that nothing happened to.

    python -m tests.cluster.campaign --kills 50 --seed 1

Victims are the flow process, a worker, a node (a worker with its nanny, nobody starts it again),
the scheduler, a job of SLURM; all by SIGKILL. After each kill the same command is run again. A row
is printed for each; the exit code is 1 if one run did not end well.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import runs
from tests.cluster.dask_cluster import SPAWNED, DaskCluster, dask_cluster_in
from tests.cluster.prefect_server import PrefectServer, prefect_server_in
from tests.cluster.processes import Program, eventually
from tests.cluster.slurm import Slurm, slurm_in, why_not
from tests.e2e.corpus import write_corpus
from tokenmill.pipelines.runs.receipt import Receipt

THREADS, LOCAL, EXTERNAL, SLURM = "threads", "dask, local", "dask, external", "slurm"
FLOW, WORKER, NODE, SCHEDULER, JOB = "flow", "worker", "node", "scheduler", "job"
VICTIMS = {
    THREADS: (FLOW,),
    LOCAL: (WORKER, FLOW),
    EXTERNAL: (WORKER, NODE, FLOW, SCHEDULER),
    SLURM: (JOB, FLOW),
}
TURNS = (EXTERNAL, LOCAL, SLURM, EXTERNAL, THREADS)  # runners by turns, some oftener
MOST_BLOWS = 4  # kills that one run meets on its way
MOST_DELAY_S = 0.3  # after as many works as were drawn, so that a kill may come amid a work
SURVIVED = {WORKER, NODE, JOB}  # a run goes on without them
ENDED_S = 600
BEGINNING = "start"


@dataclass(frozen=True)
class Site:
    """What runs are run on, and what they must equal."""

    recipe: Path
    wanted: Mapping[str, str]
    receipts: frozenset[str]
    files: frozenset[str]
    dask: DaskCluster
    prefect: PrefectServer
    slurm: Slurm | None

    def options(self, runner: str) -> tuple[str, ...]:
        if runner == SLURM and self.slurm is not None:
            return runs.on_slurm(self.slurm)
        if runner == EXTERNAL:
            return runs.on_dask(self.dask)
        return ("--runner", "dask" if runner == LOCAL else "threads", "--workers", "2")

    @property
    def env(self) -> dict[str, str]:
        env = {**self.prefect.client_env, "PREFECT_LOGGING_LEVEL": "CRITICAL"}
        return env | (self.slurm.env if self.slurm is not None else {})


@dataclass(frozen=True)
class Kill:
    """A kill, and how the run went on from there.

    phase: of the last work done before.  before: receipts of works done.
    """

    runner: str
    victim: str
    phase: str
    before: Mapping[str, Receipt]
    survived: bool


@dataclass(frozen=True)
class Ordeal:
    """A run that was killed again and again, and continued until its end.

    again: works that were done before a kill, and once more after it.
    wrong: what is not as it must be; empty is well.
    """

    kills: tuple[Kill, ...]
    again: int
    seconds: float
    wrong: str


def ordeal(site: Site, runner: str, blows: int, draw: random.Random, folder: Path) -> Ordeal:
    """Run one command over and over until it ends well; on its way, kill at random moments."""
    began, wrong, kills = time.monotonic(), [], []
    out, command = folder / "run", runs.command(site.recipe, folder / "run", *site.options(runner))
    moments = sorted(draw.randrange(len(site.receipts)) for _ in range(blows))
    program = None
    try:
        for wanted in moments:
            if program is None or not program.living:
                site.dask.restore()
                program = Program(command, log=folder / "driver.log", env=site.env)
            kill = _strike(site, program, runner, wanted, draw, out)
            if kill is None:  # it ended, or there was nobody to kill
                wrong += _ended_wrong(program)
                continue
            kills.append(kill)
            if not kill.survived:
                wrong += _stopped_wrong(kill, program)
        if program is not None and (not kills or kills[-1].survived):
            program.process.wait(ENDED_S)
            wrong += _ended_wrong(program)
    except (TimeoutError, subprocess.TimeoutExpired) as e:
        wrong.append(f"hung: {e}")
    finally:
        if program is not None:
            program.stop()
    site.dask.restore()
    ended = runs.prepare(site.recipe, out, *site.options(runner), env=site.env)
    wrong += _wrong(site, out, ended)
    after = runs.receipts(out)
    again = {n for k in kills for n, written in k.before.items() if after.get(n) != written}
    return Ordeal(tuple(kills), len(again), time.monotonic() - began, "; ".join(wrong))


def _strike(
    site: Site, program: Program, runner: str, wanted: int, draw: random.Random, out: Path
) -> Kill | None:
    """Kill once so many works are done; None where that cannot be."""
    victim, delay = draw.choice(VICTIMS[runner]), draw.uniform(0, MOST_DELAY_S)
    reached = lambda: runs.n_done(out) >= wanted or not program.living  # noqa: E731
    eventually("works", reached, within_s=ENDED_S)
    time.sleep(delay)
    before = runs.receipts(out)
    if not program.living or len(before) == len(site.receipts):
        return None
    if not _kill(site, program, (runner, victim), draw):
        return None
    phase = runs.last_step(out) or BEGINNING
    if victim not in SURVIVED:
        program.process.wait(ENDED_S)
    return Kill(runner, victim, phase, before, victim in SURVIVED)


def _ended_wrong(program: Program) -> Iterator[str]:
    """What is wrong with the end of a run that nobody stopped."""
    if program.process.poll():
        yield f"exit {program.process.returncode}: {program.tail()[-300:]}"


def _stopped_wrong(kill: Kill, program: Program) -> Iterator[str]:
    """What is wrong with the way in which a run stopped."""
    code = program.process.returncode
    if kill.victim == SCHEDULER and code != 2:
        yield f"without its scheduler the run ended with exit {code}: {program.tail()[-300:]}"


def _kill(site: Site, program: Program, target: tuple[str, str], draw: random.Random) -> bool:
    """Kill a victim of this kind; False where there is none at the moment."""
    runner, victim = target
    if victim == FLOW:
        program.kill()
    elif victim == SCHEDULER:
        site.dask.kill_scheduler()
    elif victim == JOB and site.slurm is not None:
        jobs = site.slurm.jobs("RUNNING")
        if not jobs:
            return False
        site.slurm.kill(draw.choice(jobs))
    elif runner == LOCAL:
        workers = [p for p in program.children() if SPAWNED in " ".join(p.cmdline())]
        if not workers:
            return False
        draw.choice(workers).kill()
    else:
        working = [name for name in sorted(site.dask.workers) if site.dask.worker_processes(name)]
        if not working:
            return False
        (site.dask.kill_worker if victim == WORKER else site.dask.kill_nanny)(draw.choice(working))
        if victim == NODE and len(working) == 1:
            site.dask.restore()  # without any the run would wait for its user to do so
    return True


def _wrong(site: Site, out: Path, ended: runs.Ended) -> Iterator[str]:
    """What is not as it must be after the last of the commands."""
    if ended.code != 0:
        yield f"the same command ended with exit {ended.code}: {ended.err.strip()[-300:]}"
        return
    if runs.contents(out) != site.wanted:
        yield "other bytes"
    yield from runs.unbalanced(out)
    if set(runs.receipts(out)) != site.receipts:
        yield "other receipts"
    if other := files(out) ^ site.files:
        yield f"other files: {', '.join(sorted(other)[:3])}"


def files(out: Path) -> frozenset[str]:
    """Names of all that lies in a run directory, but for what SLURM's jobs print."""
    names = (p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    return frozenset(name for name in names if not name.startswith("slurm-logs/"))


@contextmanager
def site_in(folder: Path) -> Iterator[Site]:
    """Start everything, and make the run that nothing happens to."""
    for name in ("prefect", "dask", "slurm", "corpus"):
        (folder / name).mkdir()
    with ExitStack() as stack:
        prefect = stack.enter_context(prefect_server_in(folder / "prefect"))
        dask = stack.enter_context(dask_cluster_in(folder / "dask"))
        slurm = None if why_not() else stack.enter_context(slurm_in(folder / "slurm"))
        recipe, out = write_corpus(folder / "corpus", **runs.SMALL), folder / "undisturbed"
        runs.prepared(recipe, out, "--workers", "1", env=prefect.client_env)
        receipts = frozenset(runs.receipts(out))
        yield Site(recipe, runs.contents(out), receipts, files(out), dask, prefect, slurm)


def campaign(
    site: Site, n_kills: int, seed: int, folder: Path, told: Callable[[Ordeal], None]
) -> list[Ordeal]:
    """Kill at least so many times; the folders of runs that ended ill stay."""
    turns = [runner for runner in TURNS if runner != SLURM or site.slurm is not None]
    made: list[Ordeal] = []
    while sum(len(o.kills) for o in made) < n_kills:
        number = len(made)
        draw, here = random.Random(f"{seed} {number}"), folder / f"run-{number}"
        if site.slurm is not None:
            site.slurm.clear()
        here.mkdir()
        blows = draw.randint(1, MOST_BLOWS)
        made.append(ordeal(site, turns[number % len(turns)], blows, draw, here))
        told(made[-1])
        if not made[-1].wrong:
            shutil.rmtree(here)
    return made


def rows(number: int, one: Ordeal, works: int) -> Iterator[str]:
    """A row for each kill of a run, as Markdown; what it came to stands in the last."""
    for i, kill in enumerate(one.kills):
        survived = "went on" if kill.survived else "stopped, continued"
        cells = [number, kill.runner, kill.victim, kill.phase, f"{len(kill.before)} of {works}"]
        last = [one.wrong or "equal, balanced", one.again, f"{one.seconds:.0f}"]
        cells += [survived, *(last if i == len(one.kills) - 1 else ["", "", ""])]
        yield f"| {' | '.join(map(str, cells))} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    folder, told = Path(tempfile.mkdtemp(prefix="kills-")), []
    say("| run | runner | victim | phase | works done | it | in the end | done again | s |")
    say("|---|---|---|---|---|---|---|---|---|")

    def tell(one: Ordeal) -> None:
        told.append(one)
        for line in rows(len(told), one, len(site.receipts)):
            say(line)

    with site_in(folder) as site:
        made = campaign(site, args.kills, args.seed, folder, tell)
    ill, again = sum(o.wrong != "" for o in made), sum(o.again for o in made)
    say(
        f"\n{sum(len(o.kills) for o in made)} kills in {len(made)} runs: {ill} did not end well,"
        f" {again} finished works were done again"
    )
    if ill:
        say(f"see {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
