"""Bits that storage, ingest and gradients ask of a network."""

import pytest

from tests.sizing.sections.sheets import OF_405B, sheet, values


def test_a_node_needs_a_link_for_reads_and_checkpoints():
    made = sheet("")
    read, written, both, link, share = values(
        made,
        "read bandwidth, one node",
        "checkpoint write bandwidth, one node",
        "reads and checkpoints, one node",
        "network to storage, one node",
        "network to storage, share of a node's",
    )
    assert both == read + written
    assert link == pytest.approx(10 * both)  # 8 bits, of which 80 % can be had
    assert share == pytest.approx(link / 3.2e12)
    assert not any("network that" in warning for warning in made.warnings)


def test_a_network_that_is_too_small_is_warned_of():
    made = sheet("cluster: {scale_out_bits_per_s: 8 Mb/s}\ncheckpoints: {interval_s: 1800}")
    assert any(
        "need 1.5" in w and "times the network that a node's accelerators have" in w
        for w in made.warnings
    )


def test_where_no_network_is_known_nothing_is_said_about_it():
    made = sheet("cluster: {accelerator: ours, dense_flops_per_s: 1e15, per_node: 8}")
    assert "network to storage, one node" in made
    assert "network to storage, share of a node's" not in made
    assert "gradient all-reduce" not in made


@pytest.mark.parametrize(("gb_per_s", "hours"), [(10, 12.2), (100, 1.22)])
def test_fineweb_over_a_link(gb_per_s, hours):
    made = sheet(f"network: {{ingest_bytes: 44 TB, ingest_bits_per_s: {gb_per_s} Gb/s}}")
    assert made["ingest time"].value == pytest.approx(hours, rel=0.002)
    assert "bytes to ingest" not in made


def test_what_comes_in_of_all_sources_is_fetched():
    made = sheet(
        "sources: [{name: a, raw_bytes: 4 TB, tokens: 1T}, {name: b, raw_bytes: 5 TB, tokens: 1T}]"
    )
    assert made["bytes to ingest"].value == 9e12
    assert made["ingest time"].value == pytest.approx(0.25)


def test_gradients_of_an_8b_against_its_compute():
    made = sheet("cluster: {mfu: 0.4}")
    assert values(
        made,
        "accelerators that share the gradients",
        "ranks of the all-reduce",
        "gradients of one accelerator",
        "gradient all-reduce",
    ) == pytest.approx([8, 128, 2e9, 2 * 127 / 128 * 0.05])
    assert made["compute of one step"].value == pytest.approx(0.497, abs=0.0005)
    assert made["gradient all-reduce, share of compute"].value == pytest.approx(0.2, rel=0.01)


def test_gradients_of_the_405b_are_hidden_behind_a_large_batch_only():
    large = sheet(OF_405B)
    assert large["gradient all-reduce, share of compute"].value < 0.1
    assert not any("averaging" in warning for warning in large.warnings)
    small = sheet(OF_405B.replace("16M", "500k"))
    assert any("averaging gradients takes 1.6" in warning for warning in small.warnings)


def test_one_node_averages_nothing_over_the_network():
    assert sheet("cluster: {count: 8}")["gradient all-reduce"].value == 0
