"""Storage that can be bought or rented: what a client, a TiB, a drive or all of it delivers."""

from collections.abc import Sequence
from functools import cache

from pydantic import model_validator

from tokenmill.sizing.tables.row import (
    ByteRate,
    Capacity,
    Positive,
    Row,
    Whole,
    find_row,
    read_rows,
)


class TierRow(Row):
    """A storage tier; None where a limit does not apply or nobody has published it.

    client_*: of one client, that is one node, or one mount where that is the limit.
    tib_*: of each TiB that is bought.  total_*: of all of it, however large.
    group_*: of each `group_nodes` nodes, as reference designs tell it.
    drive_*: of one drive; drive_bytes is its capacity.  iops: of small random requests.
    prefix_*_per_s: requests to one prefix (partition) of an object store.
    least_bytes, most_bytes: that can be bought, of one instance.
    step_bytes: what is bought is a multiple of it, or the least.
    several: more than one instance may be bought, each a file system of its own.
    local: each node has its own, so that one node's share is all it can read.
    candidate: judged where a plan names no candidates; false for what others have built.
    """

    client_read_bytes_per_s: ByteRate | None = None
    client_write_bytes_per_s: ByteRate | None = None
    tib_read_bytes_per_s: ByteRate | None = None
    tib_write_bytes_per_s: ByteRate | None = None
    tib_read_iops: Positive | None = None
    tib_write_iops: Positive | None = None
    total_read_bytes_per_s: ByteRate | None = None
    total_write_bytes_per_s: ByteRate | None = None
    total_read_iops: Positive | None = None
    total_write_iops: Positive | None = None
    group_nodes: Whole | None = None
    group_read_bytes_per_s: ByteRate | None = None
    group_write_bytes_per_s: ByteRate | None = None
    drive_bytes: Capacity | None = None
    drive_read_bytes_per_s: ByteRate | None = None
    drive_write_bytes_per_s: ByteRate | None = None
    drive_read_iops: Positive | None = None
    prefix_get_per_s: Positive | None = None
    prefix_put_per_s: Positive | None = None
    least_bytes: Capacity | None = None
    most_bytes: Capacity | None = None
    step_bytes: Capacity | None = None
    several: bool = False
    local: bool = False
    candidate: bool = True

    @model_validator(mode="after")
    def _limits_go_together(self) -> "TierRow":
        drive = (self.drive_read_bytes_per_s, self.drive_write_bytes_per_s, self.drive_read_iops)
        if self.drive_bytes is None and any(cell is not None for cell in drive):
            raise ValueError(f"{self.name}: give drive_bytes, the capacity of one drive, as well")
        group = (self.group_read_bytes_per_s, self.group_write_bytes_per_s)
        if self.group_nodes is None and any(cell is not None for cell in group):
            raise ValueError(f"{self.name}: give group_nodes, the nodes of one group, as well")
        if self.least_bytes and self.most_bytes and self.least_bytes > self.most_bytes:
            raise ValueError(
                f"{self.name}: least_bytes {self.least_bytes:,} is more than most_bytes"
                f" {self.most_bytes:,}; swap them, or give one"
            )
        if self.step_bytes and self.most_bytes and self.most_bytes % self.step_bytes:
            raise ValueError(
                f"{self.name}: most_bytes {self.most_bytes:,} is no whole number of step_bytes"
                f" {self.step_bytes:,}; give a multiple of it"
            )
        return self


@cache
def tiers() -> tuple[TierRow, ...]:
    """Every row of the table, in its order."""
    return read_rows("tiers.yaml", TierRow)


def find_tier(name: str, extra: Sequence[TierRow] = ()) -> TierRow:
    """The row of this name or alias, a user's own before the table's.

    Raises:
        PlanError: there is none; the nearest names are offered.

    >>> find_tier("nfs nconnect").client_read_bytes_per_s
    10000000000.0
    """
    return find_row(
        name,
        (*extra, *tiers()),
        what="storage tier",
        way_out=" (or give a row of your own under tiers)",
    )
