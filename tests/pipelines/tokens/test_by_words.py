"""Words numbered and their ids put in a row, and the words for which that is not enough."""

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.e2e.corpus import prose
from tests.pipelines.tokens import families
from tests.pipelines.tokens.test_fast import per_document, same_ids
from tests.reference.numbered_words import numbered
from tests.strategies import THOROUGH
from tokenmill.dedup.arrays import text_buffers
from tokenmill.pipelines.tokens import by_words
from tokenmill.pipelines.tokens.by_words import WHITE, maker, white_space
from tokenmill.pipelines.tokens.engines import adversarial
from tokenmill.pipelines.tokens.kernels import number_words
from tokenmill.pipelines.tokens.reference import open_reference

WHITES = st.sampled_from([" ", " \n", WHITE])


@given(st.lists(st.text("ab \n\té", max_size=12), max_size=6), WHITES)
def test_words_are_numbered_as_the_twin_does(texts, white):
    view = text_buffers(pa.array(texts, pa.large_string()))
    space = np.zeros(256, np.uint8)
    space[[ord(c) for c in white]] = 1
    n_bytes = int(view.lengths.sum())
    table = np.zeros(1 << (4 * n_bytes + 4).bit_length(), np.int32)
    bounds, letters = np.zeros(n_bytes + 2, np.int64), np.zeros(n_bytes, np.uint8)
    words, starts = np.zeros(n_bytes + 1, np.int64), np.zeros(len(texts) + 1, np.int64)
    n = number_words(view.data, view.offsets, space, table, bounds, letters, 0, words, starts)
    found = [words[a:b].tolist() for a, b in pairwise(starts)]
    known = [letters[a:b].tobytes() for a, b in pairwise(bounds[: n + 1])]
    assert (found, known) == numbered([t.encode() for t in texts], white.encode())


@pytest.fixture(scope="module")
def mt5(tmp_path_factory):
    return families.mt5(tmp_path_factory.mktemp("mt5"))


def test_a_document_with_a_word_that_a_space_changes_is_encoded_as_a_whole(mt5):
    texts = ["a\u3000 b", "a\u3000", "\u3000 \u3000", " \u3000 a", "a \u200b b", "a b", "", " "]
    same_ids(mt5, texts)
    made = maker(open_reference(str(mt5)))()
    made.encode(pa.array(texts))
    bounds = pairwise(made._bounds[: made._n + 1])
    words = [made._letters[a:b].tobytes().decode() for a, b in bounds]
    apart = {word for word, of in zip(words, made._apart, strict=False) if of}
    assert apart == {"a\u3000", "\u3000", " \u3000", " \u200b"}


def test_wordpiece_without_an_engine_of_its_own(tmp_path):
    reference = open_reference(str(families.bert(tmp_path)))
    texts = [*adversarial(["[DOC_1]", "[SEP]"]), *prose()[200:220]]
    found = maker(reference)().encode(pa.array(texts, pa.large_string()))
    assert per_document(found) == reference.encode(texts)


def test_when_too_much_is_known_all_is_forgotten(mt5, monkeypatch):
    for name, value in (("MOST_BYTES", 20), ("PART_BYTES", 8), ("SLOTS", 4)):
        monkeypatch.setattr(by_words, name, value)
    made, reference = maker(open_reference(str(mt5)))(), open_reference(str(mt5))
    texts = ["the cat the dog", "a long document of many words", "", "x", "the cat"] * 3
    found = made.encode(pa.array(texts))
    assert per_document(found) == reference.encode(texts)
    assert made._n < 12


@pytest.mark.long
def test_characters_of_all_planes(mt5, tmp_path):
    """Of all code points one in 61; all, as a thorough run has them, take three minutes."""
    every = 1 if THOROUGH else 61
    points = [c for c in range(0, 0x110000, every) if not 0xD800 <= c < 0xE000]
    texts = [
        "".join(f"a{chr(c)} {chr(c)}\u0301b {chr(c)} " for c in points[at : at + 32])
        for at in range(0, len(points), 32)
    ]
    for path in (mt5, families.t5(tmp_path), families.bert(tmp_path)):
        same_ids(path, texts)


BERT = {"type": "BertPreTokenizer"}
META = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
FLAGS = dict.fromkeys(("rstrip", "single_word", "normalized", "special"), False)
LSTRIP = {"id": 9, "content": "<m>", "lstrip": True, **FLAGS}


@pytest.mark.parametrize(
    ("parts", "white"),
    [
        ({}, WHITE),
        ({"pre_tokenizer": BERT, "normalizer": None}, WHITE),
        ({"pre_tokenizer": None}, ""),
        ({"pre_tokenizer": META, "normalizer": None}, " "),
        ({"pre_tokenizer": {**META, "split": False}}, ""),
        ({"pre_tokenizer": {**META, "replacement": "_"}}, ""),
        ({"normalizer": {"type": "Replace", "pattern": {"String": " b"}, "content": "c"}}, ""),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": "b"}, "content": "c"}}, ""),
        ({"normalizer": {"type": "Strip", "strip_left": True, "strip_right": False}}, ""),
        ({"normalizer": {"type": "Prepend", "prepend": "x"}}, ""),
        ({"added_tokens": [LSTRIP]}, ""),
        ({"added_tokens": [{**LSTRIP, "special": True}]}, WHITE),
        ({"added_tokens": [{**LSTRIP, "lstrip": False, "content": "a b"}]}, ""),
    ],
)
def test_white_space_that_parts_words(mt5, tmp_path, parts, white):
    data = {**json.loads(mt5.read_text()), **parts}
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    found = white_space(open_reference(str(tmp_path / "tokenizer.json")))
    assert sorted(found) == sorted(white)
