"""A duplicate beside the document that was kept: what differs is marked, the rest folded."""

import io
import re

from rich.console import Console

from tokenmill.flows.inspected import AROUND, MOST_CHANGED, MOST_CHANGES, show_beside

LONG = " ".join(f"word{i}" for i in range(500))


def document(text, id="a"):
    return {"id": id, "text": text}


def printed(removed, kept, *, colours=False):
    to = io.StringIO()
    kind = {"force_terminal": True, "color_system": "standard", "no_color": False}
    show = Console(file=to, width=110, markup=False, highlight=False, **(kind if colours else {}))
    show_beside(show, document(removed, "gone"), document(kept, "stays"))
    return to.getvalue()


def test_words_that_differ_are_marked_where_there_are_no_colours():
    shown = printed("Copyright 2024 Ada, all rights", "Copyright 2025 Ada, all the rights")
    assert "removed: gone\nkept:    stays" in shown
    assert "Copyright [-2024-]{+2025+} Ada, all{+ the+} rights" in shown
    assert "characters: 26 in both, 4 in the removed document only, 8 in the kept one only" in shown


def test_on_a_terminal_each_document_has_a_panel_and_its_colour():
    shown = printed("Copyright 2024 Ada", "Copyright 2025 Ada", colours=True)
    assert "removed: gone" in shown
    assert "\x1b[1;31m2024\x1b[0m" in shown
    assert "\x1b[1;32m2025\x1b[0m" in shown
    assert "[-" not in shown


def test_a_terminal_without_colours_has_marks():
    to = io.StringIO()
    show = Console(file=to, width=110, markup=False, force_terminal=True, no_color=True)
    show_beside(show, document("a b"), document("a c"))
    assert "a [-b-]{+c+}" in re.sub(r"\x1b\[\d*m", "", to.getvalue())


def test_long_equal_stretches_are_folded_around_the_changes():
    shown = printed(f"{LONG} old {LONG} end", f"{LONG} new {LONG} end").replace("\n", " ")
    equal = len(LONG) + 1
    assert f" … {equal - AROUND:,} equal characters … " in shown
    assert f" … {equal + 1 + len('end') - AROUND:,} equal characters … " in shown
    assert "word499 [-old-]{+new+} word0" in shown
    assert "word250" not in shown
    assert "word499{+ new+}" in printed(LONG, f"{LONG} new")


def test_long_changes_are_shortened_and_many_are_counted():
    shown = printed(f"a {LONG} b", "a x b")
    assert f"… {len(LONG) - MOST_CHANGED:,} characters …" in shown
    many = [f"w{i}" for i in range(500)]
    other = [w if i % 5 else f"new{i}" for i, w in enumerate(many)]
    shown = printed(" ".join(many), " ".join(other))
    assert shown.count("{+") == MOST_CHANGES // 2
    assert f"… {2 * 100 - MOST_CHANGES} more changes …" in shown


def test_equal_texts_are_said_to_be_equal_and_shown_once():
    shown = printed(LONG, LONG)
    assert f"the texts are equal, {len(LONG):,} characters" in shown
    assert shown.count("word7 ") == 1


def test_only_the_beginning_of_huge_documents_is_compared(monkeypatch):
    monkeypatch.setattr("tokenmill.flows.inspected.MOST_COMPARED", 10)
    shown = printed("0123456789 a", "0123456789 b")
    assert "compared: the first 10 characters" in shown


def test_a_document_cannot_steer_the_terminal():
    assert "\x1b]0;" not in printed("a \x1b]0;owned\x07 b", "a [bold]c b", colours=True)
    assert "{+[bold]c+}" in printed("a \x1b]0;owned\x07 b", "a [bold]c b")
