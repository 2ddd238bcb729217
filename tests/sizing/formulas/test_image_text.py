"""Image-text and scientific workloads, as published, with the traps that their figures hold."""

import pytest

from tokenmill.sizing.formulas.bandwidth import node_read_bytes_per_s, read_bytes_per_s
from tokenmill.sizing.formulas.image_text import (
    bytes_per_flop,
    compute_samples_per_s,
    flop_ratio_bytes_per_s,
    image_text_bytes_per_token,
    images_per_s,
    measured_read_bytes_per_s,
    sample_bytes,
    sample_read_bytes_per_s,
    sample_tokens,
)
from tokenmill.sizing.formulas.training import tokens_per_s

MIB, GIFLOP, GFLOP = 2**20, 2**30, 1e9
PFLOP_PER_S = 1e15
H100, H100_SPARSE_FP8, V100_BOOST = 989e12, 3958e12, 130e12
# bytes decoded and FLOP of a sample: the constants of Lockwood's I/O requirements tool
COSMOFLOW = (16 * MIB, 247 * GIFLOP)
DEEPCAM = (27 * MIB, 2887 * GIFLOP)
RESNET_50 = (0.14 * MIB, 31 * GIFLOP)


def ratio(sample, per_s=PFLOP_PER_S):
    n_bytes, flops = sample
    return flop_ratio_bytes_per_s(sample_bytes=n_bytes, sample_flops=flops, flops_per_s=per_s)


def demand(batch, record, seconds):
    return measured_read_bytes_per_s(
        batch_samples=batch, record_bytes=record, computation_s=seconds
    )


@pytest.mark.parametrize(
    ("image_bytes", "image_tokens", "text_tokens", "text_bytes", "published"),
    [
        (250e3, 1024, 100, 400, 222.8),
        (41e3, 256, 32, 128, 142.8),  # LAION-5B: 240 TB of 5.85 G images
    ],
)
def test_bytes_a_token(image_bytes, image_tokens, text_tokens, text_bytes, published):
    n_bytes = sample_bytes(image_bytes=image_bytes, images_per_sample=1, text_bytes=text_bytes)
    tokens = sample_tokens(
        tokens_per_image=image_tokens, images_per_sample=1, text_tokens=text_tokens
    )
    got = image_text_bytes_per_token(sample_bytes=n_bytes, sample_tokens=tokens)
    assert got == pytest.approx(published, rel=0.0005)


def test_an_interleaved_sample_has_several_images():
    n_bytes = sample_bytes(image_bytes=100, images_per_sample=3, text_bytes=7)
    tokens = sample_tokens(tokens_per_image=10, images_per_sample=3, text_tokens=5)
    assert (n_bytes, tokens) == (307, 35)
    assert images_per_s(tokens_per_s=70, sample_tokens=35, images_per_sample=3) == 6


def test_an_8b_on_1024_h100_reads_56_times_what_text_takes():
    rate = tokens_per_s(
        accelerators=1024, dense_flops_per_s=H100, mfu=0.4, train_flops_per_token=6 * 8e9
    )
    images = images_per_s(tokens_per_s=rate, sample_tokens=1124, images_per_sample=1)
    assert images == pytest.approx(7508, rel=0.0005)
    read, text, laion = (
        read_bytes_per_s(tokens_per_s=rate, stored_bytes_per_token=b, read_amplification=1)
        for b in (222.8, 4, 142.8)
    )
    assert read == pytest.approx(1.88e9, rel=0.002)
    assert read / text == pytest.approx(56, rel=0.01)
    assert laion == pytest.approx(1.2e9, rel=0.01)


@pytest.mark.parametrize(
    ("sample", "gb_per_s"), [(COSMOFLOW, 63.3), (DEEPCAM, 9.13), (RESNET_50, 4.41)]
)
def test_flop_ratios_for_each_petaflop_a_second(sample, gb_per_s):
    assert ratio(sample) / 1e9 == pytest.approx(gb_per_s, rel=0.001)


@pytest.mark.parametrize(
    ("sample", "gb_per_s"),
    [
        ((16, 247e3), 64.78),  # megabytes over gigaFLOP, of whichever base, if it is one
        ((16 * MIB, 247 * GIFLOP), 63.26),
        ((16 * MIB, 247 * GFLOP), 67.9),  # binary over decimal: 5 % more than one base gives
    ],
)
def test_trap_of_two_bases(sample, gb_per_s):
    scale = 1e15 / 1e9
    got = bytes_per_flop(sample_bytes=sample[0], sample_flops=sample[1]) * scale
    assert got == pytest.approx(gb_per_s, rel=0.0005)


def test_trap_of_sparse_fp8():
    """3,958 TFLOP/s of an H100 are sparse FP8, four times what training in BF16 can use."""
    assert ratio(COSMOFLOW, H100_SPARSE_FP8) == pytest.approx(250e9, rel=0.002)
    assert ratio(COSMOFLOW, H100) == pytest.approx(62.6e9, rel=0.001)
    assert pytest.approx(4, rel=0.001) == H100_SPARSE_FP8 / H100


def test_trap_of_the_peak():
    """The bound of a V100's peak against what DLIO's measured step times ask for."""
    resnet, cosmoflow = demand(64, 114_660.07, 0.195), demand(1, 2_828_486, 0.00936)
    assert ratio(RESNET_50, V100_BOOST) == pytest.approx(573.3e6, rel=0.0005)
    assert ratio(RESNET_50, 125e12) == pytest.approx(551.3e6, rel=0.0005)
    assert ratio(RESNET_50, V100_BOOST) / resnet == pytest.approx(15, rel=0.02)
    assert 65 * 35e12 / 1e15 / (cosmoflow / 1e9) == pytest.approx(7.5, abs=0.1)
    assert 65 * 50e12 / 1e15 / (cosmoflow / 1e9) == pytest.approx(10.8, abs=0.1)
    assert pytest.approx(5.9, abs=0.05) == 16 * MIB / 2_828_486  # decoded over stored
    assert flop_ratio_bytes_per_s.equation.startswith("at most")
    assert "upper bound" in flop_ratio_bytes_per_s.source


@pytest.mark.parametrize(("tflops", "gb_per_s"), [(35, 2.275), (50, 3.250)])
def test_cosmoflow_at_65_gb_per_s_a_petaflop(tflops, gb_per_s):
    got = ratio((65e9, PFLOP_PER_S), tflops * 1e12)
    assert got / 1e9 == pytest.approx(gb_per_s)
    node = node_read_bytes_per_s(read_bytes_per_s=got * 8, accelerators=8, per_node=8)
    assert node / 1e9 == pytest.approx(gb_per_s * 8)  # 18.2 to 26 of an 8-way node


def test_tiramisu_reads_38_mb_a_sample():
    """4.188 TFLOP a sample at 20.93 TFLOP/s: 5 samples/s, and 189 MB/s are 37.8 MB each."""
    samples = compute_samples_per_s(dense_flops_per_s=20.93e12, mfu=1.0, sample_flops=4.188e12)
    assert samples == pytest.approx(5.0, rel=0.001)
    assert 189e6 / samples == pytest.approx(37.8e6, rel=0.001)
    per_pflop = bytes_per_flop(sample_bytes=189e6 / samples, sample_flops=4.188e12) * 1e15
    assert per_pflop == pytest.approx(9.03e9, rel=0.001)


def test_clip_vit_l_14_on_one_h100_at_30_percent():
    """6 FLOP for each of 0.304 G parameters and 257 tokens of image, 0.124 G and 77 of text."""
    pair = 6 * (0.304e9 * 257 + 0.124e9 * 77)
    rate = compute_samples_per_s(dense_flops_per_s=H100, mfu=0.3, sample_flops=pair)
    assert rate == pytest.approx(564, rel=0.001)
    small = sample_read_bytes_per_s(samples_per_s=rate, sample_bytes=41e3)
    large = sample_read_bytes_per_s(samples_per_s=rate, sample_bytes=250e3)
    assert small == pytest.approx(23e6, rel=0.01)
    assert large == pytest.approx(141e6, rel=0.001)
    assert 8 * large == pytest.approx(1.13e9, rel=0.002)


@pytest.mark.parametrize(
    ("batch", "record_bytes", "seconds", "mb_per_s"),
    [
        (4, 146_600_628, 1.3604, 431),  # U-Net3D on V100, A100, H100, B200
        (7, 146_600_628, 0.636, 1614),
        (7, 146_600_628, 0.323, 3177),
        (7, 146_600_628, 0.162, 6335),
        (64, 114_660.07, 0.195, 37.6),  # ResNet-50 on V100, A100, H100
        (400, 114_660.07, 0.435, 105.4),
        (400, 114_660.07, 0.224, 204.8),
        (1, 2_828_486, 0.00936, 302),  # CosmoFlow on V100, A100, H100
        (1, 2_828_486, 0.00551, 513),
        (1, 2_828_486, 0.00350, 808),
        (48, 2_164_832, 1.35, 77.0),  # Flux on B200
        (24, 322_957, 0.04755, 163),  # RetinaNet on B200
        (48, 2500, 0.968, 0.12),  # BERT on V100
    ],
)
def test_demand_of_mlperf_storage_and_dlio_workloads(batch, record_bytes, seconds, mb_per_s):
    got = demand(batch, record_bytes, seconds)
    assert got / 1e6 == pytest.approx(mb_per_s, rel=0.04 if mb_per_s < 1 else 0.0015)
