"""Published training runs, recomputed."""

import pytest

from sizing.formulas.training import (
    compute_optimal_tokens,
    tokens_per_s,
    trained_tokens,
    training_days,
)

H100 = 989e12


def test_llama_3_405b_at_the_published_400_tflops():
    rate = tokens_per_s(
        accelerators=16_384, dense_flops_per_s=H100, mfu=400e12 / H100, active_params=405e9
    )
    assert rate == pytest.approx(2.69e6, rel=0.005)
    days = training_days(trained_tokens=15.6e12, tokens_per_s=rate)
    assert days == pytest.approx(67.1, rel=0.003)  # published from the rounded rate


@pytest.mark.parametrize(
    ("params", "accelerators", "rate", "rate_of_one"),
    [
        (405e9, 16_384, 2.67e6, 163),
        (70e9, 1024, 0.96e6, 942),
        (8e9, 1024, 8.44e6, 8242),
        (1e9, 1024, 67.5e6, 65.9e3),
    ],
)
def test_token_rates_at_40_percent_on_h100(params, accelerators, rate, rate_of_one):
    got = tokens_per_s(
        accelerators=accelerators, dense_flops_per_s=H100, mfu=0.4, active_params=params
    )
    assert got == pytest.approx(rate, rel=0.005)
    assert got / accelerators == pytest.approx(rate_of_one, rel=0.002)


def test_databricks_30b_costs_what_was_published_at_45_percent():
    """610 G tokens on A100 at 1.5 $ an hour: 326,000 $ is an MFU of 0.45, not the 0.60 told."""
    rate = tokens_per_s(accelerators=1, dense_flops_per_s=312e12, mfu=0.45, active_params=30e9)
    gpu_hours = 24 * training_days(trained_tokens=610e9, tokens_per_s=rate)
    assert 1.5 * gpu_hours == pytest.approx(326_000, rel=0.01)


def test_epochs_repeat_tokens():
    assert trained_tokens(corpus_tokens=1e12, epochs=4) == 4e12


def test_compute_optimal_tokens_of_chinchilla():
    assert compute_optimal_tokens(params=70e9) == pytest.approx(1.4e12)
