"""Hypothesis strategies for corpora: documents as text columns, slices included."""

import os

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from tokenmill.pipelines.core.schema import DOCUMENT, doc_ids

THOROUGH = os.environ.get("TOKENMILL_TESTS") == "all"  # `make test-all`: more of everything


def examples(thorough, quick=12):
    """How many a law takes of examples that are dear: so many in `make test-all`, or `quick`."""
    return thorough if THOROUGH else quick


def few(values, every):
    """Parameters of which one of so many, the first among them, is tried but in `make test-all`."""
    return [
        value
        if i % every == 0
        else pytest.param(*(value if isinstance(value, tuple) else [value]), marks=pytest.mark.long)
        for i, value in enumerate(values)
    ]


def code_points():
    """Of Unicode without surrogates; of planes without a character one in 97, but in `test-all`.

    Tags and variation selectors stand behind U+E0000, and what is no character ends each plane.
    """
    some, tags = range(0x40000, 0x110000, 1 if THOROUGH else 97), range(0xE0000, 0xE1000)
    ends = (cp for end in range(0x50000, 0x120000, 0x10000) for cp in range(end - 256, end))
    return [*range(0xD800), *range(0xE000, 0x40000), *sorted({*some, *tags, *ends})]


WORDS = ["the", "a", "cat", "dog", "naïve", "東京", "🙂", "x" * 40, "İstanbul", "ΣΊΣΥΦΟΣ", "it's"]
words = st.sampled_from(WORDS)
documents = st.one_of(
    st.text(max_size=60),
    st.lists(words, max_size=30).map(" ".join),
    st.lists(words, max_size=30).map("\n".join),
    st.sampled_from(["", " ", "\n\n", "one", "\x0b\x0c", "a\u00a0b", "\x1c\x1d\x85"]),
)


@st.composite
def text_columns(draw, docs=documents, max_docs=8):
    """A string or large_string column, sometimes a slice of a longer one."""
    made = draw(st.lists(docs, max_size=max_docs))
    column = pa.array(made, draw(st.sampled_from([pa.string(), pa.large_string()])))
    start = draw(st.integers(0, len(made)))
    return column.slice(start, draw(st.integers(0, len(made) - start)))


def document_batch(texts, ordinal=0, urls=None):
    """A batch of schema DOCUMENT; ids "0", "1", …"""
    n = len(texts)
    return pa.record_batch(
        [
            pa.array(doc_ids(ordinal, 0, n)),
            pa.array([str(i) for i in range(n)]),
            pa.nulls(n, pa.string()) if urls is None else pa.array(urls, pa.string()),
            pa.array(list(texts), pa.large_string()),
        ],
        schema=DOCUMENT,
    )
