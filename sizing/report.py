"""A sheet as Markdown and as JSON: each value with what it rests on, measured told from assumed."""

from collections.abc import Iterable, Sequence
from typing import Any

from sizing.corpus import CorpusMeasurement
from sizing.requirement import Input, Requirement, interval, leaves
from sizing.units import format_count, format_quantity

SHEET_VERSION = "1"  # raise it when a key of the JSON changes its meaning


def sheet_json(
    sheet: Sequence[Requirement], measurement: CorpusMeasurement | None
) -> dict[str, Any]:
    """The sheet as plain data.

    requirements: rows in the sheet's order; of each its name, value, unit, `shown` (the value as
    a person reads it), low and high (95 %, null without a standard error), se, formula, inputs,
    source, measured (nothing but measurements went in) and rests_on ("measured", "assumed",
    "measured and assumed"; through computed inputs).
    assumptions: the inputs at the bottom of all this that nobody measured, each once.
    """
    return {
        "sheet": SHEET_VERSION,
        "corpus": None if measurement is None else measurement.to_json(),
        "requirements": [
            {
                **row.to_json(),
                "shown": format_quantity(row.value, row.unit),
                "rests_on": rests_on(row, sheet),
            }
            for row in sheet
        ],
        "assumptions": [given.to_json() for given in assumptions(sheet)],
    }


def sheet_markdown(sheet: Sequence[Requirement], measurement: CorpusMeasurement | None) -> str:
    """The sheet as a document: the figures, what was assumed, how each was computed."""
    rows = [
        (row.name, format_quantity(row.value, row.unit), _between(row), rests_on(row, sheet))
        for row in sheet
    ]
    assumed = [
        (given.name, format_quantity(given.value, given.unit), given.source)
        for given in assumptions(sheet)
    ]
    parts = [
        "# Storage requirements",
        _about(measurement),
        _table(("requirement", "value", "95 % interval", "rests on"), rows),
        "Storage is in SI units: 1 TB is 10^12 bytes. An interval covers the spread of bytes per"
        " token over shards, and nothing else.",
        "## Assumed and stated",
        "Put your own figures in the plan: `section.key` names its place.",
        _table(("input", "value", "source"), assumed),
        "## How each was computed",
        *[_explained(row) for row in sheet],
    ]
    return "\n\n".join(parts) + "\n"


def assumptions(sheet: Iterable[Requirement]) -> tuple[Input, ...]:
    """Inputs of any row that were neither measured nor computed, each once, in order of use.

    The same setting under two argument names, as the parameters that are all active, is one.
    """
    found: dict[tuple[float, str], Input] = {}
    for row in sheet:
        for given in row.inputs:
            if given.computed_by is None and not given.measured:
                found.setdefault((given.value, given.source), given)
    return tuple(found.values())


def rests_on(row: Requirement, sheet: Iterable[Requirement]) -> str:
    """Whether the inputs at the bottom of a row were measured, assumed, or some of each."""
    kinds = {given.measured for given in leaves(row, sheet)}
    return {
        (True,): "measured",
        (False,): "assumed",
        (False, True): "measured and assumed",
    }[tuple(sorted(kinds))]


def _about(measurement: CorpusMeasurement | None) -> str:
    if measurement is None:
        return "No corpus was measured: every figure rests on assumptions."
    docs = "" if measurement.docs is None else f"{format_count(measurement.docs)} documents, "
    verb = "Measured on" if measurement.measured else "Assumed of"
    text = _with_error(measurement.text_bytes_per_token, measurement.text_bytes_per_token_se)
    stored = _with_error(measurement.stored_bytes_per_token, measurement.stored_bytes_per_token_se)
    return (
        f"{verb} the corpus `{measurement.name}`: {docs}{format_count(measurement.tokens)} tokens,"
        f" {text} bytes of text and {stored} bytes stored a token."
    )


def _with_error(value: float, se: float | None) -> str:
    return f"{value:.4g}" if se is None else f"{value:.4g} ± {se:.2g}"


def _explained(row: Requirement) -> str:
    lines = [
        f"**{row.name}** = {format_quantity(row.value, row.unit)}",
        "",
        f"`{row.formula}`",
        "",
        *[f"- {_given(given)}" for given in row.inputs],
        "",
        f"Formula: {row.source}.",
    ]
    return "\n".join(lines)


def _given(given: Input) -> str:
    mark = "measured" if given.measured else "assumed"
    if given.computed_by is not None:
        mark = "computed from measurements" if given.measured else "computed"
    error = "" if given.se is None else f" ± {format_quantity(given.se, given.unit)} (se)"
    shown = f"{format_quantity(given.value, given.unit)}{error}"
    return f"`{given.name}` = {shown} · **{mark}** · {given.computed_by or given.source}"


def _between(row: Requirement) -> str:
    low, high = interval(row.value, row.se)
    if low is None or high is None:
        return ""
    low_shown, high_shown = (format_quantity(v, row.unit, digits=4) for v in (low, high))
    return f"{low_shown} to {high_shown}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)
