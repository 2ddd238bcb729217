"""What failed or is damaged, and ratios with their errors, as every report shows them."""

import math

from tokenmill.pipelines.runs.finished import Failures, Inventory
from tokenmill.sizing.document.page import KeyFigure
from tokenmill.sizing.document.section import NONE, Table, count, table

MOST_SOURCES = 30  # listed


def failed_in_short(failures: Failures, docs: int, images: int = 0) -> str:
    """One sentence; docs, images: that failed."""
    counts = {**failed_counts(failures, docs), "image": images}
    failed = [count(n, noun) for noun, n in counts.items() if n]
    return f"Failed: {', '.join(failed)}." if failed else "Nothing failed."


def failure_figures(failures: Failures, docs: int, section: str) -> list[KeyFigure]:
    """A figure where documents, inputs or shards failed or were damaged; section: of the list."""
    told = [count(n, noun) for noun, n in failed_counts(failures, docs).items() if n]
    return [KeyFigure("failed or damaged", told[0], ", ".join(told[1:]), section)] if told else []


def failure_blocks(failures: Failures) -> list[str | Table]:
    """Every input file and shard that failed or is damaged, and sources of which much failed."""
    inputs = [(f.path, f.cause, f"{f.bytes:,}", f.message) for f in failures.failed_inputs]
    shards = [(f.step, f.key, f.error) for f in failures.failed_shards]
    damaged = [(d.key, d.message) for d in failures.damaged_shards]
    sources = [(s.source, s.message) for s in failures.failed_sources]
    made = [
        table("Sources of which much failed", ("source", "what"), sources),
        table("Input files that cannot be read", ("`path", "cause", ">bytes", "`message"), inputs),
        table("Shards that failed: run again to retry", ("step", "`shard", "`error"), shards),
        table("Damaged shards: what lies behind is missing", ("`shard", "`message"), damaged),
    ]
    return [t for t in made if t.rows] or ["No input file or shard failed or is damaged."]


def failed_counts(failures: Failures, docs: int) -> dict[str, int]:
    """What failed or is damaged, by its noun. docs: documents that failed."""
    return {
        "document": docs,
        "input file": len(failures.failed_inputs),
        "shard": len(failures.failed_shards),
        "damaged shard": len({d.key for d in failures.damaged_shards}),
    }


def texts_table(inputs: Inventory) -> Table:
    """The columns that texts are taken from, by source."""
    rows = [
        (source, column, f"{n:,}")
        for source, columns in list((inputs.texts or {}).items())[:MOST_SOURCES]
        for column, n in columns.items()
    ]
    return table("Text is taken from", ("source", "`column", ">files"), rows)


def fixed(value: float | None) -> str:
    """A ratio in a column of ratios."""
    return NONE if value is None else f"{value:,.4f}"


def with_error(value: float | None, se: float | None) -> str:
    """A figure with its standard error to two significant digits, if it has one.

    >>> with_error(3.72998, 0.05379)
    '3.730 ± 0.054'
    """
    if value is None:
        return NONE
    if not se:
        return f"{value:,.3f}"
    digits = max(0, 1 - math.floor(math.log10(se)))
    return f"{value:,.{digits}f} ± {se:,.{digits}f}"
