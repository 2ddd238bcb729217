"""What an object store answers, and what it charges."""

import pytest

from tests.sizing.sections.sheets import sheet, values

TWO_TB = "corpus: {tokens: 500B}"


def test_two_terabytes_in_64_mib_and_in_16_kib():
    made = sheet(f"{TWO_TB}\nmodel: {{seq_len: 4096}}")
    assert made["stored: dataset"].value == 2e12
    large, small = values(made, "requests, one epoch", "requests, one epoch, one for each read")
    assert large == 29_803
    assert small == pytest.approx(122e6, rel=0.001)
    usd = values(
        made, "cost of requests, one epoch", "cost of requests, one epoch, one for each read"
    )
    assert usd == pytest.approx([0.0119, 48.8], rel=0.002)
    hours = made["time of an epoch's requests, one for each read, at one partition"]
    assert hours.value == pytest.approx(6.2, abs=0.05)
    assert made["cost of egress, dataset once"].value == pytest.approx(180)


def test_prices_that_nobody_looked_up_are_flagged():
    assert not sheet("")["cost of requests, one epoch"].verified
    stated = sheet("prices: {get_per_1000: 0.0005}")["cost of requests, one epoch"]
    assert stated.inputs[1].source == "stated: prices.get_per_1000"


def test_runs_of_sequences_take_fewer_requests():
    one, many = sheet(TWO_TB), sheet(f"{TWO_TB}\ntraining: {{sequences_per_read: 10}}")
    name = "requests, one epoch, one for each read"
    assert many[name].value == pytest.approx(one[name].value / 10, rel=1e-6)


def test_partitions_that_answer_a_shuffled_1b():
    made = sheet("model: {params: 1B, seq_len: 2048}")
    assert made["read requests, whole job"].value == pytest.approx(32_967, rel=0.001)
    assert values(made, "partitions", "partitions, one request for each read") == [1, 6]
    assert made["request rate, whole job"].value == pytest.approx(
        made["read bandwidth, whole job"].value / 2**26
    )


def test_all_sources_are_fetched():
    text = "sources: [{name: a, tokens: 1T}, {name: b, tokens: 2T}]"
    assert sheet(text)["cost of egress, dataset once"].value == pytest.approx(12e3 * 0.09)
