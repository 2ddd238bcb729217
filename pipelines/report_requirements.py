"""What the storage of a run's corpus has to hold and deliver, as a report shows it."""

from collections.abc import Mapping
from typing import Any

from tokenmill.sizing.document.section import NONE, Table, table
from tokenmill.sizing.units import format_quantity


def requirement_blocks(report: Mapping[str, Any]) -> list[str | Table]:
    wanted = report.get("requirements") or []
    if not wanted:
        return []
    rows = [(r["name"], _shown(r), _interval(r), r.get("rests_on") or _basis(r)) for r in wanted]
    formulas = [(r["name"], r["formula"], r["source"]) for r in wanted]
    given = [(r["name"], i) for r in wanted for i in r["inputs"]]
    inputs = [(name, i["name"], _shown(i), _basis(i), i["source"]) for name, i in given]
    of_input = ("requirement", "`input", ">value", "*basis", "source")
    assumed = [(a["name"], _shown(a), a["source"]) for a in report.get("sizing_assumptions") or []]
    return [
        "For this corpus as measured, and a training cluster as assumed below: tokenmill size"
        " takes a plan with your own figures. Storage is in SI units: 1 TB is 10^12 bytes. An"
        " interval covers the spread of bytes per token over shards, and nothing else.",
        table("Required", ("requirement", ">value", "95 % interval", "*rests on"), rows),
        table("Assumed", ("input", ">value", "source"), assumed, folded=True),
        table("Formulas", ("requirement", "`formula", "source"), formulas, folded=True),
        table("Inputs of each formula", of_input, inputs, folded=True),
    ]


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row.get("low"), row.get("high")
    if low is None or high is None:
        return NONE
    return " to ".join(format_quantity(v, row["unit"], digits=4) for v in (low, high))


def _shown(given: Mapping[str, Any]) -> str:
    return str(given.get("shown") or format_quantity(given["value"], given["unit"]))


def _basis(given: Mapping[str, Any]) -> str:
    if given.get("computed_by") is not None:
        return "computed"
    return "measured" if given["measured"] else "assumed"
