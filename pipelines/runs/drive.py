"""Run all phases of a job, whoever does the works; set down as it goes on how far it is."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.runs.packs import Packing, find_receipts, spend, sweep_receipts, unspend
from tokenmill.pipelines.runs.standing import STANDING, Standing, begin
from tokenmill.pipelines.runs.work import Execute, Job, Outcome, Phase, Phases, T, Work
from tokenmill.pipelines.storage import mirror


def drive(job: Job, running: Phases[T], execute: Execute) -> T:
    """Run all phases; `execute` does the works of one phase and says how each ended.

    It is handed those works that no receipt shows done. Receipts are packed as groups of works are
    done, and the scratch is deleted that a group was the last to read.
    ConfigError: what was made of such scratch is gone; the same command makes both again.
    """
    driving, phase = _Driving(job, execute), next(running)
    while True:
        outcomes = driving.run(phase)
        try:
            phase = running.send(outcomes)
        except StopIteration as end:
            sweep_receipts(job.out, driving.kept)
            mirror.remove([job.out / "receipts" / STANDING])
            finished: T = end.value
            return finished
        del outcomes  # which are not to be in memory while the next are made


class _Driving:
    """A run on its way; kept: by step, the names of the files that have its receipts."""

    def __init__(self, job: Job, execute: Execute) -> None:
        self._job, self._execute, self._standing = job, execute, Standing()
        self.kept: dict[str, list[str]] = defaultdict(list)
        self._spent: dict[str, set[str]] = {}  # by step, keys of works whose scratch is not there
        self._failed = False

    def run(self, phase: Phase[Any]) -> list[Outcome]:
        """How the works of a phase ended, in order."""
        job, step = self._job, phase.works[0].step
        found = find_receipts(job.out, phase.works)
        left = tuple(work for work in phase.works if work.key not in found.receipts)
        self._check_spent(phase, left)
        if found.spent:
            self._spent[step] = found.spent
        spends = phase.spends if not self._failed else None
        packing = Packing(
            job.out,
            phase.works,
            found,
            spends and (lambda number, works: spend(job.out, spends, number, works)),
        )
        todo = replace(
            phase,
            works=left,
            done=tuple(found.receipts.values()),
            told=lambda outcome: packing.note(outcome.work.key, outcome.receipt),
        )
        begin(job.out, self._standing, todo)
        ended = {outcome.work.key: outcome for outcome in self._execute(job, todo)} | {
            work.key: Outcome(work=work, receipt=found.receipts[work.key])
            for work in phase.works
            if work.key in found.receipts
        }
        outcomes = [ended[work.key] for work in phase.works if work.key in ended]
        for outcome in outcomes:
            self._standing.advance(outcome)
            self._failed |= outcome.receipt is None
        self._standing.end()
        receipts = {o.work.key: o.receipt for o in outcomes if o.receipt is not None}
        self.kept[step] += packing.end(receipts)
        return outcomes

    def _check_spent(self, phase: Phase[Any], left: tuple[Work[Any], ...]) -> None:
        """Refuse works that read what is not there any more; the next command makes it again."""
        reads = self._spent.pop(phase.spends.step, set()) if phase.spends is not None else set()
        others = set().union(*self._spent.values())  # until they are read for the last time
        if not (left and others) and reads.isdisjoint(work.key for work in left):
            return
        unspend(self._job.out)
        raise ConfigError(
            f"{self._job.out}: files of {phase.name} are gone that were made of others which are"
            " deleted once they are read; the same command makes both again"
        )
