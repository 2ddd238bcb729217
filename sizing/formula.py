"""A formula: a plain function with its equation, its unit and where it comes from.

    @formula(unit="m", source="school")
    def length(*, width: float, height: float, depth: float) -> float:
        return width * height / depth

Its equation is the expression that it returns, "width x height / depth"; where a reader wants
other words, they are given.

The function's keyword arguments are the inputs a requirement shows, by name. So a sheet
cannot show an input that was not used, nor use one that it does not show.
"""

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial, update_wrapper
from typing import Any, Generic, ParamSpec

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.spread import carried

P = ParamSpec("P")


@dataclass(eq=False)
class Formula(Generic[P]):
    """function: takes floats by keyword, returns one in `unit`.

    said: the equation in words; None: the expression that the function returns.
    """

    function: Callable[P, float]
    _: KW_ONLY
    said: str | None
    unit: str
    source: str

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)  # so that it has the function's name and doctests

    def __call__(self, *args: P.args, **inputs: P.kwargs) -> float:
        """The plain function."""
        return self.function(*args, **inputs)

    @cached_property
    def arguments(self) -> dict[str, bool]:
        """Its keyword arguments, in order, and whether each must be given."""
        takes = inspect.getfullargspec(self.function)
        return {name: name not in (takes.kwonlydefaults or {}) for name in takes.kwonlyargs}

    @cached_property
    def equation(self) -> str:
        """What the function computes, in names of its inputs."""
        return self.said or written(self.function)

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
    *, unit: str, equation: str | None = None, source: str = "definition"
) -> Callable[[Callable[P, float]], Formula[P]]:
    """Make a function a formula; calling it computes as before."""
    return partial(Formula, unit=unit, said=equation, source=source)


def total(*, unit: str, source: str = "definition") -> Formula[...]:
    """The formula that adds up whatever inputs it is given.

    >>> total(unit="m")(width=3.0, height=4.0)
    7.0
    """
    return Formula(_added, said="sum of its inputs", unit=unit, source=source)


def greatest(*, unit: str, source: str = "definition") -> Formula[...]:
    """The formula of the greatest of whatever inputs it is given.

    >>> greatest(unit="m")(width=3.0, height=4.0)
    4.0
    """
    return Formula(_greatest, said="the greatest of its inputs", unit=unit, source=source)


def _greatest(**parts: float) -> float:
    return max(parts.values())


def _added(**parts: float) -> float:
    return sum(parts.values())


def written(function: Callable[..., float]) -> str:
    """The expression that a function returns, as an equation: constants of its module as numbers.

    Raises:
        TypeError: the function does more than return an expression.
    """
    (definition,) = ast.parse(inspect.getsource(function)).body
    match definition:
        case ast.FunctionDef(body=[ast.Expr(), ast.Return(value=ast.expr() as value)]):
            return _Shown(inspect.unwrap(function).__globals__).equation(value)
    raise TypeError(f"{function.__name__} does more than return an expression: say its equation")


class _Shown(ast.NodeTransformer):
    """Names of an expression as an equation shows them."""

    def __init__(self, constants: dict[str, Any]) -> None:
        self.constants = constants

    def equation(self, value: ast.expr) -> str:
        match value:
            case ast.Call(func=ast.Attribute(attr="ceil"), args=[inner]):
                return f"{self.equation(inner)}, rounded up"
            case ast.Call(func=ast.Attribute(attr="floor"), args=[inner]):
                return f"{self.equation(inner)}, rounded down"
        return ast.unparse(self.visit(value)).replace("**", "^").replace("*", "x")

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"{self.constants[node.id]:,}") if node.id.isupper() else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Name:
        """Of a module: math.sqrt."""
        return ast.Name(node.attr)
