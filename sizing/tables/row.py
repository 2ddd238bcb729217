"""A row of a table: cells of which each says where it was read, and whether it was.

A table is a file of sizing/data/:

    sources: {makers: "…"}         what the names of sources stand for
    rows:
      - name: H100 SXM
        hbm_bytes: 80 GB           a cell; the unit is parsed, the column's name says the result's
        source: makers             of every cell of the row …
        sources: {per_node: …}     … but these
        unverified: [per_node]     cells that come from memory and were not found in their source

Users give rows of the same columns in a plan, with sources in full if they like.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeAlias, TypeVar

import yaml
from pydantic import BeforeValidator, Field, model_validator

from tokenmill.sizing.errors import PlanError, folded, nearest
from tokenmill.sizing.strict import Strict
from tokenmill.sizing.units import (
    UnitError,
    parse_bits_per_s,
    parse_bytes,
    parse_bytes_per_s,
    parse_flops_per_s,
    parse_fraction,
)

DATA = Path(__file__).parent.parent / "data"
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
        """Where one cell's value was read, flagged if it was not.

        Raises:
            KeyError: there is no such column.
        """
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

        Raises:
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
