"""Corpora over links as they are sold, and gradients round a ring."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.formulas.network import (
    allreduce_frac,
    allreduce_ranks,
    allreduce_s,
    gradient_bytes,
    gradient_sharers,
    network_frac,
    node_bytes_per_s,
    node_link_bits_per_s,
    shared_staging_hours,
    sold_bits_per_s,
    step_s,
    transfer_hours,
    usable_bits_per_s,
)

FINEWEB = 44e12
ONE_CRAWL = 386 * 2**40


@pytest.mark.parametrize(
    ("size", "gb_per_s", "hours"),
    [(FINEWEB, 10, 12.2), (FINEWEB, 100, 1.22), (ONE_CRAWL, 10, 118), (ONE_CRAWL, 100, 11.8)],
)
def test_hours_to_fetch_a_corpus_at_80_percent_of_the_link(size, gb_per_s, hours):
    got = transfer_hours(transfer_bytes=size, link_bits_per_s=gb_per_s * 1e9, efficiency=0.8)
    assert got == pytest.approx(hours, rel=0.002)


def test_80_percent_of_800_is_640():
    assert usable_bits_per_s(link_bits_per_s=800e9, efficiency=0.8) == 640e9
    assert sold_bits_per_s(bytes_per_s=80e9, efficiency=0.8) == pytest.approx(800e9)


def test_reads_and_checkpoints_of_a_node_share_its_network():
    both = node_bytes_per_s(read_bytes_per_s=3e9, write_bytes_per_s=5e9)
    assert both == 8e9
    assert network_frac(needed_bits_per_s=8 * both, link_bits_per_s=3200e9) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("accelerators", "replicas", "sharers", "ranks"),
    [
        (1024, 1024, 8, 128),  # replicas of one accelerator: eight of them in a node
        (1024, 128, 8, 128),  # one replica a node
        (1024, 16, 64, 16),  # a replica over eight nodes
        (1024, 1, 1024, 1),
        (4, 4, 4, 1),  # all in one node
    ],
)
def test_who_averages_gradients_with_whom(accelerators, replicas, sharers, ranks):
    got = gradient_sharers(accelerators=accelerators, per_node=8, replicas=replicas)
    assert got == sharers
    assert allreduce_ranks(accelerators=accelerators, gradient_sharers=got) == ranks


def test_gradients_of_an_8b_round_128_nodes():
    shared = gradient_bytes(params=8e9, gradient_bytes_per_param=2, gradient_sharers=8)
    assert shared == 2e9
    seconds = allreduce_s(gradient_bytes=shared, ranks=128, link_bits_per_s=400e9, efficiency=0.8)
    assert seconds == pytest.approx(2 * 127 / 128 * 0.05)
    step = step_s(batch_tokens=2**22, tokens_per_s=8.44e6)
    assert step == pytest.approx(0.497, abs=0.0005)
    assert allreduce_frac(allreduce_s=seconds, step_s=step) == pytest.approx(0.1997, abs=0.0005)


@given(ranks=st.integers(1, 64), size=st.integers(1, 10**6))
def test_a_ring_sends_what_its_two_rounds_send_step_by_step(ranks, size):
    part = size / ranks
    sent = sum(part for _ in range(ranks - 1)) + sum(part for _ in range(ranks - 1))
    got = allreduce_s(gradient_bytes=size, ranks=ranks, link_bits_per_s=8.0, efficiency=1.0)
    assert got == pytest.approx(sent)


def test_p5_48xlarge_has_3200_gigabits_and_400_gigabytes_a_second():
    link = node_link_bits_per_s(scale_out_bits_per_s=400e9, per_node=8)
    assert link == 3200e9
    assert link / 8 == 400e9


def test_storage_as_fast_as_all_links_takes_as_long_as_one_of_them():
    one = transfer_hours(transfer_bytes=3.6e12, link_bits_per_s=10e9, efficiency=1.0)
    assert one == pytest.approx(0.8)
    shared = shared_staging_hours(staged_bytes=3.6e12, nodes=16, storage_bytes_per_s=16 * 10e9 / 8)
    assert shared == pytest.approx(one)
