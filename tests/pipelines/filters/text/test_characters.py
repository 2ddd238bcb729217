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
from tokenmill.dedup.text.unicode import UNICODE_VERSION
from tokenmill.pipelines.core.step import KEEP
from tokenmill.pipelines.filters.kernels import characters as bits
from tokenmill.pipelines.filters.text import characters as chars
from tokenmill.pipelines.filters.text.characters import (
    char_counts,
    characters,
    class_table,
)
from tokenmill.pipelines.filters.text.words import letters, word_counts, words_of

same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE_VERSION,
    reason=f"this interpreter has Unicode {unicodedata.unidata_version}",
)


@same_unicode
@pytest.mark.parametrize(
    ("bit", "holds"),
    [
        (bits.SPACE, str.isspace),
        (bits.ALPHA, str.isalpha),
        (bits.DECIMAL, str.isdecimal),
        (bits.BREAK, lambda c: len(f"a{c}b".splitlines()) == 2),
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
        expected += [c] + [c & ~bits.START] * (len(char.encode()) - 1)
    assert found[: len(expected)] == expected
    assert len(found) == len(expected) + chars.PADDING


@given(text_columns())
def test_offsets_of_a_slice_begin_at_0(column):
    text = characters(column)
    docs = [text.data[a:b].tobytes().decode() for a, b in pairwise(text.offsets)]
    assert docs == column.to_pylist()
    assert word_counts(words_of(text, "whitespace")).tolist() == [len(t.split()) for t in docs]
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


def test_kernels_add_up_the_bit_of_a_first_byte_and_know_the_verdict_of_the_ledger():
    assert bits.START == 1
    assert bits.KEEP == KEEP


def test_text_that_is_not_utf8_is_not_read_out_of_bounds():
    broken = pa.LargeStringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 3, 5], np.int64)), pa.py_buffer(b"a\xf4\xff\xff\xf0")
    )
    assert len(characters(broken).classes) == 5 + chars.PADDING
