"""Redundancy in every accepted spelling, and what is said of the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.redundancy import redundancy_factor


@pytest.mark.parametrize(
    ("redundancy", "factor"),
    [
        ("8+2", 1.25),
        ("16 + 2", 1.125),  # Aurora's DAOS
        ("150+4", 154 / 150),  # VAST
        ("3 replicas", 3.0),
        ("3x", 3.0),
        ("1 replica", 1.0),
        ("none", 1.0),
        ("raid6 8+2", 1.25),
        ("RAID 5 4+1", 1.25),
        ("raid10", 2.0),
        ("RAID 1", 2.0),
    ],
)
def test_redundancy(redundancy, factor):
    assert redundancy_factor(redundancy) == factor


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_erasure_coding_stores_all_parts_for_the_data_parts(data, parity):
    assert redundancy_factor(f"{data}+{parity}") * data == pytest.approx(data + parity)


@pytest.mark.parametrize(
    "redundancy", ["", "0+2", "0 replicas", "8-2", "RAID", "8+", "-1x", "1.5", "raid6", "raid7 8+2"]
)
def test_what_is_no_redundancy_is_refused(redundancy):
    with pytest.raises(PlanError) as e:
        redundancy_factor(redundancy)
    assert str(e.value) == (
        f"unknown redundancy {redundancy!r}; write '8+2' (data + parity), 'raid6 8+2',"
        " '3 replicas', 'raid10' or 'none'"
    )


@pytest.mark.parametrize(
    ("redundancy", "message"),
    [
        (
            "raid6 9+1",
            "redundancy 'raid6 9+1': RAID 6 has 2 parity drives; write 'raid6 9+2' or '9+1'",
        ),
        (
            "8+0",
            "redundancy '8+0' has no parity: a lost drive is lost data; write '8+2', or 'none'",
        ),
        (
            "raid5 8+2",
            "redundancy 'raid5 8+2': RAID 5 has 1 parity drive; write 'raid5 8+1' or '8+2'",
        ),
    ],
)
def test_a_code_of_no_parity_or_another_than_its_raid_level_is_refused(redundancy, message):
    with pytest.raises(PlanError) as e:
        redundancy_factor(redundancy)
    assert str(e.value) == message
