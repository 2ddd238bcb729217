"""Nodes that fail leave, their images stay; documents that fail leave whole."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.read.images.strategies import batches, document
from tests.pipelines.read.images.verdicts import checked, document_verdicts
from tests.reference import interleaved as twins
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.filters.bad_words import WordFile, table_of
from tokenmill.pipelines.filters.images.interleaved_text import (
    DocumentLimits,
    InterleavedText,
    NodeLimits,
)
from tokenmill.pipelines.filters.text.node_facts import ENGLISH, SPECIAL, marks_table

WORDS = [
    "the", "and", "of", "The", "AND", "red", "door", "Sea", "(sea)", "door,", "by.", "--", "12",
    "it's", "naïve", "ΣΊΣΥΦΟΣ", "İs", "Øl", "東京", "🙂", "🙂is", "a" * 12, "share", "tweet!", "?",
]  # fmt: skip
SPACES = [" ", "  ", "\n", "\t", "\u00a0", "\u3000", "\r\n", f" {PLACEHOLDER} "]


def node_text(words, spaces):
    return "".join(w + s for w, s in zip(words, spaces, strict=False))


@st.composite
def texts(draw):
    """A node: few words, often repeated, a mark here and there; no place of an image."""
    words = draw(st.lists(st.sampled_from(WORDS), max_size=14))
    space = st.sampled_from([s for s in SPACES if PLACEHOLDER not in s])
    spaces = draw(st.lists(st.just(" ") | space, min_size=len(words), max_size=len(words)))
    return node_text(words, spaces) * draw(st.sampled_from([1, 1, 1, 2, 5]))


def maybe(values):
    return st.none() | values


shares = st.sampled_from([0.0, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1.0])


def limits(kind):
    return st.builds(
        kind,
        min_words=maybe(st.integers(0, 6)),
        max_words=maybe(st.integers(6, 20)),
        max_char_repetition_ratio=maybe(shares),
        max_word_repetition_ratio=maybe(shares),
        max_special_characters_ratio=maybe(shares),
        min_stop_words_ratio=maybe(shares),
        max_flagged_words_ratio=maybe(shares),
        min_punctuation_ratio=maybe(shares),
        punctuation_from=st.integers(0, 8),
        min_common_words_ratio=maybe(shares),
        spam_words_ratio=maybe(shares),
    )


lists = maybe(st.sampled_from([("the", "red"), ("share", "tweet", "İs"), ("σίσυφος", "øl", "l")]))
stages = st.builds(
    InterleavedText,
    node=limits(NodeLimits),
    document=limits(DocumentLimits),
    char_ngram=st.integers(1, 12),
    word_ngram=st.integers(1, 5),
    stop_words=st.just("english") | st.just(("the", "sea")),
    flagged_words=lists,
    common_words=lists,
    spam_words=lists,
)


@given(batches(document(texts())), stages | st.just(InterleavedText()))
def test_it_is_its_twin(batch, stage):
    result = checked(stage, batch)
    expected = [
        twins.interleaved_text(row["text"], stage, row["images"]) for row in batch.to_pylist()
    ]
    got = document_verdicts(result, batch)
    assert got == [(reason, value) for reason, value, _, _ in expected]
    left = [text for reason, _, text, _ in expected if reason is None]
    assert result.kept["text"].to_pylist() == left
    told = [failed for reason, _, _, failed in expected if reason is not None]
    assert [read(d) for d in result.removed["detail"].to_pylist()] == told
    failed = sum((Counter(failed) for *_, failed in expected), Counter())
    assert result.notes == {f"node_{reason}": n for reason, n in failed.items()}


def read(detail):
    pairs = (part.split() for part in (detail or "").removeprefix("nodes: ").split(", ") if part)
    return {reason: int(n) for n, reason in pairs}


@given(st.lists(st.sampled_from(WORDS + SPACES), max_size=60).map("".join), stages)
def test_places_of_images_within_a_node(text, stage):
    n = text.count(PLACEHOLDER)
    batch = illustrated([(text, [image(i) for i in range(n)])])
    result = checked(stage, batch)
    reason, value, left, _ = twins.interleaved_text(text, stage)
    assert document_verdicts(result, batch) == [(reason, value)]
    assert result.kept["text"].to_pylist() == ([left] if reason is None else [])


LAX = {**dict.fromkeys(n for n in DocumentLimits.model_fields if n != "punctuation_from")}


def test_images_stay_where_the_words_around_them_fail():
    text = f"Home\n\n{PLACEHOLDER}\n\nclick {PLACEHOLDER} or {PLACEHOLDER}\n\n" + " ".join(
        ["it was one of those that we have seen before, and they were not the same."]
    )
    batch = illustrated([(text, [image(i) for i in range(3)])])
    result = checked(InterleavedText(document=LAX), batch)
    place = f"{PLACEHOLDER}\n\n"
    assert result.kept["text"].to_pylist() == [place * 3 + text.split("\n\n")[-1]]
    assert len(result.kept["images"][0]) == 3
    assert result.images is None


def test_captions_are_left_to_their_own_rules():
    batch = illustrated([("a boat", [image(0)]), ("a boat", [])])
    result = checked(InterleavedText(), batch)
    assert document_verdicts(result, batch) == [(None, None), ("too_few_words", 0)]


def test_long_texts_are_counted_as_short_ones():
    """Beyond one table: thousands of windows, and one that stands in all of them."""
    text = " ".join(f"w{i % 700} of the" for i in range(3000)) + "e" * 3000
    stage = InterleavedText(
        node=dict.fromkeys(LAX), document={**LAX, "max_char_repetition_ratio": 0.0}
    )
    batch = illustrated([(text, []), ("", []), (text[:50], [])])
    result = checked(stage, batch)
    expected = [twins.interleaved_text(t, stage)[:2] for t in batch["text"].to_pylist()]
    assert document_verdicts(result, batch) == expected


def test_the_special_characters_are_those_of_obelics():
    """Its set has 1,598 of one character, emoji 1.6.1 among them."""
    table = marks_table() & SPECIAL
    assert table.sum() == 1598
    assert all(table[ord(c)] for c in "!0 \t…€🙂\u2018\uff09\ufffd")
    assert not any(table[ord(c)] for c in "aéЯ中")


@pytest.mark.parametrize("text", ["the\nof\n\n", '["the", "of"]', '{"the": 3, "of": 2}'])
def test_a_list_of_words_in_a_file(tmp_path, text):
    path = tmp_path / "words.txt"
    path.write_text(text)
    listed = WordFile(file=str(path))
    assert set(listed.words()) - {""} == {"the", "of"}
    assert np.array_equal(table_of(listed), table_of(("of", "the")))
    assert WordFile.model_validate_json(listed.model_dump_json()) == listed


def test_a_list_that_changes_while_it_is_used_is_refused(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("the\nof\n")
    listed = WordFile(file=str(path))
    path.write_text("the\nof\nand\n")
    with pytest.raises(ConfigError, match="words.txt has changed since the run began; put it back"):
        listed.words()
    assert WordFile(file=str(path)) != listed


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "words.txt: cannot be read (No such file or directory)"),
        (b"\xff\xfe", "neither lines of words in UTF-8 nor JSON"),
        (b'["the",', "neither lines of words in UTF-8 nor JSON"),
    ],
)
def test_a_list_that_cannot_be_read(tmp_path, data, message):
    path = tmp_path / "words.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ValidationError) as e:
        InterleavedText.model_validate({"flagged_words": {"file": str(path)}})
    assert message in e.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"node": {"min_words": 9, "max_words": 3}}, "min_words 9 is over max_words 3; nothing"),
        ({"stop_words": "german"}, "Input should be 'english'"),
        (
            {"spam_words": {"path": "a.txt"}},
            "a file of words: file: missing; field required",
        ),
    ],
)
def test_what_a_mistake_reads_like(settings, message):
    with pytest.raises(ValidationError) as e:
        InterleavedText.model_validate(settings)
    assert message in e.value.errors()[0]["msg"]


def test_the_function_words_are_lower_case_words():
    assert all(word == word.lower() and word.split() == [word] for word in ENGLISH)
    assert twins.words_of(" ".join(sorted(ENGLISH))) == sorted(ENGLISH)
    assert json.loads(InterleavedText().model_dump_json())["stop_words"] == "english"
