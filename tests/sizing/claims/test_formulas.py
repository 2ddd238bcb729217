"""Parameters and bytes of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.claims import formulas as claims
from tokenmill.sizing.claims.formulas import (
    bytes_per_param,
    parts_bytes_per_param,
    state_over_weights,
    times,
    transformer_params,
)
from tokenmill.sizing.formulas import network

LLAMA_3 = {
    "8B": ({"layers": 32, "hidden": 4096, "ffn": 14_336, "heads": 32}, 8_030_261_248),
    "70B": ({"layers": 80, "hidden": 8192, "ffn": 28_672, "heads": 64}, 70_553_706_496),
    "405B": ({"layers": 126, "hidden": 16_384, "ffn": 53_248, "heads": 128}, 405_853_388_800),
}


@pytest.mark.parametrize("name", LLAMA_3)
def test_llama_3_has_the_parameters_of_its_release_but_norms(name):
    shape, released = LLAMA_3[name]
    got = transformer_params(**shape, kv_heads=8, vocab_size=128_256)
    norms = (2 * shape["layers"] + 1) * shape["hidden"]
    assert got + norms == released


def test_parts_of_published_recipes():
    zero = parts_bytes_per_param(weight=2, gradient=2, master=4, momentum=4, variance=4)
    assert zero == 16
    assert times(amount=zero, base=2) == 8
    assert state_over_weights(bytes_per_param=zero, weight_bytes=2) == 7
    assert bytes_per_param(memory_bytes=40e9, params=1.2e9) == pytest.approx(33.33, rel=1e-3)


amounts = st.floats(1e-3, 1e15)


@given(rate=amounts, n=st.integers(1, 10_000))
def test_a_share_of_what_all_have_is_what_one_has(rate, n):
    job = claims.job_flops_per_s(flops_per_s=rate, accelerators=n)
    assert claims.share_bytes(whole_bytes=job, shares=n) == pytest.approx(rate)
    assert claims.cores_per_accelerator(cores=job, per_node=n) == pytest.approx(rate)
    assert claims.share_usd(whole_usd=job, shares=n) == pytest.approx(rate)


@given(ports=st.integers(1, 200), rate=amounts)
def test_ports_in_bytes_and_back_in_bits(ports, rate):
    in_bytes = claims.ports_bytes_per_s(ports=ports, port_bits_per_s=rate)
    bits = network.sold_bits_per_s(bytes_per_s=in_bytes, efficiency=1)
    assert bits == pytest.approx(ports * rate)


@given(a=amounts, b=amounts)
def test_ratios_undo_products(a, b):
    assert claims.times(amount=a, base=b) * b == pytest.approx(a)
    assert claims.utilization(achieved_flops_per_s=a, dense_flops_per_s=b) * b == (pytest.approx(a))
    assert claims.iteration_flops_per_s(iteration_flops=a, iteration_s=b) * b == (pytest.approx(a))
    multiplier = claims.times(amount=a, base=b)
    assert claims.several_usd(count=multiplier, one_usd=b) == pytest.approx(a)


@given(n=st.integers(1, 10_000), rate=amounts, busy=st.floats(0.01, 1))
def test_what_accelerators_read_feeds_as_many(n, rate, busy):
    read = claims.fed_bytes_per_s(accelerators=n, accelerator_bytes_per_s=rate, busy_frac=busy)
    assert read <= n * rate
    fed = claims.fed_accelerators(
        read_bytes_per_s=read, accelerator_bytes_per_s=rate, busy_frac=busy
    )
    assert fed == pytest.approx(n)


def test_markets_and_prices():
    assert claims.remaining_frac(taken_frac=0.85) == pytest.approx(0.15)
    assert claims.several_usd(count=512, one_usd=30_000) == 15_360_000
