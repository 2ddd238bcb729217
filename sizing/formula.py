"""A formula: a plain function with its equation, its unit and where it comes from.

The function's keyword arguments are the inputs a requirement shows, by name. So a sheet
cannot show an input that was not used, nor use one that it does not show.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sizing.requirement import Input, Requirement


@dataclass(frozen=True, kw_only=True)
class Formula:
    """function: takes floats by keyword, returns one in `unit`.  equation: the same in words."""

    function: Callable[..., float]
    equation: str
    unit: str
    source: str

    def requirement(self, name: str, inputs: Sequence[Input]) -> Requirement:
        """Compute the formula from `inputs`, whose names are its arguments.

        Raises:
            TypeError: an argument is missing, or there is none of an input's name.
            ValueError: two inputs share a name, so that one of them would not count.
        """
        names = [i.name for i in inputs]
        if len(set(names)) < len(names):
            raise ValueError(f"{name}: two inputs share a name among {names}")
        return Requirement(
            name=name,
            value=self.function(**{i.name: i.value for i in inputs}),
            unit=self.unit,
            formula=self.equation,
            inputs=tuple(inputs),
            source=self.source,
            se=standard_error(self.function, inputs),
        )


def standard_error(function: Callable[..., float], inputs: Sequence[Input]) -> float | None:
    """Standard error of `function` of the inputs, taken as independent; None if none has one.

        se^2 = sum over inputs i of ((f(.. x_i + se_i ..) - f(.. x_i - se_i ..)) / 2)^2

    Exact where f is linear in each uncertain input; otherwise the delta method with a
    difference over +- one standard error in place of the derivative.

    >>> def area(width, height): return width * height
    >>> def side(name, value, se):
    ...     return Input(name=name, value=value, se=se, unit="m", measured=True, source="ruler")
    >>> standard_error(area, [side("width", 3.0, 0.5), side("height", 4.0, None)])
    2.0
    """
    uncertain = {i.name: i.se for i in inputs if i.se is not None}
    if not uncertain:
        return None
    values = {i.name: i.value for i in inputs}
    halves = [
        (function(**{**values, n: values[n] + se}) - function(**{**values, n: values[n] - se})) / 2
        for n, se in uncertain.items()
    ]
    return math.hypot(*halves)
