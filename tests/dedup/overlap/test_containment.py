import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dedup.strategies import set_block_bytes
from tests.reference import containment as reference
from tokenmill.dedup.overlap import containment
from tokenmill.dedup.overlap import containment_index as seeds
from tokenmill.dedup.overlap.containment import contained
from tokenmill.dedup.overlap.containment_index import ContainmentIndex
from tokenmill.dedup.text.gram_words import blocks

COMMON = "the of and to in is it was for on as with he by at from his an were are which this"
RARE = [
    "É",
    "“d”",
    "Σ",
    "ς",
    "İ",
    "Ж京",
    "x\u0301",
    "1",
    "48",
    "3.5",
    "--",
    "Ж",
    "a_b",
    "it\u2019s",
]
LONG = ["представляющее", "accountable", "Größenordnung", "of/the"]
WORDS = COMMON.split() + LONG + RARE
LEAK = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in"
    " May. How many clips did Natalia sell altogether in April and May?"
)
OTHER = "nothing of what stands here has anything to do with what the item asks about, it seems"


@st.composite
def texts(draw, lengths=(0, 7, 8, 9, 10, 12, 14, 16, 31, 32, 70)):
    """Words drawn by a seed, so that a long text is one draw."""
    chosen = random.Random(draw(st.integers(0, 9)))
    vocabulary = WORDS[-draw(st.sampled_from([4, 9, 18, 34])) :]
    return " ".join(chosen.choices(vocabulary, k=draw(st.sampled_from(lengths))))


@st.composite
def corpora(draw):
    """Documents with edited items in them, item texts, items and their benchmarks."""
    of_items = draw(st.lists(texts(), min_size=1, max_size=5))
    items = draw(st.lists(st.integers(0, 5), min_size=len(of_items), max_size=len(of_items)))
    copies = st.tuples(st.sampled_from(of_items), st.integers(0, 99), st.integers(2, 12))
    parts = st.one_of(copies.map(lambda c: edited(*c)), texts((0, 1, 5, 20)))
    docs = draw(st.lists(st.lists(parts, max_size=3).map(" \n".join), min_size=1, max_size=4))
    kind = draw(st.sampled_from([pa.string(), pa.large_string()]))
    starts = draw(st.sampled_from([[0, 6], [0, 2, 3, 6]]))
    return pa.array(["left out", *docs], kind).slice(1), of_items, items, starts


def edited(text, seed, every):
    """The text with one word of every begun `every` replaced, and some dropped or put in."""
    draw = random.Random(seed)
    words = text.split()
    for start in range(0, len(words), every):
        words[min(start + draw.randrange(every), len(words) - 1)] = draw.choice(WORDS)
    if words and seed % 3 == 0:
        words.insert(draw.randrange(len(words)), "new")
    if words and seed % 5 == 0:
        del words[draw.randrange(len(words))]
    return " ".join(words)


def index_of(texts, items=None, starts=(0,), n_items=None, contexts=()):
    items = list(range(len(texts))) if items is None else items
    return ContainmentIndex.build(
        pa.array(texts, pa.string()),
        np.array(items, np.int64),
        benchmark_starts=np.array(starts),
        n_items=max(items, default=-1) + 1 if n_items is None else n_items,
        contexts=np.isin(np.arange(len(texts)), list(contexts)),
    )


def left_out(index):
    """Items none of whose texts can be found."""
    return np.setdiff1d(index.items, index.items[index.grams > 0]).tolist()


def rows(found):
    columns = found.docs, found.items, found.texts, found.starts, found.ends, found.containment
    return list(zip(*(column.tolist() for column in columns), strict=True))


thresholds = st.sampled_from([0.05, 0.3, 0.5, 0.6, 2 / 3, 0.7, 1.0])


limits = st.sampled_from([(1, 64), (2, 64), (10, 64), (10, 1), (10, 2)])  # items, texts of a seed


some_contexts = st.one_of(st.just(set()), st.sets(st.integers(0, 4)))


@given(corpora(), thresholds, thresholds, limits, st.sampled_from([16, 1 << 18]), some_contexts)
@example(
    (pa.array([LEAK, f"x {LEAK.upper()}"]), [LEAK, LEAK], [5, 2], [0, 6]),
    *(1.0, 1.0, (10, 64), 16, set()),
)
@example(  # a passage with a question that is like it, alone, and the question alone
    (pa.array([f"{OTHER} {LEAK}", OTHER, LEAK]), [OTHER, f"{OTHER}\n{LEAK}"], [0, 0], [0, 1]),
    *(0.3, 0.3, (10, 64), 16, {0}),
)
@example(  # of the question less than of the passage
    (pa.array([f"{OTHER}\n{edited(LEAK, 1, 3)}"]), [OTHER, f"{OTHER}\n{LEAK}"], [0, 0], [0, 1]),
    *(0.3, 0.3, (10, 64), 16, {0}),
)
def test_containments_equal_the_reference(corpus, threshold, short, limits, block_bytes, contexts):
    docs, of_items, items, starts = corpus
    most_items, most_texts = limits
    with pytest.MonkeyPatch.context() as patch:
        set_block_bytes(patch, block_bytes)
        patch.setattr(containment, "FIRST_HITS", 1)
        patch.setattr(seeds, "MOST_ITEMS", most_items)
        patch.setattr(seeds, "MOST_TEXTS", most_texts)
        contexts = {t for t in contexts if t < len(of_items)}
        index = index_of(of_items, items, starts[:-1], starts[-1], contexts)
        got = contained(docs, index, threshold=threshold, short_threshold=short)
    expected = reference.contained(
        docs.to_pylist(),
        of_items,
        items,
        starts,
        threshold=threshold,
        short_threshold=short,
        most_items=most_items,
        most_texts=most_texts,
        contexts=contexts,
    )
    assert rows(got) == expected
    assert got.n_docs == len(docs)
    grams, _ = reference.indexed(of_items, items, starts, most_items, most_texts)
    assert left_out(index) == sorted(set(items) - {items[t] for t in grams})


@given(corpora(), st.integers(0, 4))
def test_neither_the_batch_nor_the_order_of_documents_matters(corpus, cut):
    docs, of_items, items, starts = corpus
    index = index_of(of_items, items, starts[:-1], starts[-1])
    whole = rows(contained(docs, index, threshold=0.2, short_threshold=0.2))
    parts = [docs.slice(0, min(cut, len(docs))), docs.slice(min(cut, len(docs)))]
    first, second = (
        rows(contained(part, index, threshold=0.2, short_threshold=0.2)) for part in parts
    )
    assert whole == first + [(doc + len(parts[0]), *row) for doc, *row in second]
    backwards = docs.take(pa.array(range(len(docs))[::-1], pa.int64()))
    turned = rows(contained(backwards, index, threshold=0.2, short_threshold=0.2))
    assert whole == sorted((len(docs) - 1 - doc, *row) for doc, *row in turned)


def test_one_word_in_ten_replaced_is_found_where_it_stands():
    copy = LEAK.replace("clips to", "spoons to").replace("she", "Bo")
    doc = f"é {OTHER} {copy} {OTHER}"
    (found,) = rows(contained(pa.array([OTHER, doc]), index_of([OTHER * 2, LEAK])))[-1:]
    doc_row, item, text, start, end, containment = found
    assert (doc_row, item, text) == (1, 1, 1)
    assert doc.encode()[start:end].decode() == copy.removesuffix("?")
    assert containment == pytest.approx(23 / 27)


def test_words_put_in_and_left_out_do_not_hide_a_copy():
    words = LEAK.split()
    more = " ".join(
        word for i, w in enumerate(words) for word in ((w, "er") if i % 8 == 4 else (w,))
    )
    fewer = " ".join(w for i, w in enumerate(words) if i % 8 != 4)
    got = contained(pa.array([more, fewer]), index_of([LEAK]))
    assert got.docs.tolist() == [0, 1]


def test_words_in_place_are_counted_where_few_pairs_are_left():
    """Every third replaced, 8 of 19 pairs are left, but 14 of 20 words stand where they stood."""
    item = [chr(97 + i) * 3 for i in range(20)]
    copy = [f"{i}" if i >= 4 and i % 3 == 1 else word for i, word in enumerate(item)]
    moved = [*copy[10:], *copy[:10]]
    docs = pa.array([f"{OTHER} {' '.join(words)} {OTHER}" for words in (copy, moved)])
    (found,) = rows(contained(docs, index_of([" ".join(item)])))
    assert found[:3] == (0, 0, 0)
    assert found[-1] == pytest.approx(14 / 20 - 0.1)
    put_in = pa.array([" ".join([*copy[:8], "z", *copy[8:]])])
    (one_more,) = rows(contained(put_in, index_of([" ".join(item)])))
    assert one_more[-1] == pytest.approx((2 * 14 - 1) / 40 - 0.1)


def test_punctuation_that_joins_words_hides_none_of_them():
    code = "fold(max_so_far,x[i-1])+peak_of(rows[j].left,rows[j].right)*scale"
    copy = code.replace("x[", "y[").replace("left", "top").replace("scale", "one")
    ((*_, containment),) = rows(contained(pa.array([f"{OTHER} {copy} {OTHER}"]), index_of([code])))
    assert containment == pytest.approx(13 / 16 - 0.1)


def test_three_long_words_are_enough_to_begin_with():
    """Five words of twenty have a typo, and no four in a row are left."""
    item = [f"verlängerte{i}" for i in range(20)]
    copy = [word.replace("ä", "a") if i % 4 == 3 else word for i, word in enumerate(item)]
    short = [word.replace("verlängerte", "lang") for word in item]
    few = [word.replace("lang", "kurz") if i % 4 == 3 else word for i, word in enumerate(short)]
    docs = pa.array([" ".join(copy), " ".join(few)])
    ((doc, *_, containment),) = rows(contained(docs, index_of([" ".join(item), " ".join(short)])))
    assert (doc, containment) == (0, pytest.approx(15 / 20 - 0.1))


@pytest.mark.parametrize(
    ("n_words", "last", "is_found"),
    [(15, "ж", False), (16, "ж", True), (16, "", False), (63, "ж", True), (64, "ж", False)],
)
def test_three_words_of_eighteen_letters_are_a_seed_of_texts_of_sixteen_words_to_63(
    n_words, last, is_found
):
    item = [f"дом{chr(0x3B1 + i % 17)}{chr(0x561 + i % 23)}" for i in range(n_words)]
    item = [word + (last if i % 3 else "жж") for i, word in enumerate(item)]
    docs = [" ".join(item[i : i + 3]) for i in range(6)]
    low = {"threshold": 0.01, "short_threshold": 0.01}
    got = rows(contained(pa.array(docs), index_of([" ".join(item)]), **low))
    assert [row[0] for row in got] == list(range(6)) * is_found
    assert got == reference.contained(docs, [" ".join(item)], [0], [0, 1], **low)


def test_letters_in_place_are_counted_where_typos_leave_few_words():
    item = "verschiedene Betriebsanleitungen enthalten zusammenfassende Erklärungen wesentlicher"
    item = f"{item} Bedienelemente sowie ausführliche Hinweise darauf welche Verbrauchsstoffe"
    item = f"{item} regelmäßig nachgefüllt oder ersetzt werden"
    copy = "verschiedene Betriebsanleitungen enthalten zusamenfassende Erklarungen wesentlichor"
    copy = f"{copy} Bedienelementte sowie ausführliche Hinwise dareuf welche Verbrauchstoffe"
    copy = f"{copy} regelmässig nachgefullt oder ersetzt werdn"
    low = {"threshold": 0.05, "short_threshold": 0.05}
    docs, index = pa.array([f"{OTHER} {copy} {OTHER}"]), index_of([item])
    ((*_, by_words),) = rows(contained(docs, index, **low))
    ((*_, containment),) = rows(contained(docs, index))
    assert by_words < 0.45 < 0.8 < containment
    assert rows(contained(docs, index)) == reference.contained(
        docs.to_pylist(), [item], [0], [0, 1], threshold=0.45, short_threshold=0.8
    )


@pytest.mark.parametrize("letters", [1024, 1025])
def test_of_texts_of_very_many_letters_words_alone_count(letters):
    item = [f"{'ab' * 30}{i}" for i in range(16)]
    item[0] += "x" * (letters - len("".join(item)))
    copy = [word if i in (1, 2, 3, 7, 8, 9, 12, 13) else f"y{word}" for i, word in enumerate(item)]
    got = contained(pa.array([" ".join(copy)]), index_of([" ".join(item)]), threshold=0.45)
    assert len(got.docs) == (letters == 1024)


def test_the_words_of_an_item_in_another_order_are_no_copy():
    shuffled = " ".join(random.Random(1).sample(LEAK.split(), len(LEAK.split())))
    assert rows(contained(pa.array([shuffled, OTHER]), index_of([LEAK]))) == []


def test_parts_of_an_item_far_apart_are_no_copy():
    words = LEAK.split()
    apart = f" {OTHER} ".join(" ".join(words[i : i + 7]) for i in range(0, len(words), 7))
    assert rows(contained(pa.array([apart]), index_of([LEAK]))) == []


def test_a_prompt_that_many_items_share_is_not_found_for_them():
    asked = (
        "Please choose the correct answer to the question and give only its number, not its text"
    )
    tails = [" ".join(f"w{i}x{k}" for k in range(14)) for i in range(20)]
    index = index_of([f"{asked} {tail}" for tail in tails])
    docs = pa.array([asked, f"{asked} {tails[7]}", tails[3]])
    got = rows(contained(docs, index))
    assert [(doc, item, containment) for doc, item, *_, containment in got] == [
        (1, 7, 1.0),
        (2, 3, pytest.approx(13 / 14)),
    ]


@pytest.mark.parametrize(("sharing", "is_seed"), [(64, True), (65, False)])
def test_a_phrase_of_many_texts_is_no_seed_however_many_items_there_are(sharing, is_seed):
    """Each document with the phrase would be compared with every one of them."""
    phrase = "which of the following statements is true"
    items = [" ".join(f"w{i}x{k}" for k in range(16)) for i in range(7000)]
    index = index_of([f"{phrase} {item}" if i < sharing else item for i, item in enumerate(items)])
    n_texts = np.diff(index.seed_offsets)
    assert n_texts[n_texts > 1].tolist() == [sharing] * 7 * is_seed  # 5 of four words, 2 of three
    docs = pa.array([f"{phrase} {items[3]}", f"{phrase} of all"])
    assert [row[:2] for row in rows(contained(docs, index))] == [(0, 3)]


def test_numbers_are_no_seeds():
    counting = " ".join(map(str, range(1, 20)))
    index = index_of([counting, f"count with me now: {counting}"])
    assert left_out(index) == [0]
    assert rows(contained(pa.array([counting]), index)) == []


def test_short_texts_are_left_out_and_their_items_named():
    seven, eight = "a b c d e f g", "a b c d e f g h"
    index = index_of([seven, eight, seven, "", "h h h h h h h h h"], [0, 1, 1, 2, 3])
    assert left_out(index) == [0, 2, 3]
    assert [row[1:3] for row in rows(contained(pa.array([f"x {eight}"]), index))] == [(1, 1)]


@pytest.mark.parametrize("n_words", [8, 16])
def test_a_gap_in_a_copy_is_as_the_reference_sees_it(n_words):
    words = [f"w{i}" for i in range(n_words)]
    docs = [
        " ".join([*words[begin:k], *[filler] * gap, *words[k:], *more])
        for begin, more in ((0, words[2:6]), (1, "yyy"))
        for k in range(begin + 1, n_words)
        for gap in range(n_words * 2)
        for filler in ("x", words[0])
    ]
    low = {"threshold": 0.05, "short_threshold": 0.05}
    got = contained(pa.array(docs), index_of([" ".join(words)]), **low)
    assert rows(got) == reference.contained(docs, [" ".join(words)], [0], [0, 1], **low) != []


def test_a_document_full_of_one_seed_takes_no_longer_than_it_is():
    """Work of the square of its words would take hours."""
    texts = [f"x{i} a b c d e f g h {'clips ' * 80}" for i in range(10)]
    index = index_of(texts)
    assert left_out(index) == []
    assert rows(contained(pa.array(["clips " * 500_000]), index)) == []
    found = contained(pa.array(["clips " * 500_000 + texts[3]]), index)
    assert found.texts[found.containment == 1].tolist() == [3]


@pytest.mark.parametrize("block_bytes", [1, 10, 40, 100])
def test_blocks_hold_whole_documents(block_bytes, monkeypatch):
    docs = pa.array(
        ["one two", LEAK, "", LEAK.upper(), "é " * 30, "--", "two", "three four", "5 6 7 8 9"]
    )
    (expected,) = blocks(docs, longest=None)
    set_block_bytes(monkeypatch, block_bytes)
    made = [
        (block.doc + d, block.hashes[first:end].tolist(), block.stops[first:end].tolist())
        for block in blocks(docs, longest=None)
        for d, (first, end) in enumerate(pairwise(block.doc_words.tolist()))
    ]
    assert made == [
        (d, expected.hashes[first:end].tolist(), expected.stops[first:end].tolist())
        for d, (first, end) in enumerate(pairwise(expected.doc_words.tolist()))
    ]


def test_a_saved_index_finds_the_same(tmp_path):
    index = index_of([LEAK, "short"])
    index.save(tmp_path / "index.arrow")
    loaded = ContainmentIndex.load(tmp_path / "index.arrow", gram_words="scripts")
    docs = pa.array([edited(LEAK, 1, 10), OTHER])
    assert rows(contained(docs, loaded)) == rows(contained(docs, index)) != []
    assert left_out(loaded) == [1]


def test_an_index_of_other_parameters_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "index.arrow"
    with monkeypatch.context() as patch:
        patch.setattr("tokenmill.dedup.overlap.containment_index.UNICODE_VERSION", "13.0.0")
        index_of([LEAK]).save(path)
    with pytest.raises(ValueError, match="containment index of unicode") as e:
        ContainmentIndex.load(path, gram_words="scripts")
    assert str(e.value) == (
        f"{path}: containment index of unicode '13.0.0', this run needs '14.0.0';"
        " delete it and build it again"
    )


def test_a_broken_index_is_refused(tmp_path):
    path = tmp_path / "index.arrow"
    index_of([LEAK]).save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="not a saved containment index"):
        ContainmentIndex.load(path, gram_words="scripts")


def test_no_items_and_no_documents():
    assert rows(contained(pa.array([LEAK]), index_of([]))) == []
    assert rows(contained(pa.array([], pa.string()), index_of([LEAK]))) == []


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="2 items for 1 item texts"):
        index_of([LEAK], [0, 1])
    with pytest.raises(ValueError, match="a threshold of containment must be above 0, got 0"):
        contained(pa.array([LEAK]), index_of([LEAK]), threshold=0)


@pytest.mark.parametrize(
    ("first", "other", "every", "found"),
    [
        (0x4E00, "國語", 5, 35),
        (0x4E00, "國語", 4, 30),
        (0x3041, "ヲヰ", 5, 35),
        (0x3041, "ヲヰ", 4, 0),
    ],
)
def test_where_words_are_characters_two_of_them_may_often_be_others(first, other, every, found):
    """Six in a row are enough of Han, and eight of kana."""
    item = "".join(chr(first + i) for i in range(48))
    pairs = [item[i : i + 2] for i in range(0, 48, 2)]
    copy = "".join(other if i % every == every - 1 else pair for i, pair in enumerate(pairs))
    index = ContainmentIndex.build(
        pa.array([item]), np.array([0]), benchmark_starts=np.array([0]), n_items=1
    )
    got = contained(pa.array([f"天地玄黃 {copy} 宇宙洪荒"]), index)
    assert got.containment.tolist() == [pytest.approx(found / 47)] * (found > 0)


@pytest.mark.parametrize(("every", "is_found"), [(5, True), (6, False)])
@pytest.mark.parametrize("telling", ["Han", "Latin"])
def test_of_kana_with_han_or_latin_seven_words_in_a_row_are_enough(telling, every, is_found):
    """Of 48 words ten are Han, or between spaces, or eight."""
    others = [chr(0x4E00 + i) if telling == "Han" else f" w{i} " for i in range(48)]
    item = [others[i] if i % every == 0 else chr(0x3041 + i) for i in range(48)]
    copy = "".join("ヲ" if i % 8 == 7 else char for i, char in enumerate(item))
    assert len(contained(pa.array([copy]), index_of(["".join(item)])).docs) == is_found


@pytest.mark.parametrize(("telling", "is_found"), [("Han", True), ("Latin", False)])
def test_of_kana_with_latin_half_is_no_copy(telling, is_found):
    others = [chr(0x4E00 + i) if telling == "Han" else f" w{i} " for i in range(48)]
    item = [others[i] if i % 4 == 0 else chr(0x3041 + i) for i in range(48)]
    assert (
        len(contained(pa.array(["".join(item[:25])]), index_of(["".join(item)])).docs) == is_found
    )


@pytest.mark.parametrize(("size", "left", "is_found"), [(24, 18, 0), (24, 20, 1), (25, 18, 1)])
def test_of_under_24_grams_of_clusters_four_fifths_are_a_copy(size, left, is_found):
    """As of under 12 words: .74 and .83 of 23 grams, .71 of 24."""
    item = "".join(chr(0x0E01 + i) for i in range(size))
    assert len(contained(pa.array([item[:left]]), index_of([item])).docs) == is_found


@pytest.mark.parametrize(("first", "is_found"), [(0x4E00, True), (0x0E01, False)])
def test_of_clusters_half_is_no_copy(first, is_found):
    item = "".join(chr(first + i) for i in range(45))
    assert len(contained(pa.array([item[:24]]), index_of([item])).docs) == is_found
    assert len(contained(pa.array([item[:30]]), index_of([item])).docs) == 1
