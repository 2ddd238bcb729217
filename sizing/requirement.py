"""What a sheet consists of: requirements, each traceable to the inputs it was computed from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isfinite
from typing import Any

from tokenmill.sizing.figure import Spread, interval
from tokenmill.sizing.units import format_quantity


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A value, its unit as `format_quantity` takes it, and its spread, empty where unknown."""

    name: str
    value: float
    unit: str
    spread: Spread = field(default_factory=dict, hash=False)

    @cached_property
    def interval(self) -> tuple[float | None, float | None]:
        """The 95 % interval; (None, None) where there is none."""
        return interval(self.value, self.spread)

    @property
    def shown(self) -> str:
        """The value as a person reads it."""
        return format_quantity(self.value, self.unit)

    @property
    def between(self) -> str:
        """The 95 % interval in words, empty without one that shows at so many digits."""
        low, high = self.interval
        if low is None or high is None:
            return ""
        first, last = (format_quantity(v, self.unit) for v in (low, high))
        if first == last:
            return ""
        own, others = first.split(" "), last.split(" ")
        while len(own) > 1 and own[-1] == others[-1]:  # 31.1 to 38.1 MB/s, but 971 GB to 1.02 TB
            own, others = own[:-1], others[:-1]
        return f"{' '.join(own)} to {last}"

    @property
    def told(self) -> str:
        """The value with its interval, where that shows."""
        between = self.between
        return f"{self.shown} ({between})" if between else self.shown

    def to_json(self) -> dict[str, Any]:
        """The fields, with the spread's many scenarios told as the interval that they amount to.

        JSON has no infinity: where all time is wasted and training never ends, there stands null.
        """
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "spread"}
        figures = {"value": self.value, "low": self.interval[0], "high": self.interval[1]}
        told = {k: v if v is None or isfinite(v) else None for k, v in figures.items()}
        return {**own, **told}


@dataclass(frozen=True, kw_only=True)
class Input(Amount):
    """One argument of a formula.

    name: of the formula's argument, unit included.
    measured: read off a real corpus, rather than stated in a plan or assumed.
    source: who says so: the measurement, a plan's key, a default and its origin, a requirement.
    computed_by: name of the requirement it is the value of, None for a leaf.
    verified: False where the figure was not found in a document, only remembered.
    key: of the plan's setting that changes it, where there is one.
    """

    measured: bool
    source: str
    computed_by: str | None = None
    verified: bool = True
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Requirement(Amount):
    """One row of a sheet.

    name: says what it is, unique in a sheet.  formula: in words, in the names of `inputs`.
    source: where the formula comes from.  spread: carried from the inputs' own.
    """

    formula: str
    inputs: tuple[Input, ...]
    source: str

    @property
    def measured(self) -> bool:
        """Whether nothing but measurements went in."""
        return all(i.measured for i in self.inputs)

    @property
    def verified(self) -> bool:
        """Whether every figure that went in was found in a document or measured."""
        return all(i.verified for i in self.inputs)

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
        return {
            **super().to_json(),
            "inputs": [i.to_json() for i in self.inputs],
            "measured": self.measured,
            "verified": self.verified,
        }


def leaves(requirement: Requirement, rows: Mapping[str, Requirement]) -> tuple[Input, ...]:
    """The measured, stated and assumed inputs it rests on, each once; KeyError: `rows` lack one."""
    found: dict[Input, None] = {}  # keeps the order in which they were met
    seen: set[str] = set()

    def gather(row: Requirement) -> None:
        for given in row.inputs:
            if given.computed_by is None:
                found[given] = None
            elif given.computed_by not in seen:
                seen.add(given.computed_by)
                gather(rows[given.computed_by])

    gather(requirement)
    return tuple(found)
