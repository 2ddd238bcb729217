"""Samples are not taken for the same by their captions alone."""

import numpy as np
import pytest

from tests.pipelines.corpus.repeats_corpora import batch_of
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.corpus.near import NearDedup

CAPTION = "a cat sits on a mat in front of a red door"


def keys_of(step, *documents):
    """(n_docs, n_bands) of documents: a text, and of each image URL and MD5."""
    rows = []
    for i, (text, *images) in enumerate(documents):
        some = [{"number": n, "url": u, "md5": m} for n, (u, m) in enumerate(images)]
        rows.append({"doc_id": i, "url": None, "text": text, "images": some})
    columns = step.key_columns(batch_of(rows), "source")[-step.lsh().bands :]
    return np.stack([np.asarray(column) for column in columns], axis=1)


A, B = ("https://a.org/a", b"a" * 16), ("https://a.org/b", b"b" * 16)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ([A], [B], False),
        ([A], [("https://b.org/a", A[1])], True),
        ([("u", None)], [("u", None)], True),
        ([("u", None)], [("v", None)], False),
        ([A, B], [B, A], True),
        ([A], [A, B], False),
        ([(None, None)], [(None, None)], False),
    ],
    ids=["others", "equal", "one url", "two urls", "any order", "one more", "unknown"],
)
def test_samples_meet_by_near_captions_and_the_same_images(one, other, meet):
    documents = (CAPTION, *one), (CAPTION, *other)
    x, y = keys_of(NearDedup(), *documents)
    assert ((x == y) & (x != 0)).any() == meet
    x, y = keys_of(NearDedup(samples="captions"), *documents)
    assert (x == y).all()


@pytest.mark.parametrize("documents", [((CAPTION,), (CAPTION,)), None], ids=["text", "interleaved"])
def test_text_is_compared_where_images_stand_in_it_or_there_are_none(documents):
    woven = f"{PLACEHOLDER}\n\n{CAPTION}"
    x, y = keys_of(NearDedup(), *(documents or ((woven, A), (woven, B))))
    assert (x == y).all()
    assert x.any()
