"""How much is bought: the least that is sold, instances, drives for every source."""

import pytest

from tests.sizing.sections.begun import begun
from tokenmill.sizing.sections import capacity
from tokenmill.sizing.tables import TierRow
from tokenmill.sizing.verdict import (
    CAPACITY,
    bought,
    drives,
    instances,
    is_sold,
    on_drives,
)

SOURCES = """
sources:
  - {name: web, tokens: 1T, weight: 0.6}
  - {name: code, tokens: 0.5T, weight: 0.4}
storage: {fill_frac: 0.5, growth_frac: 1.0, growth_years: 2}
"""


def tier(**cells):
    return TierRow.model_validate({"name": "t", **cells})


def sheet(text=""):
    return begun(text, until=capacity)


def test_drives_in_a_node_hold_the_datasets_of_every_source_with_growth():
    """1.5 T tokens of 4 bytes, four times as many in two years, half of a drive filled."""
    made = sheet(SOURCES)
    total = sum(row.value for name, row in made.rows.items() if name.startswith("stored: dataset"))
    assert total == 6e12
    _, held, count = drives(made, tier(drive_bytes="1 TB", local=True))
    assert held.value == total * 4 / 0.5
    assert count.value == 48
    assert on_drives(made) == held


def test_drives_in_a_node_may_hold_a_shard_of_the_dataset():
    made = sheet("corpus: {tokens: 1T}\nstorage: {node_share: 0.01}")
    *_, count = drives(made, tier(drive_bytes="1 TB", local=True))
    assert (on_drives(made).value, count.value) == (0.05e12, 1)


def test_one_version_of_one_source_is_held():
    made = sheet("corpus: {tokens: 1T}\nstorage: {token_versions: 3}")
    assert on_drives(made).value == 4e12 / 0.8


def test_shared_drives_hold_all_that_is_stored():
    made = sheet(SOURCES)
    (count,) = drives(made, tier(drive_bytes="1 TB"))
    assert count.value == -(-made["raw capacity"].value // 1e12)


@pytest.mark.parametrize(("redundancy", "count"), [("8+2", 10), ("3 replicas", 3), ("none", 1)])
def test_shared_drives_are_at_least_those_of_a_stripe(redundancy, count):
    """One drive was to buy for 260 GB as 8+2."""
    made = sheet(f"corpus: {{tokens: 10B}}\nstorage: {{redundancy: {redundancy}}}")
    assert drives(made, tier(drive_bytes="20 TB"))[-1].value == count


def test_no_more_than_is_needed_is_bought_where_there_is_no_least():
    made = sheet()
    assert bought(made, tier(), made[CAPACITY]) == (made[CAPACITY],)


@pytest.mark.parametrize(
    ("least", "most", "several", "told"),
    [
        (0.5, 2.0, True, [1.0]),
        (1.5, 2.0, True, [1.5]),
        (0.1, 0.6, True, [2, 1.0]),
        (0.6, 0.6, True, [2, 1.2]),
        (0.1, 0.6, False, [1.0]),
    ],
)
def test_no_less_than_the_least_of_each_instance_is_bought(least, most, several, told):
    """least, most and what is told of bytes: in multiples of what is needed."""
    made = sheet()
    needed = made[CAPACITY].value
    sold = tier(least_bytes=int(least * needed), most_bytes=int(most * needed), several=several)
    *counts, last = (row.value for row in bought(made, sold, made[CAPACITY]))
    assert [*counts, pytest.approx(last / needed)] == [*told[:-1], pytest.approx(told[-1])]
    found = instances(made, sold, made[CAPACITY])
    assert [found.value] == counts if counts else found is None
    assert is_sold(sold, made[CAPACITY]) is (several or most >= 1)


def test_whole_steps_are_bought_and_told_of():
    made = sheet()
    step = int(0.4 * made[CAPACITY].value)
    (row,) = bought(made, tier(step_bytes=step), made[CAPACITY])
    assert row.value == 3 * step
    assert {i.name for i in row.inputs} == {"usable_bytes", "step_bytes"}
    counts, both = bought(
        made, tier(step_bytes=step, most_bytes=2 * step, several=True), made[CAPACITY]
    )
    assert (counts.value, both.value) == (2, 3 * step)


@pytest.mark.parametrize(("more", "count"), [(1, None), (0, None), (-1, 2)])
def test_the_most_itself_is_one_instance_and_is_sold(more, count):
    wanted = on_drives(sheet("corpus: {tokens: 1T}"))
    most = int(wanted.value)
    assert most == wanted.value
    several, one = (tier(most_bytes=most + more, several=s) for s in (True, False))
    made = instances(sheet(), several, wanted)
    assert (made and made.value) == count
    assert is_sold(one, wanted) is (count is None)
