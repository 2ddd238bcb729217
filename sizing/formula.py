"""A formula: a plain function with its equation, its unit and where it comes from.

The function's keyword arguments are the inputs a requirement shows, by name. So a sheet
cannot show an input that was not used, nor use one that it does not show.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.spread import carried


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
            PlanError: the figures are so large or small that there is no result.
        """
        values = {i.name: i.value for i in inputs}
        if len(values) < len(inputs):
            raise ValueError(f"{name}: two inputs share a name among {[i.name for i in inputs]}")
        try:
            value = self.function(**values)
            spread = carried(self.function, values, {i.name: i.spread for i in inputs})
        except ArithmeticError as e:
            told = ", ".join(f"{i.name} {i.value:.4g}" for i in inputs)
            raise PlanError(
                f"{name} cannot be computed ({e}) from {told}: {self.equation}; state other figures"
            ) from e
        return Requirement(
            name=name,
            value=value,
            unit=self.unit,
            formula=self.equation,
            inputs=tuple(inputs),
            source=self.source,
            spread=spread,
        )
