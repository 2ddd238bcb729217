"""Figures as documents print them: a number, often a word for its size, and a unit.

"1.16 TB/s", "2.69 million tokens/s", "46.2 %", "$326k", "65 GB/s per PFLOP/s"

A unit is a factor of a base: bytes, bits, seconds, FLOP, dollars, or whatever a formula counts.
Two figures can be compared if they have the same base, so that bits are never taken for bytes.
"""

import re
from dataclasses import dataclass

from tokenmill.sizing.units import BINARY, COUNTS, SI, UnitError

_NUMBER = re.compile(r"(?P<number>-?\d[\d,_]*(?:\.\d+)?(?:e-?\d+)?)\s*(?P<rest>.*)", re.ASCII)
_WORDS = {word: size for word, size in COUNTS.items() if len(word) > 1} | {"M": 10**6, "G": 10**9}
_COUNTED = re.compile(rf"(?P<word>{'|'.join(_WORDS)})\s+(?P<unit>.+)")
_DAY = 86_400.0
_DIMENSIONLESS = {"": 1.0, "fraction": 1.0, "ratio": 1.0, "times": 1.0, "%": 0.01}
_SECONDS = {"s": 1.0, "seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": _DAY}
_PREFIXED = {
    "B": "bytes",
    "B/s": "bytes/s",
    "B/day": "bytes/day",
    "b/s": "bits/s",
    "FLOP": "FLOP",
    "FLOP/s": "FLOP/s",
}
_SYNONYMS = {"GPUs": "accelerators", "B/token": "bytes/token", "B/parameter": "bytes/parameter"}
_RATIO = re.compile(r"(?P<bytes>[kMGT]i?)B/s per (?P<flop>[MGTP]i?)FLOP/s")


@dataclass(frozen=True)
class Unit:
    """name: as printed.  base: what can be compared with it.  factor: bases in one of it."""

    name: str
    base: str
    factor: float


@dataclass(frozen=True)
class Quantity:
    """value: in units of `unit.base`.  step: half of its last printed digit, in the same."""

    value: float
    unit: Unit
    step: float


def unit_of(name: str) -> Unit:
    """A unit by the name that documents or formulas give it; an unknown one is its own base.

    >>> unit_of("GB/s").factor, unit_of("days").base, unit_of("tokens/s").base
    (1000000000.0, 's', 'tokens/s')
    """
    if name in _DIMENSIONLESS:
        return Unit(name, "ratio", _DIMENSIONLESS[name])
    if name in _SECONDS:
        return Unit(name, "s", _SECONDS[name])
    if match := _RATIO.fullmatch(name):
        factor = _size(match["bytes"]) / _size(match["flop"])
        return Unit(name, "bytes/FLOP", factor)
    for suffix, base in _PREFIXED.items():
        if name.endswith(suffix) and name[: -len(suffix)] in {**SI, **BINARY}:
            return Unit(name, base, float(_size(name[: -len(suffix)])))
    return Unit(name, _SYNONYMS.get(name, name), 1.0)


def parse_quantity(text: str) -> Quantity:
    """A figure as printed; UnitError: it does not begin with a number.

    >>> parse_quantity("1.16 TB/s").value, parse_quantity("$326k").value
    (1160000000000.0, 326000.0)
    >>> parse_quantity("2.69 million tokens/s").unit.name
    'million tokens/s'
    """
    dollars = text.startswith("$")
    match = _NUMBER.fullmatch(text.removeprefix("$").strip())
    if match is None:
        raise UnitError(f"{text!r} is not a figure with its unit")
    number = match["number"].replace(",", "").replace("_", "")
    unit = _dollars(match["rest"]) if dollars else _counted(match["rest"])
    mantissa, _, exponent = number.partition("e")
    step = 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return Quantity(float(number) * unit.factor, unit, step * unit.factor)


def show_in(value: float, unit: Unit) -> str:
    """A value in bases of `unit`, printed in it to four digits.

    >>> show_in(1.1612e12, unit_of("TB/s")), show_in(244_390.9, Unit("$k", "USD", 1e3))
    ('1.161 TB/s', '$244.4k')
    """
    figure = value / unit.factor
    text = f"{figure:,.0f}" if 1000 <= abs(figure) < 10**6 else f"{figure:.4g}"
    if unit.base == "USD":
        return f"${text}{unit.name.removeprefix('$')}"
    return f"{text} {unit.name}".strip()


def _counted(name: str) -> Unit:
    if match := _COUNTED.fullmatch(name):
        unit = unit_of(match["unit"])
        return Unit(name, unit.base, unit.factor * _WORDS[match["word"]])
    return unit_of(name)


def _dollars(suffix: str) -> Unit:
    sizes = {"": 1.0, "k": 1e3, "M": 1e6}
    if suffix not in sizes:
        raise UnitError(f"{suffix!r} after dollars is none of k and M")
    return Unit(f"${suffix}", "USD", sizes[suffix])


def _size(prefix: str) -> int:
    sizes: dict[str, int] = {**SI, **BINARY}
    return sizes[prefix]
