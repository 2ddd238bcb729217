"""What a sheet consists of: requirements, each traceable to the inputs it was computed from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Z_95 = 1.96  # two-sided 95 % of a normal distribution


@dataclass(frozen=True, kw_only=True)
class Input:
    """One argument of a formula.

    name: of the formula's argument, unit included.  unit: as `format_quantity` takes it.
    measured: read off a real corpus, rather than stated in a plan or assumed.
    source: who says so: the measurement, a plan's key, a default and its origin, a requirement.
    computed_by: name of the requirement it is the value of, None for a leaf.
    se: standard error of `value`, in its unit; None where there is none.
    """

    name: str
    value: float
    unit: str
    measured: bool
    source: str
    computed_by: str | None = None
    se: float | None = None

    def to_json(self) -> dict[str, Any]:
        low, high = interval(self.value, self.se)
        return {**vars(self), "low": low, "high": high}


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One row of a sheet.

    name: says what it is, unique in a sheet.  formula: in words, in the names of `inputs`.
    source: where the formula comes from.
    se: standard error of `value`, propagated from the inputs' own; None where none has one.
    """

    name: str
    value: float
    unit: str
    formula: str
    inputs: tuple[Input, ...]
    source: str
    se: float | None = None

    @property
    def measured(self) -> bool:
        """Whether nothing but measurements went in."""
        return all(i.measured for i in self.inputs)

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The 95 % interval; (None, None) without a standard error."""
        return interval(self.value, self.se)

    def as_input(self, name: str) -> Input:
        """The requirement as the argument `name` of another formula."""
        return Input(
            name=name,
            value=self.value,
            unit=self.unit,
            measured=self.measured,
            source=f"computed: {self.name}",
            computed_by=self.name,
            se=self.se,
        )

    def to_json(self) -> dict[str, Any]:
        low, high = self.interval
        return {
            **vars(self),
            "inputs": [i.to_json() for i in self.inputs],
            "low": low,
            "high": high,
            "measured": self.measured,
        }


def leaves(requirement: Requirement, sheet: Iterable[Requirement]) -> tuple[Input, ...]:
    """The measured, stated and assumed inputs it rests on, through every computed one, each once.

    Raises:
        KeyError: an input was computed by a requirement that is not in the sheet.
    """
    rows = {r.name: r for r in sheet}
    found: dict[Input, None] = {}  # keeps the order in which they were met
    for given in requirement.inputs:
        if given.computed_by is None:
            found[given] = None
        else:
            found.update(dict.fromkeys(leaves(rows[given.computed_by], rows.values())))
    return tuple(found)


def interval(value: float, se: float | None) -> tuple[float | None, float | None]:
    """The 95 % interval of a value, from its standard error.

        value - 1.96 se   to   value + 1.96 se

    >>> interval(100.0, 10.0)
    (80.4, 119.6)
    >>> interval(100.0, None)
    (None, None)
    """
    if se is None:
        return None, None
    return value - Z_95 * se, value + Z_95 * se
