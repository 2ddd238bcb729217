"""Time and dollars of training, and of waiting for storage."""

import pytest

from tests.sizing.sections.sheets import OF_405B, sheet, values


def test_hours_and_dollars_of_the_405b():
    made = sheet(OF_405B)
    assert made["training time"].value == pytest.approx(67.1, rel=0.004)
    hours, usd = values(made, "accelerator hours", "compute cost")
    assert hours == pytest.approx(67.1 * 24 * 16_384, rel=0.004)
    assert usd == pytest.approx(2 * hours)


def test_flop_of_llama_3_are_those_that_were_published():
    """3.8e25, arXiv:2407.21783; the rate and the time say the same."""
    made = sheet(OF_405B)
    flop, rate, days = values(made, "FLOP of the whole training", "training rate", "training time")
    assert flop == pytest.approx(3.8e25, rel=0.005)
    assert flop == pytest.approx(rate * days * 86_400 * made["train FLOP a token"].value)


def test_failures_make_training_longer_and_dearer():
    made = sheet(OF_405B)
    waste, days, plain = values(made, "waste", "training time with failures", "training time")
    assert days == pytest.approx(plain / (1 - waste))
    usd, compute = values(made, "cost of waste", "compute cost")
    assert usd + compute == pytest.approx(compute * days / plain)


def test_a_tenth_of_the_time_of_16_384_costs_79_000_dollars_a_day():
    made = sheet(f"{OF_405B}\ncheckpoints: {{interval_s: 1800}}")
    a_day = made["cost of waste, one day"].value
    assert a_day / made["waste"].value * 0.1 / 24 == pytest.approx(3276.8)


def test_where_all_time_is_lost_neither_days_nor_a_sum_are_told():
    made = sheet("cluster: {count: 100000}\ncheckpoints: {interval_s: 1800}")
    assert 1 < made["waste"].value < 2
    assert "training time with failures" not in made
    assert not {"cost of waste", "cost in all"} & {row.name for row in made}
    assert made["storage cost"].value > 0
    assert any("most of the time is lost" in warning for warning in made.warnings)


@pytest.mark.parametrize(
    ("billed", "row"),
    [("stored", "stored in all"), ("usable", "usable capacity"), ("raw", "raw capacity")],
)
def test_storage_is_paid_as_its_seller_bills_it_for_as_long_as_training_takes(billed, row):
    made = sheet(f"{OF_405B}\nprices: {{storage_billed: {billed}}}")
    held, usd = values(made, "storage, TB-months billed", "storage cost")
    much, days = values(made, row, "training time with failures")
    assert held == pytest.approx(much / 1e12 * days * 12 / 365.25)
    assert usd == pytest.approx(23 * held)


def test_all_costs_add_up():
    made = sheet(OF_405B)
    parts = ["compute cost", "cost of waste", "storage cost", "cost of requests"]
    parts += ["cost of requests of checkpoints"]
    assert made["cost in all"].value == pytest.approx(sum(values(made, *parts)))
    away = sheet(f"{OF_405B}\nprices: {{egress: true}}")
    added = away["cost in all"].value - made["cost in all"].value
    assert added == pytest.approx(15.6e12 * 4 / 1e9 * 0.09, rel=1e-3)
    requests = made["requests, all of training"].value
    assert requests == pytest.approx(15.6e12 * 4 / 2**26, rel=1e-5)
    assert made["cost of requests"].value == pytest.approx(requests * 0.0004 / 1000)
    puts, paid = values(made, "requests of checkpoints", "cost of requests of checkpoints")
    assert paid == pytest.approx(puts * 0.005 / 1000)


def test_of_a_mixture_all_that_is_read_is_requested():
    made = sheet(
        "sources: [{name: a, tokens: 1T, epochs: 2}, {name: b, tokens: 1T, epochs: 1,"
        " token_width_bytes: 2}]"
    )
    assert made["read in training"].value == pytest.approx(10e12)


def test_what_storage_could_save_is_all_but_the_rest_of_restarts():
    made = sheet(OF_405B)
    waste, rest, saved, usd, rented = values(
        made,
        "waste",
        "waste of restarts, loading aside",
        "waste that storage could save, at most",
        "cost of waiting for storage, at most, one day",
        "storage that such a saving would rent",
    )
    assert rest == pytest.approx(900 / (made["mean time to failure"].value * 3600))
    assert saved == pytest.approx(waste - rest)
    assert usd == pytest.approx(saved * 16_384 * 2 * 24)
    assert rented == pytest.approx(usd * 365.25 / 12 / 23 * 1e12)
    assert "storage that such a saving would rent" in sheet("prices: {storage_tb_month: 0.5}")
    free = sheet("prices: {storage_tb_month: 0}")
    assert "storage that such a saving would rent" not in free


def test_twice_the_bandwidth_saves_what_the_published_table_says():
    made = sheet(f"{OF_405B}\ncheckpoints: {{write_bytes_per_s: 50 GB/s}}")
    assert made["checkpoint stall, twice as fast"].value == pytest.approx(56.8, abs=0.05)
    assert made["optimal checkpoint interval, twice as fast"].value / 60 == (
        pytest.approx(18.8, abs=0.06)
    )
    assert made["waste that twice the write bandwidth saves"].value == pytest.approx(
        0.143 - 0.101, abs=0.0005
    )
    assert made["saving by twice the write bandwidth, one day"].value == pytest.approx(
        0.0418 * 16_384 * 48, rel=0.002
    )
    assert "checkpoint stall, twice as fast" not in sheet("checkpoints: {mode: async}")
