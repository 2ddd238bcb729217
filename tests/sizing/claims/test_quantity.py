"""Figures as documents print them."""

import pytest

from tokenmill.sizing.claims.quantity import parse_quantity, show_in, unit_of
from tokenmill.sizing.units import UnitError


@pytest.mark.parametrize(
    ("text", "value", "base", "step"),
    [
        ("1.16 TB/s", 1.16e12, "bytes/s", 5e9),
        ("7.3 TiB", 7.3 * 2**40, "bytes", 0.05 * 2**40),
        ("400 Gb/s", 400e9, "bits/s", 5e8),
        ("247 GiFLOP", 247 * 2**30, "FLOP", 0.5 * 2**30),
        ("65 GB/s per PFLOP/s", 65e-6, "bytes/FLOP", 5e-7),
        ("46.2 %", 0.462, "ratio", 0.0005),
        ("8 times", 8, "ratio", 0.5),
        ("0.5", 0.5, "ratio", 0.05),
        ("3.68 days", 3.68 * 86400, "s", 432),
        ("16.7 minutes", 1002, "s", 3),
        ("$326k", 326e3, "USD", 500),
        ("$1.75M", 1.75e6, "USD", 5e3),
        ("$0.0027", 0.0027, "USD", 5e-5),
        ("2.69 million tokens/s", 2.69e6, "tokens/s", 5e3),
        ("12 M files", 12e6, "files", 5e5),
        ("2 G requests/s", 2e9, "requests/s", 5e8),
        ("50,677 hours", 50_677 * 3600, "s", 1800),
        ("180e9", 180e9, "ratio", 5e8),
        ("23 GPUs", 23, "accelerators", 0.5),
        ("16 B/parameter", 16, "bytes/parameter", 0.5),
        ("18.4 TB/day", 18.4e12, "bytes/day", 5e10),
    ],
)
def test_a_figure_is_read_with_its_unit_and_its_last_digit(text, value, base, step):
    got = parse_quantity(text)
    assert got.value == pytest.approx(value, rel=1e-12)
    assert got.unit.base == base
    assert got.step == pytest.approx(step, rel=1e-9)


@pytest.mark.parametrize("text", ["", "GB", "about 3 GB", "$3x"])
def test_what_is_no_figure_is_refused(text):
    with pytest.raises(UnitError):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.1612e12, "TB/s", "1.161 TB/s"),
        (7168, "switches", "7,168 switches"),
        (4.997e12, "samples/s", "4.997e+12 samples/s"),
        (0.4044, "%", "40.44 %"),
        (2, "", "2"),
    ],
)
def test_a_value_is_shown_in_the_published_unit(value, unit, shown):
    assert show_in(value, unit_of(unit)) == shown


def test_dollars_are_shown_as_they_were_printed():
    assert show_in(244_391, parse_quantity("$326k").unit) == "$244.4k"
    assert show_in(0.00269, parse_quantity("$0.0027").unit) == "$0.00269"
