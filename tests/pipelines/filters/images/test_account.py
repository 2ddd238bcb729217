"""The account of images: what came in left by a named door, or the books do not close."""

import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.read.images.batches import illustrated, image, keeping
from tokenmill.pipelines.core.errors import LedgerError
from tokenmill.pipelines.core.ledger import ImageStats, StageStats, check_chain
from tokenmill.pipelines.filters.images.edit import drop_images, image_stats, removed_images
from tokenmill.pipelines.read.batch import read_images

BATCH = illustrated([("a", [image(0), image(1)]), ("b", [image(0), image(1), image(2)]), ("c", [])])


def test_images_leave_with_a_receipt_or_with_their_document():
    left = drop_images(BATCH, keeping(BATCH, (0, 0), (1, 0), (1, 2)))
    receipts = removed_images("rule", BATCH, np.array([1, 3]), ["small", "small"])
    stats = image_stats(BATCH, left.filter(pa.array([True, False, True])), [receipts])
    assert stats == ImageStats(
        images_in=5,
        images_out=1,
        removed={"small": 2},
        with_document=2,
        bytes_in=2 * 1000 + 2 * 1001 + 1002,
        bytes_out=1000,
    )
    stats.check("rule")


def test_an_image_without_a_receipt_is_missed():
    left = drop_images(BATCH, keeping(BATCH, (0, 0), (1, 0), (1, 2)))
    receipts = removed_images("rule", BATCH, np.array([1]), ["small"])
    with pytest.raises(LedgerError, match=r"rule: 5 images in, but 3 out, .*'small': 1"):
        image_stats(BATCH, left, [receipts]).check("rule")


def test_what_could_not_be_read_came_in_too():
    failed = removed_images("read", BATCH, np.array([1]), ["bomb"], outcome="failed")
    stats = read_images(BATCH.slice(1, 1), failed)
    assert (stats.images_in, stats.images_out, stats.failed) == (4, 3, {"bomb": 1})
    assert stats.bytes_in - stats.bytes_out == 1001
    stats.check("read")


def test_no_image_vanishes_between_two_stages():
    one = StageStats(images=ImageStats(images_in=3, images_out=3))
    two = StageStats(images=ImageStats(images_in=2, images_out=2))
    with pytest.raises(LedgerError, match="from one to two: 3 images"):
        check_chain([("one", one), ("two", two)], "ledger")


def test_accounts_add_up_and_survive_json():
    stats = image_stats(BATCH, BATCH)
    whole = StageStats(docs_in=3, docs_out=3, images=stats) + StageStats()
    assert StageStats.from_json(whole.to_json()) == whole
    assert (stats + stats).images_in == 10
    assert "images" not in StageStats(docs_in=1).to_json()
