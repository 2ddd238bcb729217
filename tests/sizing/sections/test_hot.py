"""A fast pool before a slower store."""

import pytest

from tests.sizing.sections.sheets import sheet, values

PHOTOS = "corpus: {tokens: 1T, image_text: {}}\nstorage: {hot: %s}"
COLD = "read bandwidth of the cold store, training"


def test_what_must_be_hot_is_the_checkpoints_and_a_window_of_training():
    made = sheet(PHOTOS % "{window_s: 60}")
    read, kept = values(made, "read bandwidth, whole job", "checkpoints that are hot")
    assert made["least that must be hot"].value == pytest.approx(kept + 60 * read)
    assert made["hot pool"].value == made["least that must be hot"].value
    assert made["prefetch window of the pool"].value == pytest.approx(60)
    assert "cost of the hot pool" not in made


def test_a_pool_that_streams_passes_all_reads_on_and_one_that_stays_passes_the_rest():
    made, stays = (sheet(PHOTOS % f"{{bytes: 50 TB, streams: {s}}}") for s in ("true", "false"))
    read, kept = values(stays, "read bandwidth, whole job", "checkpoints that are hot")
    share = stays["share of the dataset that is hot"].value
    assert share == pytest.approx((50e12 - kept) / (1e12 * 250_400 / 1124))
    assert made[COLD].value == read
    assert stays[COLD].value == pytest.approx(read * (1 - share))
    whole = sheet(PHOTOS % "{bytes: 500 TB}")
    assert whole[COLD].value == 0  # all is hot


def test_filling_it_takes_as_long_as_the_cold_store_takes():
    hot = "{bytes: 50 TB, cold_bytes_per_s: 1 GB/s, usd_per_tb_month: 100}"
    made = sheet(PHOTOS % hot)
    staged, kept = values(made, "filled before training", "checkpoints that are hot")
    assert staged == pytest.approx(50e12 - kept)
    assert made["time to fill the hot pool"].value == pytest.approx(staged / 1e9 / 3600)
    assert any("training reads 2.44 GB/s of the cold store" in w for w in made.warnings)
    months = made["TB-months of the hot pool"].value
    assert made["cost of the hot pool"].value == pytest.approx(100 * months)


def test_a_pool_costs_beside_the_store_which_costs_what_is_billed_of_it():
    hot = "{bytes: 50 TB, usd_per_tb_month: 100}"
    made = sheet(PHOTOS % hot + "\nprices: {storage_billed: raw}")
    pool, cold, storage = values(
        made, "cost of the hot pool", "cost of the cold store", "storage cost"
    )
    assert cold == pytest.approx(storage)
    assert pool in [given.value for given in made["cost in all"].inputs]


def test_a_pool_that_is_too_small_is_warned_of():
    assert any("is smaller than" in w for w in sheet(PHOTOS % "{bytes: 500 GB}").warnings)


def test_jobs_share_a_pool():
    made = sheet("training: {days: 2}\njobs: [{name: b}]\nstorage: {hot: {}}")
    kept = made["checkpoints that are hot"].value
    assert kept > 2 * made["one checkpoint"].value * 3
