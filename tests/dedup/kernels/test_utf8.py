"""Code points of UTF-8 at every border, beside Python's own; and of bytes that are none."""

from itertools import product

import numpy as np
import pytest

from tests.dedup.kernels.plain import plain
from tokenmill.dedup.kernels import utf8
from tokenmill.dedup.text.unicode import tables

BORDERS = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
CHARACTERS = [chr(cp) for cp in (*BORDERS, 0x41, 0xE9, 0x3A3, 0x4E2D, 0x1F600, 0x2A6D6)]
OTHER = np.uint32(0xFFFD)


def data_of(text):
    return np.frombuffer(text if isinstance(text, bytes) else text.encode(), np.uint8)


def wide(text):
    """(n + 66,) bytes: as much may be read behind a text."""
    return np.concatenate([data_of(text), np.zeros(66, np.uint8)])


@pytest.mark.parametrize("character", CHARACTERS, ids=lambda c: f"{ord(c):x}")
def test_a_character_is_read_where_it_stands_whole_and_written_as_it_was(character):
    own = character.encode()
    data, start, end = data_of(b"\xc3\xa9" + own + b"a"), np.int64(2), np.int64(2 + len(own))
    for most in range(len(own) + 1):
        whole = most == len(own)
        if most:
            told = plain(utf8.decode)(data, start, start + most, OTHER)
            assert told == ((ord(character), len(own)) if whole else (OTHER, 1))
    out = np.zeros(8, np.uint8)
    assert plain(utf8.encode)(np.uint32(ord(character)), out, np.int64(1)) == 1 + len(own)
    assert out.tobytes() == b"\0" + own + bytes(7 - len(own))
    assert plain(utf8.before)(data, np.int64(0), end) == start
    assert plain(utf8.before)(data, start, end) == start
    assert plain(utf8.before)(data, np.int64(0), start) == 0


def test_a_character_does_not_begin_before_the_text_does():
    data = data_of(b"\x80" * 4)
    assert [plain(utf8.before)(data, np.int64(s), np.int64(4)) for s in (0, 1, 3)] == [0, 1, 3]


def decoded(data):
    """As `decode` has it, in numbers of Python."""
    lead = data[0]
    size = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if size == 1:
        return lead, 1
    if lead < 0xC0 or size > len(data):
        return int(OTHER), 1
    cp = lead % (1 << 7 - size)
    for byte in data[1:size]:
        cp = cp << 6 | byte % 64
    return (cp, size) if cp <= 0x10FFFF else (int(OTHER), 1)


def test_bytes_that_are_no_character_are_one_of_another():
    ends = (b"\x80\x80\x80", b"\xbf\xbf\xbf", b"\x8f\xbf\xbf", b"\x90\x80\x80", b"\xa5")
    for lead, rest in product(range(256), ends):
        own = bytes([lead]) + rest
        told = plain(utf8.decode)(data_of(own), np.int64(0), np.int64(len(own)), OTHER)
        assert told == decoded(own), own


def test_of_three_bytes_the_code_point_is_known_unless_it_takes_four():
    for character in CHARACTERS:
        three = (character.encode() + b"\x93\xb1\xaa")[:3]
        told = plain(utf8.short_code_point)(*np.frombuffer(three, np.uint8))
        assert told == (ord(character) if ord(character) < 0x10000 else utf8.NO_ENTRY)


def test_of_64_bytes_it_is_known_where_characters_begin_and_which():
    text = "".join(CHARACTERS) * 3
    data, starts = wide(text), [len(text[:k].encode()) for k in range(len(text))]
    points = np.zeros(64, np.uint16)
    for at in (0, 1, 3, 17):
        within = {s - at: c for s, c in zip(starts, text, strict=True) if at <= s < at + 64}
        bits = plain(utf8.starts_in)(data, at)
        assert [k for k in range(64) if int(bits) >> k & 1] == [*within]
        plain(utf8.code_points_in)(data, at, points)
        short = {k: ord(c) for k, c in within.items() if ord(c) < 0x10000}
        assert {k: int(points[k]) for k in short} == short
        assert {int(points[k]) for k in within.keys() - short} == {int(utf8.NO_ENTRY)}


@pytest.mark.parametrize("n", [1, 63, 64, 65, 100])
def test_one_byte_that_is_not_ascii_is_seen_wherever_it_stands(n):
    for at, odd in product((0, 1, 36, 37, 64), range(n)):
        if at <= odd:
            data = np.full(n, 0x7F, np.uint8)
            stop = min(at + 64, n)
            ask = (np.uint64(at), np.uint64(stop))
            assert plain(utf8.is_ascii)(data, *ask)
            data[odd] = 0x80
            assert plain(utf8.is_ascii)(data, *ask) == (odd >= stop)


def test_a_capital_sigma_ends_a_word_where_python_says_so():
    known = tables()
    around = ["", *map("".join, product("aψ.'\u0301 1é𐐀", repeat=2)), "'a", "''a", "a''"]
    for before, after in product(around, around[:40]):
        text = f"{before}Σ{after}"
        at, data = len(before.encode()), data_of(text)
        ask = (np.int64(0), np.int64(at), np.int64(len(data)))
        told = plain(utf8.sigma_is_final)(data, *ask, known.pages, known.flags)
        assert told == (text.lower()[len(before.lower())] == "ς"), text


def test_what_stands_before_a_text_makes_no_sigma_final():
    data, known = data_of("a'Σ"), tables()
    ask = (np.int64(2), np.int64(4), known.pages, known.flags)
    assert not plain(utf8.sigma_is_final)(data, np.int64(1), *ask)
    assert plain(utf8.sigma_is_final)(data, np.int64(0), *ask)
