"""A figure of a measurement: its value, and how far off it may be."""

from math import exp
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from tokenmill.sizing.spread import LEAST_DRAWS, Z_95, Spread, interval
from tokenmill.sizing.strict import Strict


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
