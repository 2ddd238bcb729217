"""Quantities survive being printed and read; what could mean two things is refused."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokenmill.sizing.units import (
    BINARY,
    SECONDS,
    SI,
    UnitError,
    format_bytes,
    format_count,
    format_memory,
    format_quantity,
    format_rate,
    parse_bits_per_s,
    parse_bytes,
    parse_bytes_per_s,
    parse_count,
    parse_flops_per_s,
    parse_fraction,
    parse_seconds,
)

sizes = st.integers(0, 10**21)
prefixes = st.sampled_from(sorted(SI | BINARY))
spaces = st.sampled_from(["", " "])
figures = st.decimals(0, 10**6, places=3)


@given(figures, spaces, prefixes)
def test_a_size_is_its_figure_times_its_prefix(figure, space, prefix):
    exact = Fraction(figure) * (SI | BINARY)[prefix]
    assert parse_bytes(f"{figure}{space}{prefix}B") == round(exact)


@given(figures, spaces, prefixes, st.sampled_from(["/s", " / s", "ps"]))
def test_a_rate_in_bits_is_an_eighth_of_the_same_in_bytes(figure, space, prefix, per_s):
    in_bytes = parse_bytes_per_s(f"{figure}{space}{prefix}B{per_s}")
    assert in_bytes == float(Fraction(figure) * (SI | BINARY)[prefix])
    assert parse_bytes_per_s(f"{figure}{space}{prefix}b{per_s}") == in_bytes / 8
    assert parse_bits_per_s(f"{figure}{space}{prefix}b{per_s}") == in_bytes
    assert parse_bits_per_s(f"{figure}{space}{prefix}B{per_s}") == in_bytes * 8


@given(sizes, st.integers(1, 15))
@example(999_999, 3)
@example(999, 2)
@example(0, 1)
@example(10**21, 3)
def test_a_printed_size_reads_back_within_its_last_digit(n, digits):
    half_a_digit = 0.5 * 10.0 ** (1 - digits)
    shown = format_bytes(n, digits=digits)
    back = parse_bytes(shown)
    assert abs(back - n) <= n * half_a_digit * (1 + 1e-9)
    assert format_bytes(back, digits=digits) == shown


@given(sizes)
def test_a_printed_size_uses_the_largest_prefix_that_leaves_a_whole_part(n):
    figure, unit = format_bytes(n).split()
    assert float(figure) < 1000 or unit == "EB"
    assert float(figure) >= 1 or unit == "B"


@given(sizes)
@example(1024**2 - 1)
@example(1023)
@example(1023 * 1024 + 511)
def test_printed_memory_reads_back_within_half_a_percent(n):
    shown = format_memory(n)
    assert abs(parse_bytes(shown) - n) <= 0.005 * n
    figure, unit = shown.split()
    assert float(figure) < 1024 or unit == "EiB"


@given(st.floats(1e-9, 1e20))
def test_printed_rates_read_back_and_bits_stay_bits(rate):
    tolerance = 1e-8 * rate
    assert abs(parse_bytes_per_s(format_rate(rate, digits=9)) - rate) <= tolerance
    assert abs(parse_bits_per_s(format_quantity(rate, "bits/s", digits=9)) - rate) <= tolerance


@given(st.integers(0, 10**18))
@example(999_999)
@example(999_999_999)
def test_a_printed_count_reads_back_within_its_last_digit(n):
    shown = format_count(n)
    back = parse_count(shown.replace(",", ""))
    assert back == n if n < 10**6 else math.isclose(back, n, rel_tol=0.005)


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("15TB", 15 * 10**12),
        ("256kB", 256_000),
        ("256KB", 256_000),
        ("7.3TiB", 8_026_434_882_765),
        ("4GiB", 4 * 2**30),
        ("1_000 B", 1000),
        ("1e3 bytes", 1000),
        ("  1 B ", 1),
        ("2kiB", 2048),
        ("0B", 0),
    ],
)
def test_sizes(text, n_bytes):
    assert parse_bytes(text) == n_bytes


AMBIGUOUS = "does not say whether it means bytes (B) or bits (b)"
WRONG_CASE = "has a unit in the wrong case: MB is megabytes, Mb megabits"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("400 G", AMBIGUOUS),
        ("4Gi", AMBIGUOUS),
        ("400G/s", AMBIGUOUS),
        ("256mb", WRONG_CASE),
        ("4gib", WRONG_CASE),
        ("256", "has no unit"),
        ("-5GB", "is negative"),
        ("5,5GB", "is not a quantity of bytes or bits"),
        ("", "is not a quantity of bytes or bits"),
        ("GB", "is not a quantity of bytes or bits"),
        ("nan B", "is not a quantity of bytes or bits"),
        ("1e999999999B", "is not a quantity of bytes or bits"),
        ("\uff15GB", "is not a quantity of bytes or bits"),
    ],
)
def test_what_is_not_clearly_a_size_is_refused(text, complaint):
    with pytest.raises(UnitError) as e:
        parse_bytes(text)
    assert str(e.value) == f"{text!r} {complaint}; accepted: 256kB, 15TB, 7.3TiB"


def test_sizes_and_rates_bits_and_bytes_are_not_mixed():
    with pytest.raises(UnitError, match=r"'400Gb' is in bits, as its small b says"):
        parse_bytes("400Gb")
    with pytest.raises(UnitError, match=r"'4GB/s' is a rate, a size has no '/s'; accepted: 256kB"):
        parse_bytes("4GB/s")
    with pytest.raises(UnitError, match=r"'4GB' is a size, a rate ends in '/s'; accepted: 3.2 GB"):
        parse_bytes_per_s("4GB")
    with pytest.raises(UnitError, match=r"'400 G' does not say whether it means bytes"):
        parse_bytes_per_s("400 G")
    with pytest.raises(UnitError, match=r"'400 G' does not say whether it means bytes"):
        parse_bits_per_s("400 G")


@pytest.mark.parametrize(
    "text", ["8e9", "8B", "8 billion", "8G", "8_000M", "8000000000", "0.008 trillion"]
)
def test_counts_as_the_field_writes_them(text):
    assert parse_count(text) == 8e9


def test_counts_in_words():
    words = ("thousand", "million", "billion", "trillion", "quadrillion")
    assert [parse_count(f"2 {w}") for w in words] == [2e3, 2e6, 2e9, 2e12, 2e15]


def test_three_digits_unless_told():
    assert format_bytes(1.23456e9) == "1.23 GB"
    assert format_rate(1.23456e9) == "1.23 GB/s"
    assert format_quantity(1.23456e9, "bits/s") == "1.23 Gb/s"
    assert format_memory(1.23456 * 2**30) == "1.23 GiB"
    assert format_count(1.23456e9) == "1.23 billion"
    assert format_quantity(1.23456e9, "tokens") == "1.23 billion tokens"


@pytest.mark.parametrize("text", ["8b", "8GB", "eight", "", "8 %", "B-8"])
def test_what_is_not_a_count_is_refused(text):
    with pytest.raises(UnitError) as e:
        parse_count(text)
    assert str(e.value) == f"{text!r} is not a count; accepted: 8e9, 8B, 15T, 8 billion"


@pytest.mark.parametrize("text", ["-8B", "- 2 trillion"])
def test_a_negative_count_is_told_to_be_negative(text):
    with pytest.raises(UnitError, match=f"^{text!r} is negative; accepted: 8e9"):
        parse_count(text)


@pytest.mark.parametrize("text", ["989TFLOP/s", "989 TFLOPS", "0.989 PFLOP/s", "989e12"])
def test_flop_rates(text):
    assert parse_flops_per_s(text) == 989e12


@pytest.mark.parametrize("text", ["989T", "989 TFLOP", "989 TB/s", ""])
def test_what_is_not_a_flop_rate_is_refused(text):
    with pytest.raises(UnitError) as e:
        parse_flops_per_s(text)
    assert str(e.value) == f"{text!r} is not a rate in FLOP/s; accepted: 989 TFLOP/s, 989e12"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.88e9, "bytes/s", "1.88 GB/s"),
        (15.6e12, "tokens", "15.6 trillion tokens"),
        (1302.4, "reads/s", "1,302 reads/s"),
        (0.25, "fraction", "25 %"),
        (1 / 3, "fraction", "33.3 %"),
        (0.98765, "ratio", "0.9877"),
        (919_202, "USD", "919,000 USD"),
        (2_989.4, "USD/day", "2,990 USD/day"),
        (119, "s", "119 s"),
        (1800, "s", "30 minutes"),
        (7200, "s", "2 hours"),
        (150, "minutes", "2.5 hours"),
        (1.25, "ratio", "1.25"),
        (16384, "accelerators", "16,384 accelerators"),
        (1e6, "tokens", "1 million tokens"),
        (1, "days", "1 day"),
        (1.5 / 24, "days", "1.5 hours"),
        (45 / 1440, "days", "45 minutes"),
        (1 / 1440, "days", "1 minute"),
        (30 / 86_400, "days", "30 seconds"),
        (0, "days", "0 days"),
        (1, "s", "1 s"),
        (1.0000000002, "epochs", "1 epoch"),
        (0.9999, "epochs", "1 epoch"),
        (1.01, "epochs", "1.01 epochs"),
        (2.0, "bytes/token", "2 bytes/token"),
        (1.234567e20, "tokens", "123000 quadrillion tokens"),
        (9.994e17, "FLOP", "999 quadrillion FLOP"),
        (1e18, "FLOP", "1e18 FLOP"),
        (3.791e25, "FLOP", "3.79e25 FLOP"),
    ],
)
def test_quantities_print_as_their_unit_is_read(value, unit, shown):
    assert format_quantity(value, unit) == shown


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("600", 600),
        ("90 s", 90),
        ("10 min", 600),
        ("10 minutes", 600),
        ("30min", 1800),
        ("1h", 3600),
        ("1 hour", 3600),
        ("2 days", 172_800),
        ("1.5 d", 129_600),
        ("5 ms", 0.005),
        (" 1_000 s ", 1000),
    ],
)
def test_durations(text, seconds):
    assert parse_seconds(text) == seconds


@given(st.decimals(0, 10**6, places=3), st.sampled_from(sorted(SECONDS)))
def test_a_duration_is_its_figure_times_its_unit(figure, unit):
    assert parse_seconds(f"{figure} {unit}") == pytest.approx(float(figure) * SECONDS[unit])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("-1h", "is negative"),
        ("1 M", "is not"),
        ("1:30", "is not"),
        ("", "is not"),
        ("h", "is not"),
    ],
)
def test_what_is_no_duration(text, what):
    with pytest.raises(UnitError, match=f"{what}.*; accepted: 10 min, 1h, 90 s, 2 days"):
        parse_seconds(text)


@given(st.decimals(0, 1000, places=3), st.sampled_from(["%", " %"]))
def test_percent_and_plain_are_the_same_fraction(figure, sign):
    assert parse_fraction(f"{figure}{sign}") == float(figure) / 100
    assert parse_fraction(str(figure)) == float(figure)


@pytest.mark.parametrize(
    ("text", "what"),
    [("-4%", "is negative"), ("4 %%", "is not"), ("", "is not"), ("1/3", "is not")],
)
def test_what_is_no_fraction(text, what):
    with pytest.raises(UnitError, match=f"{what}.*; accepted: 40%, 0.4"):
        parse_fraction(text)
