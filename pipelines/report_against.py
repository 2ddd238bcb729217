"""What a report says of the earlier runs that its run stands against."""

from collections.abc import Mapping
from typing import Any

from tokenmill.sizing.document.section import Table, table


def against_blocks(found: Mapping[str, Any] | None) -> list[str | Table]:
    """Sentences and a table; none of a run that stands alone.

    found: as `summarize` has it.
    """
    if not found:
        return []
    runs = [(run["path"], f"{run['docs']:,}") for run in found["runs"]]
    return [
        *against_lines(found),
        table("Earlier runs, oldest first", ("`run", ">documents held"), runs),
    ]


def against_lines(found: Mapping[str, Any]) -> list[str]:
    """How many documents went because an earlier run holds them, and what to know of that."""
    by_step = found["duplicates"]
    told = ", ".join(f"{step} {n:,}" for step, n in by_step.items())
    return [
        f"Duplicates of documents that earlier runs hold: {sum(by_step.values()):,}"
        + (f" ({told})." if told else "."),
        *(f"{remark[0].upper()}{remark[1:]}." for remark in found["remarks"]),
    ]
