import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference import paraphrase as reference
from tokenmill.dedup.overlap.paraphrase import (
    NUMBERS,
    ParaphraseIndex,
    canonical,
    paraphrased,
    stems_of,
)

RARE = "ducks eggs muffins bakes farmers Janet lays breakfast zebra quartz helium tundra"
OTHER = "the of and to every day for 16 three 3 72.96 twice école Ёлка 東京 ไทย 학교에서"
WORDS = f"{RARE} {OTHER}".split()
DUCKS = (
    "Janet's ducks lay 16 eggs per day. She eats three for breakfast every morning and bakes"
    " muffins for her friends every day with four. She sells the remainder at the farmers' market"
    " daily for $2 per fresh duck egg. How much does she make every day at the farmers' market?"
)
OTHERS = (
    "Each day the ducks of Janet give her 16 eggs. With 4 she bakes muffins for friends, 3 are her"
    " breakfast, and the remaining eggs go to the farmers market for 2 dollars. What does she make"
)


@st.composite
def corpora(draw):
    chosen = random.Random(draw(st.integers(0, 999)))

    def text(k):
        return " ".join(chosen.choices(WORDS, k=k))

    texts = [text(chosen.choice([3, 9, 14, 30])) for _ in range(draw(st.integers(1, 4)))]
    docs = []
    for _ in range(draw(st.integers(1, 4))):
        parts = [text(chosen.choice([0, 4, 40]))]
        mixed = chosen.choice(texts).split()
        chosen.shuffle(mixed)
        docs.append(" ".join([*parts, *mixed[chosen.randrange(3) :], text(20)]))
    return docs, texts, draw(st.sampled_from([[0, 4], [0, 1, 4]]))


def built(texts, starts, items=None):
    items = np.arange(len(texts)) if items is None else np.array(items)
    return ParaphraseIndex.build(
        pa.array(texts, pa.large_string()),
        items,
        wanted=np.ones(len(texts), bool),
        benchmark_starts=np.array(starts[:-1]),
        n_items=starts[-1],
    )


@given(corpora())
def test_windows_match_the_reference(corpus):
    docs, texts, starts = corpus
    found = paraphrased(pa.array(docs), built(texts, starts), score=0.5)
    got = {
        (doc, text): (share, score, numbers, agreeing)
        for doc, _, text, _, _, share, score, numbers, agreeing in zip(
            *(column.tolist() for column in found), strict=True
        )
    }
    wanted = reference.paraphrased(docs, texts, range(len(texts)), starts, score=0.5)
    assert got.keys() == wanted.keys()
    for pair, values in wanted.items():
        assert got[pair] == pytest.approx(values)


ENDINGS = ("", "s", "ss", "e", "es", "ed", "eds", "ing", "ings")
OF_ALL_LENGTHS = ["xyxyxyx"[:n] + ending for ending in ENDINGS for n in range(1, 8)]


@example(OF_ALL_LENGTHS)  # what is an ending of a long word alone
@given(st.lists(st.sampled_from([*WORDS, "日本", "seventeen", "Twelve", "twelfth"]), max_size=12))
def test_words_have_one_stem_if_the_reference_says_so(words):
    hashes, rows = stems_of(pa.array([" ".join(words)], pa.large_string()))
    stems = reference.stems(" ".join(words))
    assert len(hashes) == len(stems)
    assert not rows.any()
    same = canonical(hashes)[:, None] == canonical(hashes)
    wanted = np.array([[one == other for other in stems] for one in stems], bool)
    assert np.array_equal(same, wanted.reshape(same.shape))


def test_a_rephrased_question_is_found_where_it_stands():
    before, after = "Nothing here. " * 30, " More of other things, and so on." * 20
    doc = f"{before}{OTHERS}{after}"
    found = paraphrased(pa.array(["", doc]), built([DUCKS], [0, 1]), score=2.0)
    assert (found.docs.tolist(), found.items.tolist()) == ([1], [0])
    assert (found.numbers.tolist(), found.agreeing.tolist()) == ([4], [4])
    start, end = found.starts[0], found.ends[0]
    assert OTHERS in f"Each day the {doc[start:end]} make" or doc[start:end] in OTHERS


def test_a_document_has_the_same_windows_beside_others():
    docs = ["other words", OTHERS, DUCKS * 2, OTHERS[:80]]
    index = built([DUCKS, OTHERS + " quartz helium"], [0, 2])
    together = paraphrased(pa.array(docs), index, score=1.0)
    for d, doc in enumerate(docs):
        alone = paraphrased(pa.array([doc]), index, score=1.0)
        mine = together.docs == d
        for name in ("texts", "starts", "ends", "scores"):
            assert getattr(alone, name).tolist() == getattr(together, name)[mine].tolist()


def test_a_saved_index_finds_the_same(tmp_path):
    index = built([DUCKS], [0, 1])
    index.save(tmp_path / "index.arrow")
    again = ParaphraseIndex.load(tmp_path / "index.arrow", gram_words="scripts")
    docs = pa.array([OTHERS])
    assert paraphrased(docs, again).scores.tolist() == paraphrased(docs, index).scores.tolist()


def test_an_index_of_other_words_is_refused(tmp_path):
    built([DUCKS], [0, 1]).save(tmp_path / "index.arrow")
    with pytest.raises(ValueError, match="words"):
        ParaphraseIndex.load(tmp_path / "index.arrow", gram_words="whitespace")


def test_no_text_is_long_enough():
    assert paraphrased(pa.array([OTHERS]), built(["Why is it so?"], [0, 1])).docs.tolist() == []


def test_a_score_is_above_0():
    with pytest.raises(ValueError, match=r"a score must be above 0, got 0"):
        paraphrased(pa.array([OTHERS]), built([DUCKS], [0, 1]), score=0)


def test_a_number_in_words_is_the_number():
    tens = "ten twenty thirty forty fifty sixty eighty ninety hundred"
    assert [int(NUMBERS[word]) for word in tens.split()] == [10, 20, 30, 40, 50, 60, 80, 90, 100]
