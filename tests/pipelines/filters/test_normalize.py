"""Normalizing equals its slow twin, changes nothing twice, and copies nothing for nothing."""

import hashlib
import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import normalize as twin
from tests.strategies import THOROUGH, document_batch
from tokenmill.pipelines.filters.kernels.controls import HAS_CONTROLS, MAY_COMPOSE
from tokenmill.pipelines.filters.normalize import (
    NORMALIZE_VERSION,
    Normalize,
    composing,
    work_needed,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "normalize.jsonl"

odd = st.sampled_from(
    [
        *(chr(c) for c in [*range(0x20), *range(0x7E, 0xA1)]),
        *"\ufeff\u2028\u200b\r\n\r\n",
        *("e\u0301", "\u0301", "\u0323", "\u212a", "\u212b", "각", "\u1100", "\u1161", "\u11a8"),
        *("\u0f71\u0f72", "\u0958", "\u09c7\u09be", "\U0001d15e", "\U0002f800", "\u0344", "é"),
        *("e\u0301\x00", "e\x00\u0301", "\u0378", "\U000e0001"),
    ]
)
docs = st.lists(st.one_of(odd, st.text(max_size=5)), max_size=12).map("".join)


def normalized(texts, **settings):
    return Normalize(**settings)(document_batch(texts)).kept["text"].to_pylist()


@given(st.lists(docs, max_size=6), st.sampled_from(["nfc", None]))
def test_normalize_is_its_twin(texts, unicode):
    assert normalized(texts, unicode=unicode) == [twin.normalize(t, unicode) for t in texts]


@given(st.lists(docs, max_size=6))
def test_twice_changes_nothing_more_and_all_is_nfc(texts):
    once = normalized(texts)
    assert normalized(once) == once
    assert all(unicodedata.is_normalized("NFC", t) for t in once)


@given(st.lists(docs, min_size=1, max_size=6))
def test_a_document_of_no_work_is_one_that_stays(texts):
    work = work_needed(pa.array(texts, pa.large_string()))
    for text, bits in zip(texts, work, strict=True):
        if bits == 0:
            assert twin.normalize(text) == text


@given(st.lists(docs, max_size=6))
def test_bytes_are_accounted_also_where_text_grows(texts):
    texts = [*texts, "\U0001d15e"]  # composition is excluded: one character becomes two
    stats = Normalize()(document_batch(texts)).stats.check("normalize")
    before = sum(len(t.encode()) for t in texts)
    after = sum(len(twin.normalize(t).encode()) for t in texts)
    assert (stats.bytes_edited, stats.docs_out) == (before - after, len(texts))


@pytest.mark.parametrize("odd", ["\x00", "\r", "\x85", "e\u0301", "é\r\n"])
def test_work_is_found_wherever_it_stands_in_a_long_document(odd):
    texts = ["a" * before + odd + "b" * 200 for before in range(300)]
    assert normalized(texts) == [twin.normalize(t) for t in texts]


ENDS = [0x2FF, 0x300, 0x3400, 0x9FFF, 0xA000, 0xABFF, 0xAC00, 0xD7A3, 0xD7A4, 0xF8FF, 0xF900,
        0xFEFE, 0xFEFF, 0xFF00, 0x1FFFF, 0x20000, 0x2F7FF, 0x2F800, 0x2FA1F, 0x2FA20, 0x10FFFF,
        0x1160, 0x1161, 0x1175, 0x1176, 0x11A7, 0x11A8, 0x11C2, 0x11C3]  # fmt: skip


@pytest.mark.parametrize("unicode", ["nfc", None])
def test_every_control_is_replaced_wherever_it_stands(unicode):
    """Characters up to U+00FF, and those where what may compose begins and ends."""
    chars = [*map(chr, range(0x100)), *map(chr, ENDS), "\r\n"]
    places = ("{}", "a{}b", "{}{}", "\r{}", "{}\n", "é{}", "\u1100{}", "\uac00{}", "a" * 127 + "{}")
    texts = [place.replace("{}", char) for place in places for char in chars]
    wanted = [twin.normalize(text, unicode) for text in texts]
    assert normalized(texts, unicode=unicode) == wanted
    has_controls = work_needed(pa.array(texts, pa.large_string())) & HAS_CONTROLS != 0
    assert has_controls.tolist() == [twin.normalize(text, None) != text for text in texts]


def test_text_can_grow():
    assert Normalize()(document_batch(["\U0001d15e"])).stats.bytes_edited == -4


def test_what_needs_no_work_is_passed_on_as_it_is():
    batch = document_batch(["plain", "naïve 東京 🙂", "", "a\tb\n\nc \u2028"])
    assert Normalize()(batch).kept is batch


def test_no_code_point_that_nfc_touches_is_taken_for_safe():
    safe = [chr(c) for c in np.flatnonzero(composing() == 0) if not 0xD800 <= c < 0xE000]
    assert not any(map(unicodedata.combining, safe))
    assert unicodedata.is_normalized("NFC", "".join(safe))
    assert unicodedata.is_normalized("NFC", "".join(reversed(safe)))
    assert len(safe) > 1_050_000


def test_whatever_joins_the_character_before_it_is_known():
    forms = filter(None, map(unicodedata.decomposition, map(chr, range(sys.maxunicode + 1))))
    pairs = [form.split() for form in forms if not form.startswith("<")]
    second = [int(pair[1], 16) for pair in pairs if len(pair) == 2]
    jamo = [ord(c) for c in unicodedata.normalize("NFD", "".join(map(chr, range(0xAC00, 0xD7A4))))]
    joins = second + [c for c in jamo if c > 0x1112]  # above the leading consonants
    assert composing()[joins].tolist() == [MAY_COMPOSE] * len(joins)


def test_every_code_point_alone_is_its_twin():
    """Beyond U+40000, where tags and selectors stand, one in 97 is asked but in `make test-all`."""
    every = 1 if THOROUGH else 97
    asked = [*range(0x40000), *range(0x40000, sys.maxunicode + 1, every)]
    texts = [chr(c) for c in asked if not 0xD800 <= c < 0xE000]
    assert normalized(texts) == [twin.normalize(t) for t in texts]


@pytest.mark.parametrize("case", [json.loads(line) for line in GOLDEN.read_text().splitlines()])
def test_golden_texts(case):
    assert normalized([case["text"]]) == [case["normalized"]]


def test_the_version_names_these_bytes():
    """Other bytes are another version: raise NORMALIZE_VERSION together with the digest."""
    texts = [json.loads(line)["text"] for line in GOLDEN.read_text().splitlines()]
    digest = hashlib.sha256("\x00".join(normalized(texts)).encode()).hexdigest()
    assert (NORMALIZE_VERSION, digest[:16]) == (1, "20730b8b72e908cd")
