"""Parts of a document on a page and in Markdown: captions, marks, folding, derivations."""

import pytest

from tests.sizing.document.pages import Page, check_self_contained, check_structure
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.page import OPEN_ROWS, KeyFigure, figure, page
from tokenmill.sizing.document.section import Derivation, Derivations, Given, Section, table

HOSTILE = '`</p><b onload="x">'
DERIVED = Derivation(
    name="product",
    shown="6 GB",
    equation="left x right",
    given=(Given("left", "2 GB", "measured", "a file"), Given("right", "3", "computed", "other")),
    source="definition",
)


def drawn(*blocks, plots=None):
    section = Section(key="k", title="Title", blocks=blocks)
    html = page("Doc", [section], key_figures=[], plots=plots or {}, footer="The end.")
    check_structure(html)
    check_self_contained(html)
    return html


def text(*blocks):
    return markdown("Doc", [Section(key="k", title="Title", blocks=blocks)])


def test_a_caption_that_repeats_the_title_is_not_shown_twice():
    same, other = table("Title", ("n",), [("1",)]), table("Rows", ("n",), [("1",)])
    assert "<caption>" not in drawn(same)
    assert '<table aria-label="Title">' in drawn(same)
    assert "<caption>Rows</caption>" in drawn(other)
    assert "**Title**" not in text(same)
    assert "**Rows**" in text(other)


@pytest.mark.parametrize(
    ("word", "css"),
    [
        ("measured", "measured"),
        ("enough", "enough"),
        ("enough *", "other"),
        ("short 3.2x *", "short"),
        ("unverified", "unverified"),
        ("not published", "other"),
    ],
)
def test_a_mark_is_set_off_by_what_it_says(word, css):
    html = drawn(table("Rows", ("tier", "*verdict"), [("NFS", word)]))
    assert f'<mark class="{css}">{word}</mark>' in html


@pytest.mark.parametrize(("sums", "n"), [(True, 1), (False, 0)])
def test_the_last_row_alone_is_set_off_and_only_where_it_sums(sums, n):
    html = drawn(table("Rows", ("n",), [("1",), ("2",), ("3",)], sums=sums))
    assert html.count('<tr class="sum">') == n
    assert ('<tr class="sum"><th scope="row" class="text">3<' in html) is sums


def test_a_long_table_is_folded_and_says_how_long_it_is():
    rows = [(str(i),) for i in range(OPEN_ROWS + 1)]
    assert f"<summary>Rows ({OPEN_ROWS + 1} rows)</summary>" in drawn(table("Rows", ("n",), rows))
    assert "<details>" not in drawn(table("Rows", ("n",), rows[1:]))


def test_a_derivation_shows_equation_inputs_and_sources():
    block = Derivations(caption="Sizes", rows=(DERIVED,))
    shown = Page(drawn(block)).text
    assert "Sizes (1 figure)" in shown
    for word in (
        "product = 6 GB",
        "left x right",
        "left",
        "2 GB",
        "measured",
        "a file",
        "computed",
    ):
        assert word in shown
    assert text(block).endswith(
        "### Sizes\n\n**product** = 6 GB\n\n`left x right`\n\n"
        "- `left` = 2 GB · **measured** · a file\n- `right` = 3 · **computed** · other\n\n"
        "Formula: definition.\n"
    )


def test_a_derivation_of_hostile_words_is_only_text():
    hostile = Derivation(
        name=HOSTILE,
        shown=HOSTILE,
        equation=HOSTILE,
        given=(Given(HOSTILE, HOSTILE, HOSTILE, HOSTILE),),
        source=HOSTILE,
    )
    block = Derivations(caption=HOSTILE, rows=(hostile,))
    assert "b" not in {tag for tag, _ in Page(drawn(block)).tags}
    told = text(block)
    assert "<b" not in told.replace(f"`'{HOSTILE[1:]}`", "")  # in code nothing is obeyed
    assert told.count("`") % 2 == told.count("\\`") % 2


def test_key_figures_and_links_follow_the_summary():
    trouble = KeyFigure("failed", "3", "files", trouble="k")
    sections = [
        Section(key="summary", title="In short", blocks=("Words.",)),
        Section(key="k", title="More", blocks=("Words.",)),
        Section(key="none", title="Nothing", blocks=()),
    ]
    html = page(
        "Doc", sections, key_figures=[KeyFigure("tokens", "5"), trouble], plots={}, footer=""
    )
    check_structure(html)
    assert "<div><dt>tokens</dt><dd>5 <small></small></dd></div>" in html
    assert '<div class="trouble"><dt><a href="#k">failed</a></dt>' in html
    assert '<nav aria-label="Sections"><a href="#k">More</a></nav>' in html


def test_a_plot_stands_in_its_section_with_its_title():
    html = drawn(plots={"k": [figure("What <is> drawn", "a note", "DRAWN")]})
    assert (
        "<figure><figcaption>What &lt;is&gt; drawn<small>a note</small></figcaption>DRAWN</figure>"
        in html
    )
