"""Items in scripts without spaces are found, by as many characters as say what words say."""

import re
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dedup.strategies import script_documents
from tests.pipelines.contamination.corpus import write_benchmark
from tests.reference.overlap import gram_words
from tests.strategies import code_points, text_columns
from tokenmill.dedup.arrays import text_buffers
from tokenmill.dedup.overlap.containment import contained
from tokenmill.dedup.overlap.find import find
from tokenmill.dedup.overlap.index import NgramIndex
from tokenmill.dedup.text.gram_words import blocks, count_words
from tokenmill.pipelines.contamination.check import Check
from tokenmill.pipelines.contamination.copies import index_copies
from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.contamination.index import Matching, prepare_texts
from tokenmill.pipelines.core.shard import Input

ITEMS = {
    "zh": "下列关于计算机网络中传输控制协议的说\uff0c哪一项是正确的\uff1f它怎样保证数据按顺序到达",
    "ja": "次のうち、コンピューターネットワークの通信規約についての説明として正しいものはどれか",
    "th": "ข้อใดต่อไปนี้กล่าวถูกต้องเกี่ยวกับการรับส่งข้อมูลในเครือข่ายคอมพิวเตอร์",
}
AROUND = {"zh": "考试说明。", "ja": "試験の説明。", "th": "คำชี้แจง "}
NGRAMS = {"zh": 16, "ja": 16, "th": 20}  # gram words


def texts_of(items, words="scripts", **how):
    column = pa.array(items, pa.large_string())
    n = np.array([len(items)])
    return prepare_texts(column, np.arange(len(items)), n, words=words, **how)


def several_blocks(draw):
    """Before what is drawn stand letters, so that it crosses what a kernel looks at together."""
    before, document, times = draw
    return "a" * before + document * times


@given(
    text_columns(
        st.tuples(st.integers(0, 64), script_documents, st.integers(1, 4)).map(several_blocks)
    ),
    st.booleans(),
)
@example(pa.array(["ァ_\xad", "栝*\U000e010c", "ថ\tͅ_\u200d"]), True)
def test_gram_words_of_scripts_are_those_of_the_twin(text, apart):
    data, made, places, hashes = text_buffers(text).data, [], [], []
    for block in blocks(text, longest=0, apart=apart):
        n = len(block.hashes)
        of = np.repeat(np.arange(len(block.begins)), np.diff(block.doc_words))
        windows = np.column_stack((of, np.arange(n), np.arange(n), np.arange(n)))
        places += block.places(data, windows)[:, 4:].tolist()
        made += np.diff(block.doc_words).tolist()
        hashes += block.hashes.tolist()
    expected = [gram_words(document, apart) for document in text.to_pylist()]
    assert made == [len(words) for words in expected] == count_words(text, apart=apart).tolist()
    assert [start for start, _ in places] == [w.start for words in expected for w in words]
    known = {(word.text, h) for word, h in zip(chain(*expected), hashes, strict=True)}
    assert len(known) == len({text for text, _ in known}) == len({h for _, h in known})


def test_a_character_is_the_same_word_wherever_it_stands():
    """At the end of the column, which is decoded alone, and in a block, which is at once."""
    edges = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
    characters = [chr(cp) for cp in sorted({*code_points()[::89], *edges})]
    (among,) = blocks(pa.array([f"{char} {'x' * 70}" for char in characters]), longest=0)
    known = set()
    for char, end in zip(characters, among.doc_words[1:].tolist(), strict=True):
        (alone,) = blocks(pa.array([char]), longest=0)
        words, n = [word.text for word in gram_words(char)], len(alone.hashes)
        assert among.hashes[end - 1 - n : end - 1].tolist() == alone.hashes.tolist(), hex(ord(char))
        known |= set(zip(words, alone.hashes.tolist(), strict=True))
    assert len(among.hashes) == sum(len(gram_words(char)) + 1 for char in characters)
    assert len(known) == len({text for text, _ in known}) == len({h for _, h in known})


CHANGED = {
    "verbatim": lambda item: item,
    "with spaces": lambda item: " ".join(item.replace(" ", "")),
    "with lines": lambda item: item[:9] + "\n" + item[9:],
    "without marks": lambda item: "".join(c for c in item if c not in "\uff0c、\uff1f"),
    "with marks": lambda item: "「".join(re.split("(议|ト|เครือข่าย)", item)),
}


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("language", ITEMS)
def test_an_item_is_found_whatever_its_spaces_and_marks(language, change):
    around = AROUND[language]
    document = pa.array([around + CHANGED[change](ITEMS[language]) + around, around * 9])
    texts = texts_of([ITEMS[language]])
    assert not texts.is_short.any()
    assert texts.ngrams.tolist() == [NGRAMS[language]]
    hits = find(document, texts.indexed())
    assert set(hits.docs.tolist()) == {0}
    found = contained(document, index_copies(texts))
    assert found.docs.tolist() == [0]
    assert found.containment.tolist() == [1.0]


@pytest.mark.parametrize("language", ITEMS)
def test_a_part_has_an_ngram_unless_one_alone_would_make_an_item_dirty(language):
    item, around = ITEMS[language], AROUND[language]
    parts = [item[:end] for end in range(len(item), 0, -1)]
    part = parts[count_words(pa.array(parts)).tolist().index(NGRAMS[language])]
    document = pa.array([f"{around}{part} {around}"])
    assert len(find(document, texts_of([item]).indexed()).docs) > 0
    for how in ({"published": True}, {"ngrams": [13]}):
        texts = texts_of([item], **how)
        assert texts.ngrams.tolist() == [26]
        assert len(find(document, texts.indexed()).docs) == 0


def test_the_published_verdict_and_the_step_have_the_longer_ngrams(tmp_path):
    quiz = write_benchmark(tmp_path, "quiz", [ITEMS["th"]])
    inputs, matching = (Input(path="."),), Matching(benchmarks=(quiz,))
    built = [
        Check(inputs=inputs, matching=matching).build_index(),
        Check(inputs=inputs, matching=matching, verdict="gpt3").build_index(),
        Decontaminate(benchmarks=(quiz,)).build(),
    ]
    assert [index.ngrams.ngrams for index in built] == [(20,), (26,), (26,)]


def test_ngrams_of_clusters_are_no_longer_than_short_items():
    texts = texts_of(["กขคงจฉชซฌญฎฏฐฑฒณดต", ITEMS["th"]])
    assert texts.benchmark_ngrams.tolist() == [9]
    assert texts.ngrams.tolist() == [18, 18]


def test_words_of_white_space_find_no_such_item():
    item, around = ITEMS["zh"].replace("\uff0c", "").rstrip("\uff1f"), AROUND["zh"]
    texts = texts_of([item, "one two three four five six seven eight nine"], "whitespace")
    assert texts.is_short.tolist() == [True, False]
    assert len(find(pa.array([around + item + around]), texts.indexed()).docs) == 0


POEM = "春眠不觉晓处处闻啼鸟夜来风雨声花落"


def test_two_characters_stand_for_a_word_where_lengths_count():
    texts = texts_of(
        ["春眠不觉晓", "春眠不觉晓处处", "春眠不觉晓处处闻啼鸟夜来风雨声花落", "a b c d e f g h"]
    )
    assert texts.lengths.tolist() == [2, 3, 8, 8]
    assert texts.least.tolist() == [6, 6, 16, 8]
    assert texts.is_short.tolist() == [True, True, False, False]


def test_an_index_of_other_words_is_refused(tmp_path):
    index = texts_of([ITEMS["zh"]]).indexed()
    index.save(tmp_path / "ngrams.arrow")
    NgramIndex.load(tmp_path / "ngrams.arrow", ngrams=(16,), words="scripts")
    with pytest.raises(ValueError, match="whitespace"):
        NgramIndex.load(tmp_path / "ngrams.arrow", ngrams=(16,), words="whitespace")
