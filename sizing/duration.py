"""Lengths of time as people write them: 10 min, 1h, 90 s, 2 days."""

import re

from tokenmill.sizing.units import UnitError

DURATIONS = "10 min, 1h, 90 s, 2 days, or seconds without a unit"
SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_WORDS = {
    "ms": ("ms", "millisecond", "milliseconds"),
    "s": ("", "s", "sec", "secs", "second", "seconds"),
    "min": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
}
_UNITS = {word: SECONDS[unit] for unit, words in _WORDS.items() for word in words}
_DURATION = re.compile(r"(\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d{1,2})?)\s*([a-z]*)", re.ASCII)


def parse_seconds(text: str) -> float:
    """A length of time in seconds; without a unit it is in seconds.

    Raises:
        UnitError: not a length of time, or negative.

    >>> parse_seconds("10 min"), parse_seconds("1h"), parse_seconds("90 s"), parse_seconds("2 days")
    (600.0, 3600.0, 90.0, 172800.0)
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or match[2] not in _UNITS:
        negative = re.match(r"-\s*\d", text.strip())
        what = "is negative" if negative else "is not a length of time"
        raise UnitError(f"{text!r} {what}; accepted: {DURATIONS}")
    return float(match[1].replace("_", "")) * _UNITS[match[2]]
