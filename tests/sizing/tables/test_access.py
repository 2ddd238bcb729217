"""Measured read amplification by access pattern."""

import pytest

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.tables import ACCESS


def test_the_measured_ratios():
    measured = {row.name: (row.low, row.amplification) for row in ACCESS.rows}
    assert measured == {"sequential": (1.23, 1.3), "random": (None, 1.88), "mmap": (None, 11.1)}


def test_waste_of_a_read_and_its_amplification_agree():
    random, mmap = ACCESS.find("random"), ACCESS.find("mmap")
    waste = (random.amplification - 1) * random.read_bytes
    assert random.wasted_bytes == pytest.approx(waste, abs=1)
    read_aheads = (mmap.amplification - 1) * mmap.read_bytes / (128 * 1024)
    assert mmap.wasted_read_aheads == pytest.approx(read_aheads, abs=0.01)
    assert ACCESS.find("sequential").wasted_bytes is None


def test_an_unknown_pattern_is_refused():
    with pytest.raises(PlanError) as e:
        ACCESS.find("shuffled")
    assert str(e.value) == (
        "unknown access pattern 'shuffled'; known: sequential, random, mmap"
        " (or give training.read_amplification)"
    )
