"""What a report says of images that came out, from the counts of each shard."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.image_summary import image_summary, percentile
from pipelines.images.image_measure import ImageMeasure, bins_of
from pipelines.receipt import Receipt
from sizing.spread import Z_95
from tests.pipelines.images.batches import illustrated, image


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
    found = image_summary(SHARDS, [])
    assert (found["images"], found["image_bytes"], found["image_tokens"]) == (4, 450, 12)
    assert found["text_tokens"] == 30 - 12
    assert found["images_per_doc"] == pytest.approx(4 / 3)
    assert found["bytes_per_token"] == pytest.approx(500 / 30)
    jpeg, total = found["formats"]["jpeg"], found["formats"]["total"]
    assert (jpeg["images"], jpeg["bytes"]["mean"]) == (2, 200)
    assert jpeg["bytes"]["mean_half_width"] == pytest.approx(
        Z_95 * np.std([100, 300], ddof=1) / 2**0.5
    )
    assert (total["images"], total["bytes"]["known"], total["pixels"]["total"]) == (4, 3, 220)
    assert total["decoded_bytes"] == 660
    assert found["formats"]["unknown"]["bytes"]["mean"] is None
    assert sum(found["pixels_bins"]) == 3


def test_a_run_whose_images_all_left_has_no_ratios():
    found = image_summary([receipt([], tokens=0, text_bytes=0)], [])
    assert (found["images"], found["formats"], found["images_per_doc"]) == (0, {}, None)
    assert found["pixels_bins"] == []


def test_what_is_repeated_is_told_by_step():
    facts = {"images": 9, "md5": {"most": [[1, 0, 8]]}}
    repeats = Receipt(step="repeated_images-0", key="all", inputs="", facts=facts)
    other = Receipt(step="exact-0", key="all", inputs="", facts={"docs": 3})
    assert image_summary(SHARDS, [repeats, other])["repeated"] == {"repeated_images": facts}


@given(st.lists(st.integers(0, 2**40), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_within_a_factor_of_two(values, share):
    true = sorted(values)[max(int(np.ceil(share * len(values))) - 1, 0)]
    found = percentile(bins_of(np.array(values)).tolist(), share)
    if true == 0:
        assert found == 0
    else:
        assert true / 2 <= found <= 2 * true
