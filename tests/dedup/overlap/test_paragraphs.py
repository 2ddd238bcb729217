import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import cut as reference
from tests.reference.overlap import gram_words, hits, item_index
from tokenmill.dedup.overlap import cut
from tokenmill.dedup.overlap.cut import drop_paragraphs
from tokenmill.dedup.overlap.index import NgramIndex

PARTS = ["a", "b", "é ", "\n", "\n\n", " ", "\r\n", "\u3000", "\x85"]
ITEM = " ".join(f"i{n}" for n in range(40))


def index_of(*texts, ngram=13):
    return NgramIndex.build(pa.array(texts), np.arange(len(texts)), ngram=ngram)


def words(n, of="i"):
    return " ".join(f"{of}{k}" for k in range(n))


@pytest.mark.parametrize(
    ("paragraph", "stays"),
    [
        (words(13), False),
        (words(12), True),
        (f"{words(14)} {words(2, 'x')}", False),  # 2 of 4 windows
        (f"{words(14)} {words(3, 'x')}", True),  # 2 of 5
        (words(40, "x"), True),
    ],
)
def test_a_paragraph_of_13_words_goes_with_half_of_its_windows(paragraph, stays):
    doc = f"before\n\n{paragraph}\n\nbehind"
    got = drop_paragraphs(pa.array([doc]), index_of(ITEM))
    assert got.text.to_pylist() == [doc if stays else "before\n\nbehind"]
    cut_out = [doc[a:b] for a, b in zip(got.starts, got.ends, strict=True)]
    assert cut_out == ([] if stays else [paragraph])


@pytest.mark.parametrize(
    "blank", ["\n\n", "\r\n\r\n", "\n \n", "\n\t\u00a0\n", "\n\n\n", "\n\u2029\n", "  \n\r\n  "]
)
def test_a_blank_line_may_have_white_space_and_what_stays_keeps_its_bytes(blank):
    docs = [f"é{blank}{words(20)}{blank}two\r\nlines", f"é{blank}{words(20)}", f"é{blank}two\n\n"]
    got = drop_paragraphs(pa.array(["skipped", *docs]).slice(1), index_of(ITEM))
    before = f"é{blank.partition(chr(10))[0]}"
    assert got.text.to_pylist() == [f"é{blank}two\r\nlines", before, docs[2]]
    assert got.docs.tolist() == [0, 1]
    spans = zip(got.docs, got.starts, got.ends, strict=True)
    assert [docs[d].encode()[a:b].decode().strip() for d, a, b in spans] == [words(20)] * 2


def test_windows_across_paragraphs_do_not_count_and_nothing_may_be_left():
    across = f"{words(20)[:30]}\n\n{words(20)[31:]}"
    got = drop_paragraphs(pa.array([across, ITEM, ""]), index_of(ITEM))
    assert got.text.to_pylist() == [across, "", ""]
    assert got.docs.tolist() == [1]


def test_ignored_n_grams_drop_no_paragraph():
    index = index_of(ITEM)
    got = drop_paragraphs(pa.array([ITEM]), index, np.ones(len(index.hashes), bool))
    assert got.text.to_pylist() == [ITEM]


@given(
    st.lists(st.lists(st.sampled_from(PARTS), max_size=25)),
    st.lists(st.lists(st.sampled_from("abé"), min_size=1, max_size=5), min_size=1, max_size=3),
    st.integers(1, 3),
    st.sampled_from([0.3, 0.5, 1.0]),
)
def test_paragraphs_equal_the_reference(docs, items, ngram, frac):
    docs, items = ["".join(d) for d in docs], [" ".join(i) for i in items]
    grams = item_index(items, range(len(items)), ngram)
    n_words = 2

    def is_gone(paragraph):
        windows = len(gram_words(paragraph)) - ngram + 1
        found = len(hits([paragraph], grams))
        return len(gram_words(paragraph)) >= n_words and found > 0 and found >= frac * windows

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cut, "LEAST_WORDS", n_words)
        patched.setattr(cut, "LEAST_FRAC", frac)
        got = drop_paragraphs(pa.array(docs, pa.string()), index_of(*items, ngram=ngram))
    expected = [reference.drop_paragraphs(d, is_gone) for d in docs]
    assert got.text.to_pylist() == [left for left, _ in expected]
    cut_out = [
        docs[d].encode()[a:b].decode()
        for d, a, b in zip(got.docs, got.starts, got.ends, strict=True)
    ]
    assert cut_out == [p for _, gone in expected for p in gone]
