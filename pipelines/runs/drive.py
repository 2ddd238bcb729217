"""Run all phases of a job, whoever does the works; set down as it goes on how far it is."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

from tokenmill.pipelines.runs.packs import find_receipts, pack_receipts, sweep_receipts
from tokenmill.pipelines.runs.standing import STANDING, Standing, begin
from tokenmill.pipelines.runs.work import Execute, Job, Outcome, Phase, Phases, T
from tokenmill.pipelines.storage import mirror


def drive(job: Job, running: Phases[T], execute: Execute) -> T:
    """Run all phases; `execute` does the works of one phase and says how each ended.

    It is handed those works that no receipt shows done. The receipts of a phase that has ended are
    packed.
    """
    kept: dict[str, list[str]] = defaultdict(list)
    phase, standing = next(running), Standing()
    while True:
        outcomes, names = _run(job, phase, execute, standing)
        kept[phase.works[0].step] += names
        try:
            phase = running.send(outcomes)
        except StopIteration as end:
            sweep_receipts(job.out, kept)
            mirror.remove([job.out / "receipts" / STANDING])
            finished: T = end.value
            return finished


def _run(
    job: Job, phase: Phase[Any], execute: Execute, standing: Standing
) -> tuple[list[Outcome], list[str]]:
    """How the works of a phase ended, in order, and the names of the files of their receipts."""
    found = find_receipts(job.out, phase.works)
    left = tuple(work for work in phase.works if work.key not in found.receipts)
    todo = replace(phase, works=left, done=tuple(found.receipts.values()))
    begin(job.out, standing, todo)
    made = execute(job, todo)
    ended = {outcome.work.key: outcome for outcome in made} | {
        work.key: Outcome(work=work, receipt=found.receipts[work.key])
        for work in phase.works
        if work.key in found.receipts
    }
    outcomes = [ended[work.key] for work in phase.works if work.key in ended]
    receipts = {o.work.key: o.receipt for o in outcomes if o.receipt is not None}
    for outcome in outcomes:
        standing.advance(outcome)
    standing.end()
    return outcomes, pack_receipts(job.out, phase.works, receipts, found)
