"""The page: balanced, escaped, self-contained; every count and every match stands on it."""

import html
import re

import pytest

from tests.pipelines.contamination.test_report import (
    HOSTILE,
    empty_data,
    hostile_data,
    run_data,
    with_copies,
    written_report,
)
from tests.sizing.document.pages import Page, check_self_contained, check_structure


@pytest.mark.parametrize("make", [run_data, empty_data, hostile_data])
def test_the_page_is_balanced_and_needs_nothing(tmp_path, make):
    page = written_report(tmp_path, make(tmp_path))[1]
    check_structure(page)
    check_self_contained(page)


def test_every_count_of_a_benchmark_is_on_the_page(tmp_path):
    data = run_data(tmp_path)
    shown = set(Page(written_report(tmp_path, data)[1]).text)
    for benchmark in data["benchmarks"]:
        counts = ("items", "clean", "dirty", "untestable", "found_whole", "only_ignored", "docs")
        assert {benchmark["name"], benchmark["md5"]} <= shown
        assert {f"{benchmark[name]:,}" for name in counts} <= shown


def test_every_match_is_marked_on_both_sides(tmp_path):
    data = run_data(tmp_path)
    page = written_report(tmp_path, data)[1]
    marked = [html.unescape(text) for text in re.findall("<mark>(.*?)</mark>", page, re.DOTALL)]
    for example in data["examples"]:
        text = example["item_text"]["text"]
        assert example["match"] in marked
        assert {text[a:b] for a, b in example["item_text"]["spans"]} <= set(marked)


def test_shares_are_drawn_where_anything_is_dirty(tmp_path):
    drawn = [
        [a["aria-labelledby"] for tag, a in Page(page).tags if tag == "svg"]
        for page in (
            written_report(tmp_path, run_data(tmp_path))[1],
            written_report(tmp_path, empty_data(tmp_path))[1],
        )
    ]
    assert drawn == [["dirty-shares-title"], []]
    page = written_report(tmp_path, run_data(tmp_path))[1]
    assert "quiz: 69.2 %; other|set: 0 %" in page


def test_figures_that_matter_are_large(tmp_path):
    page = written_report(tmp_path, run_data(tmp_path))[1]
    figures = re.findall("<dt>(.*?)</dt><dd>(.*?) <small>(.*?)</small>", page)
    assert figures == [
        ("items in the corpus", "9", "of 16"),
        ("benchmarks with such items", "1", "of 2"),
        ("documents with items", "10", "of 4,733"),
        ("items that cannot be tested", "0", ""),
        (
            '<a href="#inputs">failed or damaged</a>',
            "4 documents",
            "1 input file, 1 shard, 1 damaged shard",
        ),
    ]


def test_edited_copies_are_a_figure_of_their_own(tmp_path):
    page = written_report(tmp_path, with_copies(run_data(tmp_path)))[1]
    assert "<dt>other items as edited copies</dt><dd>3 <small>in 2 documents</small>" in page
    check_structure(page)


def test_no_text_steers_the_page(tmp_path):
    page = written_report(tmp_path, hostile_data(tmp_path))[1]
    tags = {tag for tag, _ in Page(page).tags}
    assert not tags & {"script", "c", "b"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", page)
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 50
    quoted = "".join(re.findall("<blockquote.*?</blockquote>", page, re.DOTALL))
    assert "\u202e" not in quoted
    assert "U+202E" in quoted
    assert HOSTILE not in page


def test_where_nothing_was_found_there_is_no_empty_section(tmp_path):
    page = written_report(tmp_path, empty_data(tmp_path))[1]
    assert "Side by side" not in page
    assert "No document has an item." in page
    assert "<mark>" not in page
