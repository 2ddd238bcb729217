"""Words as language models have them: against the obvious way, and CCNet's own normalization."""

import re
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.filters.texts import texts
from tests.reference import perplexity as reference
from tests.strategies import text_columns
from tokenmill.pipelines.filters.models.text import (
    BOUNDARY_HASH,
    line_words,
    normalize,
    placed_words,
)

characters = st.characters(exclude_categories=("Cs",))
anything = st.one_of(texts, st.text(characters, max_size=40))
# first and last of scripts that stand without spaces, and what is beside them
ENDS = [chr(ord(end) + by) for end in reference.WITHOUT_SPACES if end != "-" for by in (-1, 0, 1)]


def hash_of(word):
    found = line_words(pa.array([word])).hashes.tolist()
    assert len(found) == 2, word
    return found[0]


def hashed(doc):
    return [h for line in reference.lines(doc) for h in [*map(hash_of, line), BOUNDARY_HASH]]


@given(text=text_columns(anything))
@example(
    pa.array(["a\na\n", "", "\n \n", "ab…c—d", "한국어 말", "Σας ΣΑΣ", "x\u00ady", "\U00012fff"])
)
@example(pa.array(["ΐ\u0344İ", "क़ा", "ไทย", "a\tb\rc\x85d\u2028e", "½ ② Ⅷ ٣", "\uff11\uff12", "ﷺ"]))
@example(pa.array([f"a{char}b" for char in ENDS]))
def test_words_are_those_of_the_reference(text):
    words = line_words(text)
    ends = words.doc_ends.tolist()
    got = [words.hashes[s:e].tolist() for s, e in pairwise(ends)]
    assert got == [hashed(doc) for doc in text.to_pylist()]


@given(word=st.text(characters, min_size=1, max_size=8))
def test_a_word_is_a_word_again(word):
    found = [w for line in reference.lines(word) for w in line]
    assert [reference.lines(w) for w in found] == [[[w]] for w in found]
    assert line_words(pa.array([word])).hashes.tolist() == hashed(word)


def test_different_words_have_different_hashes():
    words = ["a", "aa", "aaa", "ab", "ba", "abc", "cba", "acb", "0", "00", "000", ".", "..", "é"]
    assert len({hash_of(w) for w in words if w != ".."}) == len(words) - 1
    assert hash_of("é") == hash_of("e") == hash_of("E") == hash_of("e\u0301")


@given(doc=anything)
def test_normalization_is_ccnets(doc):
    assert normalize(doc) == reference.normalize(doc)


@given(line=texts)
def test_words_are_those_of_a_line_that_ccnet_has_normalized(line):
    """As a whole, and not character by character; where it leaves white space in its place."""
    line = re.sub(r"\s+", " ", line)
    theirs = reference.words(normalize(line))
    words = line_words(pa.array([line])).hashes.tolist()
    assert words == [*map(hash_of, theirs), *([BOUNDARY_HASH] if theirs else [])]


def test_where_words_stand():
    found = placed_words(pa.array(["skipped", "Café… «x»\n 1\u0301b"]).slice(1))
    spans = [found.span(i).decode() for i in range(len(found.words.hashes))]
    assert [s for s, h in zip(spans, found.words.hashes, strict=True) if h] == [
        "Café", "…", "…", "…", "«", "x", "»", "1\u0301b",
    ]  # fmt: skip


@pytest.mark.parametrize("text", [b"\xff\xfe", b"a\xe2\x82", b"\xf8\x88\x80\x80\x80"])
def test_what_is_no_utf8_is_never_read_beyond(text):
    data = pa.py_buffer(text)
    offsets = pa.py_buffer(b"\0\0\0\0" + len(text).to_bytes(4, "little"))
    column = pa.StringArray.from_buffers(1, offsets, data)
    assert len(line_words(column).hashes) in (0, 2)


def test_many_lines_of_one_letter_have_room():
    assert len(line_words(pa.array(["a\n" * 1000, ".\n" * 1001])).hashes) == 4002
