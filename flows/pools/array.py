"""A run made by jobs of SLURM alone: an array a phase, and no process that waits beside it.

    prepare ── sbatch ──► planner ── sbatch ──► array of tasks ── claim groups of works ──► receipts
                             ▲                        │
                             └── once it has ended ◄──┘

A planner drives the run as any other process does: what receipts show done it does not hand out,
and a phase of one work it does itself. For more it sets the works down in groups, submits an array,
and behind it the next planner, and ends. A task claims a group by a file that is made only where
there is none (O_EXCL, If-None-Match), does its works, and takes the next.

No clock says that a task has died: a claim holds while its array is there, and when that has ended,
whether its tasks did or were killed, the next planner hands out what is left anew. Works of which
an array did none, though its tasks took them all, are those that kill their tasks.

What jobs are told is pickled in RUN/99-array, and its digest stands in the script of the job.
"""

import hashlib
import math
import os
import pickle
import shlex
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from tokenmill.flows.exits import OK, exit_code_of
from tokenmill.flows.pools.sbatch import jobs_named, submit
from tokenmill.flows.progress import NOTHING, JsonLog
from tokenmill.flows.stopping import GRACE_S
from tokenmill.flows.troubles import exit_code
from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.core.options import Slurm
from tokenmill.pipelines.core.places import place
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.read.stream import parking
from tokenmill.pipelines.runs.bundle import check_process, versions
from tokenmill.pipelines.runs.manifest import held, joined
from tokenmill.pipelines.runs.receipt import WorkId, failures, note_failure
from tokenmill.pipelines.runs.work import Job, Outcome, Phase, Work, attempt, chained
from tokenmill.pipelines.storage import mirror

FOLDER, ORDER = "99-array", "run.pickle"
PLANNER, TASK = "planner", "task"
GROUPS = 8  # of works for each worker: what a killed task strands is a group at most
WRITERS = 16
POLL_S = 0.5
SUBMITTER_S = 90.0  # sbatch has 60, and so long lasts the lock of one that was killed, on S3
NOTICE = "--signal=B:TERM@60"  # before a job's time is over
HERE = "array"  # as if a step: of what failed, by the jobs themselves


@dataclass(frozen=True, kw_only=True)
class Order:
    """What all jobs of a run are told.  name: theirs.  logs: where scripts and logs lie."""

    recipe: Recipe
    plan: Plan
    out: str
    name: str
    logs: Path


@dataclass(frozen=True, kw_only=True)
class Round:
    """Works that an array is to do.  groups: the digest of each.  versions: as of the planner."""

    job: Job
    phase: str
    works: int
    groups: tuple[str, ...]
    versions: Mapping[str, str]


class HandedOutError(Exception):
    """A phase is an array's now: this planner has done its part."""


def check_idle(out: str) -> None:
    """Refuse to begin beside jobs of the same run.

    out: the run directory, by its whole path.
    ConfigError: names them.
    """
    if jobs := jobs_named(name_of(out)):
        raise ConfigError(
            f"{out}: jobs {', '.join(jobs[:3])} of SLURM are at work in it; tokenmill status {out}"
            f" tells how far they are, scancel --name {name_of(out)} ends them"
        )


def idle(out: str) -> str:
    """Why no job of a run is at work: all wait, or there are none; "" if one is, or nobody says."""
    if (jobs := jobs_named(name_of(out), "%T %r")) is None:
        return ""
    if not jobs:
        return (
            "stopped, unless another runner is at work on it: SLURM here has no job of it; the same"
            " command continues it"
        )
    states = [line.split(" ", 1) for line in jobs]
    runs = any(state != "PENDING" for state, *_ in states)
    reasons = ", ".join(dict.fromkeys(reason for _, reason in states))
    return "" if runs else f"waits in SLURM ({reasons})"


def submit_run(recipe: Recipe, plan: Plan, out: str, logs: Path) -> str:
    """Have SLURM make a run that was opened before; the id of its first job.

    Of commands that are given at once one alone submits, where squeue answers, since it holds the
    run until SLURM knows its job. Where the job is refused all is as before: a planner may wait
    for its order, and `forget_unbegun` leaves a run that has one.

    out: as of `check_idle`.  logs: a folder that all nodes share.
    ConfigError: SLURM takes no job; or another command was faster, whose job is named.
    """
    order = Order(recipe=recipe, plan=plan, out=out, name=name_of(out), logs=logs)
    with held(place(out), scratch=recipe.run.scratch) as folder:
        check_idle(out)
        path = folder / FOLDER / ORDER
        before = mirror.read_bytes(path) if mirror.exists(path) else None
        digest = _put(path, order)
        try:
            return _submit_planner(order, digest)
        except BaseException:  # Ctrl-C too, while SLURM does not answer
            if before is None:
                mirror.remove([path])
            else:
                mirror.write_bytes(path, before)
            raise


def name_of(out: str) -> str:
    """Of all jobs of a run."""
    return f"tokenmill-{digest_of([out])[:12]}"


def _put(path: Path, value: object) -> str:
    """Set down what a job is told; its digest."""
    data = pickle.dumps(value)
    mirror.write_bytes(path, data)
    return hashlib.sha256(data).hexdigest()


def _got(path: Path, digest: str) -> Any:
    """What a job is told, if it is what was set down: to unpickle that could do anything."""
    data = mirror.read_bytes(path)
    if hashlib.sha256(data).hexdigest() != digest:
        raise ConfigError(f"{mirror.address(path)}: not what was submitted; prepare again")
    return pickle.loads(data)


def _submit(order: Order, what: str, words: Sequence[str], *more: str) -> str:
    """The id of a job; its script stays beside its logs.  more: lines of it."""
    options: Slurm = order.recipe.run.slurm
    output = f"{order.logs}/{what}-".replace("%", "%%") + ("%j" if what == PLANNER else "%A_%a")
    named = {
        "job-name": order.name,
        "output": f"{output}.out",
        "time": options.walltime,
        "ntasks": 1,
        "cpus-per-task": options.cores,
        "mem": f"{-(-options.memory // 2**20)}M",
        "partition": options.queue,
        "account": options.account,
    }
    lines = [f"--{k}={shlex.quote(str(v))}" for k, v in named.items() if v is not None]
    command = [sys.executable, "-P", "-m", "tokenmill.flows.pools.array", *words]
    order.logs.mkdir(parents=True, exist_ok=True)
    script = order.logs / f"{what}.sh"
    text = "\n".join(f"#SBATCH {line}" for line in (*lines, NOTICE, *options.directives, *more))
    script.write_text(f"#!/bin/sh\n{text}\nexec {shlex.join(command)}\n", encoding="utf-8")
    return submit(script)


def _submit_planner(order: Order, digest: str, *behind: str) -> str:
    """behind: as of `plan`; its last word names an array, for whose end it waits."""
    waits = [f"--dependency=afterany:{behind[-1]}"] if behind else []
    return _submit(order, PLANNER, [PLANNER, order.out, digest, *behind], *waits)


def plan(out: str, digest: str, *behind: str) -> int:
    """Drive a run until a phase is handed out, or to its end.

    behind: of the array before: its step, the works that it was to do and their groups, the folder
        of these, and its job.
    """
    signal.signal(signal.SIGTERM, _stop)
    with mirror.viewed(place(out)) as folder:
        order: Order = _got(folder / FOLDER / ORDER, digest)
    if not behind:
        _await_submitter(order)
    try:
        report = run_recipe(order.recipe, place(out), _Planner(order, digest, behind), order.plan)
    except HandedOutError as e:
        sys.stdout.write(f"{e}\n")
        return OK
    sys.stdout.write(f"done: {report.total.docs:,} documents, {report.total.tokens:,} tokens\n")
    return exit_code(report)


def _await_submitter(order: Order) -> None:
    """The command that submitted the first planner holds the run until sbatch has ended.

    Whatever else keeps the run from being held is told after the same time.
    """
    deadline = time.monotonic() + SUBMITTER_S
    while True:
        try:
            with held(place(order.out), scratch=order.recipe.run.scratch):
                return
        except ConfigError:
            if time.monotonic() > deadline:
                raise
        time.sleep(POLL_S)


def _stop(_signum: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt("stopped by SIGTERM; the same command continues")


class _Planner:
    """What executes phases: does one work, and hands out more."""

    def __init__(self, order: Order, digest: str, behind: Sequence[str]) -> None:
        self._order, self._digest, self._behind = order, digest, tuple(behind)

    def __call__(self, job: Job, phase: Phase[Any]) -> list[Outcome]:
        if not phase.works:
            return []
        step, noted = phase.works[0].step, list(failures(job.out))
        for what, who, why in noted:
            if what == HERE:
                raise ConfigError(f"{who}: {why}")
        failed = {key: ShardError(why) for of, key, why in noted if of == step}
        left = tuple(work for work in phase.works if work.key not in failed)
        ended = [Outcome(work=w, error=failed[w.key]) for w in phase.works if w.key in failed]
        is_first = self._behind[:1] != (step,)
        if is_first and len(left) == 1:
            return [*ended, attempt(job, left[0])]
        if left and not is_first and int(self._behind[1]) == len(left):
            return [*ended, *self._given_up(job, left)]
        if left:
            self._hand_out(job, phase.name, left)
        return ended

    def _hand_out(self, job: Job, phase: str, works: Sequence[Work[Any]]) -> NoReturn:
        """Submit an array, and the planner behind it, which ends this one (HandedOutError)."""
        options, step = job.options.slurm, works[0].step
        tasks = min(options.maximum, len(works))
        groups = _groups(works, tasks * options.workers)
        name = f"{step}-{len(works)}"
        paths = [job.out / FOLDER / name / f"{number}.pickle" for number in range(len(groups))]
        with ThreadPoolExecutor(WRITERS) as writing:
            digests = tuple(writing.map(_put, paths, groups))
        told = Round(job=job, phase=phase, works=len(works), groups=digests, versions=versions())
        digest = _put(job.out / FOLDER / name / ORDER, told)
        own = os.environ.get("SLURM_JOB_ID")  # which holds the run until it ends
        waits = [f"--dependency=afterany:{own}"] if own else []
        words = [TASK, self._order.out, name, digest]
        array = _submit(self._order, step, words, f"--array=0-{tasks - 1}", *waits)
        behind = step, str(len(works)), str(len(groups)), name, array
        _submit_planner(self._order, self._digest, *behind)
        raise HandedOutError(f"{phase}: {len(works):,} works, array {array} of {tasks:,} tasks")

    def _given_up(self, job: Job, works: Sequence[Work[Any]]) -> list[Outcome]:
        """Works that an array began, all of them, and none of which it ended."""
        step, _, groups, name, array = self._behind
        if len(mirror.find(job.out / FOLDER / name / array, "*")) < int(groups):
            raise ConfigError(
                f"array {array} ended before it began all of {step}, and did none of its"
                f" {len(works):,} works; see {self._order.logs}; the same command continues"
            )
        why = (
            "tasks died at it, or at another beside it, again and again; give them more memory"
            " (run.slurm.memory), or take the shard out of the inputs"
        )
        for work in works:
            note_failure(job.out, work, why)
        return [Outcome(work=work, error=ShardError(why)) for work in works]


def _groups(works: Sequence[Work[Any]], workers: int) -> list[list[Work[Any]]]:
    """Works in order, those of a chain together, in GROUPS for each worker at most."""
    chains = chained(works, workers)
    n = min(len(chains), workers * GROUPS)
    cuts = [number * len(chains) // n for number in range(n + 1)]
    return [[work for chain in chains[a:b] for work in chain] for a, b in pairwise(cuts)]


class _Task:
    """A task of an array.  stopping: set when it is told to end."""

    def __init__(self, told: Round, job: Job, folder: Path) -> None:
        self._told, self._job, self._folder = told, job, folder
        self._claims = folder / os.environ["SLURM_ARRAY_JOB_ID"]
        number, tasks = (int(os.environ[f"SLURM_ARRAY_TASK_{n}"]) for n in ("ID", "COUNT"))
        n = len(told.groups)
        first = number * n // tasks
        self._left = [*range(first, n), *range(first)][::-1]
        self._lock, self.stopping = threading.Lock(), threading.Event()
        self._log = JsonLog(NOTHING, sys.stdout, whole=False)
        self._log.start(Phase(name=told.phase, works=()), told.works)

    def run(self) -> None:
        """Do groups until there is none that nobody has."""
        while not self.stopping.is_set():
            with self._lock:
                number = self._left.pop() if self._left else None
            if number is None:
                return
            claim = self._claims / str(number)
            if mirror.create(claim):
                self._do(number, claim)

    def _do(self, number: int, claim: Path) -> None:
        path = self._folder / f"{number}.pickle"
        with parking(self._job.identity):
            for work in _got(path, self._told.groups[number]):
                if self.stopping.is_set():
                    mirror.remove([claim])  # the rest is another's
                    return
                outcome = attempt(self._job, work)
                with self._lock:
                    self._log.advance(outcome)


def task(out: str, name: str, digest: str) -> int:
    """Do what is there to do of an array's works, in as many threads as the job has workers."""
    came: list[int] = []
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda number, _frame: came.append(number))
    with mirror.viewed(place(out)) as folder:
        told: Round = _got(folder / FOLDER / name / ORDER, digest)
    options = told.job.options
    with joined(place(out), scratch=options.scratch, scratch_bytes=options.scratch_bytes) as run:
        job = replace(told.job, out=run)
        try:
            check_process(job, told.versions)
            pa.set_cpu_count(1)
            _done(_Task(told, job, run / FOLDER / name), options.slurm.workers, came)
        except ConfigError as e:
            # no other task can go on either, nor can the planner
            note_failure(run, WorkId(step=HERE, key=_me(), inputs=""), str(e))
            raise
    return 128 + came[0] if came else OK


def _me() -> str:
    return f"{TASK} " + os.environ.get("SLURM_ARRAY_TASK_ID", os.environ.get("SLURM_JOB_ID", "0"))


def _done(one: _Task, workers: int, came: Sequence[int]) -> None:
    """Have the works done; once a signal came, only those at hand, if they take no longer."""
    with ThreadPoolExecutor(workers) as working:
        left = {working.submit(one.run) for _ in range(workers)}
        deadline = math.inf
        while left:
            ended, left = wait(left, timeout=POLL_S)
            try:
                for future in ended:
                    future.result()
            except BaseException:
                one.stopping.set()
                raise
            if came and not one.stopping.is_set():
                one.stopping.set()
                deadline = time.monotonic() + GRACE_S
                sys.stderr.write(f"stopped by {signal.Signals(came[0]).name}\n")
                sys.stderr.flush()
            if time.monotonic() > deadline:
                os._exit(128 + came[0])  # threads cannot be ended otherwise


def main(argv: Sequence[str]) -> int:
    """Of a job: what it is told by its script."""
    what, *words = argv
    try:
        return plan(*words) if what == PLANNER else task(*words)
    except KeyboardInterrupt as e:
        _note(words[0], e)
        sys.stderr.write(f"{e}\n")
        return 128 + signal.SIGTERM
    except Exception as e:
        code = exit_code_of(e)
        if what == PLANNER:
            _note(words[0], e)
        if code is None:
            raise
        sys.stderr.write(f"{e}\n")
        return code


def _note(out: str, error: BaseException) -> None:
    """Leave word, for who asks for the status, why a planner was the last."""
    with mirror.viewed(place(out)) as folder:
        note_failure(folder, WorkId(step=HERE, key=PLANNER, inputs=""), str(error))


if __name__ == "__main__":
    from tokenmill.flows.pools import array  # what is pickled is called so

    sys.exit(array.main(sys.argv[1:]))
