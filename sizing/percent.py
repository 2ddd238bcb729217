"""Fractions as people write them: 0.4, 40%."""

import re

from tokenmill.sizing.units import UnitError

PERCENTS = "40%, 0.4"
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)", re.ASCII)


def parse_fraction(text: str) -> float:
    """A fraction, in percent or plain.

    Raises:
        UnitError: neither, or negative.

    >>> parse_fraction("40%"), parse_fraction("0.5 %"), parse_fraction("0.4")
    (0.4, 0.005, 0.4)
    """
    match = _PERCENT.fullmatch(text.strip())
    if match is None:
        what = "is negative" if re.match(r"-\s*[\d.]", text.strip()) else "is not a fraction"
        raise UnitError(f"{text!r} {what}; accepted: {PERCENTS}")
    return float(match[1]) / (100 if match[2] else 1)
