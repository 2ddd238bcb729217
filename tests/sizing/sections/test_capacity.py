"""All that is stored, and what is bought for it."""

import pytest

from tests.sizing.sections.begun import begun, names
from tokenmill.sizing.formulas.capacity import logical_bytes
from tokenmill.sizing.sections import capacity, formats


def test_everything_stored_is_counted_once():
    made = begun("storage: {holds: [dataset, checkpoints, inputs, scratch]}", until=capacity)
    parts = names(made, "stored: ")
    assert made["stored in all"].value == pytest.approx(sum(made[name].value for name in parts))
    assert {f"stored: {i.name}" for i in made["stored in all"].inputs} == parts


def test_what_later_sections_store_is_counted_too():
    made = begun("", until=formats)
    stored = made.assume(1e18, unit="bytes", source="a test")
    made.add("stored: checkpoints", logical_bytes, n_bytes=stored)
    capacity.add(made)
    assert made["stored in all"].value > 1e18


def test_capacity_is_for_what_training_needs_and_the_rest_is_told_with_its_switch():
    made = begun("", until=capacity)
    assert {i.name for i in made["stored in all"].inputs} == {"dataset", "logs"}
    assert capacity.not_held(made) == ["inputs", "scratch"]
    assert capacity.switch(made, "inputs") == "storage.holds: [dataset, checkpoints, inputs]"
    wanted = begun("storage: {holds: [dataset, checkpoints, inputs]}", until=capacity)
    added = wanted["raw capacity"].value - made["raw capacity"].value
    assert added == pytest.approx(made["raw capacity for inputs"].value)


def test_a_corpus_prepared_elsewhere_is_its_tokens_and_bytes_a_token():
    made = begun("corpus: {tokens: 15T, stored_bytes_per_token: 2.5}", until=capacity)
    assert made["stored: dataset"].value == 37.5e12
    only = begun("corpus: {tokens: 15T}\nstorage: {holds: dataset}", until=capacity)
    assert only["stored in all"].value == 60e12


@pytest.mark.parametrize(
    ("storage", "usable", "raw"),
    [
        ("{fill_frac: 0.8}", 1 / 0.8, 1.25 / 0.8),
        ("{fill_frac: 0.5, redundancy: 3 replicas}", 2, 6),
        ("{fill_frac: 1.0, growth_frac: 0.5, growth_years: 2, redundancy: none}", 2.25, 2.25),
        ("{fill_frac: 1.0, redundancy: raid6 8+2}", 1, 1.25),
    ],
)
def test_fill_growth_and_redundancy_come_on_top(storage, usable, raw):
    made = begun(f"storage: {storage}", until=capacity)
    stored = made["stored in all"].value
    assert made["usable capacity"].value / stored == pytest.approx(usable)
    assert made["raw capacity"].value / stored == pytest.approx(raw)


def test_the_redundancy_is_shown_as_it_was_written():
    made = begun("storage: {redundancy: 16+2}", until=capacity)
    factor = made["raw capacity"].inputs[1]
    assert (factor.value, factor.source) == (1.125, "stated: storage.redundancy 16+2")
