"""Shingles are those of `re` and `str.lower()`, and their hash is as good as chance."""

import json
import math
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dedup.strategies import hard_documents, known_alike, script_documents
from tests.reference import shingle as reference
from tests.reference.shingle import kind_of
from tests.strategies import THOROUGH, examples, text_columns
from tokenmill.dedup.arrays import text_buffers
from tokenmill.dedup.text.shingle import shingle_hash, shingles_of
from tokenmill.dedup.text.unicode import (
    CAPITAL_I_WITH_DOT,
    N_CODE_POINTS,
    SPACE,
    WORD,
    flags_of,
    lower_of,
)
from tokenmill.dedup.text.words import pieces, split_words, word_places

GOLDEN_FILE = Path(__file__).parent.parent.parent / "golden" / "shingle.jsonl"
GOLDEN = [json.loads(line) for line in GOLDEN_FILE.read_text("utf-8").split("\n") if line]
SIGMA = "\u03c3"
WORDS = ["scripts", "unicode", "whitespace"]


def shingles(text, *, ngram=5, words="unicode"):
    (found,) = shingles_of(text_buffers(text), ngram=ngram, words=words)
    return found


def per_document(found):
    return [found.hashes[s:e].tolist() for s, e in pairwise(found.offsets)]


def words_in(text, words):
    letters, ends, doc_words = split_words(text, words)
    found = [letters[s:e].tobytes().decode() for s, e in pairwise([0, *ends.tolist()])]
    return [found[s:e] for s, e in pairwise(doc_words)]


def words_of(document, words="scripts"):
    (found,) = words_in(text_buffers(pa.array([document])), words)
    return found


@pytest.mark.parametrize("words", WORDS)
@given(text_columns(hard_documents))
@example(pa.array(["AΣ AΣ. Σ AΣA A'Σ' ʰΣ"]))
@example(pa.array(["İ", "İİ", "aİb İ\u0307"]))
@example(pa.array(["中\u0301", "a\u0301中 \u0301\u0301", "ท ำน", "ཀ ྱཀ", "\u0e33", "ｶ\u200bﾞ"]))
def test_words_are_those_of_the_lower_cased_text(words, text):
    expected = [reference.words_of(document, words) for document in text.to_pylist()]
    assert words_in(text_buffers(text), words) == expected


@given(text_columns(script_documents))
def test_words_stand_where_they_were_found(text):
    """Each from its first letter to its last; what is between them counts for nothing."""
    places, documents = word_places(text_buffers(text), "scripts"), text.to_pylist()
    of = np.repeat(np.arange(len(documents)), np.diff(places.doc_words)).tolist()
    spans = zip(of, places.starts.tolist(), places.ends.tolist(), strict=True)
    cut = [documents[d].encode()[start:end].decode() for d, start, end in spans]
    words = [w for document in documents for w in reference.words_of(document, "scripts")]
    # a sigma is final by what stands around
    alone = [[w.replace("ς", SIGMA) for w in words_of(place)] for place in cut]
    assert alone == [[word.replace("ς", SIGMA)] for word in words]
    assert all(kind_of(w[0]) in "WALT" and kind_of(w[-1]) in "WALTM" for w in cut)


CUTS = {
    "iPhone手机 GPT4模型。第3章": "iphone 手 机 gpt4 模 型 第 3 章",
    "中\u3000文\n字": "中 文 字",
    "コーヒーｶﾞ": "コ ー ヒ ー ｶﾞ",
    "時々\u3007〆葛\U000e0100飾": "時 々 \u3007 〆 葛 飾",
    "ภาษาไทยทำงาน ๒๕๖๗": "ภ า ษ า ไ ท ย ทำ ง า น ๒๕๖๗",
    "ພາສາລາວ": "ພ າ ສ າ ລ າ ວ",
    "ភាសា\u200bខ្មែរ": "ភា សា ខ្ មែ រ",
    "မြန်မာ": "မြ န် မ ာ",
    "བོད་སྐད་ཡིག །": "བོད སྐད ཡིག",
    "한국어 문장": "한국어 문장",
    "हिन्दी": "ह न द",
}


@pytest.mark.parametrize("text", CUTS)
def test_scripts_without_spaces(text):
    assert words_of(text) == CUTS[text].split(" ")


@pytest.mark.parametrize("words", WORDS)
def test_words_with_every_character(words):
    chars = [chr(c) for c in range(0x11000) if not 0xD800 <= c < 0xE000]
    chars += map(chr, (0x1AFF0, 0x1B000, 0x20000, 0x2FFFD, 0x2FFFE, 0x31350, 0xE0100))
    every = 1 if THOROUGH else 7
    chars = [c for c in chars if known_alike(c)][::every]
    documents = [f"{c} a{c}b é{c}{c}東{c} ก{c}ཀ{c}ཀ" for c in chars]
    assert len(documents) > 60_000 / every
    letters, ends, doc_words = split_words(text_buffers(pa.array(documents)), words)
    got = letters[: ends[-1]].tobytes().decode()
    assert got == "".join("".join(reference.words_of(d, words)) for d in documents)
    sizes = [[len(w.encode()) for w in reference.words_of(d, words)] for d in documents]
    assert np.array_equal(np.diff(ends, prepend=0), list(chain(*sizes)))
    assert np.array_equal(np.diff(doc_words), list(map(len, sizes)))


@pytest.mark.parametrize("words", WORDS)
@given(text_columns(hard_documents), st.integers(1, 6))
@example(pa.array(["a b c d e", "a b c d", "", "A  b\n"]), 5)
def test_shingles_match_the_reference(words, text, ngram):
    expected = [
        [reference.shingle_hash(s) for s in reference.shingles(document, ngram, words)]
        for document in text.to_pylist()
    ]
    assert per_document(shingles(text, ngram=ngram, words=words)) == expected


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: repr(case["text"]))
def test_golden_shingles(case):
    """The hashes are part of the file formats: a changed one is a new version of them."""
    listed = [s.encode() for s in case["shingles"]]
    assert reference.shingles(case["text"], case["ngram"], case["words"]) == listed
    got = shingles(pa.array([case["text"]]), ngram=case["ngram"], words=case["words"])
    assert got.hashes.tolist() == case["hashes"]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1), min_size=1)
)
def test_shingle_hash_is_that_of_the_reference(words):
    shingle = " ".join(words).lower().encode()
    assert shingle_hash(shingle) == reference.shingle_hash(shingle)


def test_a_character_and_its_lower_case_are_both_part_of_a_word_or_both_not():
    """So the kernel need not look up the lower case as well."""
    both = WORD | SPACE
    differ = [c for c in range(N_CODE_POINTS) if (flags_of(c) ^ flags_of(lower_of(c))) & both]
    assert differ == []
    assert flags_of(CAPITAL_I_WITH_DOT) & both == flags_of(ord("i")) & both
    assert flags_of(0x307) & both == 0


@pytest.mark.parametrize("words", WORDS)
@given(st.lists(st.binary(max_size=40), max_size=5))
@example([b"\xff", b"\xf7\xbf\xbf\xbf", b"\xe2\x82", b"\xce\xa3\xce", b"\xc0\xc0\xc1"])
def test_invalid_utf8_is_read_within_its_bounds(words, documents):
    """Arrow does not check what it is given; each document's words are still its own."""
    column = pa.array(documents, pa.large_binary())
    text = pa.Array.from_buffers(pa.large_string(), len(documents), column.buffers())
    alone = [
        pa.Array.from_buffers(pa.large_string(), 1, pa.array([d], pa.large_binary()).buffers())
        for d in documents
    ]
    expected = [shingles(one, words=words).hashes.tolist() for one in alone]
    assert per_document(shingles(text, words=words)) == expected


@given(script_documents, script_documents, st.integers(1, 5))
def test_a_long_document_is_cut_where_its_words_stay_the_same(one, other, n_bytes):
    text = text_buffers(pa.array([f"{one} {other}\n{one}東"]))
    parts = [words_in(part, "scripts") for part in pieces(text, n_bytes)]
    assert list(chain(*chain(*parts))) == list(chain(*words_in(text, "scripts")))


SET_NO_SPACES = st.text(st.sampled_from("東々〇ーァ\u3099กำิທຳខ្ကော"), max_size=20)


@given(SET_NO_SPACES, st.data())
def test_spaces_and_what_nobody_sees_change_nothing_in_such_scripts(text, data):
    between = st.sampled_from(["", " ", "\n", "\u3000", "\u200b", "\u200d", "\ufe00"])
    spaced = "".join(char + data.draw(between) for char in text)
    assert words_of(spaced) == words_of(text)


@given(st.text(st.characters(max_codepoint=0x0DFF, exclude_categories=["Cs"]).filter(known_alike)))
def test_text_without_such_scripts_is_cut_as_ever(text):
    assert words_of(text) == words_of(text, "unicode")
    as_ever, found = (shingles(pa.array([text]), words=words) for words in ("unicode", "scripts"))
    assert found.hashes.tolist() == as_ever.hashes.tolist()


STEMS = ("the", "of", "and", "model", "data")


def random_windows(n):
    rng = np.random.default_rng(5)
    vocabulary = np.array([f"{a}{b}" for a in STEMS for b in range(500)])
    return [" ".join(row) for row in vocabulary[rng.integers(0, len(vocabulary), (n, 5))]]


SIMILAR_TEXTS = {
    "random 5-grams": random_windows,
    "one counter each": lambda n: [f"item {i} of the list" for i in range(n)],
    "running counters": lambda n: [f"{i} {i + 1} {i + 2} {i + 3} {i + 4}" for i in range(n)],
    "one long word each": lambda n: [f"{i:024d}" for i in range(n)],
}


@pytest.mark.long_but("running counters")  # the most alike of all
@pytest.mark.parametrize("make", SIMILAR_TEXTS.values(), ids=SIMILAR_TEXTS)
def test_hashes_of_similar_texts_collide_no_more_often_than_by_chance(make):
    """By all 32 bits, and by the upper and the lower 24, by which 2,700 of 300,000 meet."""
    n = examples(1_000_000, 300_000)
    hashes = shingles(pa.array(make(n))).hashes
    assert len(hashes) == n
    for part, bits in ((hashes, 32), (hashes >> np.uint32(8), 24), (hashes & 0xFFFFFF, 24)):
        expected = n + 2**bits * math.expm1(-n / 2**bits)  # about Poisson, so its own variance
        collisions = n - len(np.unique(part))
        assert abs(collisions - expected) <= 5 * expected**0.5
    ones = np.array(
        [np.count_nonzero(hashes >> np.uint32(bit) & np.uint32(1)) for bit in range(32)]
    )
    assert np.all(np.abs(ones - n / 2) <= 5 * (n / 4) ** 0.5)
