"""What a run left, known again by the listings of its manifest, or not."""

import pytest

from tokenmill.pipelines.runs.finished import is_as_left, listings, missing_file
from tokenmill.pipelines.runs.receipt import Receipt, file_entry, save_receipt

FILES = {"a/1": 3, "a/2": 5, "b/1": 2}


@pytest.fixture
def run(tmp_path):
    """A run directory of two works, and the manifest of it."""
    for name, size in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    for key, names in (("0", ("a/1", "b/1")), ("1", ("a/2",))):
        files = tuple(file_entry(tmp_path, tmp_path / name) for name in names)
        save_receipt(tmp_path, Receipt(step="s", key=key, inputs="", files=files))
    files = {top: of.to_json() for top, of in listings(FILES.items()).items()}
    return tmp_path, {"steps": [{"step": "s", "works": 2}], "files": files}


def test_a_listing_tells_names_and_sizes_whatever_their_order():
    told = listings(FILES.items())
    assert listings(reversed(FILES.items())) == told
    assert [(top, of.files, of.bytes) for top, of in told.items()] == [("a", 2, 8), ("b", 1, 2)]
    one = told["a"].to_json()
    for other in ({"a/1": 5, "a/2": 3}, {"a/1": 3, "a/3": 5}, {"a/1": 3}, {"a/1": 3, "a/2": 6}):
        assert listings(other.items())["a"].to_json() != one


HARMS = {  # by the sizes that the files have then: the first one that is missed
    "nothing": ({}, None),
    "gone": ({"a/2": None}, "a/2"),
    "the first gone": ({"a/1": None}, "a/1"),
    "shorter": ({"a/1": 2}, "a/1"),
    "longer": ({"a/2": 6}, "a/2"),
    "sizes changed places": ({"a/1": 5, "a/2": 3}, "a/1"),
    "one more": ({"a/3": 1}, None),
}


@pytest.mark.parametrize(("sizes", "missed"), HARMS.values(), ids=HARMS)
def test_the_first_file_that_is_not_there_whole_is_named(run, sizes, missed):
    out, manifest = run
    for name, size in sizes.items():
        (out / name).unlink(missing_ok=True)
        if size is not None:
            (out / name).write_bytes(bytes(size))
    assert is_as_left(out, manifest, "a") is not bool(sizes)
    assert is_as_left(out, manifest, "b")
    assert missing_file(out, manifest, lambda _: True) == (missed and out / missed)
    assert missing_file(out, manifest, lambda top: top == "b") is None


def test_where_receipts_are_gone_too_the_folder_is_named(run):
    out, manifest = run
    (out / "receipts" / "s" / "1.json").unlink()
    assert missing_file(out, manifest, lambda _: True) is None
    (out / "a" / "2").unlink()
    assert missing_file(out, manifest, lambda _: True) == out / "a"
