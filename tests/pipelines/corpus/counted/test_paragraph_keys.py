"""Paragraphs and lines are the same where their slow twin says so."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.corpus.counted.test_keys import documents, same, sliced
from tests.reference import repeats as reference
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs, keyed_paragraphs
from tokenmill.pipelines.filters.images.keys import has_key
from tokenmill.pipelines.filters.text.parts import split_at

steps = st.builds(
    RepeatedParagraphs,
    within=st.sampled_from(["domain", "corpus"]),
    unit=st.sampled_from(["paragraph", "line"]),
    normalize=st.sampled_from(["none", "ccnet"]),
    digest=st.sampled_from(["xxh3", "sha1"]),
    count=st.sampled_from(["copies", "documents"]),
    empty=st.sampled_from(["stay", "count"]),
)
HOST = [{"doc_id": 0, "url": "//a.org", "text": "a.org", "images": []}]


@given(documents(), steps)
@example(HOST, RepeatedParagraphs())
@example(HOST, RepeatedParagraphs(digest="sha1"))
def test_paragraphs_are_the_same_if_their_forms_are(docs, step):
    batch = sliced(docs)
    units = [doc["text"].split(step.separator) for doc in docs]
    parts = split_at(batch["text"], step.separator)
    bounds = pairwise(parts.starts.tolist())
    assert [parts.text[start:stop].to_pylist() for start, stop in bounds] == units
    how = step.model_dump(include={"unit", "normalize", "empty"})
    names, firsts = [], []
    for doc, parts in zip(docs, units, strict=True):
        group = reference.domain(doc["url"]) if step.within == "domain" else "all"
        counted = dict(reference.paragraphs(doc["text"], **how)) if group else {}
        seen = {}
        for number in range(len(parts)):
            first = seen.setdefault(counted[number], number) if number in counted else number
            later = step.count == "documents" and first != number
            names.append((group, counted[number]) if number in counted and not later else None)
            firsts.append(first if later else number)
    found = keyed_paragraphs(batch, step)
    same(found.keys, names)
    assert found.firsts.tolist() == firsts
    assert found.rows.tolist() == [row for row, parts in enumerate(units) for _ in parts]
    assert found.numbers.tolist() == [i for parts in units for i in range(len(parts))]


def test_no_paragraphs_of_no_documents():
    for count in ("copies", "documents"):
        found = keyed_paragraphs(sliced([]), RepeatedParagraphs(count=count))
        assert len(found.rows) == 0
        assert not has_key(found.keys).any()


@pytest.mark.parametrize("digest", ["xxh3", "sha1"])
def test_both_words_of_a_key_are_spread(digest):
    texts = [{**HOST[0], "text": f"{i}"} for i in range(200)]
    step = RepeatedParagraphs(digest=digest, within="corpus")
    keys = keyed_paragraphs(sliced(texts), step).keys
    assert all(
        len(np.unique(keys[:, word] >> np.uint64(shift))) > 100
        for word in (0, 1)
        for shift in (0, 52)
    )
