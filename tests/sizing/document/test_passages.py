"""Passages side by side, on a page and in Markdown: marked, bounded, and nothing in them obeyed."""

import re
import sys
import unicodedata

import pytest
from markdown_it import MarkdownIt

from tests.sizing.document.pages import Page, check_self_contained, check_structure
from tokenmill.dedup.text.fold_tables import invisible
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.page import page
from tokenmill.sizing.document.passages import RUN, name_of, named
from tokenmill.sizing.document.section import Comparison, Comparisons, Passage, Piece, Section

HOSTILE = (
    "</mark></blockquote><script>alert(1)</script> \x00\x1b[31m \u202eevil\u202c | `a` **b** __c__"
    " ~~d~~ [x](javascript:y) ![z](w)\n# heading\n> quote\n- list\n1. one\n\n---\n```\ncode\n```\n"
    "| a | b |\n|---|---|\n| c | d |\n &lt; &#60; \\ ⟦x⟧ \ud800 \ufffe $$e$$ <!-- f --> "
    + "W"
    * 5000
)


def comparison(name="item 1", text="found", facts=("half of it",)):
    left = Passage(f"left of {name}", (Piece("before "), Piece(text, marked=True), Piece(" after")))
    right = Passage(f"right of {name}", (Piece(text.upper(), marked=True), Piece("")))
    return Comparison(title=name, facts=facts, sides=(left, right))


def section(rows, *, n_open=2, n_all=None):
    block = Comparisons(
        caption="quiz", rows=tuple(rows), n_open=n_open, n_all=n_all or len(rows), noun="item"
    )
    return Section(key="examples", title="Side by side", blocks=("Read them.", block))


def html_of(*rows, **settings):
    made = section(rows, **settings)
    html = page("Title", [made], key_figures=[], plots={}, footer="")
    check_structure(html)
    check_self_contained(html)
    return html


def test_what_is_found_is_marked_on_both_sides():
    html = html_of(comparison())
    assert re.findall("<mark>(.*?)</mark>", html) == ["found", "FOUND"]
    for shown in ("item 1", "half of it", "left of item 1", "right of item 1", "before ", " after"):
        assert shown in Page(html).text


def test_a_page_folds_the_rest_and_says_how_many_are_not_shown():
    html = html_of(*(comparison(f"item {n}") for n in range(5)), n_all=213)
    assert "<h3>quiz: 213 items, 5 shown</h3>" in html
    assert html.count("<article") == 5
    folded = html[html.index("<details>") :]
    assert folded.count("<article") == 3
    assert "<summary>3 more</summary>" in folded
    assert "<h3>quiz: 1 item</h3>" in html_of(comparison())
    assert "<details>" not in html_of(comparison())


def test_markdown_leaves_out_the_rest_and_says_so():
    text = markdown("Title", [section([comparison(f"item {n}") for n in range(5)], n_all=213)])
    assert "### quiz: 213 items, 2 shown" in text
    assert "**item 1** · half of it" in text
    assert "> **left of item 1:** before ⟦found⟧ after" in text
    assert "> **right of item 1:** ⟦FOUND⟧" in text
    assert "item 2" not in text


def test_lines_stay_lines_and_what_cannot_be_seen_is_named():
    html = html_of(comparison(text="a\r\n\tb\u200b\u200b<c>"))
    shown = 'a\n\tb<span class="unseen">U+200B x 2</span>&lt;c&gt;'
    assert f"<mark>{shown}</mark>" in html


def test_an_empty_stretch_is_not_marked():
    assert "<mark>" not in html_of(comparison(text=""))


@pytest.mark.parametrize("n_open", [0, 1])
def test_no_text_steers_the_page(n_open):
    clean, html = (
        html_of(comparison(t, t, (t, t)), n_open=n_open, n_all=2) for t in ("plain", HOSTILE)
    )
    plain, nasty = (
        [(tag, attrs) for tag, attrs in Page(h).tags if attrs.get("class") != "unseen"]
        for h in (clean, html)
    )
    assert nasty == plain
    assert not set(re.findall("[^\x20-\x7e\n\t\x80-\U0010ffff]", html))
    assert "\u202e" not in html


def test_no_text_steers_markdown():
    plain, nasty = (
        markdown("Title", [section([comparison(t, t, (t, t))])]) for t in ("plain", HOSTILE)
    )
    render = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render
    assert [t for t, _ in Page(render(nasty)).tags] == [t for t, _ in Page(render(plain)).tags]
    assert nasty.count("⟦") == nasty.count("⟧") == 2
    assert not set(re.findall("[^\x20-\x7e\n\x80-\U0010ffff]", nasty))
    assert "\u202e" not in nasty
    nasty.encode()


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
