"""The frozen tables are those of Unicode 14, and stay so."""

import hashlib
import unicodedata

import numpy as np
import pytest

from tests.dedup.text.frozen import interpreter_flags
from tests.strategies import code_points
from tokenmill.dedup.text import unicode
from tokenmill.dedup.text.unicode import (
    PAGE,
    flags_of,
    lower_of,
    tables,
)

same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != unicode.UNICODE_VERSION,
    reason=f"this interpreter has Unicode {unicodedata.unidata_version}",
)


@pytest.fixture(scope="module")
def asked():
    return np.array([*code_points(), *range(0xD800, 0xE000)], np.uint32)


@pytest.fixture(scope="module")
def index(asked):
    return tables().pages[asked >> 8].astype(np.int64) * PAGE + (asked & 255)


def test_tables_have_not_changed():
    """Other tables mean other signatures: a new version of the shingles, not an update."""
    digest = hashlib.sha256()
    for array in tables():
        digest.update(array.tobytes())
    assert [a.dtype for a in tables()] == [np.uint16, np.uint8, np.uint32]
    assert digest.hexdigest() == "520dc1ad976f10773662e645232b46524da6feed5cdd72d5c4ce70dfae2ff7f9"


def test_tables_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        tables().flags[0] = 1


@same_unicode
def test_every_flag_is_the_interpreters(asked, index):
    expected = np.array([interpreter_flags(chr(cp)) for cp in asked.tolist()], np.uint8)
    assert np.array_equal(tables().flags[index], expected)


@same_unicode
def test_every_lower_case_is_the_interpreters(asked, index):
    expected = np.array([ord(chr(cp).lower()[0]) for cp in asked.tolist()], np.uint32)
    assert np.array_equal(asked + tables().lower_delta[index], expected)


@same_unicode
def test_one_character_alone_has_a_longer_lower_case():
    longer = [cp for cp in code_points() if len(chr(cp).lower()) > 1]
    assert longer == [unicode.CAPITAL_I_WITH_DOT]


@pytest.mark.parametrize(
    ("char", "flags"),
    [
        ("a", unicode.WORD | unicode.ALPHA | unicode.CASED),
        ("_", unicode.WORD | unicode.PUNCT),
        ("7", unicode.WORD | unicode.DIGIT),
        ("½", unicode.WORD),
        ("\x1c", unicode.SPACE),
        ("\u00a0", unicode.SPACE),
        ("\u0307", unicode.IGNORABLE),
        ("'", unicode.PUNCT | unicode.IGNORABLE),
        ("東", unicode.WORD | unicode.ALPHA),
        ("🙂", 0),
        ("\U0010ffff", unicode.UNASSIGNED),
    ],
)
def test_flags_of_a_character(char, flags):
    assert flags_of(ord(char)) == flags


@pytest.mark.parametrize(
    ("char", "lower"),
    [("A", "a"), ("é", "é"), ("Σ", "\u03c3"), ("İ", "i"), ("\U00010400", "\U00010428")],
)
def test_lower_of_a_character(char, lower):
    assert chr(lower_of(ord(char))) == lower
