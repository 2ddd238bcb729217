"""What a report says of images that came out, from the counts of each shard."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image
from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.corpus.counted.images import RepeatedImages
from tokenmill.pipelines.prepare.report.images import image_facts, image_summary, percentile
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.tokens.image_measure import ImageMeasure, bins_of
from tokenmill.sizing.figure import Z_95


def receipt(documents, *, tokens, text_bytes):
    measure = ImageMeasure(("train",))
    n = sum(len(images) for _, images in documents)
    batch = illustrated(documents)
    measure.add("train", batch, np.ones(len(documents), np.bool_), np.full(n, 3))
    facts = {
        "measured": {
            "docs": {"train": len(documents)},
            "tokens": {"train": tokens},
            "text_bytes": {"train": text_bytes},
            "images": measure.to_json(),
        }
    }
    return Receipt(step="pass-1", key="a", inputs="", facts=facts)


def images_of(last_pass, receipts=()):
    return image_summary(last_pass, receipts, store="bytes", files=[], repeated={}).to_json()


SHARDS = [
    receipt(
        [("a", [image(0, bytes=100, width=10, height=20), image(1, bytes=300, width=2, height=2)])],
        tokens=16,
        text_bytes=40,
    ),
    receipt(
        [
            ("b", [image(0, bytes=50, width=4, height=4, format="png")]),
            ("c", [image(0, bytes=None, width=None, height=None, format=None)]),
        ],
        tokens=14,
        text_bytes=10,
    ),
]


def test_formats_and_totals_add_up():
    found = images_of(SHARDS, [])
    assert (found["images"], found["image_bytes"], found["image_tokens"]) == (4, 450, 12)
    assert found["text_tokens"] == 30 - 12
    jpeg, total = found["formats"]["jpeg"], found["formats"]["total"]
    assert (jpeg["images"], jpeg["bytes"]["mean"]) == (2, 200)
    assert jpeg["bytes"]["mean_half_width"] == pytest.approx(
        Z_95 * np.std([100, 300], ddof=1) / 2**0.5
    )
    assert (total["images"], total["bytes"]["known"], total["pixels"]["total"]) == (4, 3, 220)
    assert total["decoded_bytes"] == 660
    assert found["formats"]["unknown"]["bytes"]["mean"] is None
    for name in ("pixels", "bytes", "ratio"):
        assert sum(found[f"{name}_bins"]) == 3


def test_a_run_whose_images_all_left_has_none_of_any_size():
    found = images_of([receipt([], tokens=0, text_bytes=0)], [])
    assert (found["images"], found["formats"]) == (0, {})
    assert found["pixels_bins"] == found["bytes_bins"] == []
    assert images_of([], [])["ratio_bins"] == []


def test_what_measuring_wants_of_a_shard():
    measured = SHARDS[1].facts["measured"]
    assert image_facts(measured) == {
        "images": 2,
        "image_bytes": 50,
        "image_tokens": 6,
        "pixels": 16,
        "with_bytes": 1,
        "with_size": 1,
    }


def test_notes_of_all_shards_and_passes_add_up():
    made = [
        Receipt(step=step, key=key, inputs="", facts={"notes": notes} if notes else {})
        for step, key, notes in (
            ("pass-0", "a", {"a_link": 1, "joined_tars": 1}),
            ("pass-0", "b", {"joined_tars": 4}),
            ("pass-1", "b", {"node_too_few_words": 2}),
            ("state", "all", None),
        )
    ]
    notes = images_of(SHARDS, made)["notes"]
    assert list(notes.items()) == [("joined_tars", 5), ("node_too_few_words", 2), ("a_link", 1)]
    assert images_of(SHARDS, [])["notes"] == {}


def test_what_is_repeated_is_told_by_step():
    facts = {"images": 9, "md5": {"most": [[1, 0, 8]]}}
    repeats = Receipt(step="repeated_images-0", key="all", inputs="", facts=facts)
    other = Receipt(step="exact-0", key="all", inputs="", facts={"docs": 3})
    told = RepeatedImages().told(None, 0, [repeats, other])
    made = image_summary(SHARDS, [], store="bytes", files=[], **told)
    assert made.to_json()["repeated"] == {"repeated_images": facts}
    assert RepeatedImages().told(None, 0, [other]) == {}


@given(st.lists(st.integers(0, 2**40), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_within_a_sixteenth_of_a_doubling(values, share):
    true = sorted(values)[max(int(np.ceil(share * len(values))) - 1, 0)]
    found = percentile(bins_of(np.array(values)).tolist(), share)
    if true == 0:
        assert found == 0
    else:
        assert true / 2 ** (1 / 16) <= found * (1 + 1e-9)
        assert found <= true * 2 ** (1 / 16) * (1 + 1e-9)


def test_sources_of_which_no_image_was_read_are_named():
    def read(source, n):
        stats = StageStats(images=ImageStats(images_in=n, images_out=n))
        facts = {"source": source}
        return Receipt(step="pass-0", key=source, inputs="", facts=facts, stats=(("read", stats),))

    receipts = [read("tars", 0), read("tars", 3), read("saved", 0), read("saved", 0)]
    assert images_of([], receipts)["sources_without"] == ["saved"]
