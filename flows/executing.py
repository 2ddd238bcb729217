"""Who does the works of a run: a pool, in groups, each of which is noted as a task run of Prefect.

A phase of ten thousand shards is a few hundred groups at most. Threads of this process hand works
to the pool and wait; neither they nor workers of a cluster know of Prefect: what is noted goes by
`flows.notes`.

A group on its way is a lane: bundles of it grow until they take as long as a task should, and
shrink at the end, so that no worker is left waiting for the last one. Works on which workers died
are tried again at the end, each alone, before they are given up: it may have been another work that
killed their worker.
"""

import contextlib
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, TypeAlias

from tokenmill.flows.asked import Asked
from tokenmill.flows.ended import Ended, Shown
from tokenmill.flows.notes import PhaseProgress, notes
from tokenmill.flows.pools.choose import open_pool, runner_of
from tokenmill.flows.pools.pool import Pool, WorkerDiedError
from tokenmill.flows.progress import holding, watcher
from tokenmill.flows.stopping import GRACE_S, LATE
from tokenmill.flows.troubles import ended_as
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.runs.work import Execute, Job, Outcome, Phase, Work, chained
from tokenmill.sizing.document.section import count

Chain: TypeAlias = Sequence[Work]  # works best done in turn, by one worker
POLL_S = 1.0
MOST_GROUPS = 300  # of a phase, about
LOOK_S = 1.0


class Pace:
    """Seconds that works of each step took, for several threads; task_seconds: a bundle's aim."""

    def __init__(self, task_seconds: float) -> None:
        self._aim = task_seconds
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = defaultdict(float)
        self._works: dict[str, int] = defaultdict(int)

    def note(self, outcome: Outcome) -> None:
        """Count a work that was done now."""
        if outcome.fresh and outcome.receipt is not None:
            with self._lock:
                self._seconds[outcome.work.step] += outcome.receipt.seconds[0]
                self._works[outcome.work.step] += 1

    def works(self, step: str) -> int:
        """That make a bundle; 1 while nothing is known of the step."""
        with self._lock:
            n, seconds = self._works[step], self._seconds[step]
        return max(int(self._aim * n / seconds), 1) if n and seconds else 1


class Lane:
    """A group of works on its way; told: called with each outcome.  stopping: set to end early."""

    def __init__(
        self, pool: Pool, pace: Pace, told: Callable[[Outcome], Any], stopping: threading.Event
    ) -> None:
        self._pool, self._pace, self._told, self._stopping = pool, pace, told, stopping

    def run(self, job: Job, chains: Sequence[Chain]) -> list[Outcome]:
        """Have all works done; how they ended, in any order. ConfigError ends the run."""
        waiting, outcomes = deque(chains), []
        suspects: deque[Chain] = deque()
        running: dict[Future[list[Outcome]], list[Work]] = {}
        at_once = max(2 * self._pool.n_workers // self._pool.lanes, 1)
        while running or ((waiting or suspects) and not self._stopping.is_set()):
            while waiting and len(running) < at_once and not self._stopping.is_set():
                bundle = self._next(waiting, at_once)
                running[self._pool.submit(job, bundle)] = bundle
            for future in self._ended(running):
                bundle = running.pop(future)
                try:
                    outcomes += self._noted(future.result())
                except WorkerDiedError:
                    suspects += [[work] for work in bundle]
            if not running and not waiting and suspects and not self._stopping.is_set():
                outcomes += self._noted(self._alone(job, suspects.popleft()))
        return outcomes

    def _ended(self, running: Collection[Future[list[Outcome]]]) -> set[Future[list[Outcome]]]:
        ended, _ = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)
        if not ended:
            self._pool.check()
        return ended

    def _noted(self, made: list[Outcome]) -> list[Outcome]:
        for outcome in made:
            self._pace.note(outcome)
            self._told(outcome)
        return made

    def _next(self, waiting: "deque[Chain]", at_once: int) -> list[Work]:
        """The works of the next bundle: whole chains, where it is to have more than one."""
        if not self._pool.bundles:
            first, *rest = waiting.popleft()
            if rest:
                waiting.appendleft(rest)
            return [first]
        most = max(len(waiting) // (2 * at_once), 1)
        works = list(waiting.popleft())
        wanted = self._pace.works(works[0].step)
        for _ in range(most - 1):
            if len(works) >= wanted:
                break
            works += waiting.popleft()
        return works

    def _alone(self, job: Job, suspect: Chain) -> list[Outcome]:
        """Try works on which workers died once more, with no other of this lane beside them."""
        future = self._pool.submit(job, suspect)
        while not self._ended([future]):
            pass
        try:
            return future.result()
        except WorkerDiedError as e:
            return [
                Outcome(
                    work=work,
                    error=ShardError(
                        f"workers died at {work.step} {work.key} again and again ({e}); give them"
                        " more memory, or take the shard out of the inputs"
                    ),
                )
                for work in suspect
            ]


@contextlib.contextmanager
def executing(options: RunOptions, out: Place, *, name: str, label: str) -> Iterator[Execute]:
    """What executes phases in the block, in `out`; the flow run has the name, tagged with label."""
    notes.get().describe(name, label, runner_of(options, out))
    with (
        contextlib.closing(PhaseProgress(watcher.get(), notes.get())) as shown,
        holding(watcher, shown),
        open_pool(options, out) as pool,
    ):
        yield in_groups(pool, task_seconds=options.task_seconds)


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


def in_groups(pool: Pool, *, task_seconds: float) -> Execute:
    """What executes phases in the pool, in bundles of works of about `task_seconds`."""
    pace = Pace(task_seconds)

    def execute(job: Job, phase: Phase) -> list[Outcome]:
        return _Running(pool, pace, job, phase).outcomes()

    return execute


class _Running:
    """A phase at work."""

    def __init__(self, pool: Pool, pace: Pace, job: Job, phase: Phase) -> None:
        self._pool, self._pace, self._job, self._phase = pool, pace, job, phase
        self._stopping = threading.Event()
        self._show, self._notes = watcher.get(), notes.get()

    def outcomes(self) -> list[Outcome]:
        """How the works of the phase ended, in order; a failed one is an outcome, not the end."""
        phase, show = self._phase, self._show
        show.start(phase)
        waiting: deque[Chain] = deque(chained(phase.works, self._pool.n_workers))
        futures: set[Future[list[Outcome]]] = set()
        made: dict[str, Outcome] = {}  # by the keys of works
        threads = ThreadPoolExecutor(self._pool.lanes, thread_name_prefix=phase.name)
        try:
            while waiting or futures:
                self._notes.check()
                while waiting and len(futures) < self._pool.lanes:
                    group = [waiting.popleft() for _ in range(self._size(waiting))]
                    futures.add(threads.submit(copy_context().run, self._run, group))
                ended, futures = wait(futures, LOOK_S, return_when=FIRST_COMPLETED)
                for future in ended:  # whose result raises what ends the run
                    made.update((outcome.work.key, outcome) for outcome in future.result())
        except KeyboardInterrupt as e:
            raise self._stopped(futures) from e
        except BaseException:
            self._stopping.set()  # what is not begun is not worth it
            wait(futures)  # what is at work writes into the run, which is held until then
            raise
        finally:
            threads.shutdown(wait=False)
        show.end()
        return [made[work.key] for work in phase.works]

    def _stopped(self, futures: Collection[Future[Any]]) -> KeyboardInterrupt:
        """Begin nothing more, and wait for what is at work, as long as it is given."""
        self._stopping.set()
        self._pool.stop()
        with contextlib.suppress(OSError):  # the terminal has gone
            self._show.tell(f"stopping: what is at work has {GRACE_S:g} s; Ctrl-C ends it at once")
        deadline = time.monotonic() + GRACE_S
        wait(futures, GRACE_S)
        return KeyboardInterrupt(LATE if time.monotonic() > deadline else "")

    def _size(self, waiting: deque[Chain]) -> int:
        """Chains of the next group."""
        step, lanes, n = waiting[0][0].step, self._pool.lanes, len(waiting)
        share = max(2 * self._pool.n_workers // lanes, 1)  # bundles of a lane at a time
        wanted = max(self._pace.works(step) * share, len(self._phase.works) // MOST_GROUPS, share)
        return min(wanted, max(n // lanes, 1))

    def _run(self, group: Sequence[Chain]) -> list[Outcome]:
        """Do a group, in the thread that calls."""
        name = _named([work for chain in group for work in chain])
        lane = Lane(self._pool, self._pace, self._told, self._stopping)
        with self._notes.group(self._phase.name, name) as log:
            outcomes = lane.run(self._job, group)
            log += _lines(name, outcomes)
        return outcomes

    def _told(self, outcome: Outcome) -> None:
        self._show.advance(outcome)
        self._phase.told(outcome)


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


def _lines(name: str, outcomes: Sequence[Outcome]) -> Iterator[tuple[str, str]]:
    """A line for each shard that failed, and one for the group, with documents and seconds."""
    for outcome in outcomes:
        if outcome.error is not None:
            work = outcome.work
            yield "error", f"shard {work.key} failed in {work.step}: {outcome.error}"
    yield "info", f"{name}: {_in_words(outcomes)}"


def _in_words(outcomes: Sequence[Outcome]) -> str:
    receipts = [o.receipt for o in outcomes if o.receipt is not None]
    docs = sum(r.stats[0][1].docs_in for r in receipts if r.stats)
    seconds = sum(o.receipt.seconds[0] for o in outcomes if o.receipt is not None and o.fresh)
    what = count(docs, "document") if docs else f"{len(receipts):,} of {len(outcomes):,} done"
    return f"{what} in {seconds:.1f} s"
