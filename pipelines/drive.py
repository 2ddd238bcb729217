"""Drive a job: phases of independent works, one after the other, whoever does them.

A job is a generator: it yields one phase at a time and is sent how its works ended. What a later
phase reads is named by the receipts of the earlier ones, so that a work is done again when, and
only when, something it reads has changed.
"""

import random
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from tokenmill.pipelines.errors import ConfigError, LedgerError
from tokenmill.pipelines.job import Job, Outcome, Phase, Work, do
from tokenmill.pipelines.manifest import HOPELESS, cannot_write
from tokenmill.pipelines.outages import PAUSES_S, stop_if_gone
from tokenmill.pipelines.receipt import Receipt
from tokenmill.pipelines.shard import SourceShard
from tokenmill.pipelines.store import is_outage


@dataclass(frozen=True, kw_only=True)
class ShardFailure:
    """A shard that could not be worked on: in which step, and why."""

    step: str
    key: str
    error: str


@dataclass(kw_only=True)
class Finished:
    """All that a run has to show: the receipts in order, and the shards that failed."""

    receipts: list[Receipt] = field(default_factory=list)
    failures: list[ShardFailure] = field(default_factory=list)
    shards: tuple[SourceShard, ...] = ()

    def of(self, step: str) -> list[Receipt]:
        return [r for r in self.receipts if r.step == step]


T = TypeVar("T")
Phases: TypeAlias = Generator[Phase, Sequence[Outcome], T]
Execute: TypeAlias = Callable[[Job, Phase], Sequence[Outcome]]


def drive(job: Job, running: Phases[T], execute: Execute) -> T:
    """Run all phases; `execute` does the works of one phase and says how each ended."""
    phase = next(running)
    while True:
        outcomes = execute(job, phase)
        try:
            phase = running.send(outcomes)
        except StopIteration as end:
            finished: T = end.value
            return finished


def one_by_one(job: Job, phase: Phase) -> list[Outcome]:
    """The plainest executor: each work in turn, in this thread."""
    return [attempt(job, work) for work in phase.works]


def attempt(job: Job, work: Work) -> Outcome:
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
            if not is_outage(e) or not pauses:
                return Outcome(work=work, error=e)
            stop_if_gone(e)
            time.sleep(pauses.pop(0) * random.uniform(0.5, 1.0))  # not all workers at once


def stop_if_hopeless(job: Job, error: BaseException) -> None:
    """Raise what no other shard can escape: a full disk, a wrong recipe, a broken ledger."""
    if isinstance(error, ConfigError | LedgerError):
        raise error
    if isinstance(error, OSError) and error.errno in HOPELESS:
        raise cannot_write(job.out, error) from error


def do_phase(phase: Phase, finished: Finished) -> Phases[dict[str, Receipt]]:
    """Yield a phase, record how it ended, and return the receipts by key."""
    made: dict[str, Receipt] = {}
    for outcome in (yield phase) if phase.works else ():
        if outcome.receipt is not None:
            made[outcome.work.key] = outcome.receipt
        elif phase.whole and outcome.error is not None:
            raise outcome.error
        else:
            finished.failures.append(
                ShardFailure(
                    step=outcome.work.step, key=outcome.work.key, error=_line(outcome.error)
                )
            )
    finished.receipts += [made[w.key] for w in phase.works if w.key in made]
    return made


def _line(error: BaseException | None) -> str:
    return "".join(traceback.format_exception_only(error)).strip().replace("\n", " ")
