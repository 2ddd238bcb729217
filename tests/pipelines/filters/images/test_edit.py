"""Images taken out of documents: the list, the text, the receipts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image, keeping, numbers
from tokenmill.pipelines.core.schema import PLACEHOLDER, REMOVED_IMAGE
from tokenmill.pipelines.filters.images.edit import drop_images, removed_images
from tokenmill.pipelines.read.images.nodes import without_places

INTERLEAVED = f"one\n\n{PLACEHOLDER}\n\ntwo {PLACEHOLDER} three\n\n{PLACEHOLDER}"


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        ([True, True, True], INTERLEAVED),
        ([False, True, True], f"one\n\ntwo {PLACEHOLDER} three\n\n{PLACEHOLDER}"),
        ([True, False, True], f"one\n\n{PLACEHOLDER}\n\ntwo  three\n\n{PLACEHOLDER}"),
        ([False, False, False], "one\n\ntwo  three"),
    ],
)
def test_the_places_of_images_go_with_them(keep, left):
    assert without_places(INTERLEAVED, keep) == left
    batch = illustrated([(INTERLEAVED, [image(n) for n in range(3)])])
    made = drop_images(batch, np.array(keep))
    assert made["text"].to_pylist() == [left]
    assert numbers(made) == [[n for n in range(3) if keep[n]]]


def test_a_caption_stays_as_it_is_when_its_image_goes():
    batch = illustrated([("a red door\n\n\n\nby the sea", [image(0)]), ("", [image(0), image(1)])])
    made = drop_images(batch, keeping(batch, (1, 1)))
    assert made["text"].equals(batch["text"])
    assert numbers(made) == [[], [1]]


@given(st.lists(st.lists(st.booleans(), max_size=5), max_size=6), st.booleans())
def test_as_many_places_as_images_are_left(kept, sliced):
    documents = [
        (
            "x\n\n".join([""] + [f"{PLACEHOLDER}\n\n"] * len(keep)),
            [image(n) for n in range(len(keep))],
        )
        for keep in kept
    ]
    batch = illustrated([("before", [image(9)]), *documents])
    batch = batch.slice(1) if sliced else batch
    flat = [k for row in kept for k in row]
    keep = np.array(flat if sliced else [True, *flat], np.bool_)
    made = drop_images(batch, keep)
    texts = made["text"].to_pylist()[0 if sliced else 1 :]
    assert [t.count(PLACEHOLDER) for t in texts] == [sum(row) for row in kept]
    assert numbers(made)[0 if sliced else 1 :] == [
        [n for n, k in enumerate(row) if k] for row in kept
    ]


def test_a_receipt_names_the_image_and_its_document():
    batch = illustrated([("a", [image(0)]), ("b", [image(0), image(1, url=None)])])
    rows = removed_images(
        "images", batch, np.array([0, 2]), ["too_small", "ratio"], values=np.array([12.0, np.nan])
    )
    assert rows.schema == REMOVED_IMAGE
    first, second = rows.to_pylist()
    assert (first["id"], first["number"], first["reason"], first["value"]) == (
        "doc-0",
        0,
        "too_small",
        12.0,
    )
    assert (second["id"], second["number"], second["url"], second["value"]) == (
        "doc-1",
        1,
        None,
        None,
    )
    assert {r["outcome"] for r in (first, second)} == {"removed"}
