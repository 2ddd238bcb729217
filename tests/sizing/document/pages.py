"""Pages and Markdown as their readers see them, for tests of whatever makes some."""

import re
from html.parser import HTMLParser

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


def check_structure(html):
    """Balanced, ids unique, links lead somewhere, plots and tables named to a screen reader."""
    page = Page(html)
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


def check_self_contained(html):
    """Loads nothing and runs nothing."""
    tags = {tag for tag, _ in Page(html).tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "image", "use"}
    for _, attrs in Page(html).tags:
        assert not attrs.keys() & {"src", "srcset", "xlink:href", "data", "action"}
        assert not [name for name in attrs if name.startswith("on")]
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in html.replace("http-equiv", "")


def tables_of(text):
    """Runs of Markdown lines that begin with a bar, as lists of cells."""
    for run in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        yield [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in run.splitlines()]
