"""Steps about images that annotate: nothing leaves, and columns say what would have."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.read.images.strategies import batches
from tests.pipelines.read.images.verdicts import document_verdicts
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.filters.images.captions import Captions
from tokenmill.pipelines.filters.images.interleaved_text import (
    MEASURED,
    InterleavedText,
    NodeLimits,
)
from tokenmill.pipelines.filters.images.once import ImageOnce
from tokenmill.pipelines.filters.images.rules import ImageRules
from tokenmill.pipelines.filters.images.scores import ImageScores


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.parquet"
    keys = [n.to_bytes(16, "big") for n in range(5)]
    columns = {"nsfw": [0.1, 0.9, None, 0.4, 0.95], "clip": [0.3, 0.2, 0.1, None, 0.9]}
    pq.write_table(pa.table({"md5": pa.array(keys, pa.binary(16)), **columns}), path)
    return {"file": str(path), "most": {"nsfw": 0.85}, "least": {"clip": 0.15}}


@pytest.mark.parametrize("kind", [Captions, InterleavedText, ImageOnce, ImageRules, ImageScores])
@given(batch=batches(), min_words=st.integers(0, 3))
def test_nothing_leaves_and_reasons_are_those_of_the_filter(kind, batch, min_words, scores):
    settings = scores | {"remove": "document"} if kind is ImageScores else {}
    if kind is Captions:
        settings = {"min_words": min_words}
    removes, annotates = kind(**settings), kind(**settings, action="annotate")
    kept, removed, stats, receipts, notes = annotates(batch)
    assert kept.select(batch.schema.names).equals(batch)
    assert (removed.num_rows, receipts, notes) == (0, None, None)
    assert (stats.docs_out, stats.bytes_edited) == (batch.num_rows, 0)
    assert kept.schema == pa.schema([*batch.schema, *annotates.annotations()])
    first = annotates.stage_name
    result = removes(batch)
    if kind is ImageOnce:
        gone = [0] * batch.num_rows
        for row in result.images.to_pylist():
            gone[batch["doc_id"].to_pylist().index(row["doc_id"])] += 1
        assert kept[first].to_pylist() == gone
        return
    reasons = [reason for reason, _ in document_verdicts(result, batch)]
    assert kept[f"{first}_reason"].to_pylist() == reasons


def told(stage, *documents):
    names = [field.name for field in stage.annotations()]
    return stage(illustrated(list(documents))).kept.select(names).to_pydict()


def test_images_are_told_by_how_many_would_stay_and_their_extremes():
    small, unknown = image(1, width=100, height=50, bytes=7), image(2, width=None, height=None)
    found = told(
        ImageRules(action="annotate", column="pictures"),
        ("", [image(0), small, unknown]),
        ("", []),
        ("", [unknown]),
    )
    assert found == {
        "pictures_reason": [None, "too_few_images", None],
        "pictures_count": [3, 0, 1],
        "pictures_kept": [2, 0, 1],
        "pictures_min_side": [50.0, None, None],
        "pictures_max_side": [640.0, None, None],
        "pictures_min_ratio": [640 / 480, None, None],
        "pictures_max_ratio": [2.0, None, None],
        "pictures_min_bytes": [7.0, None, 1002.0],
    }


def test_captions_of_samples_alone_are_told():
    found = told(
        Captions(action="annotate"),
        ("a red boat", [image(0)]),
        ("boat.jpg", [image(0)]),
        (f"{PLACEHOLDER}\n\na red boat", [image(0)]),
        ("a red boat", []),
    )
    assert found["captions_reason"] == [None, "file_name", None, None]
    assert found["captions_words"] == [3.0, 1.0, None, None]
    assert found["captions_chars"] == [10.0, 8.0, None, None]
    assert found["captions_char_repetition_ratio"] == [0.0, 0.0, None, None]


def test_interleaved_text_is_measured_without_the_nodes_that_fail():
    node = "the sea and the boat of the man, and of the sea"
    found = told(
        InterleavedText(action="annotate"),
        (f"{node}\n\nHome\n\n{PLACEHOLDER}\n\nHome", [image(0)]),
        (node, []),
        (node, [image(0)]),
    )
    assert found.pop("interleaved_text_failed_nodes") == [2, 0, 0]
    assert found["interleaved_text_words"] == [12.0, 12.0, None]
    for column in found.values():
        assert column[0] == column[1]
    assert {f"interleaved_text_{m}" for m in MEASURED} - found.keys() == {
        f"interleaved_text_{of}_words_ratio" for of in ("flagged", "common", "spam")
    }
    keeps = NodeLimits(max_flagged_words_ratio=None)
    listed = InterleavedText(action="annotate", node=keeps, flagged_words=("sea",))
    flagged = told(listed, (node, []))["interleaved_text_flagged_words_ratio"]
    assert math.isclose(flagged[0], 2 / 12)


def test_scores_of_images_are_told_of_their_documents(scores):
    found = told(
        ImageScores(**scores, action="annotate"),
        ("", [image(0), image(1), image(4)]),
        ("", [image(2)]),
        ("", [image(3), image(9)]),
        ("", []),
    )
    assert found == {
        "image_scores_reason": ["high_nsfw", "low_clip", None, None],
        "image_scores_most_nsfw": [0.95, None, 0.4, None],
        "image_scores_least_clip": [0.2, 0.1, None, None],
    }


def test_copies_within_a_document_are_counted():
    same = image(1, url="https://example.org/0.jpg")
    found = told(
        ImageOnce(action="annotate"),
        ("", [image(0), same, image(2, md5=same["md5"])]),
        ("", [image(0)]),
    )
    assert found == {"image_once": [1, 0]}
