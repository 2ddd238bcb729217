"""Read rates against a table of published models, at 40 % of H100's dense BF16 peak."""

import pytest

from sizing.formulas.bandwidth import node_read_bytes_per_s, read_bytes_per_s, sequence_reads_per_s
from sizing.formulas.training import tokens_per_s


@pytest.mark.parametrize(
    ("params", "accelerators", "int32_mb_per_s", "reads_2048", "reads_8192"),
    [
        (405e9, 16_384, 10.7, 1302, 326),
        (70e9, 1024, 3.9, 471, 118),
        (8e9, 1024, 33.8, 4121, 1030),
        (1e9, 1024, 270, 32_967, 8242),
    ],
)
def test_text_reads_of_published_models(
    params, accelerators, int32_mb_per_s, reads_2048, reads_8192
):
    rate = tokens_per_s(
        accelerators=accelerators, dense_flops_per_s=989e12, mfu=0.4, active_params=params
    )
    read = read_bytes_per_s(tokens_per_s=rate, stored_bytes_per_token=4, read_amplification=1)
    assert read / 1e6 == pytest.approx(int32_mb_per_s, rel=0.02)
    for seq_len, reads in [(2048, reads_2048), (8192, reads_8192)]:
        got = sequence_reads_per_s(tokens_per_s=rate, seq_len=seq_len)
        assert got == pytest.approx(reads, abs=0.51)


def test_amplification_multiplies():
    read = read_bytes_per_s(tokens_per_s=1e6, stored_bytes_per_token=2.0, read_amplification=14)
    assert read == 28e6


def test_nodes_share_the_read_and_a_small_job_has_only_one():
    share = node_read_bytes_per_s(read_bytes_per_s=64e6, accelerators=64, per_node=8)
    assert share == 8e6
    assert node_read_bytes_per_s(read_bytes_per_s=64e6, accelerators=2, per_node=8) == 64e6
