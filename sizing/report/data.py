"""A sheet as JSON: each value with what it rests on; schema.json tells its keys."""

from collections.abc import Mapping, Sequence
from typing import Any

from tokenmill.sizing.billing import bills
from tokenmill.sizing.plan.fields import OUR_CHOICE
from tokenmill.sizing.report.notes import notes
from tokenmill.sizing.requirement import Input, Requirement, leaves
from tokenmill.sizing.requirements import headline
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.verdict import judge

SHEET_VERSION = "4"  # raise it when a key changes its meaning


def sheet_json(sheet: Sheet) -> dict[str, Any]:
    """The sheet as plain data."""
    assumed, verdicts = assumptions(sheet), judge(sheet)
    return {
        "sheet": SHEET_VERSION,
        "corpora": {name: found.to_json() for name, found in sheet.measurements.items()},
        "headline": [row.name for row in headline(sheet)],
        "sections": [
            {
                "title": section.title,
                "rows": [
                    {**row.to_json(), "shown": row.shown, "rests_on": rests_on(row, sheet.rows)}
                    for row in section.rows
                ],
            }
            for section in sheet.sections
        ],
        "verdicts": [verdict.to_json() for verdict in verdicts],
        "bills": [bill.to_json() for bill in bills(sheet, verdicts)],
        "assumptions": [given.to_json() for given in assumed],
        "unverified": [given.to_json() for given in assumed if not given.verified],
        "notes": notes(sheet),
        "obstacles": sheet.why_not(),
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
