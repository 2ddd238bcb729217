"""Vocabularies whose added tokens two libraries match differently are left to the reference."""

import json

import pytest

from tests.pipelines.tokens.test_fast import same_ids
from tokenmill.pipelines.tokens import engines as fast
from tokenmill.pipelines.tokens.engines import LARGEST_ID, clashes, fast_engine
from tokenmill.pipelines.tokens.reference import open_reference


def token(content, **flags):
    known = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"content": content, **known, **flags}


@pytest.mark.parametrize(
    ("tokens", "plain", "expected"),
    [
        ([token("<a>"), token("<b>", special=True)], True, []),
        ([token("  ", normalized=True), token("   ", normalized=True)], True, []),
        ([token("<|a|>", special=True), token("|>q")], True, ["<|a|>q"]),
        ([token("<|a|>", special=True), token("|>q")], False, []),
        ([token("<mask>", normalized=True), token("k>x")], False, ["<mask>x"]),
        ([token("<mask>", special=True), token("mask")], True, ["<mask>"]),
        ([token("<mask>", normalized=True), token("mask")], False, ["<mask>"]),
        ([token("aa", normalized=True), token("aab")], False, ["aaab", "aab"]),
        ([], True, []),
    ],
)
def test_texts_in_which_tokens_of_two_kinds_share_characters(tokens, plain, expected):
    assert clashes(tokens, plain=plain) == expected


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ([token(f"<extra_{i}>", single_word=100 < i < 120) for i in range(300)], "c4<extra_110>"),
        ([token("<|a|>", special=True), token("|>q")], "see <|a|>q and"),
        ([token("<mask>", normalized=True), token("k>x")], "<mask>x"),
    ],
)
def test_such_a_vocabulary_is_encoded_by_the_reference(composing_path, tmp_path, tokens, text):
    data = json.loads(composing_path.read_text())
    first = max(data["model"]["vocab"].values()) + 1
    data["added_tokens"] = [{"id": first + i, **t} for i, t in enumerate(tokens)]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    engine, by = same_ids(path, [text, f"a {text} b", "x"])
    assert by[engine.reference.name] >= 2


def test_too_many_ways_to_overlap(composing_path, tmp_path, monkeypatch):
    monkeypatch.setattr(fast, "MOST_CLASHES", 0)
    data = json.loads(composing_path.read_text())
    first = max(data["model"]["vocab"].values()) + 1
    tokens = [token("<mask>", normalized=True), token("k>x")]
    data["added_tokens"] = [{"id": first + i, **t} for i, t in enumerate(tokens)]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    assert fast_engine(open_reference(str(path))) == (None, "its added tokens overlap in 1 ways")


def test_composing_twice_is_composing(composing_path, tmp_path):
    data = json.loads(composing_path.read_text())
    data["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFC"}]}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    engine, by = same_ids(path, ["e\u07fd\u0301", "plain"])
    assert by == {engine.name: 1, engine.reference.name: 1}


def test_ids_that_would_cost_the_fast_engine_its_memory(composing_path, tmp_path):
    data = json.loads(composing_path.read_text())
    data["model"]["vocab"]["far"] = LARGEST_ID + 1
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    made, why = fast_engine(open_reference(str(path)))
    assert made is None
    assert "ids over" in why
