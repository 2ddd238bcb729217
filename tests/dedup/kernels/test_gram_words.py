"""What is counted in texts, by kernels in plain Python, beside the words of the reference."""

import re
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from tests.dedup.kernels.plain import plain
from tests.reference.overlap import gram_words
from tokenmill.dedup.arrays import text_buffers
from tokenmill.dedup.kernels import gram_words as kernels
from tokenmill.dedup.text.gram_words import blocks, chars, word_kinds

PARTS = ["12", "a1", "é", "東", "3東", "กา", ".", " ", "x 4 5", "\u0301"]
TEXTS = ["".join(parts) for parts in product(PARTS, repeat=3)]
BLANK = ["".join(parts) for n in range(6) for parts in product("\n a", repeat=n)]


def buffers(texts):
    return text_buffers(pa.array(texts, pa.large_string()))


def has_letter(word):
    return any(c.isalpha() for c in word.text)


@pytest.fixture(scope="module")
def words():
    return [gram_words(text) for text in TEXTS]


def test_runs_of_words_without_a_letter(words):
    data, offsets = buffers(TEXTS)
    runs = np.zeros(len(TEXTS), np.int64)
    ask = (data, offsets[:-1], offsets[1:], chars(), word_kinds("scripts"))
    plain(kernels.letterless_runs)(*ask, runs)
    for text, of, run in zip(TEXTS, words, runs.tolist(), strict=True):
        marks = "".join("a" if has_letter(word) else "1" for word in of)
        assert run == max(map(len, marks.split("a")), default=0), text


def test_words_that_are_characters_by_themselves():
    kinds, counts = word_kinds("scripts"), np.zeros(len(TEXTS), np.int64)
    plain(kernels.count_script_words)(*buffers(TEXTS), kinds, counts)
    wanted = [sum(word.text[0] in "東กา" for word in gram_words(text)) for text in TEXTS]
    assert counts.tolist() == wanted


def test_letters_of_words(words):
    texts = pa.array(TEXTS, pa.large_string())
    data, _ = text_buffers(texts)
    (block,) = blocks(texts, longest=None)
    letters = np.full(len(block.stops), -1, np.int32)
    ask = (data, block.begins, block.stops, block.doc_words, chars())
    plain(kernels.count_letters)(*ask, letters)
    wanted = [sum(c.isalpha() for c in word.text) for of in words for word in of]
    assert letters.tolist() == wanted


def test_blank_lines():
    data, offsets = buffers(BLANK)
    found = np.full((len(data), 3), -1, np.int64)
    n = plain(kernels.blank_lines)(data, offsets, chars(), found)
    wanted = [
        [d, *(m.start() + k for k in (m[0].index("\n"), m[0].rindex("\n") + 1))]
        for d, text in enumerate(BLANK)
        for m in re.finditer(r"\s+", text)
        if m[0].count("\n") > 1
    ]
    assert found[:n].tolist() == wanted


def test_a_character_is_spelled_in_as_many_bytes_as_tell_it_apart():
    spelled = set()
    borders = [0, 0x61, 0x7F, 0x80, 0xFF, 0x100, 0x7FF, 0xFFFF, 0x10000, 0x10061, 0x10FFFF]
    for cp in borders:
        out = np.zeros(6, np.uint8)
        end = plain(kernels.encode)(np.uint32(cp), out, np.uint64(1))
        told = out[1 : int(end)].tolist()
        assert told == ([cp] if cp < 128 else [128 | cp >> 16, cp >> 8 & 255, cp & 255])
        spelled.add(bytes(told))
    assert len(spelled) == len(borders)


def test_a_letter_is_one_of_all_between_the_ends():
    first, last = int(kernels.FIRST_LETTER), int(kernels.LAST_LETTER)
    asked = [first - 1, first, last, last + 1]
    told = [plain(kernels.is_letter)(np.uint8(kind)) for kind in asked]
    assert told == [False, True, True, False]
    assert [chr(kind) for kind in asked[1:3]] == ["a", "z"]
