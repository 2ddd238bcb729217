"""The sheet of a plan: every requirement, section by section, each from what stands before it.

A plan is given by its path or name; it may point to corpora.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tokenmill.sizing.corpus import CorpusMeasurement, load_corpus
from tokenmill.sizing.errors import PlanError, explain, meant
from tokenmill.sizing.plan.plan import Plan, load_plan
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.roots import OURS
from tokenmill.sizing.sections import (
    capacity,
    checkpoints,
    corpus,
    cost,
    formats,
    hot,
    jobs,
    loaders,
    memory,
    network,
    rate,
    reads,
    requests,
    restart,
    stages,
)
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.verdict import is_asked

EXAMPLES = Path(__file__).parent / "examples"
OURS.add(os.path.realpath(EXAMPLES))
SECTIONS = (
    rate,
    corpus,
    stages,
    reads,
    checkpoints,
    restart,
    capacity,
    hot,
    formats,
    loaders,
    network,
    requests,
    memory,
    cost,
)
OF_JOBS = (rate, corpus, stages, jobs, capacity, hot)  # of a sheet of several

# what a buyer asks first; those that a plan has
HEADLINE = (
    "raw capacity",
    "usable capacity",
    "read bandwidth, whole job",
    "read bandwidth, one node",
    "read requests, whole job",
    "checkpoint write bandwidth, whole job",
    "one checkpoint",
    "restart read bandwidth",
    "training time",
    checkpoints.WITH_FAILURES,
    "compute cost",
    "cost of waste",
)


def requirement_sheet(plan: Plan, measurements: Mapping[str, CorpusMeasurement]) -> Sheet:
    """Every requirement of a plan.

    measurements: of the corpus as "corpus", or of the plan's sources by their names; of a job that
        has its own as "jobs.NAME".
    PlanError: what the plan says cannot be, in a way that only shows in figures.
    """
    known = {source.name for source in plan.sources} or {"corpus"}
    known |= {f"jobs.{job.name}" for job in plan.jobs}
    for name in measurements:
        if name not in known:
            raise PlanError(
                f"a measured corpus was given besides sources; name its path in one of"
                f" {', '.join(sorted(known))}"
            )
    sheet = Sheet(plan, measurements)
    sheet.warnings += [*plan.remarks(), *(w for m in measurements.values() for w in m.left_out())]
    if plan.jobs:
        sheet.jobs = _of_jobs(plan, measurements)
    for section in OF_JOBS if plan.jobs else SECTIONS:
        sheet.begin(section.TITLE)
        section.add(sheet)
    for name, (_, own) in sheet.jobs.items():
        sheet.warnings += [f"{name}: {w}" for w in own.warnings if w not in sheet.warnings]
    sheet.sections = [section for section in sheet.sections if section.rows]
    return sheet


def _of_jobs(
    plan: Plan, measurements: Mapping[str, CorpusMeasurement]
) -> dict[str, tuple[int, Sheet]]:
    """Each job's sheet by name, the plan's first, and how many run; a hot pool is for all."""
    storage = plan.storage.model_copy(update={"hot": None})
    alone = plan.model_copy(update={"jobs": (), "storage": storage})
    common = {name: m for name, m in measurements.items() if not name.startswith("jobs.")}
    made = {jobs.FIRST: (1, requirement_sheet(alone, common))}
    for job in plan.jobs:
        if job.name == jobs.FIRST:
            raise PlanError(f"job {job.name!r}: that is the plan's own; give it another name")
        try:
            own = jobs.plan_of(alone, job)
            found = measurements.get(f"jobs.{job.name}")
            known = common if job.corpus.model_fields_set <= {"tokens", "tokens_per_image"} else {}
            known = known if found is None else {"corpus": found}
            made[job.name] = (job.copies, requirement_sheet(own, known))
        except (PlanError, ValidationError) as e:
            told = explain(e, Plan) if isinstance(e, ValidationError) else str(e)
            raise PlanError(f"job {job.name!r}: {told}") from e
    return made


def headline(sheet: Sheet) -> Sequence[Requirement]:
    """The figures that matter first, those that the sheet has and the storage is asked for."""
    return [sheet[name] for name in HEADLINE if is_asked(sheet, name)]


def size(
    plan: str | None = None, *, corpus: Path | None = None, changes: Mapping[str, Any] | None = None
) -> Sheet:
    """The sheet of a plan.

    plan: a file, or the name of an example that ships; without one every default is assumed.
    corpus: in place of the plan's corpus.path.
    changes: settings by key, as "model.params", in place of the plan's.
    PlanError: the plan or a corpus cannot be read, or says something impossible.
    """
    path = None if plan is None else find_plan(plan)
    read = load_plan(path, changes=changes)
    folder = Path() if path is None else path.parent
    measured = _measurements(read, folder, corpus)
    try:
        return requirement_sheet(read, measured)
    except PlanError as e:
        raise PlanError(f"{path or 'plan'}: {e}") from e


def example_names() -> tuple[str, ...]:
    """The example plans that ship, by the names that `size` takes."""
    return tuple(sorted(path.stem for path in EXAMPLES.glob("*.yaml")))


def find_plan(name: str) -> Path:
    """The file of this path, or the example of this name; PlanError where there is neither."""
    path, shipped = Path(name), EXAMPLES / f"{name}.yaml"
    if path.exists():
        return path
    if name in example_names():
        return shipped
    hint = meant(name, example_names(), f"examples: {', '.join(example_names())}")
    raise PlanError(f"{name}: no such plan file, and no example of this name; {hint}")


def _measurements(plan: Plan, folder: Path, corpus: Path | None) -> dict[str, CorpusMeasurement]:
    """Of every corpus that was measured; paths in a plan are relative to its folder."""
    paths = {s.name: folder / s.path for s in plan.sources if s.path is not None}
    paths |= {f"jobs.{j.name}": folder / j.corpus.path for j in plan.jobs if j.corpus.path}
    if corpus is not None:
        paths["corpus"] = corpus
    elif plan.corpus.path is not None:
        paths["corpus"] = folder / plan.corpus.path
    return {name: load_corpus(path) for name, path in paths.items()}
