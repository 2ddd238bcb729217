import sys
import unicodedata

import pytest

from tokenmill.dedup.text.fold_tables import invisible
from tokenmill.sizing.document.unseen import RUN, name_of, named

SEEN = set(range(0x600, 0x606)) | {0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
SEEN |= set(range(0x13430, 0x13440))  # joiners of hieroglyphs, which change how others stand


def test_every_control_and_format_character_is_named():
    for cp in range(sys.maxunicode + 1):
        char = chr(cp)
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in "\t\n":
            assert (RUN.fullmatch(char) is None) == (cp in SEEN), hex(cp)


def test_every_character_that_folding_deletes_is_named():
    for char in invisible():
        assert RUN.fullmatch(char), hex(ord(char))


def test_letters_marks_spaces_and_signs_stay():
    text = "Straße, e\u0301 — “quoted” \u00a0 東京 שלום \u3000 👍 \t\n \U0001f469"
    assert named(text) == text
    kinds = [chr(cp) for cp in range(0x20, 0x3000) if unicodedata.category(chr(cp))[0] in "LNPS"]
    for char in set(kinds) - {"\u115f", "\u1160"}:
        assert not RUN.match(char), hex(ord(char))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\r\n", "\n"),
        ("\r", "⟨U+000D⟩"),
        ("a\u200b\u200b\u200bb\u200c", "a⟨U+200B x 3⟩b⟨U+200C⟩"),
        ("\U000e0061", "⟨U+E0061⟩"),
        ("\ud800", "⟨U+D800⟩"),
    ],
)
def test_runs_of_one_character_are_named_once(text, shown):
    assert named(text) == shown


def test_other_characters_are_named_where_they_would_mislead():
    assert named("⟦a⟧", "⟦⟧") == "⟨U+27E6⟩a⟨U+27E7⟩"
    assert named("[^a]", "^]") == "[⟨U+005E⟩a⟨U+005D⟩"
    assert name_of("\u202e" * 1000) == "U+202E x 1,000"
