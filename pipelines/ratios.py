"""Ratios of a report as a person reads them."""

import math
from collections.abc import Mapping
from typing import Any

from tokenmill.sizing.document.section import NONE


def fixed(value: float | None) -> str:
    """A ratio in a column of ratios."""
    return NONE if value is None else f"{value:,.4f}"


def with_error(measured: Mapping[str, Any], name: str) -> str:
    """The figure `name` with its standard error to two significant digits, if it has one.

    >>> with_error({"r": 3.72998, "r_se": 0.05379}, "r")
    '3.730 ± 0.054'
    """
    value, se = measured[name], measured[f"{name}_se"]
    if value is None:
        return NONE
    if not se:
        return f"{value:,.3f}"
    digits = max(0, 1 - math.floor(math.log10(se)))
    return f"{value:,.{digits}f} ± {se:,.{digits}f}"
