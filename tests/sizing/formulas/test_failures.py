"""The published failures of Llama 3, and what checkpoints against them cost its 405B."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.formulas.checkpoint import write_s
from tokenmill.sizing.formulas.failures import (
    accelerator_mttf_hours,
    daly_interval_s,
    days_with_waste,
    expected_failures,
    faster_stall_s,
    import_files,
    import_s,
    interval_within_s,
    job_mttf_hours,
    observed_mttf_hours,
    observed_restart_s,
    restart_frac,
    restart_read_bytes,
    restart_read_bytes_per_s,
    restart_read_s,
    waste_frac,
    young_interval_s,
)

MTTF_HOURS = 54 * 24 / 419


def test_100_000_accelerators_fail_each_half_hour():
    assert job_mttf_hours(mttf_hours=50_000, accelerators=100_000) == 0.5


def test_failures_of_llama_3_in_54_days():
    assert observed_mttf_hours(observed_days=54, failures=419) == pytest.approx(3.09, abs=0.005)
    assert observed_mttf_hours(observed_days=54, failures=466) == pytest.approx(2.78, abs=0.005)
    hours = accelerator_mttf_hours(observed_days=54, failures=419, accelerators=16_384)
    assert hours == pytest.approx(50_677, abs=0.5)
    assert job_mttf_hours(mttf_hours=hours, accelerators=16_384) == pytest.approx(MTTF_HOURS)


def test_expected_failures_are_those_that_were_counted():
    assert expected_failures(training_days=54, job_mttf_hours=MTTF_HOURS) == pytest.approx(419)


@pytest.mark.parametrize(
    ("gb_per_s", "young_minutes", "daly_minutes", "waste", "waste_with_restarts"),
    [
        (50, 26.5, 25.3, 0.143, 0.235),
        (100, 18.8, 18.1, 0.101, 0.193),
        (500, 8.4, 8.3, 0.045, 0.137),
        (2000, 4.2, 4.2, 0.023, 0.114),
        (7000, 2.2, 2.2, 0.012, 0.104),
    ],
)
def test_the_405b_by_what_its_storage_takes(
    gb_per_s, young_minutes, daly_minutes, waste, waste_with_restarts
):
    stall = write_s(checkpoint_bytes=5.68e12, write_bytes_per_s=gb_per_s * 1e9)
    facts = {"stall_s": stall, "job_mttf_hours": MTTF_HOURS}
    young = young_interval_s(**facts)
    assert young / 60 == pytest.approx(young_minutes, abs=0.06)
    assert daly_interval_s(**facts) / 60 == pytest.approx(daly_minutes, abs=0.06)
    assert waste_frac(interval_s=young, **facts) == pytest.approx(waste, abs=0.0006)
    assert waste_frac(interval_s=young, restart_s=17 * 60, **facts) == pytest.approx(
        waste_with_restarts, abs=0.0006
    )


def test_daly_where_a_checkpoint_takes_as_long_as_there_is():
    assert daly_interval_s(stall_s=7199.999, job_mttf_hours=1.0) == pytest.approx(
        7200 * (1 + 1 / 3 + 1 / 9) - 7200, abs=0.01
    )
    assert daly_interval_s(stall_s=7200.0, job_mttf_hours=1.0) == 3600
    assert daly_interval_s(stall_s=1e6, job_mttf_hours=1.0) == 3600


@given(stall=st.floats(0.01, 1000), hours=st.floats(1, 1000), factor=st.floats(0.1, 10))
def test_no_interval_wastes_less_than_youngs(stall, hours, factor):
    facts = {"stall_s": stall, "job_mttf_hours": hours}
    young = young_interval_s(**facts)
    least = waste_frac(interval_s=young, **facts)
    assert least == pytest.approx(math.sqrt(2 * stall / (hours * 3600)))
    assert waste_frac(interval_s=young * factor, **facts) >= least * (1 - 1e-12)


@given(stall=st.floats(0.01, 100), hours=st.floats(1, 1000))
def test_dalys_interval_nears_youngs_as_stalls_become_short(stall, hours):
    facts = {"stall_s": stall, "job_mttf_hours": hours}
    young, share = young_interval_s(**facts), math.sqrt(stall / (2 * hours * 3600))
    assert daly_interval_s(**facts) == pytest.approx(young * (1 - share * 2 / 3), rel=share**2)


def test_each_part_of_the_waste():
    facts = {"stall_s": 36.0, "interval_s": 720.0, "job_mttf_hours": 2.0}
    assert waste_frac(**facts) == pytest.approx(0.05 + 0.05)
    assert waste_frac(restart_s=720.0, **facts) == pytest.approx(0.1 + 0.1)
    assert waste_frac(drain_s=144.0, **facts) == pytest.approx(0.1 + 0.02)
    assert waste_frac(restart_s=720.0, drain_s=144.0, **facts) == pytest.approx(0.22)


def test_storage_twice_as_fast_saves_three_tenths_of_the_waste():
    slow = {"stall_s": 113.6, "job_mttf_hours": MTTF_HOURS}
    fast = {"stall_s": faster_stall_s(stall_s=113.6, speedup=2.0), "job_mttf_hours": MTTF_HOURS}
    ratio = waste_frac(interval_s=young_interval_s(**fast), **fast) / waste_frac(
        interval_s=young_interval_s(**slow), **slow
    )
    assert ratio == pytest.approx(math.sqrt(0.5))


def test_what_no_storage_saves_of_restarts():
    assert restart_frac(restart_s=1000, job_mttf_hours=2.5, load_frac=0.1) == pytest.approx(0.1)


def test_wasted_time_makes_training_longer():
    assert days_with_waste(training_days=54, waste_frac=0.1) == pytest.approx(60)
    assert days_with_waste(training_days=54, waste_frac=0.0) == 54
    assert days_with_waste(training_days=54, waste_frac=0.999) == pytest.approx(54_000)
    assert days_with_waste(training_days=54, waste_frac=1.0) == math.inf
    assert days_with_waste(training_days=54, waste_frac=1.5) == math.inf


def read_bytes(weight_readers):
    return restart_read_bytes(
        params=405.6e9,
        bytes_per_param=14,
        weight_bytes_per_param=2,
        weight_readers=weight_readers,
    )


@pytest.mark.parametrize(
    ("readers", "terabytes", "at_500_gb_per_s", "at_2_tb_per_s"),
    [(128, 108.8, 218, 54), (1, 5.68, 11, 2.8)],
)
def test_the_405b_with_128_replicas(readers, terabytes, at_500_gb_per_s, at_2_tb_per_s):
    read = read_bytes(readers)
    assert read / 1e12 == pytest.approx(terabytes, rel=0.001)
    assert restart_read_s(restart_read_bytes=read, read_bytes_per_s=500e9) == pytest.approx(
        at_500_gb_per_s, rel=0.04
    )
    assert restart_read_s(restart_read_bytes=read, read_bytes_per_s=2e12) == pytest.approx(
        at_2_tb_per_s, rel=0.02
    )


def test_one_reader_reads_a_checkpoint():
    assert read_bytes(1) == 405.6e9 * 14


def test_the_rate_that_loads_it_in_its_share_of_the_restart():
    rate = restart_read_bytes_per_s(restart_read_bytes=5.68e12, restart_s=1000, load_frac=0.1)
    assert rate == pytest.approx(56.8e9)
    assert restart_read_s(restart_read_bytes=5.68e12, read_bytes_per_s=rate) == pytest.approx(100)


def test_90_percent_uptime_at_a_failure_each_2_5_hours_is_16_7_minutes():
    assert observed_restart_s(mttf_hours=2.5, uptime_frac=0.9) / 60 == pytest.approx(16.7, abs=0.05)


def test_every_process_opens_every_file():
    assert import_files(processes=16_384, files_per_process=20_000) == 327_680_000
    assert import_s(import_files=327_680_000, metadata_ops_per_s=50_000) == 6553.6


@pytest.mark.parametrize(
    ("more", "seconds"),
    [({}, 0.5), ({"stall_s": 0.7}, 0.7), ({"stall_s": 0.7, "stall_frac": 0.5}, 1.4)],
)
def test_an_interval_is_no_longer_than_the_longest_or_than_its_stall_allows(more, seconds):
    ends = {"interval_s": 9e4, "most_interval_s": 0.5, "training_days": 1.0}
    assert interval_within_s(**ends, **more) == seconds
