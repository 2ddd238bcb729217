"""The difference of two texts holds both whole, and takes no more work than it may."""

import random
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokenmill.pipelines.prepare import inspect as text_difference
from tokenmill.pipelines.prepare.inspect import difference

WORDS = st.lists(
    st.sampled_from(["a", "b", "cat", ",", "日", "本語", "é", "\n", "  "]), max_size=60
)
TEXTS = st.text(max_size=80) | WORDS.map(" ".join) | WORDS.map("".join)


def side(stretches, kind):
    return "".join(s.text for s in stretches if s.kind in ("equal", kind))


@st.composite
def edited(draw):
    """A text, and the same with stretches of it replaced."""
    words = draw(st.lists(st.sampled_from([f"w{i}" for i in range(30)]), min_size=1, max_size=200))
    other = list(words)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(other)))
        other[at : at + draw(st.integers(0, 9))] = draw(st.lists(st.just("new"), max_size=3))
    return " ".join(words), " ".join(other)


@given(TEXTS, TEXTS)
# the stretch "y z" begins inside what is equal already, on the one side alone
@example("H p q r s x y u v x y z w T", "G p q r s x y z w S")
def test_both_texts_are_told_whole_and_in_order(removed, kept):
    found = difference(removed, kept)
    assert side(found, "removed") == removed
    assert side(found, "kept") == kept
    assert all(s.text for s in found)
    assert all(a.kind != b.kind for a, b in pairwise(found))


@given(edited())
def test_an_edited_text_is_told_whole_too(pair):
    found = difference(*pair)
    assert (side(found, "removed"), side(found, "kept")) == pair
    assert "new" not in "".join(s.text for s in found if s.kind == "equal")


@given(TEXTS)
def test_equal_texts_have_one_stretch(text):
    assert difference(text, text) == ([("equal", text)] if text else [])


def test_a_mark_between_two_changes_goes_with_them():
    found = difference("so one, two end", "so three, four end")
    assert [tuple(s) for s in found] == [
        ("equal", "so "),
        ("removed", "one, two"),
        ("kept", "three, four"),
        ("equal", " end"),
    ]


def test_single_words_are_found_in_a_long_text():
    rng = random.Random(1)
    words = [str(rng.randrange(3000)) for _ in range(40_000)]
    other = list(words)
    other[7] = "first"
    del other[20_000:20_003]
    other.insert(39_000, "last")
    found = difference(" ".join(words), " ".join(other))
    gone = [s.text for s in found if s.kind == "removed"]
    came = [s.text.strip() for s in found if s.kind == "kept"]
    assert sum(len(text.split()) for text in gone) == 4
    assert came == ["first", "last"]


def test_words_that_stand_often_are_no_anchors():
    rng = random.Random(3)
    words = rng.choices(["the", "a", "of", "cat", "is", "on"], k=400)
    other = [*words[:100], *words[101:300], "dog", *words[300:]]
    found = difference(" ".join(words), " ".join(other))
    assert sum(len(s.text) for s in found if s.kind == "removed") <= len(words[100]) + 1
    assert sum(len(s.text) for s in found if s.kind == "kept") == len("dog ")


def test_an_anchor_stands_once():
    assert text_difference._once([9, 1, 2, 1, 3, 2, 9], 1, 6, 1) == {(3,): 4}
    assert text_difference._once([1, 2, 1, 2], 0, 4, 2) == {(2, 1): 1}


def test_a_text_that_was_moved_is_found_on_one_side():
    first, second = (" ".join(f"{side}{i}" for i in range(50)) for side in "xy")
    found = difference(f"{first} {second}", f"{second} {first}")
    equal = "".join(s.text for s in found if s.kind == "equal")
    assert first in equal or second in equal


def few_words(k):
    """Two texts that no stretch stands in once: random letters between words that are anchors."""
    rng = random.Random(2)
    texts = [
        "".join(f"word{i} {' '.join(rng.choices('ab', k=9))} " for i in range(k)) for _ in "rk"
    ]
    return texts[0], texts[1]


@pytest.mark.parametrize("most", [("MOST_CELLS", 50), ("MOST_WORK", 500)], ids=str)
def test_what_is_compared_closely_is_bounded(monkeypatch, most):
    given_to = []

    class Counted(text_difference.SequenceMatcher):
        def __init__(self, junk, a, b, autojunk):
            given_to.append(len(a) * len(b))
            super().__init__(junk, a, b, autojunk)

    monkeypatch.setattr(text_difference, *most)
    monkeypatch.setattr(text_difference, "SequenceMatcher", Counted)
    removed, kept = few_words(100)
    found = difference(removed, kept)
    assert (side(found, "removed"), side(found, "kept")) == (removed, kept)
    assert 0 < max(given_to) <= text_difference.MOST_CELLS
    assert sum(given_to) <= text_difference.MOST_WORK


def test_long_texts_of_two_words_are_compared_in_time():
    rng = random.Random(2)
    removed, kept = (" ".join(rng.choices("ab", k=100_000)) for _ in "rk")
    found = difference(removed, kept)
    assert (side(found, "removed"), side(found, "kept")) == (removed, kept)
