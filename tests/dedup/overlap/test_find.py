import random
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dedup.strategies import set_block_bytes
from tests.reference import overlap as reference
from tests.strategies import text_columns
from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.kernels.overlap import CHUNK, merge_spans
from tokenmill.dedup.overlap import find as overlap
from tokenmill.dedup.overlap.find import find, overlaps
from tokenmill.dedup.overlap.index import NgramIndex

words = st.sampled_from(
    ["a", "B", "c,", "“D”", "é", "É", "Σ", "ς", "İ", "--", "x\u0301", "東京", "Ж", "1"]
)
spaces = st.sampled_from([" ", "\n", "\u00a0", "\r\n", "\x1c", " -- ", "\u3000"])
LEAK = "Natalia sold clips to 48 of her friends in April, then she sold"  # 13 words
CLEAN = " ".join(f"w{i}" for i in range(2000))


@st.composite
def sentences(draw, max_words=30):
    return "".join(w + draw(spaces) for w in draw(st.lists(words, max_size=max_words)))


@st.composite
def corpora(draw):
    """Documents with items planted in them, in other capitals and punctuation, and the items."""
    texts = draw(st.lists(sentences(), min_size=1, max_size=6))
    ids = draw(st.lists(st.integers(0, 3), min_size=len(texts), max_size=len(texts)))
    planted = st.sampled_from(texts).map(lambda t: t.upper().replace("C,", "c!\n"))
    parts = st.one_of(sentences(), planted, st.sampled_from(texts))
    docs = draw(text_columns(st.lists(parts, max_size=4).map(" ".join), max_docs=4))
    return docs, texts, ids, draw(st.integers(1, 14))


def index_of(texts, ids=None, ngram=13, least=8):
    return NgramIndex.build(
        pa.array(texts, pa.string()),
        np.arange(len(texts)) if ids is None else np.array(ids),
        ngram=ngram,
        least=least,
    )


def scan(docs, index):
    return overlaps(find(docs, index), index)


def windows_of(docs, index):
    """How many windows of each document are n-grams of the index."""
    return np.bincount(find(docs, index).docs, minlength=len(docs)).tolist()


def spans_of(overlaps):
    return list(zip(*(column.tolist() for column in overlaps[:5]), strict=True))


@given(corpora())
@example((pa.array(["É x Σ Ж\u00a0İ Ⴀ 𐐀"]), ["é", "ς", "ж", "i", "ⴀ", "𐐨"], list(range(6)), 1))
@example((pa.array([LEAK, "x " + LEAK.upper()]), [LEAK, LEAK], [5, 2], 13))
def test_spans_equal_the_reference(corpus):
    docs, texts, ids, ngram = corpus
    index = index_of(texts, ids, ngram)
    spans = reference.overlaps(docs.to_pylist(), texts, ids, ngram)
    assert spans_of(scan(docs, index)) == spans


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 9), st.integers(1, 4)),
        max_size=12,
    )
)
@example([(0, 0, 0, 4), (0, 0, 1, 1), (0, 0, 3, 1)])  # one lies inside of another
def test_hits_of_a_document_and_item_are_joined_where_they_share_a_place(drawn):
    hits = sorted((doc, item, start, start + n) for doc, item, start, n in drawn)
    joined = []
    for doc, item, start, end in hits:
        alike = [
            s for s in joined if s[:2] == [doc, item] and {*range(*s[2:4])} & {*range(start, end)}
        ]
        joined = [s for s in joined if s not in alike]
        ranges = [(start, end), *((s[2], s[3]) for s in alike)]
        n = 1 + sum(s[4] for s in alike)
        joined.append([doc, item, min(a for a, _ in ranges), max(b for _, b in ranges), n])
    spans = np.empty((len(hits), 5), np.int64)
    n = merge_spans(read_only(np.array(hits, np.int64).reshape(-1, 4)), spans)
    assert spans[:n].tolist() == sorted(joined)


def passages(seed):
    """Documents and items that have passages in common, some in part; an index of 2-grams."""
    draw = random.Random(seed)
    known = [" ".join(draw.choices("abcdefgh", k=draw.randrange(2, 9))) for _ in range(3)]
    texts = [" ".join(draw.choices([*known, "x"], k=2)) for _ in range(4)]
    docs = [" ".join(draw.choices([*known, "x y"], k=draw.randrange(9))) for _ in range(3)]
    ids = draw.choices(range(3), k=4)
    return docs, texts, ids, index_of(texts, ids, 2, least=2)


@given(st.integers(0, 1 << 32), st.integers(1, 40))
def test_spans_joined_in_parts_are_the_same(seed, most_pairs):
    docs, texts, ids, index = passages(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "MOST_PAIRS", most_pairs)
        got = scan(pa.array(docs), index)
    assert spans_of(got) == reference.overlaps(docs, texts, ids, 2, 2)


@given(st.integers(0, 1 << 32))
def test_marks_of_a_span_are_those_of_its_windows(seed):
    docs, _, _, index = passages(seed)
    hits = find(pa.array(docs), index)
    marks = np.random.default_rng(seed).choice([1, 2, 4, 8, 128], len(hits.docs)).astype(np.uint8)
    got = overlaps(hits, index, marks=marks)
    for doc, item, start, end, mark in zip(*got[:4], got.marks, strict=True):
        inside = (hits.docs == doc) & (hits.starts >= start) & (hits.ends <= end)
        of_item = [h for h in np.flatnonzero(inside) if item in items_of(index, hits.grams[h])]
        assert np.bitwise_or.reduce(marks[of_item]) == mark


def items_of(index, gram):
    return index.items[index.item_offsets[gram] : index.item_offsets[gram + 1]]


@given(st.integers(0, 1 << 32))
def test_n_grams_are_alike_if_the_same_items_have_them(seed):
    index = passages(seed)[-1]
    grams = np.repeat(np.arange(len(index.hashes))[::-1], 2)
    of = [items_of(index, gram).tolist() for gram in grams]
    expected = [min(g for g, same in zip(grams, of, strict=True) if same == own) for own in of]
    assert index.alike(grams).tolist() == expected


def test_a_passage_of_many_items_takes_the_memory_of_its_spans():
    """A row for each hit and item, 48 times as many, would take 200 MB and more."""
    passage = " ".join(f"p{i}" for i in range(60))
    index = index_of([f"{passage} {i}" for i in range(300)])
    hits = find(pa.array([f"{passage} " * 300]), index)
    tracemalloc.start()
    spans = overlaps(hits, index)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(spans.docs) == 300 * 300
    assert spans.ngrams.tolist() == [48] * len(spans.docs)
    assert peak < 300 * 300 * 500


@st.composite
def mixed(draw):
    """A corpus whose texts have each its own n-gram and least length."""
    docs, texts, ids, _ = draw(corpora())
    size = {"min_size": len(texts), "max_size": len(texts)}
    ngrams, least = (draw(st.lists(st.integers(lowest, 20), **size)) for lowest in (1, 0))
    return docs, texts, ids, ngrams, least


def gram_ids(texts, ids, ngrams, least, index):
    """The reference's n-grams, by their number in the index, as far as a text shows them."""
    known = {}
    for text in texts:
        words = [w.text for w in reference.gram_words(text)]
        hits = find(pa.array([text]), index)
        for gram, first, last in zip(hits.grams, hits.firsts, hits.lasts, strict=True):
            known[tuple(words[first : last + 1])] = int(gram)
    assert known.keys() == reference.item_index(texts, ids, ngrams, least).keys()
    return known


@given(mixed(), st.sampled_from([16, 1 << 18]))
@example((pa.array([LEAK, f"x {LEAK}"]), [LEAK, LEAK], [0, 1], [8, 13], [8, 8]), 16)
@example((pa.array([LEAK, f"x {LEAK}"]), [LEAK, LEAK], [0, 1], [8, 13], [8, 0]), 1 << 18)
def test_hits_of_texts_with_n_grams_of_their_own_equal_the_reference(corpus, block_bytes):
    docs, texts, ids, ngrams, least = corpus
    with pytest.MonkeyPatch.context() as patch:
        set_block_bytes(patch, block_bytes)
        patch.setattr(overlap, "FIRST_HITS", 1)
        index = index_of(texts, ids, np.array(ngrams), np.array(least))
        got = find(docs, index)
        known = gram_ids(texts, ids, ngrams, least, index)
    grams = reference.item_index(texts, ids, ngrams, least)
    expected = reference.hits(docs.to_pylist(), grams)
    assert got.n_docs == len(docs)
    assert sorted(zip(*(column.tolist() for column in got[1:]), strict=True)) == sorted(
        (doc, known[gram], *place) for doc, gram, *place in expected
    )
    assert np.all(np.diff(got.docs * 1000 + got.lasts) >= 0)


@given(mixed(), st.randoms(use_true_random=False))
def test_ignored_n_grams_count_for_nothing(corpus, draw):
    docs, texts, ids, ngrams, least = corpus
    index = index_of(texts, ids, np.array(ngrams), np.array(least))
    known = gram_ids(texts, ids, ngrams, least, index)
    ignored = {gram for gram in known if draw.random() < 0.5}
    mask = np.zeros(len(index.hashes), bool)
    mask[[known[gram] for gram in ignored]] = True
    hits = find(docs, index)
    got = overlaps(hits.only(~mask[hits.grams]), index)
    spans = reference.overlaps(docs.to_pylist(), texts, ids, ngrams, least, ignored)
    assert spans_of(got) == spans


@pytest.mark.parametrize("ngram", [1, 2, 7, 8, 13, 14])
def test_a_full_block_loses_and_doubles_no_window(ngram, monkeypatch):
    set_block_bytes(monkeypatch, 64)
    monkeypatch.setattr(overlap, "FIRST_HITS", 1)
    some = [f"w{i}" for i in range(100)]
    text = " ".join(some)
    docs, index = pa.array([text]), index_of([text], ngram=ngram)
    got = scan(docs, index)
    assert windows_of(docs, index) == [101 - ngram]
    assert set(zip(got.starts.tolist(), got.ends.tolist(), strict=True)) == (
        {(0, len(text))} if ngram > 1 else {(w.start, w.end) for w in reference.gram_words(text)}
    )
    nines = [" ".join(some[i : i + 9]) for i in range(92)]
    assert windows_of(docs, index_of(nines, ngram=ngram)) == [92 if ngram > 9 else 101 - ngram]


def test_no_window_is_lost_where_chunks_of_minimizers_meet():
    index, some = index_of([LEAK]), CLEAN.split()
    for before in range(CHUNK - 14, CHUNK + 14):
        text = " ".join([*some[:before], LEAK, *some[before:]])
        assert windows_of(pa.array([text]), index) == [1]


@given(text_columns())
def test_words_end_where_the_reference_says(docs):
    texts = [t for t in docs.to_pylist() if reference.gram_words(t)]
    got = scan(docs, index_of(texts, ngram=1))
    assert spans_of(got) == reference.overlaps(docs.to_pylist(), texts, range(len(texts)), 1)


@pytest.mark.parametrize(
    "text",
    [
        "\U0001d400\u0345",
        "\U0010ffff",
        "\U0001f642 ok",
        "a\u2019b",
        "$1,000 | ^x^",
        "\u0130I\u0131",
        "\x00\x01",
    ],
)
def test_every_plane_of_unicode_is_read_like_the_reference(text):
    got = scan(pa.array([text]), index_of([text], ngram=1))
    assert spans_of(got) == reference.overlaps([text], [text], [0], 1)


def test_thirteen_words_are_a_leak_and_twelve_are_not():
    index = index_of([f"before this {LEAK} half as many clips in May"])
    words = LEAK.split()
    thirteen, twelve = f"{CLEAN} {LEAK} {CLEAN}", f"{CLEAN} {' '.join(words[:12])} {CLEAN}"
    docs = pa.array([thirteen, twelve])
    got = scan(docs, index)
    assert got.docs.tolist() == [0]
    assert windows_of(docs, index) == [1, 0]
    assert thirteen.encode()[got.starts[0] : got.ends[0]].decode() == LEAK


def test_a_clean_document_passes():
    docs, index = pa.array([CLEAN]), index_of([LEAK, "some other item " * 20])
    assert len(find(docs, index).docs) == 0
    assert len(scan(docs, index).docs) == 0


def test_case_punctuation_and_line_breaks_do_not_hide_a_leak():
    hidden = '"NATALIA" (sold)\nclips — to $48 of\u00a0her friends; in **April**, then:\tshe sold.'
    got = scan(pa.array([hidden]), index_of([LEAK]))
    found = hidden.encode()[got.starts[0] : got.ends[0]].decode()
    assert found == hidden[1:-1]


def test_a_shared_ngram_names_every_item():
    docs = pa.array([LEAK])
    index = index_of([f"one {LEAK}", f"{LEAK} two", "no such thing"], [7, 3, 5])
    assert spans_of(scan(docs, index)) == [(0, 3, 0, len(LEAK), 1), (0, 7, 0, len(LEAK), 1)]
    assert windows_of(docs, index) == [1]


def test_an_item_shorter_than_the_ngram_is_matched_whole_or_not_at_all():
    nine, seven = "one two three four five six seven eight nine", "a b c d e f g"
    index = index_of([nine, seven, seven, nine], [0, 1, 2, 2])
    got = scan(pa.array([f"zero {nine} ten", f"zero {nine[4:]}", seven]), index)
    assert spans_of(got) == [(0, 0, 5, 49, 1), (0, 2, 5, 49, 1)]


def test_spans_that_share_no_word_stay_apart():
    got = scan(pa.array(["a b c d x a b c"]), index_of(["a b c d"], ngram=2))
    assert spans_of(got) == [(0, 0, 0, 7, 3), (0, 0, 10, 15, 2)]


def test_a_saved_index_of_several_n_finds_the_same_and_refuses_others(tmp_path):
    index = index_of([LEAK, CLEAN], ngram=np.array([8, 11]))
    index.save(tmp_path / "index.arrow")
    loaded = NgramIndex.load(tmp_path / "index.arrow", ngrams=(8, 11), words="scripts")
    assert (index.ngrams, loaded.ngrams) == ((8, 11), (8, 11))
    docs = pa.array([f"{LEAK} {CLEAN}"])
    assert spans_of(scan(docs, loaded)) == spans_of(scan(docs, index))
    with pytest.raises(ValueError, match="of ngram '8,11', this run needs '8'"):
        NgramIndex.load(tmp_path / "index.arrow", ngrams=(8,), words="scripts")


def test_a_document_longer_than_a_block_is_searched_in_parts(monkeypatch):
    set_block_bytes(monkeypatch, 100)
    text = f"é {CLEAN} x {LEAK.upper()} {CLEAN} {'y' * 500} {LEAK}"
    index = index_of([LEAK, f"{LEAK} {CLEAN}"])
    assert spans_of(scan(pa.array(["a", text, LEAK]), index)) == reference.overlaps(
        ["a", text, LEAK], [LEAK, f"{LEAK} {CLEAN}"], [0, 1], 13
    )


def test_no_items_and_no_documents():
    empty = index_of([])
    assert len(scan(pa.array(["a b c"]), empty).docs) == 0
    assert len(scan(pa.array([], pa.string()), index_of([LEAK])).docs) == 0


def test_a_saved_index_finds_the_same(tmp_path):
    index = index_of([LEAK, "one two three four five six seven eight", "short"])
    index.save(tmp_path / "index.arrow")
    loaded = NgramIndex.load(tmp_path / "index.arrow", ngrams=(13,), words="scripts")
    docs = pa.array([LEAK, "one two three four five six seven eight", CLEAN])
    assert spans_of(scan(docs, loaded)) == spans_of(scan(docs, index)) != []


def test_an_index_of_other_parameters_is_refused(tmp_path):
    path = tmp_path / "index.arrow"
    index_of([LEAK]).save(path)
    with pytest.raises(ValueError, match="n-gram index of ngram '13', this run needs '8'") as e:
        NgramIndex.load(path, ngrams=(8,), words="scripts")
    assert str(e.value) == (
        f"{path}: n-gram index of ngram '13', this run needs '8'; delete it and build it again"
    )


def test_a_broken_index_is_refused(tmp_path):
    path = tmp_path / "index.arrow"
    index_of([LEAK]).save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="not a saved n-gram index"):
        NgramIndex.load(path, ngrams=(13,), words="scripts")


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="ngram must be 1 to 256 words, got 0"):
        index_of([LEAK], ngram=0)
    with pytest.raises(ValueError, match="2 item ids for 1 item texts"):
        index_of([LEAK], [1, 2])
