"""The frozen tables of characters that are words by themselves are those of Unicode 14."""

import hashlib
import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.dedup.text.frozen import interpreter_kind
from tests.reference.shingle import kind_of, script_words
from tests.strategies import THOROUGH, code_points
from tokenmill.dedup.text import unicode
from tokenmill.dedup.text.unicode_words import tables

same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != unicode.UNICODE_VERSION,
    reason=f"this interpreter has Unicode {unicodedata.unidata_version}",
)
CODE_POINTS = code_points()
CLUSTERS = "กขเำิ์ๆທຳ່ခကောြ့ျᦀᧈ"  # no viramas: newer versions join what stands behind some


def kinds():
    cp = np.array(CODE_POINTS)
    return tables().kinds[tables().pages[cp >> 8].astype(np.int64) * unicode.PAGE + (cp & 255)]


def test_tables_have_not_changed():
    """Other tables mean other signatures: a new version of the shingles, not an update."""
    digest = hashlib.sha256(b"".join(array.tobytes() for array in tables()))
    assert digest.hexdigest() == "b1b5de8c592f7dfe43b983eccb7cc61c7e3f2ee29cd47b2e3548b018bca136b7"


@same_unicode
def test_every_kind_is_that_of_unicode():
    """As the interpreter has its names and categories, and `regex` the scripts.

    Of Han, Hangul, what is private, and planes without a character one in 97 is asked but in
    `make test-all`.
    """
    every = 1 if THOROUGH else 97
    asked = [i for i, cp in enumerate(CODE_POINTS) if i % every == 0 or is_told_apart(cp)]
    chars, found = [chr(CODE_POINTS[i]) for i in asked], kinds()[asked]
    assert found.tolist() == [interpreter_kind(char) for char in chars]
    letters = np.array(["-", *"ATLMUB"])[found]
    assert letters.tolist() == [kind if (kind := kind_of(c)) != "W" else "-" for c in chars]


def is_told_apart(cp):
    """Whether it stands near others of another kind."""
    is_han = 0x3400 <= cp < 0xA000 or 0x20100 <= cp < 0x2FE00 or 0x30100 <= cp < 0x3FE00
    is_hangul, is_private = 0xAC00 <= cp < 0xD700, 0xE000 <= cp < 0xF900
    return not (is_han or is_hangul or is_private)


def test_none_of_them_has_another_lower_case():
    """So the kernels need not look for it."""
    found = [cp for cp, kind in zip(CODE_POINTS, kinds(), strict=True) if kind]
    assert [cp for cp in found if unicode.lower_of(cp) != cp] == []


@given(st.text(st.sampled_from(CLUSTERS)))
def test_words_of_thai_and_its_like_are_grapheme_clusters(text):
    assert script_words("ก" + text) == regex.findall(r"\X", "ก" + text)
