import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.dedup.text.fold import Folding
from tokenmill.pipelines.contamination.summary import differences

ITEM = "Is it well-known - or not?\nYes, it is."


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (ITEM, ()),
        (ITEM.upper(), ("case",)),
        ("Is it well-known \u2014 or not?\nYes, it is.", ("punctuation",)),
        ("Is it wellknown or not\nYes it is", ("punctuation",)),
        ("Is it well-known - or not?  Yes, it is.", ("white space",)),
        ("is it well-known\u00a0- or not?\nyes, it is.", ("case", "white space")),
        ("IS IT (wellknown)\tOR NOT\nyes, it's", ()),
        ("IS IT (wellknown)\tOR NOT\nyes, it is!", ("case", "punctuation", "white space")),
        ("Is it well&#45;known - or not?\nYes, it is.", ()),
        ("\uff29\uff33 it we\u00adll-known - or not?\nYes, it is.", ("case",)),
        ("other words", ()),
        ("", ()),
    ],
)
def test_what_is_written_otherwise(document, expected):
    assert differences(ITEM, document, Folding()) == expected
    assert differences(document, ITEM, Folding()) == expected


words = st.lists(st.sampled_from(["a", "Bc", "d-e", "ß", "É", "7"]), min_size=1, max_size=6)


@given(
    words, st.sampled_from([" ", "\n", "  "]), st.sampled_from(["", ".", "\u201d"]), st.booleans()
)
def test_each_is_told_only_where_it_was_changed(words, space, end, capitals):
    item = " ".join(words)
    document = space.join(f"{word}{end}" for word in words)
    document = document.upper() if capitals and "ß" not in words else document
    found = differences(item, document, Folding())
    assert ("punctuation" in found) == bool(end)
    assert ("white space" in found) == (space != " " and len(words) > 1)
    assert ("case" in found) == (
        document.upper() == document != document.lower() and item.upper() != item
    )


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_compared(item, document):
    assert differences(item, item, Folding()) == ()
    assert differences(item, document, Folding()) == differences(document, item, Folding())
