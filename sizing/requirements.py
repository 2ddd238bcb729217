"""The sheet: every requirement of a plan, section by section, each from what stands before it."""

from collections.abc import Mapping, Sequence

from tokenmill.sizing.corpus import CorpusMeasurement
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.plan.plan import Plan
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sections import (
    capacity,
    checkpoints,
    corpus,
    cost,
    formats,
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

SECTIONS = (
    rate,
    corpus,
    stages,
    reads,
    checkpoints,
    restart,
    capacity,
    formats,
    loaders,
    network,
    requests,
    memory,
    cost,
)

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
    "compute cost",
)


def requirement_sheet(plan: Plan, measurements: Mapping[str, CorpusMeasurement]) -> Sheet:
    """Every requirement of a plan.

    measurements: of the corpus as "corpus", or of the plan's sources by their names.

    Raises:
        PlanError: what the plan says cannot be, in a way that only shows in figures.
    """
    known = {source.name for source in plan.sources} or {"corpus"}
    for name in measurements:
        if name not in known:
            raise PlanError(
                f"a measured corpus was given besides sources; name its path in one of"
                f" {', '.join(sorted(known))}"
            )
    sheet = Sheet(plan, measurements)
    sheet.warnings += plan.remarks()
    for section in SECTIONS:
        sheet.begin(section.TITLE)
        section.add(sheet)
    sheet.sections = [section for section in sheet.sections if section.rows]
    return sheet


def headline(sheet: Sheet) -> Sequence[Requirement]:
    """The ten figures that matter first, those that the sheet has."""
    return [sheet[name] for name in HEADLINE if name in sheet]
