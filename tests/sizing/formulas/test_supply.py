"""Shortfalls, and how much storage would be enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.formulas.supply import (
    bought_bytes,
    capacity_needed_bytes,
    hot_share,
    offered_by_capacity,
    offered_together,
    raw_write_bytes_per_s,
    shortfall,
    units_needed,
    window_s,
)

TIB = 2**40
amounts = st.floats(1e-3, 1e15)


@pytest.mark.parametrize(
    ("of_tib", "tib"),
    [(125e6, 160), (250e6, 80), (500e6, 40), (1000e6, 20), (260 * 2**20, 73.36)],
)
def test_capacity_that_20_gb_per_s_takes(of_tib, tib):
    """FSx for Lustre at 125 to 1,000 MB/s a TiB, Filestore zonal at 260 MiB/s."""
    got = capacity_needed_bytes(needed=20e9, of_tib=of_tib)
    assert got / TIB == pytest.approx(tib, rel=1e-4)


def test_nodes_of_v100_against_nfs():
    """18.2 GB/s against 10 with nconnect, 26 GB/s against 3 over one connection."""
    assert shortfall(needed=18.2e9, offered=10e9) == pytest.approx(1.82)
    assert shortfall(needed=26e9, offered=3e9) == pytest.approx(8.67, rel=1e-3)


@given(needed=amounts, of_tib=amounts)
def test_the_capacity_for_a_rate_offers_that_rate(needed, of_tib):
    bought = capacity_needed_bytes(needed=needed, of_tib=of_tib)
    assert offered_by_capacity(bought_bytes=bought, of_tib=of_tib) == pytest.approx(needed)


@given(needed=st.floats(1, 1e9), of_one=st.floats(1, 1e9))
def test_units_are_enough_and_one_less_is_not(needed, of_one):
    units = units_needed(needed=needed, of_one=of_one)
    assert units == int(units)
    assert offered_together(units=units, of_one=of_one) >= needed * (1 - 1e-12)
    assert offered_together(units=units - 1, of_one=of_one) < needed


def test_hard_drives_for_single_sequences():
    """8B on 1,024 H100 reads 4,121 sequences of 2,048 tokens each second; a drive does 150."""
    assert units_needed(needed=4121, of_one=150) == 28
    assert units_needed(needed=300, of_one=150) == 2


def test_no_less_is_bought_than_is_sold():
    assert bought_bytes(usable_bytes=5e12, least_bytes=9e12) == 9e12
    assert bought_bytes(usable_bytes=10e12, least_bytes=9e12) == 10e12
    assert bought_bytes(usable_bytes=10e12, least_bytes=9e12, instances=2) == 18e12
    assert bought_bytes(usable_bytes=19e12, least_bytes=9e12, instances=2) == 19e12


@pytest.mark.parametrize(
    ("needed", "sold"),
    [(1, 1200), (1200, 1200), (1201, 2400), (2400, 2400), (2401, 4800), (4801, 7200)],
)
def test_fsx_is_sold_in_steps(needed, sold):
    """In GiB: 1,200, 2,400 and multiples of 2,400."""
    assert bought_bytes(usable_bytes=needed, least_bytes=1200, step_bytes=2400) == sold


@given(st.floats(1, 1e18), st.floats(0, 1e18), st.integers(10**9, 10**15), st.integers(1, 5))
def test_what_is_bought_is_enough_and_no_step_too_much(needed, least, step, instances):
    got = bought_bytes(usable_bytes=needed, least_bytes=least, step_bytes=step, instances=instances)
    assert got >= needed * (1 - 1e-12)
    assert got == instances * least or (got % step == 0 and got - step < needed)


@pytest.mark.parametrize(("redundancy", "drives"), [(1.25, 234), (3, 560), (1, 187)])
def test_drives_for_writes_with_their_redundancy(redundancy, drives):
    """46.66 GB/s on 8+2, three replicas, none, at 0.25 GB/s a drive."""
    raw = raw_write_bytes_per_s(write_bytes_per_s=46.66e9, redundancy=redundancy)
    assert units_needed(needed=raw, of_one=0.25e9) == drives


@pytest.mark.parametrize(
    ("pool", "share", "seconds"), [(0, 0, 0), (5, 0, 0), (6, 0.1, 0.5), (15, 1, 5), (16, 1, 5.5)]
)
def test_a_pool_holds_what_its_checkpoints_leave_of_it(pool, share, seconds):
    ends = {"pool_bytes": pool, "checkpoint_bytes": 5}
    assert hot_share(**ends, dataset_bytes=10) == share
    assert window_s(**ends, read_bytes_per_s=2) == seconds
