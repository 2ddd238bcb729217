"""The page of a report: balanced, escaped, self-contained, and it shows every number."""

import re
from html.parser import HTMLParser

import pytest

from tests.pipelines.test_report import HOSTILE, empty_report, hostile_report, run_report, written

VOID = {"meta", "line"}


class Page(HTMLParser):
    """Checks that tags are balanced; collects them, and the text a reader sees."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


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
    page = Page(written(tmp_path, make())[1])
    assert len(page.ids) == len(set(page.ids))
    for tag, attrs in page.tags:
        if tag == "a":
            assert attrs["href"].removeprefix("#") in page.ids
        if tag == "svg":
            assert attrs["role"] == "img"
            assert attrs["aria-labelledby"] in page.ids
            assert attrs["aria-describedby"] in page.ids
        if tag == "th":
            assert attrs["scope"] in ("col", "row")


@pytest.mark.parametrize("make", [run_report, empty_report])
def test_the_page_loads_nothing_and_runs_nothing(tmp_path, make):
    html = written(tmp_path, make())[1]
    tags = {tag for tag, _ in Page(html).tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "image", "use"}
    for _, attrs in Page(html).tags:
        assert not attrs.keys() & {"src", "srcset", "xlink:href", "data", "action"}
        assert not [name for name in attrs if name.startswith("on")]
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in html.replace("http-equiv", "")


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
    assert "Storage requirements" not in text
    assert "No input file or shard failed or is damaged." in text
