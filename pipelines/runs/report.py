"""What failed or is damaged, and ratios with their errors, as every report shows them."""

import math
from collections.abc import Mapping
from typing import Any

from tokenmill.sizing.document.page import KeyFigure
from tokenmill.sizing.document.section import NONE, Table, count, table


def failed_in_short(report: Mapping[str, Any], docs: int) -> str:
    """One sentence; docs: documents that failed."""
    counts = {"document": docs, **_counts(report)}
    failed = [count(n, noun) for noun, n in counts.items() if n]
    return f"Failed: {', '.join(failed)}." if failed else "Nothing failed."


def failure_figures(report: Mapping[str, Any], section: str) -> list[KeyFigure]:
    """A figure, where inputs or shards failed or were damaged; section: where they are listed."""
    counts = _counts(report)
    if not any(counts.values()):
        return []
    note = ", ".join(count(n, noun) for noun, n in counts.items() if n)
    return [KeyFigure("failed or damaged", f"{sum(counts.values()):,}", note, section)]


def failure_blocks(report: Mapping[str, Any]) -> list[str | Table]:
    """Every input file and shard that failed or is damaged."""
    inputs = [
        (f["path"], f["cause"], f"{f['bytes']:,}", f["message"]) for f in report["failed_inputs"]
    ]
    shards = [(f["step"], f["key"], f["error"]) for f in report["failed_shards"]]
    damaged = [(d["key"], d["message"]) for d in report["damaged_shards"]]
    made = [
        table("Input files that cannot be read", ("`path", "cause", ">bytes", "`message"), inputs),
        table("Shards that failed: run again to retry", ("step", "`shard", "`error"), shards),
        table("Damaged shards: what lies behind is missing", ("`shard", "`message"), damaged),
    ]
    return [t for t in made if t.rows] or ["No input file or shard failed or is damaged."]


def _counts(report: Mapping[str, Any]) -> dict[str, int]:
    return {
        "input file": len(report["failed_inputs"]),
        "shard": len(report["failed_shards"]),
        "damaged shard": len({d["key"] for d in report["damaged_shards"]}),
    }


def fixed(value: float | None) -> str:
    """A ratio in a column of ratios."""
    return NONE if value is None else f"{value:,.4f}"


def with_error(measured: Mapping[str, Any], name: str) -> str:
    """The figure `name` with its standard error to two significant digits, if it has one.

    >>> with_error({"r": 3.72998, "r_se": 0.05379}, "r")
    '3.730 ± 0.054'
    """
    value, se = measured[name], measured[f"{name}_se"]
    if value is None:
        return NONE
    if not se:
        return f"{value:,.3f}"
    digits = max(0, 1 - math.floor(math.log10(se)))
    return f"{value:,.{digits}f} ± {se:,.{digits}f}"
