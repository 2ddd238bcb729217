"""Sheets that are made as far as a section under test needs."""

from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.sections import capacity, corpus, formats, rate, reads, stages
from tokenmill.sizing.sheet import Sheet

ORDER = (rate, corpus, stages, reads, formats, capacity)


def begun(text, *, until, **measurements):
    """The sheet of a plan, up to the section `until`."""
    made = Sheet(parse_plan(text, where="plan"), measurements)
    for section in ORDER[: ORDER.index(until) + 1]:
        made.begin(section.TITLE)
        section.add(made)
    return made


def names(sheet, prefix=""):
    return {row.name for row in sheet if row.name.startswith(prefix)}
