"""How a loader reads sequences, and what storage then delivers for each byte that is used."""

from functools import cache
from typing import Annotated

from pydantic import Field

from tokenmill.sizing.tables.row import NotNegative, Ratio, Row, find_row, read_rows


class AccessRow(Row):
    """Measured read amplification: bytes that the device delivered for each byte that was used.

    amplification: the highest that was measured.  low, high: of several runs.
    read_bytes: used of each read, when it was measured.
    wasted_bytes: delivered with each read and not used, whatever is used of it; None where what
    is wasted grows with what is read.
    wasted_read_aheads: the same, as a multiple of what the kernel reads ahead.
    """

    amplification: Ratio
    low: Ratio | None = None
    high: Ratio | None = None
    read_bytes: Annotated[int, Field(ge=1)] | None = None
    wasted_bytes: NotNegative | None = None
    wasted_read_aheads: NotNegative | None = None


@cache
def access_patterns() -> tuple[AccessRow, ...]:
    """Every row of the table, in its order."""
    return read_rows("access.yaml", AccessRow)


def find_access(name: str) -> AccessRow:
    """The row of this name.

    Raises:
        PlanError: there is none; the nearest names are offered.

    >>> find_access("sequential").amplification, find_access("mmap").amplification
    (1.3, 11.1)
    """
    return find_row(
        name,
        access_patterns(),
        what="access pattern",
        way_out=" (or give training.read_amplification)",
    )
