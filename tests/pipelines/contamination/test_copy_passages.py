import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.dedup.text.fold import Folding
from tokenmill.pipelines.contamination.summary import copy_passage

ITEM = "“Alpha”, beta gamma delta epsilon zeta eta theta."

FULL_WIDTH = "\uff41\uff4c\uff50\uff48\uff41 beta"


def marked(item, passage):
    return [item[start:end] for start, end in passage.spans]


@pytest.mark.parametrize(
    ("before", "match", "after", "expected", "reaches"),
    [
        ("x ", "alpha BETA gamma", " other", ["“Alpha”, beta gamma"], "alpha BETA gamma"),
        # the word behind a replaced one, and the word ahead of one
        ("", "alpha beta", " x delta! y", ["“Alpha”, beta", "delta"], "alpha beta x delta!"),
        ("é alpha x ", "gamma delta", "", ["“Alpha”,", "gamma delta"], "alpha x gamma delta"),
        # not where it stands elsewhere than in the item
        ("", "alpha beta", " x y z u v w theta", ["“Alpha”, beta"], "alpha beta"),
        ("", "alpha x gamma", "", ["“Alpha”,", "gamma"], "alpha x gamma"),
        ("", FULL_WIDTH, "", ["“Alpha”, beta"], FULL_WIDTH),
        ("a", "nothing of it", "b", [], "nothing of it"),
        ("", "", "", [], ""),
    ],
)
def test_words_in_common_are_marked_on_both_sides(before, match, after, expected, reaches):
    passage = copy_passage(ITEM, before, match, after, Folding())
    assert marked(ITEM, passage) == expected
    assert passage.match == reaches
    assert passage.before + passage.match + passage.after == before + match + after


text = st.lists(st.sampled_from(["a", "B", "c!", "é", "…", "d\n"]), max_size=9).map(" ".join)


@given(text, text, text, text)
def test_nothing_is_lost_and_every_marked_word_is_in_the_copy(item, before, match, after):
    before, after = f"{before} ", f" {after}"
    passage = copy_passage(item, before, match, after, Folding())
    assert passage.before + passage.match + passage.after == before + match + after
    assert match in passage.match
    words = {word.strip("!").lower() for word in passage.match.split()}
    ends = [end for span in passage.spans for end in span]
    assert ends == sorted(set(ends))
    for shown in marked(item, passage):
        assert shown == shown.strip()
        assert {word.strip("!").lower() for word in shown.split()} - {"…"} <= words
