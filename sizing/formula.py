"""A formula: a plain function with its equation, its unit and where it comes from.

    @formula(unit="m", source="school")
    def length(*, width: float, height: float, depth: float) -> float:
        return width * height / depth

Its equation is the expression that it returns, "width x height / depth"; where a reader wants
other words, they are given. What but multiplies and divides is declared:

    length = quotient("length", ("width", "height"), "depth", unit="m", source="school")

The arguments are the inputs a requirement shows, by name. So a sheet cannot show an input that was
not used, nor use one that it does not show.
"""

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial, update_wrapper
from math import ceil, prod
from typing import Any, Generic, ParamSpec, TypeAlias

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.figure import carried
from tokenmill.sizing.requirement import Input, Requirement

P = ParamSpec("P")
Factor: TypeAlias = str | float  # an argument by its name, or a constant


@dataclass(eq=False)
class Formula(Generic[P]):
    """function: takes floats by keyword, returns one in `unit`.

    said: the equation in words; None: the expression that the function returns.
    takes: its arguments; None: those of the function.
    """

    function: Callable[P, float]
    _: KW_ONLY
    said: str | None
    unit: str
    source: str
    takes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)  # so that it has the function's name and doctests

    def __call__(self, *args: P.args, **inputs: P.kwargs) -> float:
        return self.function(*args, **inputs)

    @cached_property
    def arguments(self) -> dict[str, bool]:
        """Its keyword arguments, in order, and whether each must be given."""
        if self.takes is not None:
            return dict.fromkeys(self.takes, True)
        takes = inspect.getfullargspec(self.function)
        return {name: name not in (takes.kwonlydefaults or {}) for name in takes.kwonlyargs}

    @cached_property
    def equation(self) -> str:
        """What the function computes, in names of its inputs."""
        return self.said or written(self.function)

    def requirement(self, name: str, inputs: Sequence[Input]) -> Requirement:
        """Compute the formula from `inputs`, whose names are its arguments.

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


def product(name: str, *factors: Factor, unit: str, source: str = "definition") -> Formula[...]:
    """The formula that multiplies its arguments, and constants.

    name: of what it is assigned to, by which sheets know it.

    >>> area = product("area", "width", "height", unit="m2")
    >>> area(width=3.0, height=4.0), area.equation
    (12.0, 'width x height')
    """
    return quotient(name, factors, (), unit=unit, source=source)


def quotient(
    name: str,
    over: Factor | tuple[Factor, ...],
    under: Factor | tuple[Factor, ...],
    *,
    unit: str,
    source: str = "definition",
    whole: bool = False,
    equation: str | None = None,
) -> Formula[...]:
    """The formula that divides a product by another; as `product`.  whole: it is rounded up.

    equation: where a reader wants other words than the names and constants.

    >>> speed = quotient("speed", "way", ("hours", 3600), unit="m/s")
    >>> speed(way=7200.0, hours=1.0), speed.equation
    (2.0, 'way / (hours x 3,600)')
    """
    tops, bottoms = (of if isinstance(of, tuple) else (of,) for of in (over, under))
    takes = tuple(of for of in (*tops, *bottoms) if isinstance(of, str))

    def computed(**given: float) -> float:
        value = prod(given[of] if isinstance(of, str) else of for of in tops)
        value /= prod(given[of] if isinstance(of, str) else of for of in bottoms)
        return ceil(value) if whole else value

    above, below = (
        " x ".join(of if isinstance(of, str) else f"{of:,}" for of in part)
        for part in (tops, bottoms)
    )
    said = f"{above} / ({below})" if len(bottoms) > 1 else f"{above} / {below}" if below else above
    said += ", rounded up" * whole
    return _declared(name, computed, takes, said=equation or said, unit=unit, source=source)


def of_node(name: str, whole: str, *, unit: str, source: str = "definition") -> Formula[...]:
    """The formula of a node's share of a whole; all of it where the job is smaller than a node.

    >>> share = of_node("share", "read", unit="bytes")
    >>> [share(read=12e6, accelerators=n, per_node=8) for n in (32, 4)]
    [3000000.0, 12000000.0]
    """

    def computed(*, accelerators: float, per_node: float, **given: float) -> float:
        return given[whole] * min(per_node, accelerators) / accelerators

    said = f"{whole} x min(per_node, accelerators) / accelerators"
    takes = (whole, "accelerators", "per_node")
    return _declared(name, computed, takes, said=said, unit=unit, source=source)


def _declared(
    name: str, computed: Callable[..., float], takes: tuple[str, ...], **told: str
) -> Formula[...]:
    def checked(**given: float) -> float:
        if given.keys() != set(takes):
            raise TypeError(f"{name} takes {', '.join(takes)}, got {', '.join(given)}")
        return computed(**given)

    checked.__name__ = name
    return Formula(checked, takes=takes, **told)


def total(*, unit: str, source: str = "definition") -> Formula[...]:
    """The formula that adds up whatever inputs it is given.

    >>> total(unit="m")(width=3.0, height=4.0)
    7.0
    """
    return Formula(
        lambda **parts: sum(parts.values()), said="sum of its inputs", unit=unit, source=source
    )


def greatest(*, unit: str, source: str = "definition") -> Formula[...]:
    """The formula of the greatest of whatever inputs it is given.

    >>> greatest(unit="m")(width=3.0, height=4.0)
    4.0
    """
    said = "the greatest of its inputs"
    return Formula(lambda **parts: max(parts.values()), said=said, unit=unit, source=source)


def written(function: Callable[..., float]) -> str:
    """A function's expression as an equation, constants as numbers; TypeError: it does more."""
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
