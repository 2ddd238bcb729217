"""The page of a report: balanced, escaped, self-contained, and it shows every number."""

import pytest

from tests.pipelines.prepare.report.test_report import (
    HOSTILE,
    empty_report,
    hostile_report,
    run_report,
    written,
)
from tests.sizing.document.pages import Page, check_self_contained, check_structure


def numbers_of(row):
    yield from (n for n in row.values() if isinstance(n, int))
    yield from row["removed"].values()
    yield from row["failed"].values()


@pytest.mark.parametrize("make", [run_report, empty_report])
def test_every_number_of_the_ledger_is_on_the_page(tmp_path, make):
    report = make()
    shown = set(Page(written(tmp_path, report)[1]).text)
    for row in report["ledger"]:
        assert {f"{n:,}" for n in numbers_of(row)} <= shown
        assert {row["stage"], *row["removed"], *row["failed"]} <= shown


@pytest.mark.parametrize("make", [run_report, empty_report])
def test_the_page_is_balanced_and_its_ids_are_unique(tmp_path, make):
    check_structure(written(tmp_path, make())[1])


@pytest.mark.parametrize("make", [run_report, empty_report])
def test_the_page_loads_nothing_and_runs_nothing(tmp_path, make):
    check_self_contained(written(tmp_path, make())[1])


def test_text_from_outside_stays_text(tmp_path):
    text, html = written(tmp_path, hostile_report())
    page = Page(html)
    assert "script" not in {tag for tag, _ in page.tags}
    assert "<script" not in text
    assert sum(HOSTILE in shown for shown in page.text) > 15
    assert "a�b�[31m" in html
    assert "\x00" not in text + html
    assert "\x1b" not in text + html


def test_a_run_that_left_nothing_still_has_its_plots(tmp_path):
    text, html = written(tmp_path, empty_report())
    page = Page(html)
    assert [attrs["aria-labelledby"] for tag, attrs in page.tags if tag == "svg"] == [
        "documents-title",
        "text-title",
        "reasons-title",
    ]
    assert "tokenmill size" not in text
    assert "No input file or shard failed or is damaged." in text
