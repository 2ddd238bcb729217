"""A sheet as JSON: each value with what it rests on, measured told from assumed.

The schema; a key's own keys stand beneath it:

sheet           its version, "3"
corpora         what was measured, by name of the corpus or source
headline        names of the figures that matter first
sections        of the sheet, in order
    title       of the section
    rows        requirements
        name        unique in the sheet
        value       in `unit`; null where it is infinite
        unit        "bytes", "bytes/s", "days" …
        low, high   95 % interval; null where no input has one
        shown       value and unit as a person reads them
        formula     in words, in the names of the inputs
        source      of the formula
        measured    whether nothing but measurements went in
        verified    whether every figure that went in stands in a document
        rests_on    the kinds of inputs beneath it, through every row
        inputs      of the formula
            name            of the formula's argument
            value, unit     as of a row
            low, high       as of a row
            source          who says so
            computed_by     name of the row it is the value of, or null
            measured        whether it was read off a corpus
            verified        whether it stands in a document
            key             of the plan's setting that changes it, or null
verdicts        of each storage tier on each requirement
    tier            its name
    own             whether it is a row of the plan
    requirement     name of the sheet's row
    outcome         "enough", "short", "not shared" (checkpoints in drives that are lost with their
                    node), "not judged" (only one client's limit is known, and it is enough),
                    "unknown" (nobody has published, or stated, what would tell)
    limit           of the tier, the one furthest from enough: "one client", "each TiB" …
    shortfall       how many times what is offered is needed, or null; here and below
                    requirements, without `shown` and `rests_on`
    enough          how much of the tier is enough, where more of it helps, or null
    instances       that this takes, where it is more than one, or null
    each_node       whether each node needs so much
    reason          why no amount is enough, or empty
    steps           requirements between the sheet's and these
    unverified      columns of the tier that went in and stand in no document
    told            all that in words
assumptions     inputs at the bottom of all this that nobody measured, each once
unverified      those of them that come from memory
notes           sentences on what the headline consists of and hangs on
warnings        sentences
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tokenmill.sizing.plan.fields import OUR_CHOICE
from tokenmill.sizing.report.notes import notes
from tokenmill.sizing.requirement import Input, Requirement, leaves
from tokenmill.sizing.requirements import headline
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.verdict import judge

SHEET_VERSION = "3"  # raise it when a key changes its meaning


def sheet_json(sheet: Sheet) -> dict[str, Any]:
    """The sheet as plain data."""
    assumed = assumptions(sheet)
    return {
        "sheet": SHEET_VERSION,
        "corpora": {name: found.to_json() for name, found in sheet.measurements.items()},
        "headline": [row.name for row in headline(sheet)],
        "sections": [
            {"title": section.title, "rows": [_row(row, sheet.rows) for row in section.rows]}
            for section in sheet.sections
        ],
        "verdicts": [verdict.to_json() for verdict in judge(sheet)],
        "assumptions": [given.to_json() for given in assumed],
        "unverified": [given.to_json() for given in assumed if not given.verified],
        "notes": notes(sheet),
        "warnings": list(sheet.warnings),
    }


def assumptions(sheet: Sheet) -> tuple[Input, ...]:
    """Inputs of any row that were neither measured nor computed, each once, in order of use.

    The same setting under two argument names, as the parameters that are all active, is one.
    """
    found: dict[tuple[float, str], Input] = {}
    for row in sheet:
        for given in row.inputs:
            if given.computed_by is None and not given.measured:
                found.setdefault((given.value, given.source), given)
    return tuple(found.values())


def rests_on(row: Requirement, rows: Mapping[str, Requirement]) -> str:
    """Whether the inputs at the bottom of a row were measured, stated, assumed, or some of each."""
    kinds = {kind(given) for given in leaves(row, rows)}
    return ", ".join(k for k in KINDS if k in kinds)


CHOSEN = "chosen"  # by us
KINDS: Sequence[str] = ("measured", "extrapolated", "stated", "assumed", CHOSEN, "unverified")


def kind(given: Input) -> str:
    """What an input is: measured, extrapolated from that, stated in the plan, or a default.

    A default is assumed from a named source, chosen by us, or from memory and so unverified.
    """
    if given.measured:
        return "measured"
    if given.source.startswith("carried on"):
        return "extrapolated"
    if given.source.startswith("stated"):
        return "stated"
    if not given.verified:
        return "unverified"
    return CHOSEN if OUR_CHOICE in given.source else "assumed"


def _row(row: Requirement, rows: Mapping[str, Requirement]) -> dict[str, Any]:
    return {
        **row.to_json(),
        "shown": row.shown,
        "rests_on": rests_on(row, rows),
    }
