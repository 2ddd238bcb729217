"""The report as Markdown: tables of equal columns, matches in brackets, nothing obeyed."""

import re

import pytest
from markdown_it import MarkdownIt

from tests.pipelines.contamination.test_report import (
    empty_data,
    hostile_data,
    run_data,
    written_report,
)
from tests.sizing.document.pages import Page, tables_of
from tokenmill.pipelines.contamination.report_found import MOST_OPEN

SHOWN = {
    "h1", "h2", "h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "blockquote",
}  # fmt: skip


def rendered(text):
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)


@pytest.mark.parametrize("make", [run_data, empty_data, hostile_data])
def test_tables_have_equal_columns(tmp_path, make):
    tables = list(tables_of(written_report(tmp_path, make(tmp_path))[0]))
    assert len(tables) > 3
    for rows in tables:
        assert len({len(row) for row in rows}) == 1


@pytest.mark.parametrize("make", [run_data, empty_data, hostile_data])
def test_no_text_steers_markdown(tmp_path, make):
    text = written_report(tmp_path, make(tmp_path))[0]
    tags = {tag for tag, _ in Page(rendered(text)).tags}
    assert tags <= SHOWN
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", text)


def test_matches_stand_in_brackets_that_are_only_ours(tmp_path):
    data = run_data(tmp_path)
    text = written_report(tmp_path, data)[0]
    first = data["examples"][0]
    assert f"⟦{first['match']}⟧" in text
    assert text.count("⟦") == text.count("⟧") == 2 * MOST_OPEN
    assert f"### quiz: 9 items, {MOST_OPEN} shown" in text
    hostile = written_report(tmp_path, hostile_data(tmp_path))[0]
    quoted = [line for line in hostile.splitlines() if line.startswith("> ")]
    assert len(quoted) == 2 * MOST_OPEN
    assert {line.count("⟦") for line in quoted} == {1, 2}
    assert all(line.count("⟦") == line.count("⟧") for line in quoted)
    assert "\u202e" not in "".join(quoted)


def test_every_count_of_a_benchmark_stands_in_a_table(tmp_path):
    data = run_data(tmp_path)
    rows = [row for rows in tables_of(written_report(tmp_path, data)[0]) for row in rows]
    cells = {cell.strip("* ").replace("\\|", "|") for row in rows for cell in row}
    for benchmark in data["benchmarks"]:
        counts = ("items", "clean", "dirty", "untestable", "found_whole", "only_ignored", "docs")
        assert {benchmark["name"], *(f"{benchmark[name]:,}" for name in counts)} <= cells
