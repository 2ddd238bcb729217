"""The first copy of an image within its document."""

from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image, numbers
from tests.pipelines.read.images.strategies import batches
from tests.pipelines.read.images.verdicts import checked, image_rows
from tests.reference import image_rules as twins
from tokenmill.pipelines.filters.images.once import ImageOnce

stages = st.sampled_from([("url",), ("md5",), ("url", "md5"), ("md5", "url")]).map(
    lambda by: ImageOnce(by=by)
)


@given(batches(), stages)
def test_it_is_its_twin(batch, stage):
    result = checked(stage, batch)
    assert result.kept.num_rows == batch.num_rows
    got = [
        [(r["reason"], r["duplicate_number"]) if r else (None, None) for r in row]
        for row in image_rows(result, batch)
    ]
    assert got == [twins.image_once(row, stage) for row in batch.to_pylist()]


@given(batches(), stages)
def test_a_receipt_names_an_image_that_is_left_in_the_same_document(batch, stage):
    result = stage(batch)
    left = dict(zip(result.kept["doc_id"].to_pylist(), numbers(result.kept), strict=True))
    for receipt in result.images.to_pylist():
        assert receipt["duplicate_of"] == receipt["doc_id"]
        assert receipt["duplicate_number"] in left[receipt["doc_id"]]
        assert receipt["duplicate_number"] < receipt["number"]


def test_copies_in_other_documents_are_none():
    same = image(0)
    batch = illustrated([("a", [same]), ("b", [same, {**same, "number": 1}]), ("c", [same])])
    result = checked(ImageOnce(), batch)
    assert numbers(result.kept) == [[0], [0], [0]]
    assert result.images["doc_id"].to_pylist() == [1]


def test_images_without_a_url_or_bytes_are_no_copies():
    made = [image(n, url=url, md5=None) for n, url in enumerate((None, None, "", ""))]
    result = checked(ImageOnce(), illustrated([("a", made)]))
    assert numbers(result.kept) == [[0, 1, 2, 3]]


def test_a_copy_of_a_copy_names_the_one_that_is_left():
    """1 has the bytes of 0, and 2 has the URL of 1: both leave for 0."""
    made = [
        image(0, url="a", md5=b"x" * 16),
        image(1, url="b", md5=b"x" * 16),
        image(2, url="b", md5=b"y" * 16),
    ]
    result = checked(ImageOnce(), illustrated([("a", made)]))
    rows = result.images.select(["number", "reason", "duplicate_number"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [(1, "same_md5", 0), (2, "same_url", 0)]


def test_one_key_can_be_named_alone_and_each_counts_once():
    assert ImageOnce.model_validate({"by": "md5"}).by == ("md5",)
    assert ImageOnce(by=("url", "url")).by == ("url",)
