"""The frozen tables of `dedup.text`, made again from the running interpreter: Python 3.11.

python -m tests.dedup.text.frozen     writes unicode.npz, unicode_words.npz, fold_tables.npz
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from string import punctuation
from typing import Any

import numpy as np

from tokenmill.dedup.text import fold_tables, unicode, unicode_words
from tokenmill.dedup.text.fold_tables import FoldTables, invisible, lookalikes
from tokenmill.dedup.text.unicode import (
    ALPHA,
    CASED,
    DIGIT,
    IGNORABLE,
    N_CODE_POINTS,
    PAGE,
    PUNCT,
    SPACE,
    UNASSIGNED,
    UNICODE_VERSION,
    WORD,
    UnicodeTables,
    flags_of,
    lower_of,
)
from tokenmill.dedup.text.unicode_words import (
    BASE,
    BLANK,
    LATE,
    MARK,
    SYLLABLE,
    UNSEEN,
    WordKinds,
)

# beginnings of characters' names
_ALONE = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HENTAIGANA",
    "HALFWIDTH KATAKANA", "BOPOMOFO", "YI SYLLABLE", "TANGUT", "NUSHU", "KHITAN SMALL SCRIPT",
    "IDEOGRAPHIC ITERATION", "IDEOGRAPHIC CLOSING", "IDEOGRAPHIC NUMBER ZERO", "HANGZHOU NUMERAL",
    "VERTICAL KANA REPEAT", "VERTICAL IDEOGRAPHIC ITERATION", "MASU MARK", "OLD CHINESE ITERATION",
)  # fmt: skip
_RADICALS = ("CJK RADICAL", "KANGXI RADICAL")
_TANGUT = range(0x17000, 0x18D80)  # interpreters have no names for the ideographs
_CLUSTERS = (
    "THAI ", "LAO ", "KHMER ", "MYANMAR ", "TAI LE ", "NEW TAI LUE ", "TAI THAM ", "TAI VIET ",
    "AHOM ", "JAVANESE ", "BALINESE ",
)  # fmt: skip
_UNSEEN = frozenset(invisible())
_LATE = (0xE33, 0xEB3, 0xFF9E, 0xFF9F)
# category Mc, but clusters by themselves: the exceptions of UAX 29, table 2, SpacingMark
_NO_MARKS = (
    (0x102B, 0x102C), (0x1038, 0x1038), (0x1062, 0x1064), (0x1067, 0x106D), (0x1083, 0x1083),
    (0x1087, 0x108C), (0x108F, 0x108F), (0x109A, 0x109C), (0x1A61, 0x1A61), (0x1A63, 0x1A64),
    (0xAA7B, 0xAA7B), (0xAA7D, 0xAA7D), (0x11720, 0x11721),
)  # fmt: skip
# blocks of diacritics; marks of other blocks are vowels of their scripts and stay
_DIACRITICS = (
    (0x300, 0x36F),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE20, 0xFE2F),
)
_LATIN_TWIN = re.compile(
    "(?:LATIN LETTER SMALL CAPITAL|NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER) ([A-Z])"
)
_SCRIPT_TWINS = {"\u0251": "a", "\u0261": "g"}  # IPA's alpha and script g


def interpreter_flags(char: str) -> int:
    """What the running interpreter says of one character.

    Python does not publish the two properties that the final sigma depends on, but
    `str.lower()` shows them: a capital sigma is final if, looking back past case-ignorable
    characters, there is a cased one.
    """
    sees_past_or_cased = f"A{char}Σ".lower().endswith("ς")
    cased = f" {char}Σ".lower().endswith("ς")
    held = {
        WORD: char.isalnum() or char == "_",
        SPACE: char.isspace(),
        ALPHA: char.isalpha(),
        CASED: cased,
        IGNORABLE: sees_past_or_cased and not cased,
        PUNCT: unicodedata.category(char).startswith("P"),
        DIGIT: char.isdigit(),
        UNASSIGNED: unicodedata.category(char) == "Cn",
    }
    return sum(bit for bit, holds in held.items() if holds)


def unicode_tables() -> UnicodeTables:
    """Make the tables from the running interpreter; takes about 3 s."""
    code_points = np.arange(N_CODE_POINTS, dtype=np.uint32)
    flags = np.array([interpreter_flags(chr(cp)) for cp in range(N_CODE_POINTS)], np.uint8)
    lower = np.array([ord(chr(cp).lower()[0]) for cp in range(N_CODE_POINTS)], np.uint32)
    both = np.stack([flags.astype(np.uint32), lower - code_points], axis=1)
    distinct, pages = np.unique(both.reshape(-1, PAGE * 2), axis=0, return_inverse=True)
    columns = distinct.reshape(-1, 2)
    return UnicodeTables(
        pages.astype(np.uint16),
        np.ascontiguousarray(columns[:, 0], np.uint8),
        np.ascontiguousarray(columns[:, 1], np.uint32),
    )


def interpreter_kind(char: str) -> int:  # noqa: C901 one question after the other
    """The kind of a character by what the running interpreter says of it."""
    name, category, cp = unicodedata.name(char, ""), unicodedata.category(char), ord(char)
    is_word = char.isalnum()
    if char.isspace():
        return BLANK
    if cp in _LATE:
        return LATE
    if not is_word and char in _UNSEEN:
        return UNSEEN
    if any(first <= cp <= last for first, last in _NO_MARKS):
        return BASE
    if category.startswith("M"):
        return MARK
    if cp >> 16 in (2, 3) and category == "Cn":
        return BASE if cp & 0xFFFF < 0xFFFE else 0
    if name.startswith(_RADICALS) or (is_word and (name.startswith(_ALONE) or cp in _TANGUT)):
        return BASE
    if category.startswith("L"):
        if name.startswith(_CLUSTERS):
            return BASE
        if name.startswith("TIBETAN "):
            return SYLLABLE
    return 0


def word_kinds() -> WordKinds:
    """Make the tables from the running interpreter; takes about 4 s."""
    kinds = np.array([interpreter_kind(chr(cp)) for cp in range(N_CODE_POINTS)], np.uint8)
    distinct, pages = np.unique(kinds.reshape(-1, PAGE), axis=0, return_inverse=True)
    return WordKinds(pages.reshape(-1).astype(np.uint16), distinct.reshape(-1))


def gram_form(text: str) -> str:
    """What gram words keep of a text: lower case, one kind of space, no punctuation."""
    kept = []
    for char in text:
        flags = flags_of(ord(char))
        if flags & SPACE:
            kept.append(" ")
        elif not flags & PUNCT and char not in punctuation:
            kept.append(chr(lower_of(ord(char))))
    return "".join(kept)


def interpreter_compat(char: str) -> str:
    """The NFKC of a character if gram words tell the two apart, else itself."""
    form = unicodedata.normalize("NFKC", char)
    accent_on_space = len(form) > 1 and form[0] == " "
    stays = accent_on_space or char in lookalikes() or gram_form(form) == gram_form(char)
    return char if stays else form


def interpreter_base(char: str) -> str:
    """A character without the diacritics that it is composed of."""
    form = unicodedata.normalize("NFD", char)
    bare = "".join(c for c in form if not any(a <= ord(c) <= b for a, b in _DIACRITICS))
    return char if bare == form else bare


def interpreter_twin(char: str) -> str:
    """The letter that a Latin letter or its small form looks like, else itself."""
    for form in (char, chr(lower_of(ord(char)))):
        if form in _SCRIPT_TWINS:
            return _SCRIPT_TWINS[form]
        if named := _LATIN_TWIN.fullmatch(unicodedata.name(form, "")):
            return named[1].lower()
    return char


def is_latin(char: str) -> bool:
    form = unicodedata.normalize("NFKC", char)
    return char.isalpha() and ("LATIN" in unicodedata.name(char, "") or form.isascii())


def changes(chars: list[str], becomes: Callable[[str], str]) -> dict[str, str]:
    return {char: to for char in chars if (to := becomes(char)) != char}


def made_fold_tables() -> FoldTables:
    """Make the tables from the running interpreter; takes about 1 s."""
    categories = {char: unicodedata.category(char) for char in map(chr, range(N_CODE_POINTS))}
    chars = [char for char, category in categories.items() if category not in ("Cn", "Cs", "Co")]
    marks = (char for char in chars if categories[char] in ("Mn", "Me", "Mc"))
    return FoldTables(
        compat=changes(chars, interpreter_compat),
        marks=changes(chars, interpreter_base),
        twins=changes(chars, interpreter_twin),
        latin=frozenset(filter(is_latin, chars)),
        inner=frozenset(chain(marks, invisible())),
    )


def columns_of(made: FoldTables) -> dict[str, Any]:
    """The tables as the columns that the file holds."""
    columns = {}
    for name in fold_tables.MAPS:
        becomes = getattr(made, name)
        columns[name] = np.array(list(becomes))
        columns[f"{name}_to"] = np.array(list(becomes.values()))
    return columns | {name: np.array(sorted(getattr(made, name))) for name in fold_tables.SETS}


def package(path: Path, tables: Mapping[str, Any]) -> None:
    """Write tables made from the running interpreter.

    Raises:
        SystemExit: it has another version of Unicode than this module.
    """
    if unicodedata.unidata_version != UNICODE_VERSION:
        raise SystemExit(
            f"this interpreter has Unicode {unicodedata.unidata_version}, the tables are"
            f" {UNICODE_VERSION}; run this with Python 3.11, or change UNICODE_VERSION"
        )
    np.savez_compressed(path, version=UNICODE_VERSION, **tables)


if __name__ == "__main__":
    package(unicode.FILE, unicode_tables()._asdict())
    package(unicode_words.FILE, word_kinds()._asdict())
    package(fold_tables.FILE, columns_of(made_fold_tables()))
