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

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sizing.errors import PlanError
from sizing.units import parse_bits_per_s, parse_bytes, parse_bytes_per_s, parse_flops_per_s

DATA = Path(__file__).parent.parent / "data"
OF_THE_PLAN = "stated in the plan"
# libyaml reads a table in a tenth of the time; its wheels have it, some builds do not
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _flops_per_s(value: Any) -> Any:
    return parse_flops_per_s(value) if isinstance(value, str) else value


def _bytes(value: Any) -> Any:
    return parse_bytes(value) if isinstance(value, str) else value


def _bytes_per_s(value: Any) -> Any:
    return parse_bytes_per_s(value) if isinstance(value, str) else value


def _bits_per_s(value: Any) -> Any:
    return parse_bits_per_s(value) if isinstance(value, str) else value


Whole: TypeAlias = Annotated[int, Field(ge=1)]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
NotNegative: TypeAlias = Annotated[float, Field(ge=0)]
Ratio: TypeAlias = Annotated[float, Field(ge=1)]
Share: TypeAlias = Annotated[float, Field(gt=0, le=1)]
# the lower bounds refuse 989 where 989 TFLOP/s is meant, and 80 where 80 GB is
FlopRate: TypeAlias = Annotated[float, BeforeValidator(_flops_per_s), Field(ge=1e12)]
ByteRate: TypeAlias = Annotated[float, BeforeValidator(_bytes_per_s), Field(ge=1e6)]
BitRate: TypeAlias = Annotated[float, BeforeValidator(_bits_per_s), Field(ge=1e6)]
Bytes: TypeAlias = Annotated[int, BeforeValidator(_bytes), Field(ge=1)]
Capacity: TypeAlias = Annotated[int, BeforeValidator(_bytes), Field(ge=10**9)]


class Row(BaseModel):
    """name, aliases: what a plan calls it; case and punctuation do not matter.

    source: where its cells were read.  sources: of single cells that were read elsewhere.
    unverified: cells that were not found in their source.  note: contradictions, conditions.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False
    )

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


def read_rows(name: str, row: type[R]) -> tuple[R, ...]:
    """Every row of a table of sizing/data, in the order of the file."""
    data = yaml.load((DATA / name).read_text(encoding="utf-8"), Loader=LOADER)
    where = data["sources"]
    return tuple(
        row.model_validate(
            {
                **cells,
                "source": where[cells["source"]],
                "sources": {c: where[s] for c, s in cells.get("sources", {}).items()},
            }
        )
        for cells in data["rows"]
    )


def find_row(name: str, rows: Iterable[R], *, what: str, way_out: str = "") -> R:
    """The first row of this name or alias; case, spaces and punctuation do not matter.

    Raises:
        PlanError: there is none; the nearest names are offered.
    """
    known: dict[str, R] = {}
    for row in rows:
        for called in (row.name, *row.aliases):
            known.setdefault(_key(called), row)
    if _key(name) in known:
        return known[_key(name)]
    raise PlanError(f"unknown {what} {name!r}; {_nearest(name, known)}{way_out}")


def _nearest(name: str, known: Mapping[str, Row]) -> str:
    near = get_close_matches(_key(name), known, n=6, cutoff=0.5)
    offered: Sequence[str] = list(dict.fromkeys(known[n].name for n in near))[:3]
    if offered:
        return f"did you mean {' or '.join(map(repr, offered))}?"
    return f"known: {', '.join(dict.fromkeys(row.name for row in known.values()))}"


def _key(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
