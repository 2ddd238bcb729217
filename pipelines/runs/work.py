"""A job: one run directory, and the pieces of work that fill it, phase by phase.

    Phase: Works ── do ──► Outcomes, each with a receipt in OUT/receipts/

A job is a generator: it yields one phase at a time and is sent how its works ended; `runs.drive`
runs it, whoever does the works. What a later phase reads is named by the receipts of the earlier
ones, so that a work is done again when, and only when, something it reads has changed. A `Course`
tells each phase what it costs, and what is to come.
"""

import random
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from pydantic import Field

from tokenmill.pipelines.core.data import Data
from tokenmill.pipelines.core.errors import ConfigError, LedgerError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.plugins import place_of
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.runs.manifest import HOPELESS, cannot_write
from tokenmill.pipelines.runs.receipt import (
    F,
    Receipt,
    WorkId,
    file_entry,
    no_facts,
    note_failure,
    publish_files,
    save_receipt,
    valid_receipt,
)
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import writing
from tokenmill.pipelines.storage.inputs import PAUSES_S, OutageError, is_outage, stop_if_gone
from tokenmill.pipelines.storage.mirror import join_run


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every piece of work is told.

    out: the run directory, absolute; of one on an object store, the folder that mirrors it.
    remote: where that is, as s3://bucket/run.
    identity: digest of all that decides the output: settings, inputs, versions.
    durable: what its works write survives a power cut, and receipts tell its digests.
    """

    durable: ClassVar[bool] = True
    out: Path
    identity: str
    remote: str | None = None
    options: RunOptions = field(default_factory=RunOptions)

    @property
    def manifest(self) -> Path:
        return self.out / "manifest.json"


@dataclass(frozen=True, kw_only=True)
class Done(Generic[F]):
    """What a piece of work hands back: the files it wrote, its account, and facts for later."""

    files: Sequence[Path] = ()
    stats: Sequence[tuple[str, StageStats]] = ()
    facts: F = field(default_factory=no_facts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Work(WorkId, Generic[F]):
    """One piece of work: independent of its siblings, repeatable, proven by a receipt.

    chain: works of one chain are best done in turn, by one worker; "" is none.
    call, args: a module-level function and what it takes after the job, so that it pickles.
    """

    call: Callable[..., Done[F]]
    args: tuple[Any, ...] = ()
    chain: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a work ended: its receipt, or what went wrong; fresh: done now, not found done."""

    work: Work[Any]
    receipt: Receipt[Any] | None = None
    error: BaseException | None = None
    fresh: bool = False


class Coming(NamedTuple):
    """A stage of a run that is to come.  cost: CPU time, in a unit that all its stages share."""

    name: str
    cost: float


class Spends(NamedTuple):
    """What a phase's works are last to read: scratch of `step`, same keys, but folders in `but`."""

    step: str
    but: tuple[str, ...] = ()


def unheard(_outcome: Outcome) -> None:
    """Where nobody wants to be told."""


@dataclass(frozen=True, kw_only=True)
class Phase(Generic[F]):
    """Works of one step that may run at the same time, in any order; the next phase waits for all.

    whole: the run cannot go on if one of them fails; else the failed ones are listed.
    done: receipts of works beside these that were found done: an executor is not handed those.
    cost, behind: for who shows progress: as of `Coming`, and what comes when it has ended.
    spends: what is deleted as its works are done.
    told: called by an executor with each outcome as it comes, if it can, by any of its threads.
    """

    name: str
    works: tuple[Work[F], ...]
    whole: bool = False
    done: tuple[Receipt[F], ...] = ()
    cost: float = 0.0
    behind: tuple[Coming, ...] = ()
    spends: Spends | None = None
    told: Callable[[Outcome], Any] = unheard


def chained(works: Sequence[Work[Any]], at_least: int) -> list[list[Work[Any]]]:
    """The works in order, those of a chain together; long chains are cut until there are enough.

    A cut costs its second half the way to its beginning.
    """
    made: list[list[Work[Any]]] = []
    for work in works:
        if made and work.chain and made[-1][-1].chain == work.chain:
            made[-1].append(work)
        else:
            made.append([work])
    while len(made) < at_least and (longest := max(made, key=len, default=())) and len(longest) > 1:
        at, first = made.index(longest), len(longest) - len(longest) // 2
        made[at : at + 1] = [longest[:first], longest[first:]]
    return made


def do(job: Job, work: Work[Any]) -> Outcome:
    """Do the work, unless a valid receipt shows it done; its files are stored, the receipt last."""
    if job.remote is not None:
        join_run(job.out, job.remote, job.options.scratch_bytes)
    found = valid_receipt(job.out, work)
    if found is not None:
        return Outcome(work=work, receipt=found)
    with writing(durable=job.durable):
        return _done(job, work)


def _done(job: Job, work: Work[Any]) -> Outcome:
    wall, cpu = time.perf_counter(), time.thread_time()
    with mirror.named_by_address():
        done = work.call(job, *work.args)
    if not isinstance(done.facts, work.facts or Mapping):
        raise TypeError(f"{work.step} tells {type(done.facts)}, its work says {work.facts}")
    for name, stats in done.stats:
        stats.check(f"{work.step} {work.key}, {name}")
    receipt: Receipt[Any] = Receipt(
        step=work.step,
        key=work.key,
        inputs=work.inputs,
        files=tuple(file_entry(job.out, path, digested=job.durable) for path in done.files),
        stats=tuple(done.stats),
        facts=done.facts,
        seconds=(time.perf_counter() - wall, time.thread_time() - cpu),
    )
    publish_files(job.out, receipt)
    save_receipt(job.out, receipt)
    return Outcome(work=work, receipt=receipt, fresh=True)


class FailedShard(Data):
    """A shard whose work failed; the same command tries it again."""

    step: str = Field(description='Of the works, such as "pass-0"')
    key: str = Field(description="Names the shard")
    error: str = Field(description="Kind and message")


@dataclass(kw_only=True)
class Finished:
    """All that a run has to show: the receipts in order, and the shards that failed."""

    receipts: list[Receipt[Any]] = field(default_factory=list)
    failures: list[FailedShard] = field(default_factory=list)
    shards: tuple[SourceShard, ...] = ()

    def of(self, step: str) -> list[Receipt[Any]]:
        return [r for r in self.receipts if r.step == step]


T = TypeVar("T")
Phases: TypeAlias = Generator[Phase[Any], Sequence[Outcome], T]
Execute: TypeAlias = Callable[[Job, Phase[Any]], Sequence[Outcome]]


def attempt(job: Job, work: Work[Any]) -> Outcome:
    """Do the work; a shard that fails is an outcome, what concerns the whole run is raised.

    A flaky disk or network is tried again, after longer and longer pauses; never a shard that is
    wrong in itself.
    """
    pauses = list(PAUSES_S)
    while True:
        try:
            return do(job, work)
        except Exception as e:  # noqa: BLE001 - whatever one shard meets, the others go on
            stop_if_hopeless(job, e)
            if not _may_pass(job, e) or not pauses:
                if there := place_of(e):
                    e.add_note(f"({there})")  # a process it is sent to has no traceback
                note_failure(job.out, work, line_of(e))
                return Outcome(work=work, error=e)
            stop_if_gone(e)
            time.sleep(pauses.pop(0) * random.uniform(0.5, 1.0))  # not all workers at once


def _may_pass(job: Job, error: BaseException) -> bool:
    """Whether an error may be gone a little later, as NFS shows files of other machines late."""
    missing = isinstance(error, FileNotFoundError) and not isinstance(error, OutageError)
    return is_outage(error) and not (missing and job.options.is_here)


def stop_if_hopeless(job: Job, error: BaseException) -> None:
    """Raise what no other shard can escape: a full disk, a wrong recipe, a broken ledger."""
    if isinstance(error, ConfigError | LedgerError):
        raise error
    if isinstance(error, OSError) and error.errno in HOPELESS:
        raise cannot_write(job.out, error) from error


def do_phase(phase: Phase[F], finished: Finished) -> Phases[dict[str, Receipt[F]]]:
    """Yield a phase, record how it ended, and return the receipts by key."""
    made: dict[str, Receipt[F]] = {}
    for outcome in (yield phase) if phase.works else ():
        if outcome.receipt is not None:
            made[outcome.work.key] = outcome.receipt
        elif phase.whole and outcome.error is not None:
            raise outcome.error
        else:
            finished.failures.append(
                FailedShard(
                    step=outcome.work.step, key=outcome.work.key, error=line_of(outcome.error)
                )
            )
    finished.receipts += [made[w.key] for w in phase.works if w.key in made]
    return made


def do_one(work: Work[F], finished: Finished) -> Phases[Receipt[F]]:
    """Yield a phase of one work, which the run cannot go on without; return its receipt."""
    phase = Phase(name=work.step, works=(work,), whole=True)
    return (yield from do_phase(phase, finished))[work.key]


def line_of(error: BaseException | None) -> str:
    """Kind, message and notes of an error."""
    return "".join(traceback.format_exception_only(error)).strip().replace("\n", " ")


class Course:
    """The stages of a run, in order; each is taken when the run comes to it."""

    def __init__(self, stages: Iterable[Coming] = ()) -> None:
        self._coming = deque(stages)

    def take(self, name: str, running: Phases[T], n_phases: int = 1) -> Phases[T]:
        """The phases of a stage, each told its share of the cost, and what comes behind it.

        n_phases: that it has, about; what there are more cost nothing. So does a stage that was
        not foreseen.
        """
        share = 0.0
        if any(stage.name == name for stage in self._coming):
            while (stage := self._coming.popleft()).name != name:
                pass  # it has no works
            share = stage.cost / n_phases
        behind = tuple(self._coming)
        try:
            phase = next(running)
            while True:
                n_phases -= 1
                rest = (Coming(name, n_phases * share),) if share and n_phases > 0 else ()
                cost = share if n_phases >= 0 else 0.0
                phase = running.send((yield replace(phase, cost=cost, behind=(*rest, *behind))))
        except StopIteration as end:
            done: T = end.value
            return done
