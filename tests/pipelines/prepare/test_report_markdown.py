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
