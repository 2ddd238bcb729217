"""Two terabytes from an object store, in large requests and in small ones."""

import pytest

from tokenmill.sizing.formulas.cost import (
    egress_usd,
    prefixes,
    read_requests_per_s,
    request_hours,
    requests,
    requests_usd,
)

MIB, KIB = 2**20, 2**10


def test_two_terabytes_in_64_mib():
    n = requests(read_bytes=2e12, request_bytes=64 * MIB)
    assert n == 29_803
    assert requests_usd(requests=n, usd_per_1000=0.0004) == pytest.approx(0.012, rel=0.01)


def test_two_terabytes_in_16_kib():
    n = requests(read_bytes=2e12, request_bytes=16 * KIB)
    assert n == pytest.approx(122e6, rel=0.001)
    assert requests_usd(requests=n, usd_per_1000=0.0004) == pytest.approx(48.8, rel=0.001)
    assert request_hours(requests=n, requests_per_s=5500) == pytest.approx(6.2, abs=0.05)


def test_the_last_request_may_be_short_and_each_reader_makes_all():
    assert requests(read_bytes=10, request_bytes=5) == 2
    assert requests(read_bytes=11, request_bytes=5) == 3
    assert requests(read_bytes=11, request_bytes=5, readers=4) == 12


def test_requests_a_second():
    assert read_requests_per_s(read_bytes_per_s=33.8e6, request_bytes=16e3) == 2112.5


@pytest.mark.parametrize(("per_s", "n"), [(1030, 1), (5500, 1), (5501, 2), (32_967, 6)])
def test_prefixes_that_answer_them(per_s, n):
    assert prefixes(requests_per_s=per_s, prefix_requests_per_s=5500) == n


def test_prices_are_of_a_thousand():
    assert requests_usd(requests=3000, usd_per_1000=0.5) == 1.5


def test_egress_costs_by_the_gb():
    assert egress_usd(egress_bytes=2e12, usd_per_gb=0.09) == pytest.approx(180)
