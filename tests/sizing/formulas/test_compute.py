"""Published utilizations, recomputed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.formulas.compute import (
    achieved_flops_per_s,
    attention_flops_per_token,
    hardware_flops_per_token,
    hfu_of_mfu,
    mfu_of_hfu,
    mfu_of_hours,
    mfu_of_rate,
    train_flops,
    train_flops_per_token,
)

H100 = 989e12
TPU_V4 = 275e12
PALM_PARAMS = 540.35e9


def palm_mfu(train_flops):
    """Of PaLM's published rate; the rate itself is quoted second-hand."""
    return mfu_of_rate(
        tokens_per_s=238.3e3,
        train_flops_per_token=train_flops,
        accelerators=6144,
        dense_flops_per_s=TPU_V4,
    )


def test_palms_mfu_is_457_without_attention_and_462_with_it():
    without = train_flops_per_token(active_params=PALM_PARAMS)
    assert palm_mfu(without) == pytest.approx(0.457, abs=0.0005)
    attention = attention_flops_per_token(layers=118, attention_width=48 * 256, seq_len=2048)
    with_it = train_flops_per_token(active_params=PALM_PARAMS, attention_flops_per_token=attention)
    assert palm_mfu(with_it) == pytest.approx(0.462, abs=0.0005)


def test_six_flop_a_parameter_and_nothing_else_unless_it_is_given():
    assert train_flops_per_token(active_params=1.0) == 6.0
    assert train_flops_per_token(active_params=1.0, attention_flops_per_token=2.0) == 8.0


def test_palms_hfu_of_578_is_three_quarters_of_a_forward_pass_more():
    assert hfu_of_mfu(mfu=0.462, recompute_frac=0.753) == pytest.approx(0.578, abs=0.0005)
    assert hfu_of_mfu(mfu=0.462, recompute_frac=1.0) / 0.462 == pytest.approx(4 / 3)


def test_llama_3_405b_runs_at_404_percent():
    mfu = mfu_of_rate(
        tokens_per_s=2.69e6,
        train_flops_per_token=6 * 405e9,
        accelerators=16_384,
        dense_flops_per_s=H100,
    )
    assert mfu == pytest.approx(0.404, rel=0.005)
    assert pytest.approx(0.404, abs=0.0005) == 400e12 / H100


@pytest.mark.parametrize(
    ("params", "tokens", "hours", "mfu"),
    [
        (7e9, 319.5e9, 14_131, 0.267),  # ClimateGPT-FSC-7B
        (7e9, 323.7e9, 14_288, 0.267),  # ClimateGPT-FSG-7B
        (70e9, 4.2e9, 2182, 0.227),
        (13e9, 4.2e9, 301, 0.306),
        (7e9, 4.2e9, 157, 0.316),
    ],
)
def test_climate_gpt_on_h100(params, tokens, hours, mfu):
    got = mfu_of_hours(
        trained_tokens=tokens,
        train_flops_per_token=train_flops_per_token(active_params=params),
        accelerator_hours=hours,
        dense_flops_per_s=H100,
    )
    assert got == pytest.approx(mfu, abs=0.0005)


def test_climate_gpt_from_scratch_reaches_264_tflops():
    got = achieved_flops_per_s(
        trained_tokens=319.5e9, train_flops_per_token=6 * 7e9, accelerator_hours=14_131
    )
    assert got == pytest.approx(263.8e12, rel=0.0005)


@pytest.mark.parametrize(
    ("params", "tokens", "flops"), [(30e9, 610e9, 1.098e23), (70e9, 1.4e12, 5.88e23)]
)
def test_flop_of_whole_runs(params, tokens, flops):
    per_token = train_flops_per_token(active_params=params)
    got = train_flops(trained_tokens=tokens, train_flops_per_token=per_token)
    assert got == pytest.approx(flops, rel=0.0005)


def test_full_recomputation_makes_eight_of_six():
    full = hardware_flops_per_token(train_flops_per_token=6.0, recompute_frac=1.0)
    assert full == pytest.approx(8.0)
    assert hardware_flops_per_token(train_flops_per_token=6.0, recompute_frac=0.0) == 6.0


@given(st.floats(0.01, 1.0), st.floats(0.0, 1.0))
def test_mfu_and_hfu_undo_each_other(mfu, recompute):
    hfu = hfu_of_mfu(mfu=mfu, recompute_frac=recompute)
    assert mfu_of_hfu(hfu=hfu, recompute_frac=recompute) == pytest.approx(mfu)
    assert mfu <= hfu <= mfu * 4 / 3 * (1 + 1e-12)


def test_attention_counts_two_products_of_the_sequence_with_itself():
    """Forward, a layer: scores (seq x width x seq) and their sums (the same), 2 FLOP each."""
    layers, width, seq_len = 3, 16, 32
    forward = layers * 2 * (2 * seq_len * width * seq_len)
    got = attention_flops_per_token(layers=layers, attention_width=width, seq_len=seq_len)
    assert got * seq_len == 3 * forward
