"""What a sheet consists of: requirements, each traceable to the inputs it was computed from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

from tokenmill.sizing.spread import Spread, interval


@dataclass(frozen=True, kw_only=True)
class Input:
    """One argument of a formula.

    name: of the formula's argument, unit included.  unit: as `format_quantity` takes it.
    measured: read off a real corpus, rather than stated in a plan or assumed.
    source: who says so: the measurement, a plan's key, a default and its origin, a requirement.
    computed_by: name of the requirement it is the value of, None for a leaf.
    spread: how uncertain `value` is, empty where nobody said.
    verified: False where the figure was not found in a document, only remembered.
    key: of the plan's setting that changes it, where there is one.
    """

    name: str
    value: float
    unit: str
    measured: bool
    source: str
    computed_by: str | None = None
    spread: Spread = field(default_factory=dict, hash=False)
    verified: bool = True
    key: str | None = None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The 95 % interval; (None, None) where there is none."""
        return interval(self.value, self.spread)

    def to_json(self) -> dict[str, Any]:
        return _with_interval(vars(self), self.interval)


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One row of a sheet.

    name: says what it is, unique in a sheet.  formula: in words, in the names of `inputs`.
    source: where the formula comes from.
    spread: of the value, carried from the inputs' own.
    """

    name: str
    value: float
    unit: str
    formula: str
    inputs: tuple[Input, ...]
    source: str
    spread: Spread = field(default_factory=dict, hash=False)

    @property
    def measured(self) -> bool:
        """Whether nothing but measurements went in."""
        return all(i.measured for i in self.inputs)

    @property
    def verified(self) -> bool:
        """Whether every figure that went in was found in a document or measured."""
        return all(i.verified for i in self.inputs)

    @cached_property
    def interval(self) -> tuple[float | None, float | None]:
        """The 95 % interval; (None, None) where no input has one."""
        return interval(self.value, self.spread)

    def as_input(self, name: str) -> Input:
        """The requirement as the argument `name` of another formula."""
        return Input(
            name=name,
            value=self.value,
            unit=self.unit,
            measured=self.measured,
            source=f"computed: {self.name}",
            computed_by=self.name,
            spread=self.spread,
            verified=self.verified,
        )

    def to_json(self) -> dict[str, Any]:
        own = {key: value for key, value in vars(self).items() if key != "interval"}
        return {
            **_with_interval(own, self.interval),
            "inputs": [i.to_json() for i in self.inputs],
            "measured": self.measured,
            "verified": self.verified,
        }


def leaves(requirement: Requirement, rows: Mapping[str, Requirement]) -> tuple[Input, ...]:
    """The measured, stated and assumed inputs it rests on, through every computed one, each once.

    Raises:
        KeyError: an input was computed by a requirement that is not in `rows`.
    """
    found: dict[Input, None] = {}  # keeps the order in which they were met
    seen: set[str] = set()
    _gather(requirement, rows, found, seen)
    return tuple(found)


def by_name(sheet: Iterable[Requirement]) -> dict[str, Requirement]:
    """The rows of a sheet by their names."""
    return {row.name: row for row in sheet}


def _gather(
    row: Requirement, rows: Mapping[str, Requirement], found: dict[Input, None], seen: set[str]
) -> None:
    for given in row.inputs:
        if given.computed_by is None:
            found[given] = None
        elif given.computed_by not in seen:
            seen.add(given.computed_by)
            _gather(rows[given.computed_by], rows, found, seen)


def _with_interval(
    own: Mapping[str, Any], limits: tuple[float | None, float | None]
) -> dict[str, Any]:
    """The fields, with the spread's many scenarios told as the interval that they amount to.

    JSON has no infinity: where all time is wasted and training never ends, there stands null.
    """
    shown = {key: value for key, value in own.items() if key != "spread"}
    figures = {"value": shown["value"], "low": limits[0], "high": limits[1]}
    return {**shown, **{k: v if v is None or isfinite(v) else None for k, v in figures.items()}}
