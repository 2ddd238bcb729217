"""Windows, minimizers and the places of words, against slow twins."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dedup.strategies import hard_documents
from tests.reference import spans as reference
from tests.reference.shingle import ngram_hash, word_hash, words_of
from tests.strategies import text_columns
from tokenmill.dedup.arrays import text_buffers
from tokenmill.dedup.kernels import ngrams as kernels
from tokenmill.dedup.overlap.cut import cut_words, without_units
from tokenmill.dedup.overlap.ngrams import Known, Ngrams
from tokenmill.dedup.text import words as word_module
from tokenmill.dedup.text.words import lines, whole_documents, word_hashes, word_places

KINDS = ("unicode", "whitespace")
kinds = st.sampled_from(KINDS)
repetitive = st.one_of(
    st.lists(st.sampled_from(letters), max_size=30).map(" ".join)
    for letters in (["a", "B"], ["a", "B", "c\n", "Σ"])
)


def hashed(texts, words):
    return [[word_hash(word.encode()) for word in words_of(text, words)] for text in texts]


def column(texts):
    return pa.array(texts, pa.large_string())


def mixed(words):
    return ngram_hash(words) or 1


def spread(key):
    h = key * int(kernels.SPREAD) % 2**64
    return h ^ h >> 32


@given(text=text_columns(hard_documents), words=kinds)
def test_words_are_hashed_as_those_of_shingles(text, words):
    hashes, ends = word_hashes(text_buffers(text), words)
    expected = hashed(text.to_pylist(), words)
    assert [hashes[lo:hi].tolist() for lo, hi in pairwise(ends)] == expected


@given(text=text_columns(hard_documents), words=kinds)
def test_blocks_and_cuts_change_no_hash(text, words):
    whole = word_hashes(text_buffers(text), words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_module, "BLOCK_BYTES", 8)
        patch.setattr(word_module, "LARGE_BYTES", 16)
        cut = word_hashes(text_buffers(text), words)
    assert [part.tolist() for part in cut] == [part.tolist() for part in whole]


@given(text=text_columns())
def test_lines_are_those_of_a_split(text):
    units = lines(text_buffers(text))
    data, offsets = units.text
    made = [bytes(data[lo:hi]).decode() for lo, hi in pairwise(offsets)]
    for doc, (lo, hi) in enumerate(pairwise(units.docs)):
        assert "".join(made[lo:hi]) == text[doc].as_py()
        assert [line.removesuffix("\n") for line in made[lo:hi]] == text[doc].as_py().split("\n")


def test_lines_of_many_documents_keep_their_order():
    units = lines(text_buffers(column(["\n", "", "a\n"] * 100)))
    assert np.diff(units.docs).tolist() == [2, 1, 2] * 100


@given(texts=st.lists(repetitive, max_size=4), ngram=st.integers(2, 7), words=kinds)
def test_minimizers_are_the_least_runs_of_windows(texts, ngram, words):
    expected, run = [], (ngram + 1) // 2
    for of_text in hashed(texts, words):
        keys = [mixed(of_text[i : i + run]) for i in range(len(of_text) - run + 1)]
        windows = range(len(of_text) - ngram + 1)
        # the last of equal ones; each place once
        least = [min(range(i, i + ngram - run + 1), key=lambda j: (keys[j], -j)) for i in windows]
        expected += [spread(keys[j]) for j in dict.fromkeys(least)]
    units = whole_documents(text_buffers(column(texts)))
    assert Ngrams(ngram=ngram, words=words).minimizers(units).tolist() == expected


@given(texts=st.lists(repetitive, max_size=4), ngram=st.integers(2, 7), of_lines=st.booleans())
def test_candidates_hold_every_window_that_repeats(texts, ngram, of_lines):
    units = (lines if of_lines else whole_documents)(text_buffers(column(texts)))
    ngrams = Ngrams(ngram=ngram, words="unicode")
    keys, counts = np.unique(ngrams.minimizers(units), return_counts=True)
    found = ngrams.candidates(units, Known.of(keys[counts > 1]))
    action = "paragraph" if of_lines else "cut"
    stand = reference.ngrams(texts, ngram=ngram, action=action)
    every = {
        place[:2]: mixed([word_hash(word.encode()) for word in gram])
        for gram, places in stand.items()
        for place in places
    }
    places = zip(found.docs.tolist(), found.words.tolist(), strict=True)
    made = dict(zip(places, found.hashes.tolist(), strict=True))
    assert len(made) == len(found.hashes)
    assert made.items() <= every.items()
    assert {p[:2] for places in stand.values() if len(places) > 1 for p in places} <= made.keys()


def test_few_unique_windows_are_candidates():
    unique = " ".join(f"w{i}" for i in range(5000))
    copied = " ".join(f"c{i}" for i in range(100))
    units = whole_documents(text_buffers(column([f"{unique} {copied}", f"{copied} end"])))
    ngrams = Ngrams(ngram=50, words="unicode")
    made = ngrams.minimizers(units)
    keys, counts = np.unique(made, return_counts=True)
    found = ngrams.candidates(units, Known.of(keys[counts > 1]))
    assert len(made) < 5200 / 12
    by_range = np.bincount((made >> np.uint64(62)).astype(np.int64), minlength=4)
    assert by_range.min() > len(made) / 8, "minimizers are small, their numbers are not"
    assert 2 * 51 <= len(found.hashes) < 2 * 51 + 100


def test_nothing_is_found_where_nothing_is_known():
    units = whole_documents(text_buffers(column(["a b c", ""])))
    found = Ngrams(ngram=2, words="unicode").candidates(units, Known.of(np.empty(0, np.uint64)))
    assert [len(part) for part in found] == [0, 0, 0]


@given(text=text_columns(hard_documents), words=kinds)
def test_words_are_where_they_stand(text, words):
    places = word_places(text_buffers(text), words)
    for doc, (lo, hi) in enumerate(pairwise(places.doc_words)):
        found = zip(places.starts[lo:hi].tolist(), places.ends[lo:hi].tolist(), strict=True)
        expected = reference.word_places(text[doc].as_py(), words)
        assert [*found] == [(start, end) for _, start, end in expected]


@given(text=hard_documents, data=st.data(), words=kinds)
def test_a_cut_is_that_of_strings(text, data, words):
    places = reference.word_places(text, words)
    if not places:
        return
    first = data.draw(st.integers(0, len(places) - 1))
    last = data.draw(st.integers(first, len(places) - 1))
    whole = column(["before it", text])
    rest = cut_words(
        whole,
        word_places(text_buffers(whole), words),
        *(np.array([n]) for n in (1, first, last)),
    )
    start, end = reference.cut_place(text.encode(), places, first, last)
    assert (rest.starts.tolist(), rest.ends.tolist()) == ([start], [end])
    assert rest.text.to_pylist() == ["before it", reference.without(text, [(start, end)])]


@pytest.mark.parametrize(
    ("text", "words", "left"),
    [
        ("a b c d e", (1, 2), "a d e"),
        ("title\n\nb c.\n\nd e", (1, 2), "title\n\nd e"),
        ("title b c.\n\nd e", (1, 2), "title\n\nd e"),
        ("title\n\nb c. d e", (1, 2), "title\n\nd e"),
        ("a, (b c), d", (1, 2), "a, d"),
        ("(b c), d", (0, 1), "d"),
        ("d (b c)!  ", (1, 2), "d"),
        ("well-b c-d", (1, 2), "well-d"),
        ("a\n* b c\n* d", (1, 2), "a\n*\n* d"),
        ("“b c” d", (0, 1), "d"),
        ("a b c", (0, 2), ""),
        ("---\n# a b\n---\n", (0, 1), ""),
        ("* a b\n* c", (0, 1), "* c"),
    ],
)
def test_what_is_left_reads_as_if_nothing_had_stood_there(text, words, left):
    places = word_places(text_buffers(column([text])), "unicode")
    made = cut_words(column([text]), places, *(np.array([n]) for n in (0, *words)))
    assert made.text.to_pylist() == [left]


@given(text=text_columns(), data=st.data())
def test_lines_are_left_out_as_of_a_list(text, data):
    units = lines(text_buffers(text))
    n = int(units.docs[-1])
    keep = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    expected = [
        "\n".join(line for line, k in zip(t.split("\n"), keep[lo:hi], strict=True) if k)
        for t, (lo, hi) in zip(text.to_pylist(), pairwise(units.docs), strict=True)
    ]
    assert without_units(units, np.array(keep, np.bool_)).to_pylist() == expected
