"""What appendix C leaves open of cutting, and the slow twin; the rest is in test_gpt3."""

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference import cut as reference
from tokenmill.dedup.overlap.cut import cut, piece_texts
from tokenmill.dedup.overlap.find import find
from tokenmill.dedup.overlap.index import NgramIndex

LEAK = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips"
    " in May. How many clips"
)
WORDS = LEAK.split()  # 22
ITEM = f"{LEAK} did Natalia sell altogether in April and May?"


def filler(n, seed=0):
    """`n` characters of words that stand in no item."""
    return "".join(f"word{seed}x{i} " for i in range(n // 6 + 1))[:n]


def index_of(*texts, ngram=13):
    return NgramIndex.build(pa.array(texts), np.arange(len(texts)), ngram=ngram)


def cleaned(*docs, index=None, **rules):
    """The texts of the pieces of each document."""
    text = pa.array(docs)
    hits = find(text, index or index_of(ITEM))
    pieces = cut(text, hits.docs, hits.starts, hits.ends, **rules)
    texts = piece_texts(text, pieces).to_pylist()
    return [
        [t for t, d in zip(texts, pieces.docs, strict=True) if d == i] for i in range(len(docs))
    ]


def test_pieces_too_short_to_keep_count_towards_the_10():
    tiny = f" {LEAK} ".join(filler(410, i) for i in range(12))
    (pieces,) = cleaned(f"{filler(5000)} {LEAK} {tiny}")
    assert pieces == []


def test_characters_are_code_points():
    before = "é東🙂 " * 150
    ((piece,),) = cleaned(f"{before}{LEAK}")
    assert piece == before[:-200]
    assert len(piece) == 400


def test_windows_that_touch_are_one_cut_and_others_are_two():
    def n_pieces(gap):
        text = pa.array(["x" * 1000 + "L" * 10 + "y" * gap + "L" * 10 + "z" * 1000])
        spans = np.array([1000, 1010 + gap])
        return cut(text, np.array([0, 0]), spans, spans + 10).n_pieces.tolist()

    assert [n_pieces(gap) for gap in (0, 399, 400, 401)] == [[2], [2], [2], [3]]


def test_pieces_say_where_they_come_from():
    doc = f"{filler(500)} {LEAK} {filler(700)}"
    text = pa.array(["clean", doc]).slice(1)
    hits = find(text, index_of(ITEM))
    pieces = cut(text, hits.docs, hits.starts, hits.ends)
    parts = [doc.encode()[a:b].decode() for a, b in zip(pieces.starts, pieces.ends, strict=True)]
    assert pieces.docs.tolist() == [0, 0]
    assert piece_texts(text, pieces).to_pylist() == parts


@st.composite
def cuttings(draw):
    docs = draw(st.lists(st.text("aé東🙂 ", max_size=40), max_size=4))
    spans = []
    for d, doc in enumerate(docs):
        for _ in range(draw(st.integers(0, 6)) if doc else 0):
            a, b = sorted(draw(st.tuples(*[st.integers(0, len(doc))] * 2)))
            spans.append((d, len(doc[:a].encode()), len(doc[:b].encode())))
    rules = draw(st.tuples(st.integers(0, 4), st.integers(1, 4)))
    return docs, draw(st.permutations(spans)), rules


@given(cuttings())
@example((["aaaa"], [(0, 0, 4)], (0, 1)))
@example((["a" * 9], [(0, 1, 8), (0, 2, 3)], (0, 9)))
def test_pieces_equal_the_reference(given_cutting):
    docs, spans, (window, most) = given_cutting
    spans = [s for s in spans if s[1] < s[2]]
    columns = np.array(spans, np.int64).reshape(-1, 3).T
    got = cut(pa.array(docs, pa.string()), *columns, window_chars=window, most_pieces=most)
    expected = [
        reference.cut(doc, [s[1:] for s in spans if s[0] == d], window, 0, most)
        for d, doc in enumerate(docs)
    ]
    assert got.n_pieces.tolist() == [n for _, n in expected]
    assert list(zip(got.docs.tolist(), got.starts.tolist(), got.ends.tolist(), strict=True)) == [
        (d, *piece) for d, (pieces, _) in enumerate(expected) for piece in pieces
    ]
