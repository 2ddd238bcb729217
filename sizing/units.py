"""Quantities as people write them: sizes, rates, counts, lengths of time, fractions.

    kB MB GB TB PB EB        bytes, SI: powers of 1,000; storage is sold and printed so
    KiB MiB GiB TiB PiB EiB  bytes, binary: powers of 1,024; memory is
    kb Mb Gb Tb              bits; the case of the b decides, always
    /s or ps                 per second: 3.2 GB/s, 400 Gb/s, 400Gbps
    ms s min h d             lengths of time: 10 min, 1h, 90 s, 2 days
    %                        or a plain fraction: 0.4, 40%

Decided, where usage differs: `KB` is `kB`, 1,000 bytes; `GBps` is bytes as its capital B says.
Refused, because a guess could be wrong by 8 or by 7 %: a prefix alone (`400 G`, `4Gi`), other
cases (`mb`), a size where a rate is meant, and a size in bits.
"""

import math
import re
from fractions import Fraction
from functools import partial
from typing import Literal, NamedTuple

BITS_PER_BYTE = 8
MOST_OF_A_UNIT = 120  # from here on seconds are told in minutes, minutes in hours

SI = {"": 1, **{p: 1000**i for i, p in enumerate("kMGTPE", 1)}, "K": 1000}
BINARY = {f"{p}i": 1024**i for i, p in enumerate("KMGTPE", 1)} | {"ki": 1024}
COUNTS = {
    **SI,
    "B": 10**9,  # as in "an 8B model"
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "quadrillion": 10**15,
}

SIZES = "256kB, 15TB, 7.3TiB"
BYTE_RATES = "3.2 GB/s, 4GiB/s, 400 Gb/s, 400Gbps"
NUMBERS = "8e9, 8B, 15T, 8 billion"
FLOP_RATES = "989 TFLOP/s, 989e12"

# an exponent of two digits: 1e999999999 would keep the parser busy for hours
_NUMBER = r"(?P<number>\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d{1,2})?)\s*"
_PREFIX = r"(?P<prefix>[kKMGTPE]i?|)"
_PER_S = r"(?P<per_s>\s?/\s?s|ps)?"
_QUANTITY = re.compile(_NUMBER + _PREFIX + r"(?P<letter>bytes?|bits?|B|b)" + _PER_S, re.ASCII)
_PREFIX_ALONE = re.compile(_NUMBER + r"[kKMGTPE]i?" + _PER_S, re.ASCII)
_NEGATIVE = re.compile(r"-\s*\d", re.ASCII)
_COUNT = re.compile(_NUMBER + r"(?P<suffix>[A-Za-z]*)", re.ASCII)
_FLOP_RATE = re.compile(_NUMBER + r"(?P<prefix>[MGTPE]?)(?:FLOP/s|FLOPS)", re.ASCII)

_SHORTER = (("days", "hours", 24), ("hours", "minutes", 60), ("minutes", "seconds", 60))
# printed with prefixes: unit of a requirement -> what follows the prefix
_SI_UNITS = {
    "bytes": "B",
    "bytes/s": "B/s",
    "bytes/day": "B/day",
    "bits/s": "b/s",
    "FLOP/s": "FLOP/s",
}

DURATIONS = "10 min, 1h, 90 s, 2 days, or seconds without a unit"
_WORDS = {  # seconds -> what so many are called
    1e-3: ("ms", "millisecond", "milliseconds"),
    1.0: ("", "s", "sec", "secs", "second", "seconds"),
    60.0: ("m", "min", "mins", "minute", "minutes"),
    3600.0: ("h", "hr", "hrs", "hour", "hours"),
    86_400.0: ("d", "day", "days"),
}
SECONDS = {word: seconds for seconds, words in _WORDS.items() for word in words}
_DURATION = re.compile(r"(\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d{1,2})?)\s*([a-z]*)", re.ASCII)
PERCENTS = "40%, 0.4"
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)", re.ASCII)


class UnitError(ValueError):
    """A quantity that cannot be read, or that could be read in two ways."""


class _Quantity(NamedTuple):
    amount: Fraction
    of: Literal["bytes", "bits"]
    per_s: bool


def parse_bytes(text: str) -> int:
    """A size in bytes, rounded to the nearest byte.

    UnitError: not a size, or a size in bits, or a rate.

    >>> parse_bytes("256kB"), parse_bytes("4 GiB"), parse_bytes("1.5TB")
    (256000, 4294967296, 1500000000000)
    """
    found = _quantity(text, SIZES)
    if found.per_s:
        raise UnitError(f"{text!r} is a rate, a size has no '/s'; accepted: {SIZES}")
    if found.of == "bits":
        raise UnitError(
            f"{text!r} is in bits, as its small b says; write bytes with a capital B;"
            f" accepted: {SIZES}"
        )
    return round(found.amount)


def parse_bytes_per_s(text: str) -> float:
    """A rate in bytes/s; one written in bits/s is divided by 8.

    UnitError: not a rate, or neither bytes nor bits.

    >>> parse_bytes_per_s("3.2 GB/s"), parse_bytes_per_s("400Gbps")
    (3200000000.0, 50000000000.0)
    """
    found = _rate(text)
    return float(found.amount / (BITS_PER_BYTE if found.of == "bits" else 1))


def parse_bits_per_s(text: str) -> float:
    """A rate in bits/s; one written in bytes/s is multiplied by 8.

    UnitError: not a rate, or neither bytes nor bits.

    >>> parse_bits_per_s("400 Gb/s") == parse_bits_per_s("50 GB/s") == 400e9
    True
    """
    found = _rate(text)
    return float(found.amount * (1 if found.of == "bits" else BITS_PER_BYTE))


def parse_count(text: str) -> float:
    """A number of things: parameters, tokens, accelerators.

    UnitError: not a number, or an unknown suffix.

    >>> parse_count("8B"), parse_count("15.6T"), parse_count("8e9"), parse_count("16_384")
    (8000000000.0, 15600000000000.0, 8000000000.0, 16384.0)
    """
    match = _COUNT.fullmatch(text.strip())
    if match is None or match["suffix"] not in COUNTS:
        what = "is negative" if _NEGATIVE.match(text.strip()) else "is not a count"
        raise UnitError(f"{text!r} {what}; accepted: {NUMBERS}")
    return float(_number(match) * COUNTS[match["suffix"]])


def parse_flops_per_s(text: str) -> float:
    """A rate in FLOP/s, with its unit or as a plain number; UnitError: not such a rate.

    >>> parse_flops_per_s("989 TFLOP/s"), parse_flops_per_s("989e12")
    (989000000000000.0, 989000000000000.0)
    """
    match = _FLOP_RATE.fullmatch(text.strip())
    if match is not None:
        return float(_number(match) * SI[match["prefix"]])
    plain = _COUNT.fullmatch(text.strip())
    if plain is None or plain["suffix"]:
        raise UnitError(f"{text!r} is not a rate in FLOP/s; accepted: {FLOP_RATES}")
    return float(_number(plain))


def parse_seconds(text: str) -> float:
    """A length of time in seconds; without a unit it is in seconds.

    UnitError: not a length of time, or negative.

    >>> parse_seconds("10 min"), parse_seconds("1h"), parse_seconds("90 s"), parse_seconds("2 days")
    (600.0, 3600.0, 90.0, 172800.0)
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or match[2] not in SECONDS:
        negative = re.match(r"-\s*\d", text.strip())
        what = "is negative" if negative else "is not a length of time"
        raise UnitError(f"{text!r} {what}; accepted: {DURATIONS}")
    return float(match[1].replace("_", "")) * SECONDS[match[2]]


def parse_fraction(text: str) -> float:
    """A fraction, in percent or plain; UnitError: neither, or negative.

    >>> parse_fraction("40%"), parse_fraction("0.5 %"), parse_fraction("0.4")
    (0.4, 0.005, 0.4)
    """
    match = _PERCENT.fullmatch(text.strip())
    if match is None:
        what = "is negative" if re.match(r"-\s*[\d.]", text.strip()) else "is not a fraction"
        raise UnitError(f"{text!r} {what}; accepted: {PERCENTS}")
    return float(match[1]) / (100 if match[2] else 1)


def format_bytes(n_bytes: float, *, digits: int = 3) -> str:
    """SI, to `digits` significant digits: for storage.

    >>> format_bytes(256_000), format_bytes(5.68e12), format_bytes(999_999), format_bytes(12)
    ('256 kB', '5.68 TB', '1 MB', '12 B')
    """
    return _si(n_bytes, "B", digits)


def format_memory(n_bytes: float) -> str:
    """Binary, to three significant digits: for memory.

    >>> format_memory(4 * 1024**3), format_memory(1023), format_memory(1024**2 - 1)
    ('4 GiB', '1023 B', '1 MiB')
    """
    figure, units = float(n_bytes), iter(("", *(f"{p}i" for p in "KMGTPE")))
    prefix = next(units)
    # 1,023.9 KiB is 1 MiB at three digits: the border is where the figure would print as 1024
    while figure >= 1023.5 and prefix != "Ei":
        figure, prefix = figure / 1024, next(units)
    return f"{_rounded(figure, max(3, len(str(int(figure)))))} {prefix}B"


def format_rate(bytes_per_s: float, *, digits: int = 3) -> str:
    """Bytes per second, SI.

    >>> format_rate(1.88e9)
    '1.88 GB/s'
    """
    return _si(bytes_per_s, "B/s", digits)


def format_count(n: float, *, digits: int = 3) -> str:
    """A whole number under a million in full, a larger one to `digits` significant digits.

    >>> format_count(16_384), format_count(405e9), format_count(2.674e6), format_count(0.25)
    ('16,384', '405 billion', '2.67 million', '0.25')
    """
    if float(n).is_integer() and n < 10**6:
        return f"{int(n):,}"
    figure, thousands = _mantissa(n, digits)
    words = ("", " thousand", " million", " billion", " trillion", " quadrillion")
    if thousands < 2:  # 12,346 rather than 12.3 thousand, for 12,345.6
        whole_digits = len(str(int(abs(n))))
        return f"{float(_rounded(n, max(digits, whole_digits))):,.10g}"
    return _plain(figure, thousands, len(words) - 1) + words[min(thousands, len(words) - 1)]


def format_quantity(value: float, unit: str, *, digits: int = 3) -> str:
    """A value of a requirement or input, as its unit is read best.

    >>> format_quantity(5.68e12, "bytes"), format_quantity(989e12, "FLOP/s")
    ('5.68 TB', '989 TFLOP/s')
    >>> format_quantity(3.2e12, "bits/s"), format_quantity(18.4e12, "bytes/day")
    ('3.2 Tb/s', '18.4 TB/day')
    >>> format_quantity(2.4e12, "FLOP"), format_quantity(3.79e25, "FLOP")
    ('2.4 trillion FLOP', '3.79e25 FLOP')
    >>> format_quantity(67.1234, "days"), format_quantity(0.25, "days")
    ('67.1 days', '6 hours')
    >>> format_quantity(0.5, "hours"), format_quantity(0.01, "days")
    ('30 minutes', '14.4 minutes')
    >>> format_quantity(90, "s"), format_quantity(5625, "s")
    ('90 s', '93.8 minutes')
    >>> format_quantity(1, "epochs"), format_quantity(0.4, "fraction")
    ('1 epoch', '40 %')
    >>> format_quantity(math.inf, "days")
    '∞ days'
    """
    return f"∞ {unit}" if math.isinf(value) else _finite(value, unit, digits)


percent = partial(format_quantity, unit="fraction")  # a share as people read it


def _finite(value: float, unit: str, digits: int) -> str:
    if unit in _SI_UNITS:
        return _si(value, _SI_UNITS[unit], digits)
    if unit == "fraction":
        return f"{_rounded(100 * value, digits)} %"
    if unit == "ratio":
        return f"{value:.4g}"
    if unit == "FLOP" and value >= 10**18:  # of a whole training: so they are written
        return f"{_rounded(value, digits).replace('+', '')} FLOP"
    if unit.startswith("USD"):
        value = float(_rounded(value, digits))  # no price is known to the dollar
    for short, longer in (("s", "minutes"), ("minutes", "hours")):
        if unit == short and value >= MOST_OF_A_UNIT:
            value, unit = value / 60, longer
    for longer, shorter, count in _SHORTER:
        if unit == longer and 0 < value < 1:
            value, unit = value * count, shorter
    figure = format_count(value, digits=digits)
    is_one = figure == "1" and len(unit) > 1  # as printed: 1.0000001 epochs are 1 epoch
    return f"{figure} {unit.removesuffix('s') if is_one else unit}"


def _quantity(text: str, accepted: str) -> _Quantity:
    """Read a number with a unit of bytes or bits, a rate or not."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise UnitError(f"{text!r} {_complaint(text.strip())}; accepted: {accepted}")
    scale = (SI | BINARY)[match["prefix"]]
    of: Literal["bytes", "bits"] = "bytes" if match["letter"] in ("B", "byte", "bytes") else "bits"
    return _Quantity(_number(match) * scale, of, match["per_s"] is not None)


def _rate(text: str) -> _Quantity:
    found = _quantity(text, BYTE_RATES)
    if not found.per_s:
        raise UnitError(f"{text!r} is a size, a rate ends in '/s'; accepted: {BYTE_RATES}")
    return found


def _complaint(text: str) -> str:
    if _PREFIX_ALONE.fullmatch(text):
        return "does not say whether it means bytes (B) or bits (b)"
    if re.fullmatch(_NUMBER, text, re.ASCII):
        return "has no unit"
    if re.fullmatch(_QUANTITY.pattern, text, re.ASCII | re.IGNORECASE):
        return "has a unit in the wrong case: MB is megabytes, Mb megabits"
    if _NEGATIVE.match(text):
        return "is negative"
    return "is not a quantity of bytes or bits"


def _number(match: re.Match[str]) -> Fraction:
    return Fraction(match["number"].replace("_", ""))


def _si(value: float, unit: str, digits: int) -> str:
    prefixes = ("", "k", "M", "G", "T", "P", "E")
    figure, thousands = _mantissa(value, digits)
    return f"{_plain(figure, thousands, 6)} {prefixes[min(thousands, 6)]}{unit}"


def _mantissa(value: float, digits: int) -> tuple[float, int]:
    """`value` rounded, as a figure times a power >= 0 of 1,000; 999,999 is (1.0, 2)."""
    text, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    thousands = max(0, int(exponent) // 3)
    return float(f"{text}e{int(exponent) - 3 * thousands}"), thousands


def _plain(figure: float, thousands: int, most: int) -> str:
    """The figure in units of 1,000 to the power `most` at most, without an exponent."""
    return f"{figure * 1000 ** max(0, thousands - most):.15g}"


def _rounded(value: float, digits: int) -> str:
    return f"{float(f'{value:.{digits - 1}e}'):.15g}"


def times(ratio: float) -> str:
    """A ratio to three digits, without an exponent.

    >>> times(2.4567), times(1823.4), times(1e6)
    ('2.46', '1,820', '1,000,000')
    """
    return f"{float(f'{ratio:.3g}'):,.15g}"
