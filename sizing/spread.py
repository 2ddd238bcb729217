"""How uncertain a value is, told by what makes it so.

A spread holds, for each uncertain quantity that a value rests on, what the value is in each
scenario of that quantity, everything else at its point:

    {"cluster.mfu": (4.2e6, 5.1e6)}           the value at the low and at the high end
    {"sample of web": (4.8e6, 4.9e6, …)}      the value in each of its joint draws

So a quantity that reaches a value by several ways, as the tokens of a corpus do the bytes of
every stage and their sum, is counted once and with its sign, and a formula need not be linear.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import quantiles
from typing import TypeAlias

Spread: TypeAlias = Mapping[str, tuple[float, ...]]

ENDS = 2  # scenarios of a quantity of which an interval is known, rather than draws
LEAST_DRAWS = 40  # of which one falls outside on either side of 95 %
TAIL = 0.025  # outside a two-sided 95 % interval, on each side
Z_95 = 1.96  # two-sided 95 % of a normal distribution


def carried(
    function: Callable[..., float], values: Mapping[str, float], spreads: Mapping[str, Spread]
) -> Spread:
    """The spread of `function(**values)` whose arguments have `spreads`.

    Raises:
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
