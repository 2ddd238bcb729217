"""A report as Markdown: every number, tables of equal columns, nothing obeyed as markup."""

import re

import pytest

from tests.pipelines.prepare.report.test_report import (
    empty_report,
    hostile_report,
    run_report,
    written,
)
from tests.pipelines.prepare.report.test_report_html import numbers_of
from tests.sizing.document.pages import tables_of


@pytest.mark.parametrize("make", [run_report, empty_report])
def test_every_number_of_the_ledger_stands_in_a_table(tmp_path, make):
    report = make()
    rows = [row for found in tables_of(written(tmp_path, report)[0]) for row in found]
    cells = {cell.strip("* ") for row in rows for cell in row}
    for row in report["ledger"]:
        assert {f"{n:,}" for n in numbers_of(row)} <= cells
        assert {row["stage"], *row["removed"], *row["failed"]} <= cells


@pytest.mark.parametrize("make", [run_report, empty_report, hostile_report])
def test_markdown_tables_have_equal_columns(tmp_path, make):
    tables = list(tables_of(written(tmp_path, make())[0]))
    assert len(tables) > 5
    for rows in tables:
        assert len({len(row) for row in rows}) == 1
        assert all(re.fullmatch(r" ---:? ", cell) for cell in rows[1])


def test_a_requirement_shows_its_formula_inputs_and_what_was_measured(tmp_path):
    report = run_report()
    text = written(tmp_path, report)[0]
    rows = [[cell.strip() for cell in row] for found in tables_of(text) for row in found]
    for requirement in report["requirements"]:
        assert [requirement["name"], requirement["shown"]] in [row[:2] for row in rows]
        for given in requirement["inputs"]:
            row = next(r for r in rows if r[:2] == [requirement["name"], given["name"]])
            expected = "measured" if given["measured"] else "assumed"
            assert row[3] == ("computed" if given["computed_by"] else expected)
