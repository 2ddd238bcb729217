"""Shares and sums that documents work out; the documents' own figures are claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.formulas import market, network, published

amounts = st.floats(1e-3, 1e15)


@given(rate=amounts, n=st.integers(1, 10_000))
def test_a_share_of_what_all_have_is_what_one_has(rate, n):
    job = published.job_flops_per_s(flops_per_s=rate, accelerators=n)
    assert published.share_bytes(whole_bytes=job, shares=n) == pytest.approx(rate)
    assert published.cores_per_accelerator(cores=job, per_node=n) == pytest.approx(rate)
    assert market.share_usd(whole_usd=job, shares=n) == pytest.approx(rate)


@given(ports=st.integers(1, 200), rate=amounts)
def test_ports_in_bytes_and_back_in_bits(ports, rate):
    in_bytes = published.ports_bytes_per_s(ports=ports, port_bits_per_s=rate)
    bits = network.sold_bits_per_s(bytes_per_s=in_bytes, efficiency=1)
    assert bits == pytest.approx(ports * rate)


@given(a=amounts, b=amounts)
def test_ratios_undo_products(a, b):
    assert published.speedup(rate=a, base_rate=b) * b == pytest.approx(a)
    assert published.utilization(achieved_flops_per_s=a, dense_flops_per_s=b) * b == (
        pytest.approx(a)
    )
    assert published.iteration_flops_per_s(iteration_flops=a, iteration_s=b) * b == (
        pytest.approx(a)
    )
    assert market.markup(price_usd=a, cost_usd=b) * b == pytest.approx(a)
    multiplier = market.request_cost_multiplier(request_usd=a, base_request_usd=b)
    assert market.request_usd(cost_multiplier=multiplier, base_request_usd=b) == pytest.approx(a)


def test_markets_and_prices():
    assert market.remaining_frac(taken_frac=0.85) == pytest.approx(0.15)
    assert market.purchase_usd(accelerators=512, accelerator_usd=30_000) == 15_360_000
