"""The classes of bytes are what `str` says of the characters."""

import unicodedata
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from tests.pipelines.filters.texts import texts
from tests.pipelines.filters.words import KINDS
from tests.reference.words import words
from tests.strategies import text_columns
from tokenmill.dedup.unicode import UNICODE_VERSION
from tokenmill.pipelines.filters.kernels import c4, lines, parts, spacy_runs, spacy_words
from tokenmill.pipelines.filters.kernels import letters as letters_kernels
from tokenmill.pipelines.filters.kernels import sentences as sentence_kernels
from tokenmill.pipelines.filters.kernels import words as word_kernels
from tokenmill.pipelines.filters.text import characters as chars
from tokenmill.pipelines.filters.text import sentences
from tokenmill.pipelines.filters.text import words as kinds_of_words
from tokenmill.pipelines.filters.text.characters import (
    char_counts,
    characters,
    class_table,
    word_counts,
)
from tokenmill.pipelines.filters.text.letters import letters
from tokenmill.pipelines.filters.text.words import words_of

same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE_VERSION,
    reason=f"this interpreter has Unicode {unicodedata.unidata_version}",
)


@same_unicode
@pytest.mark.parametrize(
    ("bit", "holds"),
    [
        (chars.SPACE, str.isspace),
        (chars.ALPHA, str.isalpha),
        (chars.DECIMAL, str.isdecimal),
        (chars.BREAK, lambda c: len(f"a{c}b".splitlines()) == 2),
    ],
    ids=["space", "alpha", "decimal", "break"],
)
def test_a_class_is_what_str_says(bit, holds):
    expected = [holds(chr(cp)) for cp in range(0x110000)]
    assert ((class_table() & bit) != 0).tolist() == expected


@given(texts)
def test_each_byte_has_the_class_of_its_character(text):
    found = characters(pa.array([text], pa.large_string())).classes.tolist()
    expected = []
    for char in text:
        c = int(class_table()[ord(char)])
        expected += [c] + [c & ~chars.START] * (len(char.encode()) - 1)
    assert found[: len(expected)] == expected
    assert len(found) == len(expected) + chars.PADDING


@given(text_columns())
def test_offsets_of_a_slice_begin_at_0(column):
    text = characters(column)
    docs = [text.data[a:b].tobytes().decode() for a, b in pairwise(text.offsets)]
    assert docs == column.to_pylist()
    assert word_counts(text).tolist() == [len(t.split()) for t in docs]
    assert char_counts(text).tolist() == [len(t) for t in docs]


@pytest.mark.parametrize("kind", KINDS)
@given(column=text_columns())
def test_letters_are_the_words_without_what_stands_between(kind, column):
    found = letters(words_of(characters(column), kind))
    bounds = [found.starts[a:b].tolist() for a, b in pairwise(found.first_words)]
    found_words = [[found.data[a:b].tobytes().decode() for a, b in pairwise(d)] for d in bounds]
    chars_before = [found.chars[a:b].tolist() for a, b in pairwise(found.first_words)]
    expected = [words(t, kind) for t in column.to_pylist()]
    assert found_words == expected
    assert chars_before == [[0, *accumulate(map(len, ws))] for ws in expected]
    assert found.most_words == max(map(len, expected), default=0)


@pytest.mark.parametrize(
    "kernels",
    [c4, letters_kernels, lines, parts, sentence_kernels, spacy_runs, spacy_words, word_kernels],
)
def test_kernels_read_the_bits_as_they_are_written(kernels):
    bits = ("START", "SPACE", "BREAK", "ALPHA", "SYMBOL", "TERMINAL", "DECIMAL", "CLOSING")
    held = {b: getattr(kernels, b) for b in bits if hasattr(kernels, b)}
    assert held == {b: getattr(chars, b) for b in held}
    assert "SPACE" in held
    for name, home in (("SPLIT", kinds_of_words), ("STOP", sentences), ("PUNCT", sentences)):
        assert getattr(kernels, name, getattr(home, name)) == getattr(home, name)
    assert chars.START == 1  # some kernels add it up instead of testing it


def test_text_that_is_not_utf8_is_not_read_out_of_bounds():
    broken = pa.LargeStringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 3, 5], np.int64)), pa.py_buffer(b"a\xf4\xff\xff\xf0")
    )
    assert len(characters(broken).classes) == 5 + chars.PADDING
