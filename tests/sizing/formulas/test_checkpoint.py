"""Published checkpoints, recomputed; MLPerf's "GB" are GiB."""

import pytest

from tokenmill.sizing.formulas.checkpoint import (
    bytes_per_day,
    checkpoint_bytes,
    drain_bytes_per_s,
    drain_interval_s,
    host_copy_s,
    kept_checkpoint_bytes,
    longest_interval_s,
    node_checkpoint_bytes,
    node_write_bytes_per_s,
    periodic_checkpoints,
    rank_checkpoint_bytes,
    write_bytes_per_s,
    write_s,
    written_bytes_per_s,
)

GIB, TIB = 2**30, 2**40
OF_405B = 5.68e12


@pytest.mark.parametrize(
    ("params", "published_bytes"),
    [
        (8.03e9, 112.4e9),
        (8.03e9, 104.7 * GIB),  # MLPerf: "105 GB"
        (70.55e9, 988e9),
        (405.85e9, 5.68e12),
        (405.85e9, 5292 * GIB),  # MLPerf: "5.29 TB"
        (176.25e9, 2.467e12),
        (176.25e9, 2.24 * TIB),  # BLOOM: 2.3 TB
    ],
)
def test_checkpoints_of_published_models_at_14_bytes_a_parameter(params, published_bytes):
    assert checkpoint_bytes(params=params, bytes_per_param=14) == pytest.approx(
        published_bytes, rel=0.002
    )


def test_the_trillion_of_mlperf_has_more_parameters_than_its_table_says():
    from_its_own_layers = checkpoint_bytes(params=1.183e12, bytes_per_param=14)
    assert from_its_own_layers / GIB == pytest.approx(15_425, rel=0.001)
    assert from_its_own_layers / GIB < 2571 + 15_426  # what the table sums up to


def test_one_of_16384_ranks_writes_347_mb_of_the_405b():
    share = rank_checkpoint_bytes(checkpoint_bytes=OF_405B, accelerators=16_384)
    assert share == pytest.approx(347e6, rel=0.002)


def test_a_node_writes_what_its_ranks_do_and_a_small_job_is_one_node():
    of_node = node_checkpoint_bytes(checkpoint_bytes=OF_405B, accelerators=16_384, per_node=8)
    assert of_node == pytest.approx(8 * 346.68e6, rel=1e-4)
    assert node_checkpoint_bytes(checkpoint_bytes=2e9, accelerators=4, per_node=8) == 2e9
    assert node_write_bytes_per_s(write_bytes_per_s=2e9, accelerators=32, per_node=8) == 0.5e9
    assert node_write_bytes_per_s(write_bytes_per_s=2e9, accelerators=4, per_node=8) == 2e9


def test_only_whole_periods_keep_a_checkpoint():
    assert periodic_checkpoints(training_days=2, keep_every_s=86_400) == 2
    assert periodic_checkpoints(training_days=1.99, keep_every_s=86_400) == 1
    assert periodic_checkpoints(training_days=1, keep_every_s=3600) == 24


def test_kept_are_the_last_those_never_deleted_and_those_whose_turn_had_come():
    assert kept_checkpoint_bytes(checkpoint_bytes=2.0, keep_last=3, keep_forever=5) == 16.0
    assert (
        kept_checkpoint_bytes(
            checkpoint_bytes=2.0, keep_last=3, keep_forever=5, periodic_checkpoints=7
        )
        == 30.0
    )


def test_bloom_wrote_18_4_tb_a_day():
    assert bytes_per_day(checkpoint_bytes=2.3e12, interval_s=3 * 3600) == pytest.approx(18.4e12)


@pytest.mark.parametrize(
    ("stall_frac", "minutes", "gb_per_s"), [(0.01, 30, 316), (0.01, 60, 158), (0.05, 30, 63)]
)
def test_write_rate_of_the_405b_for_a_stall_budget(stall_frac, minutes, gb_per_s):
    rate = write_bytes_per_s(
        checkpoint_bytes=OF_405B, interval_s=60 * minutes, stall_frac=stall_frac
    )
    assert rate / 1e9 == pytest.approx(gb_per_s, rel=0.005)


@pytest.mark.parametrize(("drain_frac", "gb_per_s"), [(0.1, 31.6), (1.0, 3.16)])
def test_write_rate_of_the_405b_while_training_goes_on(drain_frac, gb_per_s):
    rate = drain_bytes_per_s(checkpoint_bytes=OF_405B, interval_s=1800, drain_frac=drain_frac)
    assert rate / 1e9 == pytest.approx(gb_per_s, rel=0.002)


def test_the_shortest_interval_is_the_one_at_which_the_drain_just_fits():
    interval = drain_interval_s(checkpoint_bytes=OF_405B, write_bytes_per_s=31.6e9, drain_frac=0.1)
    assert interval == pytest.approx(1797.47, rel=1e-5)
    assert (
        drain_bytes_per_s(checkpoint_bytes=OF_405B, interval_s=interval, drain_frac=0.1)
    ) == pytest.approx(31.6e9)


@pytest.mark.parametrize(("optimal", "drain", "interval"), [(60, 90, 90), (90, 60, 90)])
def test_storage_that_cannot_follow_makes_the_interval_longer(optimal, drain, interval):
    assert longest_interval_s(optimal_interval_s=optimal, drain_interval_s=drain) == interval


@pytest.mark.parametrize(
    ("gb_per_s", "seconds"), [(50, 113.6), (100, 56.8), (500, 11.4), (2000, 2.8), (7000, 0.8)]
)
def test_seconds_that_the_405b_takes(gb_per_s, seconds):
    got = write_s(checkpoint_bytes=OF_405B, write_bytes_per_s=gb_per_s * 1e9)
    assert got == pytest.approx(seconds, abs=0.05)


def test_jean_zay_took_bloom_at_57_5_gb_a_second():
    assert written_bytes_per_s(checkpoint_bytes=2.3e12, write_s=40) == 57.5e9


def test_a_rank_copies_its_own_part_to_its_host():
    assert host_copy_s(rank_checkpoint_bytes=347e6, host_copy_bytes_per_s=25e9) == (
        pytest.approx(0.01388)
    )
