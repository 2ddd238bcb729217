"""A figure of a measurement: its value, and how far off it may be, told by what makes it so.

A spread holds, for each uncertain quantity that a value rests on, what the value is in each
scenario of that quantity, everything else at its point:

    {"cluster.mfu": (4.2e6, 5.1e6)}           the value at the low and at the high end
    {"sample of web": (4.8e6, 4.9e6, …)}      the value in each of its joint draws

So a quantity that reaches a value by several ways is counted once and with its sign, and a
formula need not be linear.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from math import exp
from statistics import quantiles
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from tokenmill.sizing.strict import Strict

Spread: TypeAlias = Mapping[str, tuple[float, ...]]

ENDS = 2  # scenarios of a quantity of which an interval is known, rather than draws
LEAST_DRAWS = 40  # of which one falls outside on either side of 95 %
TAIL = 0.025  # outside a two-sided 95 % interval, on each side
Z_95 = 1.96  # two-sided 95 % of a normal distribution


def carried(
    function: Callable[..., float], values: Mapping[str, float], spreads: Mapping[str, Spread]
) -> Spread:
    """The spread of `function(**values)` whose arguments have `spreads`.

    ValueError: two arguments disagree on how many scenarios a quantity has.

    >>> def area(width, height): return width * height
    >>> carried(area, {"width": 3.0, "height": 4.0}, {"width": {"ruler": (2.5, 3.5)}})
    {'ruler': (10.0, 14.0)}
    """
    counts: dict[str, int] = {}
    for spread in spreads.values():
        for quantity, scenarios in spread.items():
            if counts.setdefault(quantity, len(scenarios)) != len(scenarios):
                raise ValueError(
                    f"{quantity!r} has {counts[quantity]} scenarios here, {len(scenarios)} there"
                )
    made = {}
    for quantity, n in counts.items():
        columns = [spreads.get(name, {}).get(quantity, (v,) * n) for name, v in values.items()]
        rows = zip(*columns, strict=True)
        made[quantity] = tuple(function(**dict(zip(values, row, strict=True))) for row in rows)
    return made


def interval(value: float, spread: Spread) -> tuple[float | None, float | None]:
    """The 95 % interval of a value; (None, None) where nothing it rests on has one.

        low  = value - sqrt(sum over quantities of (value - its low)^2), high likewise

    The quantities are taken as independent of each other; ends need not be symmetric (MOVER:
    Zou and Donner 2008, doi 10.1002/sim.3095). What no scenario takes below 0 is not below it.

    >>> interval(100.0, {"a": (97.0, 106.0), "b": (96.0, 108.0)})
    (95.0, 110.0)
    >>> interval(100.0, {})
    (None, None)
    """
    if not spread:
        return None, None
    limits = [_limits(scenarios) for scenarios in spread.values()]
    below = math.hypot(*(max(0.0, value - low) for low, _ in limits))
    above = math.hypot(*(max(0.0, high - value) for _, high in limits))
    return max(value - below, min(0.0, *(low for low, _ in limits))), value + above


def _limits(scenarios: Sequence[float]) -> tuple[float, float]:
    """The ends, whichever is lower; of draws, the 2.5th and the 97.5th percentile."""
    ordered = sorted(scenarios)
    if len(ordered) == ENDS:
        return ordered[0], ordered[1]
    cuts = quantiles(ordered, n=round(1 / TAIL), method="inclusive")
    return cuts[0], cuts[-1]


class Figure(Strict):
    """A value >= 0 in the unit that its place says; in JSON a plain number stands for an exact one.

    low, high: of the 95 % interval; both or none.
    draws: the value in each joint draw (bootstrap) of the sample that it was estimated from;
    draw i of every figure of an estimate belongs together. Where given, low and high follow.
    bounds: between which it surely lies where a step is not predicted; they are no 95 % interval,
    and the others are then of documents that leave the step as they came.
    """

    value: Annotated[float, Field(ge=0)]
    low: Annotated[float, Field(ge=0)] | None = None
    high: Annotated[float, Field(ge=0)] | None = None
    draws: tuple[Annotated[float, Field(ge=0)], ...] = Field(default=(), strict=False)
    bounds: tuple[Annotated[float, Field(ge=0)], float] | None = Field(default=None, strict=False)

    @model_validator(mode="after")
    def _holds_together(self) -> "Figure":
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high go together; give both or none")
        low, high = self.low or 0.0, self.value if self.high is None else self.high
        if not low <= self.value <= high:
            raise ValueError(f"value {self.value:g} is not between low {low:g} and high {high:g}")
        if self.bounds is not None and not self.bounds[0] <= self.value <= self.bounds[1]:
            raise ValueError(f"value {self.value:g} is not within its bounds")
        if self.draws and len(self.draws) < LEAST_DRAWS:
            raise ValueError(f"{len(self.draws)} draws make no interval, {LEAST_DRAWS} or more do")
        return self

    @model_serializer
    def _as_data(self) -> float | dict[str, Any]:
        """Plain data that are read back: an exact figure is a number."""
        told: dict[str, Any] = {"low": self.low, "high": self.high}
        told |= {"draws": self.draws or None, "bounds": self.bounds}
        told = {name: given for name, given in told.items() if given is not None}
        return {"value": self.value, **told} if told else self.value

    def spread(self, quantity: str, sample: str) -> Spread:
        """quantity: the figure's own name, for ends.  sample: what its draws were drawn from."""
        if self.draws:
            return {sample: self.draws}
        if self.low is None or self.high is None:
            return {}
        return {quantity: (self.low, self.high)}

    @property
    def least(self) -> float:
        """The least that the value is in any scenario."""
        return min([self.value, *([] if self.low is None else [self.low]), *self.draws])

    def ends(self) -> tuple[float, float]:
        """The limits; of an exact figure both are its value."""
        low, high = self.limits()
        return self.value if low is None else low, self.value if high is None else high

    def limits(self) -> tuple[float | None, float | None]:
        """The bounds, else the 95 % interval; (None, None) for an exact figure."""
        return self.bounds or interval(self.value, self.spread("", ""))


def _plain(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return {"value": value} if is_number else value


AnyFigure = Annotated[Figure, BeforeValidator(_plain, json_schema_input_type=float | Figure)]


def from_error(value: float, se: float | None) -> float | dict[str, float]:
    """A ratio and its standard error as data of a figure, with a 95 % interval if there is one.

    >>> from_error(4.0, None), from_error(4.0, 1.0)
    (4.0, {'value': 4.0, 'low': 2.04, 'high': 5.96})
    """
    if not se:
        return value
    if Z_95 * se < value:
        return {"value": value, "low": value - Z_95 * se, "high": value + Z_95 * se}
    factor = exp(Z_95 * se / value)  # a ratio is over 0, however few the shards that it is from
    return {"value": value, "low": value / factor, "high": value * factor}
