"""What-if of tiers: a figure of a tier that changes changes what is said of it."""

import pytest

from tokenmill.sizing.compared_tiers import MOST_TIERS, tier_figures, tiers_json
from tokenmill.sizing.inputs import size
from tokenmill.sizing.sections.verdicts import judge
from tokenmill.sizing.verdict import to_buy

CHECKPOINTS = "checkpoint write bandwidth, whole job"
OURS = [{"name": "ours", "total_write_bytes_per_s": "100 GB/s"}]


def sheet(**changes):
    keys = {key.replace("__", "."): value for key, value in changes.items()}
    return size(changes={"storage.candidates": ["ours"], "tiers": OURS, **keys})


def test_a_tier_that_is_enough_tells_what_uses_most_of_it():
    made = sheet()
    used = made[CHECKPOINTS].value / 100e9
    ((told,),) = tier_figures([made]).values()
    assert told.endswith(f"checkpoint writes use {100 * used:.3g} %")
    (tier,) = tiers_json(made)
    assert tier["told"] == told
    assert tier["to_buy"]["value"] == to_buy(judge(made)).value


def test_of_several_limits_the_one_nearest_to_its_end_is_told():
    more = {
        "name": "ours",
        "total_write_bytes_per_s": "100 GB/s",
        "total_read_bytes_per_s": "2 GB/s",
    }
    made = sheet(tiers=[more])
    ((told,),) = tier_figures([made]).values()
    used = made["restart read bandwidth"].value / 2e9
    assert told.endswith(f"restart reads use {100 * used:.3g} %")


def test_a_figure_of_a_tier_that_is_varied_shows():
    half = {"tiers.ours.total_write_bytes_per_s": "50 GB/s"}
    first, second = tier_figures([sheet(), sheet(**half)])["ours"]
    assert first != second


def test_no_amount_is_told_with_the_requirement_that_it_fails():
    made = sheet(tiers=[{"name": "ours", "total_write_bytes_per_s": "1 MB/s"}])
    ((told,),) = tier_figures([made]).values()
    assert "checkpoint writes short 1,240 x" in told
    assert tiers_json(made)[0]["to_buy"] is None


def test_what_decides_the_amount_is_named():
    made = sheet(tiers=[{"name": "ours", "tib_write_bytes_per_s": "10 MB/s"}])
    ((told,),) = tier_figures([made]).values()
    assert told.endswith("; for checkpoint writes")
    needed = made[CHECKPOINTS].value / 10e6 * 1024**4
    assert tiers_json(made)[0]["to_buy"]["value"] == pytest.approx(needed)


def test_without_candidates_the_first_tiers_are_compared_own_ones_first():
    names = list(tier_figures([size(changes={"tiers": OURS})]))
    assert len(names) == MOST_TIERS
    assert names[0] == "ours"
