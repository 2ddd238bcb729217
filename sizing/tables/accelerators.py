"""The accelerators a plan may name: what one of them can do, and how many share a node."""

from collections.abc import Sequence
from functools import cache

from tokenmill.sizing.tables.row import (
    BitRate,
    ByteRate,
    Capacity,
    FlopRate,
    Row,
    Share,
    Whole,
    find_row,
    read_rows,
)


class AcceleratorRow(Row):
    """One accelerator; None where nobody has published a figure.

    dense_flops_per_s: BF16 peak without sparsity.  fp8_flops_per_s: the same in FP8.
    hbm_bytes: as its maker prints it.  hbm_bytes_per_s: peak.
    scale_up_bytes_per_s: to the others of its node or rack, in one direction.
    scale_out_bits_per_s: its share of the node's network to other nodes.
    per_node: how many share a node, host or tray.
    matmul_frac: of `dense_flops_per_s` that the best measured matrix product reached, in BF16;
    no model trains faster.
    """

    dense_flops_per_s: FlopRate
    fp8_flops_per_s: FlopRate | None = None
    hbm_bytes: Capacity
    hbm_bytes_per_s: ByteRate | None = None
    scale_up_bytes_per_s: ByteRate | None = None
    scale_out_bits_per_s: BitRate | None = None
    per_node: Whole
    matmul_frac: Share | None = None


@cache
def accelerators() -> tuple[AcceleratorRow, ...]:
    """Every row of the table, in its order."""
    return read_rows("accelerators.yaml", AcceleratorRow)


def find_accelerator(name: str, extra: Sequence[AcceleratorRow] = ()) -> AcceleratorRow:
    """The row of this name or alias, a user's own before the table's.

    Raises:
        PlanError: there is none; the nearest names are offered.

    >>> find_accelerator("h100-sxm").name, find_accelerator("A100").hbm_bytes
    ('H100 SXM', 80000000000)
    """
    return find_row(
        name,
        (*extra, *accelerators()),
        what="accelerator",
        way_out=" (or give cluster.dense_flops_per_s and cluster.per_node)",
    )
