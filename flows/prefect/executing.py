"""Who does the works of a flow run: a pool, in Prefect tasks, with its progress in the UI.

A task run does a group of works: a phase of ten thousand shards is a few hundred task runs at most.
They run in threads of the flow's process, which hand their works to a pool and wait: so workers of
a cluster know nothing of Prefect, and an API that is slow or gone holds up no work.

A phase has an artifact, brought up to date every few seconds by a thread of its own, since a server
that is slow or gone may hold up whoever talks to it.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from prefect import get_run_logger, task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed

from tokenmill.flows.asked import Asked
from tokenmill.flows.pools.choose import open_pool, runner_of
from tokenmill.flows.pools.lane import Chain, Lane, Pace
from tokenmill.flows.pools.pool import Pool
from tokenmill.flows.prefect.flow_run import Ended, Shown, describe
from tokenmill.flows.prefect.run_here import errand
from tokenmill.flows.progress import Watcher, holding, watcher
from tokenmill.flows.stopping import GRACE_S, LATE, with_grace
from tokenmill.flows.troubles import ended_as
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.runs.work import Execute, Job, Outcome, Phase, Work, chained

MOST_RUNS = 300  # task runs of a phase, about
EVERY_S = 3.0
LEAVE_S = 5.0  # for the last state of all phases


@contextlib.contextmanager
def executing(options: RunOptions, out: Place, *, name: str, label: str) -> Iterator[Execute]:
    """What executes phases, for the length of the block.

    out: the run directory.  name: of the flow run.  label: that it is tagged with.
    """
    describe(name, label, runner_of(options, out))
    with (
        with_grace() if errand.get() is not None else contextlib.nullcontext(),
        contextlib.closing(PhaseProgress(watcher.get())) as shown,
        holding(watcher, shown),
        open_pool(options, out) as pool,
    ):
        yield as_tasks(pool, task_seconds=options.task_seconds)


def reported(
    asked: Asked[Any, Any],
    do: Callable[..., Any],
    in_short: Callable[[Any], str],
    artifacts: Callable[[Any, Any], Iterable[Shown]],
    *,
    name: str,
    label: str,
) -> Ended:
    """Have the work done that is asked for, unless it was before; its report is the result.

    do: makes the report.  in_short: it in one sentence.  name, label: as of `executing`.
    """
    before = asked.report is not None
    report = asked.report
    if not before:
        with executing(asked.what.run, asked.out, name=name, label=label) as execute:
            report = do(asked.what, asked.out, execute, asked.plan)
    told = ended_as(report, in_short(report), before=before)
    shown = () if before else artifacts(report, asked.out)
    return Ended(report.to_json(), told, not report.none, shown)


def as_tasks(pool: Pool, *, task_seconds: float) -> Execute:
    """What executes phases in the pool, as task runs of the flow around it.

    task_seconds: that a bundle of works is to take, about.
    """
    pace = Pace(task_seconds)

    def execute(job: Job, phase: Phase) -> list[Outcome]:
        return _Running(pool, pace, job, phase).outcomes()

    return execute


class _Running:
    """A phase at work; Prefect looks for futures in what tasks are given, but not in this."""

    def __init__(self, pool: Pool, pace: Pace, job: Job, phase: Phase) -> None:
        self._pool, self._pace, self._job, self._phase = pool, pace, job, phase
        self._stopping = threading.Event()
        self._groups: dict[str, Sequence[Chain]] = {}
        self._made: dict[str, Outcome] = {}  # by the keys of works
        self._show = watcher.get()

    def outcomes(self) -> list[Outcome]:
        """How the works of the phase ended, in order; a failed one is an outcome, not the end."""
        phase, show = self._phase, self._show
        show.start(phase)
        waiting: deque[Chain] = deque(chained(phase.works, self._pool.n_workers))
        futures: set[Any] = set()
        try:
            while waiting or futures:
                while waiting and len(futures) < self._pool.lanes:
                    futures.add(self._submitted(waiting))
                future = next(iter(as_completed(list(futures))))
                futures.remove(future)
                future.result()  # raises what ends the run
        except KeyboardInterrupt as e:
            raise self._stopped(futures) from e
        finally:
            self._stopping.set()  # what is not begun is not worth it, should the run end here
        show.end()
        made, self._made = self._made, {}  # whoever still has this one keeps no outcomes
        return [made[work.key] for work in phase.works]

    def _stopped(self, futures: Collection[Any]) -> KeyboardInterrupt:
        """Begin nothing more, and wait for what is at work, as long as it is given."""
        self._stopping.set()
        self._pool.stop()
        with contextlib.suppress(OSError):  # the terminal has gone
            self._show.tell(f"stopping: what is at work has {GRACE_S:g} s; Ctrl-C ends it at once")
        deadline = time.monotonic() + GRACE_S
        for future in futures:
            future.wait(max(deadline - time.monotonic(), 0))
        return KeyboardInterrupt(LATE if time.monotonic() > deadline else "")

    def _submitted(self, waiting: deque[Chain]) -> Any:
        """A task run for the next group."""
        group = [waiting.popleft() for _ in range(self._size(waiting))]
        name = _named([work for chain in group for work in chain])
        self._groups[name] = group
        return do_group.with_options(name=self._phase.name).submit(name, self)

    def _size(self, waiting: deque[Chain]) -> int:
        """Chains of the next group."""
        step, lanes, n = waiting[0][0].step, self._pool.lanes, len(waiting)
        share = max(2 * self._pool.n_workers // lanes, 1)  # bundles of a lane at a time
        wanted = max(self._pace.works(step) * share, len(self._phase.works) // MOST_RUNS, share)
        return min(wanted, max(n // lanes, 1))

    def run(self, name: str) -> list[Outcome]:
        """Do a group, in the thread that calls."""
        lane = Lane(self._pool, self._pace, self._heard, self._stopping)
        outcomes = lane.run(self._job, self._groups.pop(name))
        self._made.update((outcome.work.key, outcome) for outcome in outcomes)
        return outcomes

    def _heard(self, outcome: Outcome) -> None:
        self._show.advance(outcome)
        self._phase.told(outcome)

    def __repr__(self) -> str:
        return "works"


@task(task_run_name="{shards}", cache_policy=NO_CACHE, persist_result=False, log_prints=False)
def do_group(shards: str, works: _Running) -> None:
    """Have a group of works done; retries: see `pipelines.runs.work.attempt`.

    Of each part of what a task returns Prefect keeps a note to the end of the flow run.
    """
    log_group(shards, works.run(shards))


def _named(works: Sequence[Work]) -> str:
    """What a group is called.

    >>> works = [Work(step="pass-0", key=k, inputs="", call=print) for k in ("a", "b", "c")]
    >>> _named(works), _named(works[:1])
    ('pass-0 a … c (3)', 'pass-0 a')
    """
    first, last = works[0], works[-1]
    if len(works) == 1:
        return f"{first.step} {first.key}"
    return f"{first.step} {first.key} … {last.key} ({len(works)})"


def log_group(name: str, outcomes: Sequence[Outcome]) -> None:
    """A line for the group, with documents and seconds, and one for each shard that failed."""
    log = get_run_logger()
    for outcome in outcomes:
        if outcome.error is not None:
            work = outcome.work
            log.error("shard %s failed in %s: %s", work.key, work.step, outcome.error)
    log.info("%s: %s", name, _in_words(outcomes))


def _in_words(outcomes: Sequence[Outcome]) -> str:
    receipts = [o.receipt for o in outcomes if o.receipt is not None]
    docs = sum(r.stats[0][1].docs_in for r in receipts if r.stats)
    seconds = sum(o.receipt.seconds[0] for o in outcomes if o.receipt is not None and o.fresh)
    what = f"{docs:,} documents" if docs else f"{len(receipts):,} of {len(outcomes):,} done"
    return f"{what} in {seconds:.1f} s"


@dataclass
class _Phase:
    """artifact: where it is shown, once it is.  shown: what was last said there."""

    name: str
    works: int
    done: int
    artifact: UUID | None = None
    shown: str = ""

    def show(self, words: str) -> None:
        """words: of the whole run, where this is its last phase."""
        told = f"{self.name}: {self.done:,} of {self.works:,}" + (f"; {words}" if words else "")
        if told == self.shown:
            return
        percent = 100.0 * self.done / self.works if self.works else 100.0
        if self.artifact is None:
            made = create_progress_artifact(percent, description=told)
            assert isinstance(made, UUID)  # and no coroutine: no flow of ours is async
            self.artifact = made
        else:
            update_progress_artifact(self.artifact, percent, description=told)
        self.shown = told


class PhaseProgress(Watcher):
    """Passes on what a watcher is told, and shows phases in the UI.

    One that was over before it was first looked at is not shown: a server works a tenth of a second
    for two, and a small run has fifteen.
    """

    def __init__(self, inner: Watcher) -> None:
        super().__init__()
        self._inner = inner
        self._phases: list[_Phase] = []
        self._lock, self._closing = threading.Lock(), threading.Event()
        run = copy_context().run  # artifacts belong to the flow run of the context
        self._thread = threading.Thread(target=run, args=(self._show,), daemon=True)
        self._thread.start()

    def start(self, phase: Phase, n_works: int | None = None) -> None:
        super().start(phase, n_works)
        now = self.standing
        self._phases.append(_Phase(now.phase, now.works, now.done))
        self._inner.start(phase, n_works)

    def advance(self, outcome: Outcome | None = None) -> None:
        with self._lock:  # lanes are threads
            super().advance(outcome)
            self._phases[-1].done += 1
            self._inner.advance(outcome)

    def end(self) -> None:
        super().end()
        self._inner.end()

    def tell(self, line: str) -> None:
        self._inner.tell(line)

    def close(self) -> None:
        self._closing.set()
        self._thread.join(LEAVE_S)

    def _show(self) -> None:
        closing = False
        while not closing:
            closing = self._closing.wait(EVERY_S)
            with contextlib.suppress(Exception):  # the next round tries again
                phases = list(self._phases)
                for phase in phases[:-1]:
                    if phase.artifact is not None:
                        phase.show("")
                for last in phases[-1:]:
                    last.show(self.standing.in_words())
