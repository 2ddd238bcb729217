"""Several jobs on one storage at once: each one's rows, their sum, and the worst moment.

The plan itself is the first job; each of `jobs` is the plan but for what it states. Where there
are several, rows of the whole job are those of all jobs.
"""

from collections.abc import Mapping
from dataclasses import replace

from tokenmill.sizing.formula import Formula, greatest, total
from tokenmill.sizing.formulas import capacity, cluster
from tokenmill.sizing.plan.plan import Plan
from tokenmill.sizing.plan.settings import Job
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sections import checkpoints, cost, reads, restart
from tokenmill.sizing.sections.stages import STORED
from tokenmill.sizing.sheet import Sheet

TITLE = "All jobs at once"
FIRST = "this plan"
OF_A_JOB = (reads.TITLE, checkpoints.TITLE, restart.TITLE, cost.TITLE)
WRITES, RESTART = checkpoints.JOB_RATE, "restart read bandwidth"
READS, DAILY = "read bandwidth, whole job", "checkpoint bytes a day"
# row of the sheet -> how those of the jobs make it
SUMMED: Mapping[str, Formula[...]] = {
    "nodes": replace(cluster.together, unit="nodes"),
    READS: cluster.together,
    "read requests, whole job": replace(cluster.together, unit="reads/s"),
    WRITES: cluster.together,
    DAILY: total(unit="bytes/day"),
    "compute cost": total(unit="USD"),
}
GREATEST: Mapping[str, Formula[...]] = {
    "read bandwidth, one node": greatest(unit="bytes/s"),
    "one checkpoint": greatest(unit="bytes"),
    RESTART: greatest(unit="bytes/s"),
    "restart read bandwidth, one node": greatest(unit="bytes/s"),
}


def plan_of(plan: Plan, job: Job) -> Plan:
    """The plan of one job: the common one, but for what the job states.

    Raises:
        ValidationError: what it states does not go with the rest.
    """
    sections = {name: getattr(job, name) for name in job.model_fields_set - {"name", "copies"}}
    merged = {name: getattr(plan, name).merged(own) for name, own in sections.items()}
    return Plan.model_validate(plan.model_copy(update=merged))


def add(sheet: Sheet) -> None:
    """Add the rows of each job, and those of all together.  sheet.jobs: their own sheets."""
    for name, (_, own) in sheet.jobs.items():
        for section in own.sections:
            if section.title in OF_A_JOB:
                sheet.begin(f"{section.title}, {name}")
                for row in section.rows:
                    if not row.name.startswith(STORED):
                        sheet.take(_named(row, name, own))
    sheet.begin(TITLE)
    for of_all, formula in {**SUMMED, **GREATEST}.items():
        given = {
            name: _of_job(own, of_all, copies if of_all in SUMMED else 1, name)
            for name, (copies, own) in sheet.jobs.items()
            if of_all in own
        }
        if given:
            sheet.add(of_all, formula, **given)
    mean = sheet.add(
        "checkpoint writes, mean", cluster.mean_write_bytes_per_s, bytes_per_day=sheet[DAILY]
    )
    sheet.add("reads and writes, mean", cluster.together, reads=sheet[READS], writes=mean)
    moment = {"reads": sheet[READS], "writes": sheet[WRITES]}
    if RESTART in sheet:
        moment["restart"] = sheet[RESTART]
    sheet.add("reads and writes, worst moment", cluster.together, **moment)
    _stored(sheet)


def _of_job(own: Sheet, row: str, times: int, name: str) -> Input:
    """A row of one job as an input, so many times."""
    given = _as_input(own[row], name)
    if times == 1:
        return given
    spread = {key: tuple(times * n for n in ends) for key, ends in given.spread.items()}
    source = f"{times} x {given.source}"
    return replace(given, value=times * given.value, spread=spread, source=source)


def _as_input(row: Requirement, job: str) -> Input:
    return replace(row.as_input(job), computed_by=f"{row.name}, {job}")


def _named(row: Requirement, job: str, own: Sheet) -> Requirement:
    """A row of a job's own sheet as one of the whole; what stands in no section of it is a leaf."""
    rows = [r.name for s in own.sections if s.title in OF_A_JOB for r in s.rows]
    there = {name for name in rows if not name.startswith(STORED)}
    inputs = tuple(
        replace(i, computed_by=f"{i.computed_by}, {job}" if i.computed_by in there else None)
        for i in row.inputs
    )
    return replace(row, name=f"{row.name}, {job}", inputs=inputs)


def _stored(sheet: Sheet) -> None:
    """Checkpoints that each job keeps; and each dataset that is not the plan's, once."""
    stored = [sheet.plan.corpus]
    for name, (copies, own) in sheet.jobs.items():
        times = sheet.assume(copies, unit="jobs", source=f"stated: copies of {name}")
        kept = replace(own["stored: checkpoints"].as_input("kept_bytes"), computed_by=None)
        row = f"{STORED}checkpoints, {name}"
        sheet.add(row, capacity.kept_by_jobs_bytes, kept_bytes=kept, jobs=times)
        if own.plan.corpus not in stored:  # several jobs may read it
            stored.append(own.plan.corpus)
            data = replace(own["stored: dataset"].as_input("dataset"), computed_by=None)
            sheet.add(f"{STORED}dataset, {name}", capacity.logical_bytes, dataset=data)
