"""Kill runs at random moments, over and over; each must end as one that nothing happened to.

    python -m tests.cluster.campaign --kills 100 --seed 1
    python -m tests.cluster.campaign --kills 100 --seed 1 --state kills.jsonl  # can be continued

Victims are the flow process, a worker, a node (a worker with its nanny, nobody starts it again),
the scheduler, a job of SLURM, of an array too; all by SIGKILL. The flow process is told to end as
well, by SIGTERM, and a store that fails one request in ten for all of a run does not answer any
more. After each blow that ends a run the same command is run again. A row is printed for each; the
exit code is 1 if one run did not end well.
"""

import argparse
import contextlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from botocore.exceptions import ClientError

from tests.cluster import runs
from tests.cluster.dask_cluster import SPAWNED, DaskCluster, dask_cluster_in
from tests.cluster.prefect_server import PrefectServer, prefect_server_in
from tests.cluster.processes import Program, environment, eventually
from tests.cluster.s3 import S3, s3_in
from tests.cluster.slurm import Slurm, slurm_in, why_not
from tests.e2e.corpus import write_corpus
from tokenmill.pipelines.runs.receipt import Receipt

THREADS, LOCAL, EXTERNAL, SLURM = "threads", "dask, local", "dask, external", "slurm"
ARRAY, STORE = "array", "threads, S3"
FLOW, WORKER, NODE, SCHEDULER, JOB = "flow", "worker", "node", "scheduler", "job"
TOLD, OUTAGE = "flow, SIGTERM", "store"
VICTIMS = {
    THREADS: (FLOW, TOLD),
    LOCAL: (WORKER, FLOW, TOLD),
    EXTERNAL: (WORKER, NODE, FLOW, SCHEDULER),
    SLURM: (JOB, FLOW),
    ARRAY: (JOB,),
    STORE: (FLOW, OUTAGE),
}
TURNS = (EXTERNAL, LOCAL, SLURM, STORE, ARRAY, THREADS)
# exit codes of runs that had not just ended; a process that is told while it starts dies of it
ENDS = {SCHEDULER: {2}, OUTAGE: {2}, TOLD: {128 + signal.SIGTERM, -signal.SIGTERM}}
FAILING = {"slow_down": 0.04, "time_out": 0.005, "truncate": 0.03, "reset": 0.025}
GONE = {"slow_down": 1.0}
BUCKET = "campaign"
LOOK_EVERY_S = 0.1
MOST_COMMANDS = 20  # until a run by arrays has ended, of which kills had left something
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
    s3: S3 | None

    def options(self, runner: str) -> tuple[str, ...]:
        if runner == SLURM and self.slurm is not None:
            return runs.on_slurm(self.slurm)
        if runner == ARRAY and self.slurm is not None:
            return runs.on_array(self.slurm)
        if runner == EXTERNAL:
            return runs.on_dask(self.dask)
        return ("--runner", "dask" if runner == LOCAL else "threads", "--workers", "2")

    @property
    def env(self) -> dict[str, str]:
        env = {**self.prefect.client_env, "PREFECT_LOGGING_LEVEL": "CRITICAL"}
        env |= self.slurm.env if self.slurm is not None else {}
        return env | (self.s3.env if self.s3 is not None else {})

    @property
    def turns(self) -> list[str]:
        """Runners that there are, in turn."""
        return [r for r in TURNS if r not in (SLURM, ARRAY) or self.slurm is not None]


class Out:
    """A run directory. named: as its command names it.  here: it, or what was fetched of it."""

    def __init__(self, named: Path | str, here: Path, s3: S3 | None = None) -> None:
        self.named, self.here, self._s3 = named, here, s3
        self._fetched: dict[str, str] = {}  # versions by name

    def receipts(self) -> dict[str, Receipt]:
        return runs.receipts(self.seen("receipts/"))

    def seen(self, below: str = "") -> Path:
        """The directory, with what there is now below a folder of it."""
        if self._s3 is not None:
            (self.here / "receipts").mkdir(parents=True, exist_ok=True)
            client, of_run = self._s3.client(), f"{str(self.named).partition(f'{BUCKET}/')[2]}/"
            pages = client.get_paginator("list_objects_v2").paginate(
                Bucket=BUCKET, Prefix=of_run + below
            )
            found = [entry for page in pages for entry in page.get("Contents", ())]
            there = {
                e["Key"].removeprefix(of_run): f"{e['ETag']} {e['LastModified']}" for e in found
            }
            for name in {n for n in self._fetched if n.startswith(below)} - there.keys():
                (self.here / name).unlink(missing_ok=True)
                del self._fetched[name]
            for name in {n for n, version in there.items() if self._fetched.get(n) != version}:
                (self.here / name).parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(ClientError):  # it went since it was listed
                    client.download_file(BUCKET, of_run + name, str(self.here / name))
                    self._fetched[name] = there[name]
        return self.here


class Submitted:
    """A run by job arrays: the command ends at once, and jobs go on; as `Program`."""

    def __init__(self, command: list[str], slurm: Slurm, env: Mapping[str, str]) -> None:
        self._slurm, self.process = slurm, self
        ended = subprocess.run(command, env=environment(**env), capture_output=True, text=True)
        self.returncode, self._said = ended.returncode, ended.stderr

    @property
    def living(self) -> bool:
        return bool(self._slurm.jobs())

    def poll(self) -> int:
        return self.returncode

    def wait(self, _within_s: float) -> None:
        self._slurm.wait(ENDED_S)

    def tail(self) -> str:
        return self._said

    def stop(self) -> None:
        self._slurm.clear()


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
    out = _out(site, runner, folder)
    command = runs.command(site.recipe, out.named, *site.options(runner))
    moments = sorted(draw.randrange(len(site.receipts)) for _ in range(blows))
    program = None
    try:
        for wanted in moments:
            if program is None or not program.living:
                site.dask.restore()
                program = _begun(site, runner, command, folder)
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
    wrong += _wrong(site, out, _ended(site, runner, out))
    after = runs.receipts(out.here)
    again = {n for k in kills for n, written in k.before.items() if after.get(n) != written}
    return Ordeal(tuple(kills), len(again), time.monotonic() - began, "; ".join(wrong))


def _out(site: Site, runner: str, folder: Path) -> Out:
    if runner != STORE or site.s3 is None:
        return Out(folder / "run", folder / "run")
    site.s3.proxy.rates = FAILING
    return Out(f"s3://{BUCKET}/{folder.name}/run", folder / "seen", site.s3)


def _begun(site: Site, runner: str, command: list[str], folder: Path) -> Program | Submitted:
    if runner == ARRAY and site.slurm is not None:
        return Submitted(command, site.slurm, site.env)
    return Program(command, log=folder / "driver.log", env=site.env)


def _ended(site: Site, runner: str, out: Out) -> runs.Ended:
    """How the same command ends once more; by arrays, how the one ends that finds all done."""
    for _ in range(MOST_COMMANDS):
        ended = runs.prepare(site.recipe, out.named, *site.options(runner), env=site.env)
        if runner != ARRAY or site.slurm is None or "submitted" not in ended.out:
            break
        site.slurm.wait(ENDED_S)
    return ended


def _strike(
    site: Site,
    program: Program | Submitted,
    runner: str,
    wanted: int,
    draw: random.Random,
    out: Out,
) -> Kill | None:
    """Kill once so many works are done; None where that cannot be."""
    victim, delay = draw.choice(VICTIMS[runner]), draw.uniform(0, MOST_DELAY_S)
    reached = lambda: len(out.receipts()) >= wanted or not program.living  # noqa: E731
    eventually("works", reached, within_s=ENDED_S, pause_s=LOOK_EVERY_S)
    time.sleep(delay)
    before = out.receipts()
    if not program.living or len(before) == len(site.receipts):
        return None
    if not _kill(site, program, (runner, victim), draw):
        return None
    phase = runs.last_step(out.here) or BEGINNING
    if victim not in SURVIVED:
        program.process.wait(ENDED_S)
        if site.s3 is not None:
            site.s3.proxy.rates = FAILING if runner == STORE else {}
    return Kill(runner, victim, phase, before, victim in SURVIVED)


def _ended_wrong(program: Program | Submitted) -> Iterator[str]:
    """What is wrong with the end of a run that nobody stopped."""
    if program.process.poll():
        yield f"exit {program.process.returncode}: {program.tail()[-300:]}"


def _stopped_wrong(kill: Kill, program: Program | Submitted) -> Iterator[str]:
    """What is wrong with the way in which a run stopped."""
    code = program.process.returncode
    if code not in {0, *ENDS.get(kill.victim, {code})}:
        yield f"stopped by {kill.victim} with exit {code}: {program.tail()[-300:]}"


def _kill(
    site: Site, program: Program | Submitted, target: tuple[str, str], draw: random.Random
) -> bool:
    """Kill a victim of this kind; False where there is none at the moment."""
    runner, victim = target
    if victim == FLOW and isinstance(program, Program):
        program.kill()
    elif victim == TOLD and isinstance(program, Program):
        program.process.terminate()
    elif victim == OUTAGE and site.s3 is not None:
        site.s3.proxy.rates = GONE
    elif victim == SCHEDULER:
        site.dask.kill_scheduler()
    elif victim == JOB and site.slurm is not None:
        return _kill_job(site.slurm, draw)
    elif runner == LOCAL:
        return _kill_child(program, draw)
    else:
        return _kill_worker(site, victim, draw)
    return True


def _kill_job(slurm: Slurm, draw: random.Random) -> bool:
    jobs = slurm.jobs("RUNNING")
    if jobs:
        with contextlib.suppress(RuntimeError):  # it has just ended
            slurm.kill(draw.choice(jobs))
            return True
    return False


def _kill_child(program: Program | Submitted, draw: random.Random) -> bool:
    """A worker that the flow process started."""
    children = program.children() if isinstance(program, Program) else []
    workers = [p for p in children if SPAWNED in " ".join(p.cmdline())]
    if workers:
        draw.choice(workers).kill()
    return bool(workers)


def _kill_worker(site: Site, victim: str, draw: random.Random) -> bool:
    """A worker of the cluster, or its node."""
    working = [name for name in sorted(site.dask.workers) if site.dask.worker_processes(name)]
    if not working:
        return False
    (site.dask.kill_worker if victim == WORKER else site.dask.kill_nanny)(draw.choice(working))
    if victim == NODE and len(working) == 1:
        site.dask.restore()  # without any the run would wait for its user to do so
    return True


def _wrong(site: Site, of_run: Out, ended: runs.Ended) -> Iterator[str]:
    """What is not as it must be after the last of the commands."""
    if ended.code != 0:
        yield f"the same command ended with exit {ended.code}: {ended.err.strip()[-300:]}"
        return
    out = of_run.seen()
    if runs.contents(out) != site.wanted:
        yield "other bytes"
    yield from runs.unbalanced(out)
    if set(runs.receipts(out)) != site.receipts:
        yield "other receipts"
    if other := files(out) ^ site.files:
        yield f"other files: {', '.join(sorted(other)[:3])}"


def files(out: Path) -> frozenset[str]:
    """Names of all that lies in a run directory, but for what SLURM's jobs print, and its lock."""
    names = (p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    return frozenset(n for n in names if not n.startswith("slurm-logs/") and n != ".lock")


@contextmanager
def site_in(folder: Path) -> Iterator[Site]:
    """Start everything, and make the run that nothing happens to."""
    for name in ("prefect", "dask", "slurm", "s3", "corpus"):
        (folder / name).mkdir()
    with ExitStack() as stack:
        prefect = stack.enter_context(prefect_server_in(folder / "prefect"))
        dask = stack.enter_context(dask_cluster_in(folder / "dask"))
        slurm = None if why_not() else stack.enter_context(slurm_in(folder / "slurm"))
        s3 = stack.enter_context(s3_in(folder / "s3"))
        s3.client().create_bucket(Bucket=BUCKET)
        recipe, out = write_corpus(folder / "corpus", **runs.SMALL), folder / "undisturbed"
        runs.prepared(recipe, out, "--workers", "1", env=prefect.client_env)
        receipts = frozenset(runs.receipts(out))
        yield Site(recipe, runs.contents(out), receipts, files(out), dask, prefect, slurm, s3)


def campaign(
    site: Site, asked: argparse.Namespace, folder: Path, made: list["Met"]
) -> Iterator[Ordeal]:
    """Kill at least so many times as `asked`; the folders of runs that ended ill stay.

    made: what was met before, which counts.
    """
    turns = site.turns
    while sum(one.kills for one in made) < asked.kills:
        number = len(made)
        draw, here = random.Random(f"{asked.seed} {number}"), folder / f"run-{number}"
        if site.slurm is not None:
            site.slurm.clear()
        if site.s3 is not None:
            site.s3.proxy.forget()
        here.mkdir()
        blows = draw.randint(1, asked.blows)
        one = ordeal(site, turns[number % len(turns)], blows, draw, here)
        made.append(Met(turns[number % len(turns)], len(one.kills), one.again, one.wrong))
        yield one
        if not one.wrong:
            shutil.rmtree(here)


class Met(NamedTuple):
    """What is remembered of an ordeal."""

    runner: str
    kills: int
    again: int
    wrong: str


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
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blows", type=int, default=8, help="that a run meets at most")
    parser.add_argument("--state", type=Path, help="file that remembers runs, to be continued")
    asked = parser.parse_args()
    folder, made = Path(tempfile.mkdtemp(prefix="kills-")), remembered(asked.state)
    say("| run | runner | victim | phase | works done | it | in the end | done again | s |")
    say("|---|---|---|---|---|---|---|---|---|")
    with site_in(folder) as site:
        for one in campaign(site, asked, folder, made):
            for line in rows(len(made), one, len(site.receipts)):
                say(line)
            if asked.state is not None:
                with asked.state.open("a") as file:
                    file.write(json.dumps(made[-1]) + "\n")
    for line in in_short(made):
        say(line)
    if any(one.wrong for one in made):
        say(f"see {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def remembered(state: Path | None) -> list[Met]:
    there = state is not None and state.exists()
    return [Met(*json.loads(line)) for line in state.read_text().splitlines()] if there else []


def in_short(made: Sequence[Met]) -> Iterator[str]:
    """A row for each runner, as Markdown, and one of all."""
    yield "\n| runner | kills | runs | did not end well | finished works done again |"
    yield "|---|---|---|---|---|"
    for runner in (*dict.fromkeys(one.runner for one in made), "all"):
        of = [one for one in made if runner in (one.runner, "all")]
        ill = sum(one.wrong != "" for one in of)
        cells = [runner, sum(one.kills for one in of), len(of), ill, sum(one.again for one in of)]
        yield f"| {' | '.join(map(str, cells))} |"


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
