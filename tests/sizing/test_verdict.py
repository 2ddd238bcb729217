"""What is said of a tier, and what to buy of it."""

from dataclasses import replace

import pytest

from tokenmill.sizing.formulas.supply import units_needed
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.verdict import Verdict, deciding, times, to_buy, told_to_buy


def row(unit, value):
    made = [
        Input(name=name, value=n, unit=unit, measured=False, source="s")
        for name, n in (("needed", value), ("of_one", 1))
    ]
    return replace(units_needed, unit=unit).requirement("r", made)


def verdict(outcome="enough", **more):
    return Verdict(tier="t", requirement="r", outcome=outcome, **more)


@pytest.mark.parametrize(
    ("ratio", "told"),
    [(2.4567, "2.46"), (1823.4, "1,820"), (1e9 / 3, "333,000,000"), (0.04, "0.04"), (10, "10")],
)
def test_a_ratio_has_three_digits_and_no_exponent(ratio, told):
    assert times(ratio) == told


def test_the_most_that_any_requirement_takes_is_bought():
    less, more = verdict(enough=row("bytes", 1e12)), verdict(enough=row("bytes", 2e12))
    prefixes = verdict(enough=row("prefixes", 1e15))
    assert deciding([less, more, prefixes]) is more
    assert to_buy([less, more]) is more.enough
    assert told_to_buy([less, more]) == "2 TB"
    assert told_to_buy([]) == ""


def test_nothing_is_bought_where_no_amount_is_enough():
    stuck = verdict("short", reason="limit of one client")
    assert to_buy([verdict(enough=row("bytes", 1e12)), stuck]) is None
    assert told_to_buy([verdict(), stuck]) == "no amount: limit of one client"


@pytest.mark.parametrize(
    ("drives", "told"),
    [
        (24, "24 drives a node, for the dataset only"),
        (25, "25 drives a node, more than fit, for the dataset only"),
    ],
)
def test_drives_that_a_server_does_not_hold(drives, told):
    got = verdict(enough=row("drives", drives), each_node=True)
    assert told_to_buy([got]) == told
    assert ("more than the 24 drives" in got.told) is (drives > 24)
    shared = verdict(enough=row("drives", drives))
    assert (shared.too_many_drives, shared.amount) == (False, f"{drives} drives")


def test_what_was_not_judged_is_told():
    capacity = verdict(enough=row("bytes", 1e12))
    assert told_to_buy([capacity, verdict(client_only=True)]) == "1 TB, servers not judged"
    assert told_to_buy([capacity, verdict("unknown")]) == "1 TB, speed not judged"
    assert told_to_buy([capacity, verdict("unknown"), verdict()]) == "1 TB"
    assert verdict("unknown").told == "not published"
    assert verdict("unknown", own=True).told == "not stated"
    assert verdict("not shared", own=True).told == "not shared"


def test_instances_are_counted():
    got = verdict(enough=row("bytes", 2e14), instances=row("instances", 2))
    assert got.told == "enough with 200 TB in 2 instances"
    assert told_to_buy([got, verdict()]) == "200 TB in 2 instances"
    assert got.to_json()["instances"]["value"] == 2
