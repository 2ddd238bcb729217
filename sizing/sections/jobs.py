"""Several jobs on one storage at once: each one's rows, their sum, and the worst moment.

The plan itself is the first job; each of `jobs` is the plan but for what it states. Where there
are several, rows of the whole job are those of all jobs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tokenmill.sizing.corpus import DATASET, INPUTS
from tokenmill.sizing.formula import Formula, greatest, total
from tokenmill.sizing.formulas import capacity, supply
from tokenmill.sizing.plan.plan import Plan
from tokenmill.sizing.plan.settings import Job
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sections import checkpoints, cost, reads, restart
from tokenmill.sizing.sections.stages import DATASETS, SCRATCH, STORED, all_datasets, parts
from tokenmill.sizing.sheet import Sheet

TITLE = "All jobs at once"
FIRST = "this plan"
OF_A_JOB = (reads.TITLE, checkpoints.TITLE, restart.TITLE, cost.TITLE)
WRITES, RESTART = checkpoints.JOB_RATE, "restart read bandwidth"
LARGEST = "dataset of one job, the largest"
READS, DAILY = "read bandwidth, whole job", "checkpoint bytes a day"
# row of the sheet -> how those of the jobs make it
SUMMED: Mapping[str, Formula[...]] = {
    "nodes": replace(supply.together, unit="nodes"),
    READS: supply.together,
    "read requests, whole job": replace(supply.together, unit="reads/s"),
    WRITES: supply.together,
    DAILY: total(unit="bytes/day"),
    "compute cost": total(unit="USD"),
    "cost of waste": total(unit="USD"),
}
GREATEST: Mapping[str, Formula[...]] = {
    "read bandwidth, one node": greatest(unit="bytes/s"),
    reads.NODE_REQUESTS: greatest(unit="reads/s"),
    checkpoints.NODE_WRITE: greatest(unit="bytes/s"),
    "one checkpoint": greatest(unit="bytes"),
    RESTART: greatest(unit="bytes/s"),
    "restart read bandwidth, one node": greatest(unit="bytes/s"),
    checkpoints.WITH_FAILURES: greatest(unit="days"),
}
LASTING = (checkpoints.WITH_FAILURES, "cost of waste")  # of jobs that end, all of them


def plan_of(plan: Plan, job: Job) -> Plan:
    """The plan of one job, the common one but for what it states; ValidationError: they clash."""
    sections = {name: getattr(job, name) for name in job.model_fields_set - {"name", "copies"}}
    merged = {name: getattr(plan, name).merged(own) for name, own in sections.items()}
    return Plan.model_validate(plan.model_copy(update=merged))


def add(sheet: Sheet) -> None:
    """Add the rows of each job, and those of all together.  sheet.jobs: their own sheets."""
    prepared = _prepared(sheet)
    for name, (_, own) in sheet.jobs.items():
        shown = _shown(own, (all_datasets(own), *prepared.get(name, ())))
        for section in own.sections:
            rows = [r for r in section.rows if r.name in shown and called(sheet, r, name) != r.name]
            if rows:
                sheet.begin(f"{section.title}, {name}")
            for row in rows:
                sheet.take(_named(sheet, row, name, own))
    sheet.begin(TITLE)
    for of_all, formula in {**SUMMED, **GREATEST}.items():
        given = {
            name: of_job(sheet, own, of_all, copies if of_all in SUMMED else 1, name)
            for name, (copies, own) in sheet.jobs.items()
            if of_all in own
        }
        if given and (of_all not in LASTING or len(given) == len(sheet.jobs)):
            sheet.add(of_all, formula, **given)
    mean = sheet.add(
        "checkpoint writes, mean", supply.mean_write_bytes_per_s, bytes_per_day=sheet[DAILY]
    )
    sheet.add("reads and writes, mean", supply.together, reads=sheet[READS], writes=mean)
    moment = {"reads": sheet[READS], "writes": sheet[WRITES]}
    if RESTART in sheet:
        moment["restart"] = sheet[RESTART]
    sheet.add("reads and writes, worst moment", supply.together, **moment)
    _stored(sheet, prepared)
    _datasets(sheet, prepared)


def _prepared(sheet: Sheet) -> dict[str, list[Requirement]]:
    """What is stored of each corpus that is not the plan's, by the first job that reads it.

    One that nobody states is as large as a job takes it: where a later one takes more, another.
    """
    seen, prepared = [(sheet.plan.corpus, sheet["corpus tokens"].value)], {}
    for name, (_, own) in sheet.jobs.items():
        corpus, tokens = own.plan.corpus, own["corpus tokens"].value
        if not any(corpus == known and tokens <= most for known, most in seen):
            seen.append((corpus, tokens))
            of = parts(own)
            prepared[name] = [row for part in (DATASET, INPUTS, SCRATCH) for row in of[part]]
    return prepared


def _shown(own: Sheet, stored: Iterable[Requirement]) -> set[str]:
    """Names of a job's rows that are told: its own sections', what is stored, what they rest on."""
    shown: set[str] = set()
    wanted = [r.name for s in own.sections if s.title in OF_A_JOB for r in s.rows]
    wanted += [row.name for row in stored]
    while wanted:
        name = wanted.pop()
        if name not in shown:
            shown.add(name)
            wanted += [i.computed_by for i in own[name].inputs if i.computed_by]
    return shown


def called(sheet: Sheet, row: Requirement, job: str) -> str:
    """What a row of a job's own sheet is called in that of all: one that all share, as there."""
    if sheet.rows.get(row.name) == row:
        return row.name
    if row.name.startswith(STORED):  # only what `_stored` adds is held
        return f"{row.name.removeprefix(STORED)} stored, {job}"
    return f"{row.name}, {job}"


def of_job(sheet: Sheet, own: Sheet, row: str, times: int, job: str) -> Input:
    """A row of one job as an input, so many times."""
    given = replace(own[row].as_input(job), computed_by=called(sheet, own[row], job))
    if times == 1:
        return given
    spread = {key: tuple(times * n for n in ends) for key, ends in given.spread.items()}
    source = f"{times} x {given.source}"
    return replace(given, value=times * given.value, spread=spread, source=source)


def _named(sheet: Sheet, row: Requirement, job: str, own: Sheet) -> Requirement:
    """A row of a job's own sheet as one of the whole."""
    inputs = tuple(
        replace(i, computed_by=i.computed_by and called(sheet, own[i.computed_by], job))
        for i in row.inputs
    )
    return replace(row, name=called(sheet, row, job), inputs=inputs)


def _stored(sheet: Sheet, prepared: Mapping[str, list[Requirement]]) -> None:
    """Checkpoints that each job keeps; and each corpus that is not the plan's, once."""
    for name, (copies, own) in sheet.jobs.items():
        times = sheet.assume(copies, unit="jobs", source=f"stated: copies of {name}")
        kept = of_job(sheet, own, f"{STORED}checkpoints", 1, name)
        row = f"{STORED}checkpoints, {name}"
        sheet.add(row, capacity.kept_by_jobs_bytes, kept_bytes=kept, jobs=times)
        for stage in prepared.get(name, ()):
            data = of_job(sheet, own, stage.name, 1, name)
            sheet.add(f"{stage.name}, {name}", capacity.logical_bytes, stored_bytes=data)


def _datasets(sheet: Sheet, prepared: Mapping[str, list[Requirement]]) -> None:
    """Of one job, whose nodes' own drives hold it; and of all, which a hot pool is before."""
    given = {
        name: of_job(sheet, own, all_datasets(own).name, 1, name)
        for name, (_, own) in sheet.jobs.items()
    }
    sheet.add(LARGEST, greatest(unit="bytes"), **given)
    if prepared:
        kept = {name: of for name, of in given.items() if name in (FIRST, *prepared)}
        sheet.add(DATASETS, capacity.logical_bytes, **kept)
