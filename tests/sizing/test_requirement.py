"""Rows know what they rest on."""

import json
from dataclasses import FrozenInstanceError

import pytest

from tokenmill.sizing.requirement import Input, Requirement, leaves


def given(name, *, measured, computed_by=None, verified=True, **spread):
    return Input(
        name=name, value=2.0, unit="bytes", measured=measured, source="s", computed_by=computed_by,
        spread=spread, verified=verified,
    )  # fmt: skip


def row(name, *inputs, **spread):
    return Requirement(
        name=name, value=100.0, unit="bytes", formula="f", inputs=inputs, source="s", spread=spread
    )


def test_a_row_is_measured_or_verified_only_if_all_its_inputs_are():
    assert row("r", given("a", measured=True), given("b", measured=True)).measured
    assert not row("r", given("a", measured=True), given("b", measured=False)).measured
    assert row("r", given("a", measured=True)).verified
    assert not row(
        "r", given("a", measured=True), given("b", measured=True, verified=False)
    ).verified


def test_as_an_input_a_row_keeps_value_interval_and_marks():
    measured = row("r", given("a", measured=True), a=(95.0, 105.0))
    assert measured.as_input("x") == Input(
        name="x",
        value=100.0,
        unit="bytes",
        measured=True,
        source="computed: r",
        computed_by="r",
        spread={"a": (95.0, 105.0)},
    )
    doubtful = row("r", given("a", measured=False, verified=False)).as_input("x")
    assert (doubtful.measured, doubtful.verified) == (False, False)


def test_leaves_are_found_through_computed_inputs_each_once():
    a, b = given("a", measured=True), given("b", measured=False)
    first = row("first", a, b)
    second = row("second", first.as_input("x"), a, given("c", measured=True))
    assert [i.name for i in leaves(second, {"second": second, "first": first})] == ["a", "b", "c"]
    with pytest.raises(KeyError, match="first"):
        leaves(second, {"second": second})


def test_json_has_the_interval_and_is_json():
    made = row("r", given("a", measured=True, a=(1.0, 4.0)), a=(80.0, 130.0))
    data = made.to_json()
    assert (data["low"], data["high"], data["measured"]) == (80.0, 130.0, True)
    assert (data["inputs"][0]["low"], data["inputs"][0]["high"]) == (1.0, 4.0)
    assert "spread" not in data
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert made.interval == (80.0, 130.0)
    assert made.to_json() == data
    assert row("r").to_json()["low"] is None


def test_a_row_cannot_change():
    with pytest.raises(FrozenInstanceError):
        row("r").value = 3.0


def test_json_has_null_for_what_never_ends():
    endless = row("r", given("a", measured=True), a=(80.0, float("inf"))).to_json()
    assert (endless["low"], endless["high"]) == (80.0, None)
    assert json.dumps(endless, allow_nan=False)
