"""The tables that ship: accelerators, access patterns, recipes of checkpoints, tiers, workloads.

A table is a file of sizing/data/:

    sources: {makers: "…"}         what the names of sources stand for
    rows:
      - name: H100 SXM
        hbm_bytes: 80 GB           a cell; the unit is parsed, the column's name says the result's
        source: makers             of every cell of the row …
        sources: {per_node: …}     … but these
        unverified: [per_node]     cells that come from memory and were not found in their source

Users give rows of the same columns in a plan, with sources in full if they like; those come first.

>>> ACCELERATORS.find("h100-sxm").name, ACCELERATORS.find("A100").hbm_bytes
('H100 SXM', 80000000000)
>>> ACCESS.find("sequential").amplification, ACCESS.find("mmap").amplification
(1.3, 11.1)
>>> RECIPES.find("bf16+adam").bytes_per_param, RECIPES.find("weights").bytes_per_param
(14.0, 2.0)
>>> TIERS.find("nfs nconnect").client_read_bytes_per_s
10000000000.0
>>> WORKLOADS.find("unet3d").computation_s["H100"]
0.323
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import yaml
from pydantic import BeforeValidator, Field, model_validator

from tokenmill.sizing.errors import PlanError, folded, nearest
from tokenmill.sizing.strict import Strict
from tokenmill.sizing.units import (
    UnitError,
    parse_bits_per_s,
    parse_bytes,
    parse_bytes_per_s,
    parse_count,
    parse_flops_per_s,
    parse_fraction,
)

DATA = Path(__file__).with_name("data")
OF_THE_PLAN = "stated in the plan"
MOST_NEAR = 3  # names that are offered in place of an unknown one
# libyaml reads a table in a tenth of the time; its wheels have it, some builds do not
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnitOf(NamedTuple):
    """How a quantity is read.

    parse: of text.  least: of a plain number; a smaller one lacks its unit, as 20 for 20 GB/s.
    unit: that is proposed then.
    """

    parse: Callable[[str], float]
    least: float = 0.0
    unit: str = ""

    def __call__(self, value: Any) -> Any:
        """The value, parsed where it is text; what else is no number is left to the model."""
        if isinstance(value, str):
            return self.parse(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and 0 < value < self.least:
            raise UnitError(f"{value!r} has no unit; write the unit, as {value:g} {self.unit}")
        return value


MOST_GROWTH = 2.0  # a year, without its unit
LEAST_RATE, LEAST_FLOP_RATE, LEAST_CAPACITY = 10**6, 10**12, 10**9  # a second; bytes

Whole: TypeAlias = Annotated[int, Field(ge=1)]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
Operations: TypeAlias = Annotated[float, BeforeValidator(UnitOf(parse_count)), Field(gt=0)]
NotNegative: TypeAlias = Annotated[float, Field(ge=0)]
Ratio: TypeAlias = Annotated[float, Field(ge=1)]
Share: TypeAlias = Annotated[float, BeforeValidator(UnitOf(parse_fraction)), Field(gt=0, le=1)]
MaybeShare: TypeAlias = Annotated[float, BeforeValidator(UnitOf(parse_fraction)), Field(ge=0, le=1)]


def _growth(value: Any) -> Any:
    """A number of some size lacks its unit, as 30 for 30 %."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= MOST_GROWTH:
        raise UnitError(f"{value:g} is {value:,.0%} a year; write {value:g}%, or {value * 100:g}%")
    return UnitOf(parse_fraction)(value)


Growth: TypeAlias = Annotated[float, BeforeValidator(_growth), Field(ge=0)]
FlopRate: TypeAlias = Annotated[
    float,
    BeforeValidator(UnitOf(parse_flops_per_s, LEAST_FLOP_RATE, "TFLOP/s")),
    Field(ge=LEAST_FLOP_RATE),
]
ByteRate: TypeAlias = Annotated[
    float, BeforeValidator(UnitOf(parse_bytes_per_s, LEAST_RATE, "GB/s")), Field(ge=LEAST_RATE)
]
BitRate: TypeAlias = Annotated[
    float, BeforeValidator(UnitOf(parse_bits_per_s, LEAST_RATE, "Gb/s")), Field(ge=LEAST_RATE)
]
Capacity: TypeAlias = Annotated[
    int, BeforeValidator(UnitOf(parse_bytes, LEAST_CAPACITY, "GB")), Field(ge=LEAST_CAPACITY)
]


class Row(Strict):
    """name, aliases: what a plan calls it; case and punctuation do not matter.

    source: where its cells were read.  sources: of single cells that were read elsewhere.
    unverified: cells that were not found in their source.  note: contradictions, conditions.
    """

    name: Annotated[str, Field(min_length=1)]
    aliases: Annotated[tuple[str, ...], Field(strict=False)] = ()
    source: str = OF_THE_PLAN
    sources: Mapping[str, str] = {}
    unverified: Annotated[tuple[str, ...], Field(strict=False)] = ()
    note: str | None = None

    @model_validator(mode="after")
    def _marks_are_of_cells(self) -> "Row":
        for column in (*self.sources, *self.unverified):
            if column not in self.columns():
                raise ValueError(
                    f"{self.name}: no column {column!r}; columns: {', '.join(self.columns())}"
                )
            if getattr(self, column) is None:
                raise ValueError(f"{self.name}: {column} is marked but has no value")
        return self

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """The columns that hold cells, in the order of their definition."""
        return tuple(name for name in cls.model_fields if name not in Row.model_fields)

    def verified(self, column: str) -> bool:
        """Whether the cell was found in its source."""
        return column not in self.unverified

    def source_of(self, column: str) -> str:
        """Where a cell's value was read, flagged if it was not; KeyError: no such column."""
        if column not in self.columns():
            raise KeyError(f"{column!r} is no column of {type(self).__name__}")
        where = f"{self.name}: {self.sources.get(column, self.source)}"
        return where if self.verified(column) else f"{where} (unverified)"


R = TypeVar("R", bound=Row)


class Table(Generic[R]):
    """A file of sizing/data, read when it is first needed."""

    def __init__(self, file: str, row: type[R], *, what: str, way_out: str = "") -> None:
        """what: a row is, as messages say it.  way_out: what else a user may do without a row."""
        self._file, self._row, self._what, self._way_out = DATA / file, row, what, way_out

    @cached_property
    def rows(self) -> tuple[R, ...]:
        """Every row, in the order of the file."""
        data = yaml.load(self._file.read_text(encoding="utf-8"), Loader=LOADER)
        where = data["sources"]
        return tuple(
            self._row.model_validate(
                {
                    **cells,
                    "source": where[cells["source"]],
                    "sources": {c: where[s] for c, s in cells.get("sources", {}).items()},
                }
            )
            for cells in data["rows"]
        )

    @cached_property
    def _known(self) -> dict[str, R]:
        return _by_name(self.rows)

    def find(self, name: str, own: Iterable[R] = ()) -> R:
        """The first row of this name or alias, a user's own before the table's.

        Case, spaces and punctuation do not matter.
        PlanError: there is none; the nearest names are offered.
        """
        users = _by_name(own)
        known = {**users, **self._known, **users}  # the user's first, and before others
        if folded(name) in known:
            return known[folded(name)]
        raise PlanError(f"unknown {self._what} {name!r}; {_nearest(name, known)}{self._way_out}")


def _by_name(rows: Iterable[R]) -> dict[str, R]:
    """The first row of each name and alias, as they are compared."""
    known: dict[str, R] = {}
    for row in rows:
        for called in (row.name, *row.aliases):
            known.setdefault(folded(called), row)
    return known


def _nearest(name: str, known: Mapping[str, Row]) -> str:
    near = nearest(name, known, most=MOST_NEAR * 2)
    offered = list(dict.fromkeys(known[n].name for n in near))[:MOST_NEAR]
    if offered:
        return f"did you mean {' or '.join(map(repr, offered))}?"
    return f"known: {', '.join(dict.fromkeys(row.name for row in known.values()))}"


class AcceleratorRow(Row):
    """An accelerator that a plan may name; None where nobody has published a figure.

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


ACCELERATORS = Table(
    "accelerators.yaml",
    AcceleratorRow,
    what="accelerator",
    way_out=" (or give cluster.dense_flops_per_s and cluster.per_node)",
)


class AccessRow(Row):
    """How a loader reads sequences, and its measured read amplification.

    That is bytes that the device delivered for each byte that was used.

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


ACCESS = Table(
    "access.yaml",
    AccessRow,
    what="access pattern",
    way_out=" (or give training.read_amplification)",
)


class RecipeRow(Row):
    """What a checkpoint, or a model in training, holds of each parameter.

    parts: bytes of each quantity that is held of a parameter.

    on_disk: written to a checkpoint; otherwise it is what memory holds, with gradients.
    """

    parts: Annotated[Mapping[str, Positive], Field(min_length=1)]
    on_disk: bool = True

    @property
    def bytes_per_param(self) -> float:
        return sum(self.parts.values())

    @property
    def summed(self) -> str:
        """The parts as a sum: "2 weights + 4 master weights"."""
        return " + ".join(f"{size:g} {part}" for part, size in self.parts.items())


RECIPES = Table(
    "recipes.yaml", RecipeRow, what="recipe", way_out=" (or give checkpoints.bytes_per_param)"
)


class TierRow(Row):
    """Storage that can be bought or rented: what a client, a TiB, a drive or all of it delivers.

    None where a limit does not apply or nobody has published it.

    client_*: of one client, that is one node, or one mount where that is the limit.
    tib_*: of each TiB that is bought.  total_*: of all of it, however large.
    group_*: of each `group_nodes` nodes, as reference designs tell it.
    drive_*: of one drive; drive_bytes is its capacity.  *_iops: of small random reads.
    prefix_*_per_s: requests to one prefix (partition) of an object store.
    least_bytes, most_bytes: that can be bought, of one instance.
    step_bytes: what is bought is a multiple of it, or the least.
    several: more than one instance may be bought, each a file system of its own.
    local: each node has its own, so that one node's share is all it can read.
    candidate: judged where a plan names no candidates; false for what others have built.
    billed: what its seller counts: bytes stored, usable capacity, or raw.
    usd_per_tb_month: of a TB of that.  usd_per_1000_*: of requests; None where they are free.
    usd_per_gb_*: that are read, written, or leave the seller's cloud.
    """

    client_read_bytes_per_s: ByteRate | None = None
    client_write_bytes_per_s: ByteRate | None = None
    tib_read_bytes_per_s: ByteRate | None = None
    tib_write_bytes_per_s: ByteRate | None = None
    tib_read_iops: Operations | None = None
    total_read_bytes_per_s: ByteRate | None = None
    total_write_bytes_per_s: ByteRate | None = None
    total_read_iops: Operations | None = None
    group_nodes: Whole | None = None
    group_read_bytes_per_s: ByteRate | None = None
    group_write_bytes_per_s: ByteRate | None = None
    drive_bytes: Capacity | None = None
    drive_read_bytes_per_s: ByteRate | None = None
    drive_write_bytes_per_s: ByteRate | None = None
    drive_read_iops: Operations | None = None
    prefix_get_per_s: Operations | None = None
    prefix_put_per_s: Operations | None = None
    least_bytes: Capacity | None = None
    most_bytes: Capacity | None = None
    step_bytes: Capacity | None = None
    several: bool = False
    local: bool = False
    candidate: bool = True
    billed: Literal["stored", "usable", "raw"] | None = None
    usd_per_tb_month: Positive | None = None
    usd_per_1000_get: Positive | None = None
    usd_per_1000_put: Positive | None = None
    usd_per_gb_read: Positive | None = None
    usd_per_gb_written: Positive | None = None
    usd_per_gb_egress: Positive | None = None

    @model_validator(mode="after")
    def _prices_go_together(self) -> "TierRow":
        priced = any(n.startswith("usd_") and v is not None for n, v in vars(self).items())
        for column in ("usd_per_tb_month", "billed"):
            if priced and getattr(self, column) is None:
                raise ValueError(f"{self.name}: it has a price; give {column} as well")
        return self

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


TIERS = Table(
    "tiers.yaml", TierRow, what="storage tier", way_out=" (or give a row of your own under tiers)"
)


class WorkloadRow(Row):
    """One model and its dataset, in training.

    Its demand on storage was measured, or can be had from FLOP per sample.

    sample_bytes: on disk.  decoded_bytes: of the array it is decoded to.
    flop_per_sample: to train on one, forward and backward.
    batch, computation_s: by accelerator, samples of a step and the seconds it computes.
    least_au: accelerator utilization that a run must reach to count (MLPerf Storage).
    """

    sample_bytes: Positive | None = None
    decoded_bytes: Positive | None = None
    flop_per_sample: Positive | None = None
    batch: Mapping[str, Whole] = {}
    computation_s: Mapping[str, Positive] = {}
    least_au: Share | None = None

    @model_validator(mode="after")
    def _steps_are_whole(self) -> "WorkloadRow":
        if set(self.batch) != set(self.computation_s):
            raise ValueError(f"{self.name}: batch and computation_s are of different accelerators")
        return self


WORKLOADS = Table("workloads.yaml", WorkloadRow, what="workload")
