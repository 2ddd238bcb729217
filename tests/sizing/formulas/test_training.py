"""Published training runs, recomputed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.formulas.compute import train_flops_per_token
from tokenmill.sizing.formulas.training import (
    accelerator_hours,
    compute_optimal_tokens,
    epochs,
    job_accelerator_hours,
    job_days,
    mixture_bytes_per_token,
    mixture_tokens,
    source_tokens,
    source_tokens_per_s,
    tokens_in_days,
    tokens_per_accelerator_s,
    tokens_per_s,
    trained_tokens,
    training_days,
)

H100 = 989e12
A100 = 312e12


def rate_of(params, accelerators, *, mfu=0.4):
    return tokens_per_s(
        accelerators=accelerators,
        dense_flops_per_s=H100,
        mfu=mfu,
        train_flops_per_token=train_flops_per_token(active_params=params),
    )


def test_llama_3_405b_at_the_published_400_tflops():
    rate = rate_of(405e9, 16_384, mfu=400e12 / H100)
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
    got = rate_of(params, accelerators)
    assert got == pytest.approx(rate, rel=0.005)
    one = tokens_per_accelerator_s(tokens_per_s=got, accelerators=accelerators)
    assert one == pytest.approx(rate_of_one, rel=0.002)


@pytest.mark.parametrize(
    ("params", "tokens", "mfu", "dollars"),
    [
        (30e9, 610e9, 0.60, 244_391),  # the MFU told beside 326,000 $
        (30e9, 610e9, 0.45, 326_000),  # the one that makes it
        (70e9, 1.4e12, 0.45, 1.745e6),
    ],
)
def test_mosaics_prices_at_one_and_a_half_dollars_an_a100_hour(params, tokens, mfu, dollars):
    hours = accelerator_hours(
        trained_tokens=tokens,
        train_flops_per_token=6 * params,
        dense_flops_per_s=A100,
        mfu=mfu,
    )
    assert 1.5 * hours == pytest.approx(dollars, rel=0.002)


@pytest.mark.parametrize(
    ("tokens", "hours", "days"), [(319.5e9, 14_131, 3.68), (323.7e9, 14_288, 3.72)]
)
def test_climate_gpt_took_almost_four_days_on_160_h100(tokens, hours, days):
    assert job_days(accelerator_hours=hours, accelerators=160) == pytest.approx(days, rel=0.002)
    rate = tokens / (hours * 3600)  # of one, for the whole run
    got = training_days(trained_tokens=tokens, tokens_per_s=rate * 160)
    assert got == pytest.approx(days, rel=0.002)


def test_climate_gpt_reads_two_megabytes_a_second():
    """319.5 G tokens in 14,131 hours: 6,281 tokens/s each, 1.005 M of 160, 2 bytes each."""
    rate = tokens_per_s(
        accelerators=160, dense_flops_per_s=263.8e12, mfu=1.0, train_flops_per_token=6 * 7e9
    )
    assert tokens_per_accelerator_s(tokens_per_s=rate, accelerators=160) == pytest.approx(
        6281, rel=0.001
    )
    assert rate == pytest.approx(1.005e6, rel=0.001)
    assert rate * 2 == pytest.approx(2.0e6, rel=0.01)


def test_half_the_utilization_takes_twice_as_long():
    """7 days of 604,800 s at the peak are 14 at half of it."""
    flops = 7 * 604_800 / 7 * A100
    at_peak = accelerator_hours(
        trained_tokens=1.0, train_flops_per_token=flops, dense_flops_per_s=A100, mfu=1.0
    )
    at_half = accelerator_hours(
        trained_tokens=1.0, train_flops_per_token=flops, dense_flops_per_s=A100, mfu=0.5
    )
    assert job_days(accelerator_hours=at_peak, accelerators=1) == pytest.approx(7)
    assert job_days(accelerator_hours=at_half, accelerators=1) == pytest.approx(14)


@given(st.floats(1e-3, 1e4), st.floats(1.0, 1e9))
def test_days_and_tokens_undo_each_other(days, rate):
    tokens = tokens_in_days(days=days, tokens_per_s=rate)
    assert training_days(trained_tokens=tokens, tokens_per_s=rate) == pytest.approx(days)


@given(st.integers(1, 10**5), st.floats(1e6, 1e13))
def test_hours_of_a_job_are_those_its_flop_take(accelerators, tokens):
    rate = tokens_per_s(
        accelerators=accelerators, dense_flops_per_s=H100, mfu=0.4, train_flops_per_token=48e9
    )
    days = training_days(trained_tokens=tokens, tokens_per_s=rate)
    hours = accelerator_hours(
        trained_tokens=tokens, train_flops_per_token=48e9, dense_flops_per_s=H100, mfu=0.4
    )
    by_days = job_accelerator_hours(training_days=days, accelerators=accelerators)
    assert by_days == pytest.approx(hours)
    assert job_days(accelerator_hours=hours, accelerators=accelerators) == pytest.approx(days)


def test_epochs_repeat_tokens():
    assert trained_tokens(corpus_tokens=1e12, epochs=4) == 4e12
    assert epochs(trained_tokens=4e12, corpus_tokens=1e12) == 4


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=5), st.floats(1e9, 1e13))
def test_sources_share_the_tokens_by_weight(weights, tokens):
    shares = {
        f"source_{i}": source_tokens(trained_tokens=tokens, weight=w, weights_sum=sum(weights))
        for i, w in enumerate(weights)
    }
    assert mixture_tokens(**shares) == pytest.approx(tokens)
    assert shares["source_0"] * weights[-1] == pytest.approx(
        shares[f"source_{len(weights) - 1}"] * weights[0]
    )


def test_a_source_is_read_at_its_share_of_the_rate():
    got = source_tokens_per_s(tokens_per_s=8.0, source_tokens=3.0, trained_tokens=4.0)
    assert got == 6.0


def test_a_mixture_reads_the_bytes_of_each_source():
    """90 % text of 2 bytes a token, 10 % image-text of 222.8."""
    got = mixture_bytes_per_token(trained_tokens=1e12, text=0.9e12 * 2, images=0.1e12 * 222.8)
    assert got == pytest.approx(24.08)


def test_compute_optimal_tokens_of_chinchilla():
    assert compute_optimal_tokens(params=70e9) == pytest.approx(1.4e12)
