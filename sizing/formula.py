"""A formula: a plain function with its equation, its unit and where it comes from.

    @formula(unit="m", equation="width x height / depth", source="school")
    def length(*, width: float, height: float, depth: float) -> float: ...

The function's keyword arguments are the inputs a requirement shows, by name. So a sheet
cannot show an input that was not used, nor use one that it does not show.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial, update_wrapper
from typing import Generic, ParamSpec

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.spread import carried

P = ParamSpec("P")


@dataclass(eq=False)
class Formula(Generic[P]):
    """function: takes floats by keyword, returns one in `unit`.  equation: the same in words."""

    function: Callable[P, float]
    _: KW_ONLY
    equation: str
    unit: str
    source: str

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)  # so that it has the function's name and doctests

    def __call__(self, *args: P.args, **inputs: P.kwargs) -> float:
        """The plain function."""
        return self.function(*args, **inputs)

    def requirement(self, name: str, inputs: Sequence[Input]) -> Requirement:
        """Compute the formula from `inputs`, whose names are its arguments.

        Raises:
            TypeError: an argument is missing, or there is none of an input's name.
            ValueError: two inputs share a name, so that one of them would not count.
            PlanError: the figures are so large or small that there is no result.
        """
        function: Callable[..., float] = self.function
        values = {i.name: i.value for i in inputs}
        if len(values) < len(inputs):
            raise ValueError(f"{name}: two inputs share a name among {[i.name for i in inputs]}")
        try:
            value = function(**values)
            spread = carried(function, values, {i.name: i.spread for i in inputs})
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


def formula(
    *, unit: str, equation: str, source: str = "definition"
) -> Callable[[Callable[P, float]], Formula[P]]:
    """Make a function a formula; calling it computes as before."""
    return partial(Formula, unit=unit, equation=equation, source=source)
