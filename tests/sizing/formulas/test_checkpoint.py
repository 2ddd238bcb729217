"""Published checkpoints, recomputed; MLPerf's "GB" are GiB."""

import pytest

from sizing.formulas.checkpoint import checkpoint_bytes, kept_checkpoint_bytes, write_bytes_per_s

GIB, TIB = 2**30, 2**40


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


def test_one_of_16384_ranks_writes_347_mb_of_the_405b():
    share = checkpoint_bytes(params=405.85e9, bytes_per_param=14) / 16_384
    assert share == pytest.approx(347e6, rel=0.002)


def test_kept_are_the_last_and_those_never_deleted():
    assert kept_checkpoint_bytes(checkpoint_bytes=2.0, keep_last=3, keep_forever=5) == 16.0


@pytest.mark.parametrize(
    ("stall_frac", "minutes", "gb_per_s"), [(0.01, 30, 316), (0.01, 60, 158), (0.05, 30, 63)]
)
def test_write_rate_of_the_405b_for_a_stall_budget(stall_frac, minutes, gb_per_s):
    rate = write_bytes_per_s(
        checkpoint_bytes=5.68e12, interval_s=60 * minutes, stall_frac=stall_frac
    )
    assert rate / 1e9 == pytest.approx(gb_per_s, rel=0.005)
