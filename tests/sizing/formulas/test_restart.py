"""The restart of the 405B, whose replicas read their weights or are sent them."""

import pytest

from tokenmill.sizing.formulas.restart import (
    import_files,
    import_s,
    observed_restart_s,
    restart_read_bytes,
    restart_read_bytes_per_s,
    restart_read_s,
)


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
