"""Which images a document keeps, and which documents stay."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.pipelines.read.images.batches import illustrated, image, numbers
from tests.pipelines.read.images.strategies import batches
from tests.pipelines.read.images.verdicts import checked, document_verdicts, image_rows
from tests.reference import image_rules as twins
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.filters.images.rules import ImageRules, first_part


def maybe(values):
    return st.none() | values


stages = st.builds(
    ImageRules,
    url_parts=maybe(st.sampled_from([("logo", "icon"), ("SEX", "widget", "xxx"), ("\n",)])),
    unknown=st.sampled_from(["keep", "remove"]),
    formats=maybe(st.sampled_from([("jpg",), ("PNG", "webp")])),
    min_side=maybe(st.sampled_from([1, 150])),
    max_side=maybe(st.sampled_from([300, 20_000])),
    min_ratio=maybe(st.sampled_from([0.5, 0.9])),
    max_ratio=maybe(st.sampled_from([1.0, 2.0])),
    min_bytes=maybe(st.just(100)),
    min_images=maybe(st.integers(0, 2)),
    max_images=maybe(st.integers(2, 3)),
)


@given(batches(), stages | st.just(ImageRules()))
def test_the_rules_are_their_twin(batch, stage):
    result = checked(stage, batch)
    expected = [twins.images(row, stage) for row in batch.to_pylist()]
    assert document_verdicts(result, batch) == [(reason, value) for reason, value, _ in expected]
    got = [
        [(r["reason"], r["value"], r["detail"]) if r else (None, None, None) for r in row]
        for row in image_rows(result, batch)
    ]
    assert got == [images for _, _, images in expected]


@given(batches(), stages)
def test_the_images_left_are_those_without_a_receipt(batch, stage):
    result = stage(batch)
    rows = dict(zip(batch["doc_id"].to_pylist(), image_rows(result, batch), strict=True))
    places = dict(zip(batch["doc_id"].to_pylist(), numbers(batch), strict=True))
    for doc_id, left in zip(result.kept["doc_id"].to_pylist(), numbers(result.kept), strict=True):
        pairs = zip(places[doc_id], rows[doc_id], strict=True)
        assert left == [n for n, receipt in pairs if receipt is None]


@pytest.mark.parametrize("n", [0, 1, 30, 31])
def test_one_to_thirty_images_a_document(n):
    batch = illustrated([("a door", [image(i) for i in range(n)])])
    result = checked(ImageRules(), batch)
    reason = {0: "too_few_images", 31: "too_many_images"}.get(n)
    assert document_verdicts(result, batch) == [(reason, n if reason else None)]
    assert result.images.num_rows == 0  # they go with their document


def test_images_are_counted_after_the_rules_for_each():
    text = "\n\n".join([PLACEHOLDER] * 32)
    made = [image(i, width=149 if i < 2 else 640) for i in range(32)]
    result = checked(ImageRules(), illustrated([(text, made)]))
    assert numbers(result.kept) == [list(range(2, 32))]
    assert result.stats.bytes_edited == 2 * len(f"{PLACEHOLDER}\n\n".encode())


def test_a_sample_leaves_with_its_only_image_and_counts_once():
    batch = illustrated([("a red door", [image(0, format="gif")])])
    result = checked(ImageRules(), batch)
    assert result.stats.removed == {"too_few_images": 1}
    assert result.images["reason"].to_pylist() == ["format"]
    assert result.removed["text_bytes"].to_pylist() == [len("a red door")]


def test_the_first_part_of_the_list_is_named():
    urls = pa.array(["/logo/icon.png", "/KIWI.png", None])
    assert first_part(urls, ("icon", "logo", "Kiwi")).to_pylist() == ["icon", None, None]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_side": 300, "max_side": 200}, "min_side 300 is over max_side 200; nothing would"),
        ({"min_ratio": 2, "max_ratio": 1.5}, "min_ratio 2.0 is over max_ratio 1.5"),
        ({"min_images": 3, "max_images": 2}, "min_images 3 is over max_images 2"),
        ({"url_parts": ["logo", ""]}, "'' stands in every URL; no image that has one would be"),
        ({"formats": []}, "no format is left, so no image would be; null turns the rule off"),
    ],
)
def test_what_a_mistake_reads_like(settings, message):
    with pytest.raises(ValidationError) as e:
        ImageRules.model_validate(settings)
    assert message in e.value.errors()[0]["msg"]


def test_jpg_and_jpeg_are_one_format():
    assert ImageRules(formats=("JPG", "jpeg", "png")).formats == ("jpeg", "png")
