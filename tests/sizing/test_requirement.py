"""Rows know what they rest on."""

import json
from dataclasses import FrozenInstanceError

import pytest

from sizing.requirement import Input, Requirement, leaves


def given(name, *, measured, computed_by=None, se=None):
    return Input(
        name=name, value=2.0, unit="bytes", measured=measured, source="s", computed_by=computed_by,
        se=se,
    )  # fmt: skip


def row(name, *inputs, se=None):
    return Requirement(
        name=name, value=100.0, unit="bytes", formula="f", inputs=inputs, source="s", se=se
    )


def test_a_row_is_measured_only_if_all_its_inputs_are():
    assert row("r", given("a", measured=True), given("b", measured=True)).measured
    assert not row("r", given("a", measured=True), given("b", measured=False)).measured


def test_as_an_input_a_row_keeps_value_error_and_whether_it_was_measured():
    measured = row("r", given("a", measured=True), se=5.0)
    assert measured.as_input("x") == Input(
        name="x",
        value=100.0,
        unit="bytes",
        measured=True,
        source="computed: r",
        computed_by="r",
        se=5.0,
    )
    assert not row("r", given("a", measured=False)).as_input("x").measured


def test_leaves_are_found_through_computed_inputs_each_once():
    a, b = given("a", measured=True), given("b", measured=False)
    first = row("first", a, b)
    second = row("second", first.as_input("x"), a, given("c", measured=True))
    assert [i.name for i in leaves(second, [second, first])] == ["a", "b", "c"]
    with pytest.raises(KeyError, match="first"):
        leaves(second, [second])


def test_json_has_the_interval_and_is_json():
    data = row("r", given("a", measured=True, se=0.5), se=10.0).to_json()
    assert (data["low"], data["high"], data["measured"]) == (80.4, 119.6, True)
    assert data["inputs"][0]["low"] == 2.0 - 1.96 * 0.5
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert row("r").to_json()["low"] is None


def test_a_row_cannot_change():
    with pytest.raises(FrozenInstanceError):
        row("r").value = 3.0
