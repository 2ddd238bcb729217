"""CCNet's form of lines is its slow twin's."""

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference import repeats as reference
from tests.strategies import code_points, text_columns
from tokenmill.dedup.text.simplified import PUNCTUATION, ccnet_form
from tokenmill.dedup.text.unicode import DECIMAL_ZEROS, N_CODE_POINTS, UNICODE_VERSION

# what the rules look at: white space of all kinds, controls, digits, letters that grow, sigmas
TRICKY = " \t\n\r\x00\x1c\x1f\x7f\x85\xa0\u2003\u3000aB9\u0663\uff11\xb2\xbd"
TRICKY += ".,-\u2013\u2026\u25ba\xbb\u201c\u2018"
TRICKY += (
    "\u0130I\u0131\u1e9e\u023aK\u03a3\u03c3\u03c2\u0345\xad'\u0307\U0001d7d9\U00010400\u6771\ufffc"
)

own_tables = pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE_VERSION, reason="the interpreter has other tables"
)
chars = st.one_of(st.sampled_from(TRICKY), st.characters(codec="utf-8"))


def forms(lines):
    return ccnet_form(pa.array(lines, pa.string())).to_pylist()


@own_tables
@given(st.lists(st.text(chars, max_size=12), max_size=8))
@example(["\u03a3", "A\u03a3", "A\xad\u03a3\xad", "A\u03a3 \u03a3a", "\u0345\u03a3.", "A.\u03a3B"])
@example(["\u023a" * 9])  # all grow
def test_forms_are_those_of_the_slow_twin(lines):
    assert forms(lines) == [reference.ccnet_form(line) for line in lines]


@own_tables
@given(text_columns())
def test_slices_and_kinds_of_columns_make_no_difference(text):
    assert ccnet_form(text).to_pylist() == [reference.ccnet_form(t) for t in text.to_pylist()]


@own_tables
def test_every_character_is_what_the_interpreter_says():
    """Of planes without one, one code point in 97, but in `make test-all`."""
    chars = map(chr, code_points())
    lines = [f"{char}a{char}B" for char in chars]
    assert forms(lines) == [reference.ccnet_form(line) for line in lines]


def test_what_ccnet_takes_for_the_same():
    lines = ["Read\xa0more (12)!", " \tread\xa0MORE (7\u0664)!\n", "\u201cread\xa0more (00)!\u201d"]
    assert set(forms(lines)) == {"read\xa0more (00)!"}


def test_none_of_ascii_punctuation_is_dropped_and_spaces_stay_inside():
    ascii_marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    assert forms([ascii_marks, "a  b", "\xab a", "\u2014 a \u2014", "a\tb"]) == [
        ascii_marks,
        "a  b",
        " a",
        " a ",
        "ab",
    ]


def test_a_mark_that_is_a_digit_is_a_digit():
    assert ord("\uff11") in PUNCTUATION
    assert forms(["\uff11"]) == ["0"]


@own_tables
def test_decimal_digits_are_the_interpreters():
    digits = {zero + i for zero in DECIMAL_ZEROS for i in range(10)}
    assert digits == {cp for cp in range(N_CODE_POINTS) if chr(cp).isdecimal()}
