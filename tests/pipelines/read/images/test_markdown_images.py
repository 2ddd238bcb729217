"""Images of Markdown documents, and what is left of the text."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.core.schema import PLACEHOLDER as P
from tokenmill.pipelines.read.images.markdown import find_images, with_placeholders

PIECES = [
    *("![a](b.png)", "![](<c d.png> 't')", "![r]", "![x][r]", "\n\n[r]: r.png\n\n", "[", "]", "!["),
    *("<img src=i.png alt='I'>", "<img", "<div>\n", "</div>", "<!-- ", "-->", "<![foo[", "]]>"),
    *("`", "```\n", "    ", "\t", "> ", "- ", "1. ", "# ", "\n", "\r\n", "\r", "\x0c", "\x85"),
    *(
        "\0",
        "\\",
        "*",
        "_",
        "text ",
        "é🙂",
        "| a | b |\n|---|---|\n",
        "](",
        "![![a](b)](c.png)",
        "&amp;",
    ),
]
documents = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def text_of(source):
    return with_placeholders(source, find_images(source))


@pytest.mark.parametrize(
    ("source", "images", "text"),
    [
        ("no image ![x]", [], "no image ![x]"),
        ("![A *cat*](cat.png)", ["cat.png"], f"A cat\n\n{P}"),
        ("![](cat.png)\n", ["cat.png"], P),
        ("a ![b](c.png) d\ne\n\nf\n", ["c.png"], f"a b d\ne\n\n{P}\n\nf"),
        ("![a](1)![b](2 't')", ["1", "2"], f"ab\n\n{P}\n\n{P}"),
        ("![a](1)\n\n\n\n![b](2)", ["1", "2"], f"a\n\n{P}\n\nb\n\n{P}"),
        ("[![badge](b.svg)](http://x)", ["b.svg"], f"[badge](http://x)\n\n{P}"),
        ("![![in](i.png)](o.png)", ["o.png"], f"in\n\n{P}"),
        ("`![a](1)`\n\n    ![b](2)\n\n```\n![c](3)\n```\n", [], None),
        ("`![a](1)` ![a](1)", ["1"], f"`![a](1)` a\n\n{P}"),
        ("\\![a](1) !\\[a](1)", [], None),
        ("![a][r]\n\n[r]: <x y.png>\n", ["x%20y.png"], f"a\n\n{P}\n\n[r]: <x y.png>"),
        ("![gone][r]", [], None),
        ("# Head ![a](1) #\ntext", ["1"], f"# Head a #\n\n{P}\n\ntext"),
        ("Head ![a](1)\n===\ntext", ["1"], f"Head a\n===\n\n{P}\n\ntext"),
        ("> a ![b](1)\n> c ![d](2)\n", ["1", "2"], f"> a b\n> c d\n\n{P}\n\n{P}"),
        ("- a ![b](1)\n\t- ![c](2)\n- d", ["1", "2"], f"- a b\n\n{P}\n\n\t- c\n\n{P}\n\n- d"),
        ("a\r\n![b](1)\r\n\r\nc\r\n", ["1"], f"a\r\nb\n\n{P}\n\nc"),
        ("| ![a](1) | ![b](2) |\n|--|--|\n", ["1", "2"], f"| a | b |\n|--|--|\n\n{P}\n\n{P}"),
        ("a <img src='1' alt='A &lt; B'/> b", ["1"], f"a A < B b\n\n{P}"),
        ("<p>\n<IMG\n  SRC=1 >\n</p>\n", ["1"], f"<p>\n\n</p>\n\n{P}"),
        ("<!-- <img src='1'> --> <img alt='x'> <img src=''>", [], None),
        ("![a](data:image/png;base64,AAAA)", ["data:image/png;base64,AAAA"], f"a\n\n{P}"),
        ("![a](file:///etc/passwd)", ["file:///etc/passwd"], f"a\n\n{P}"),
        ("![a]()", [], None),
        ("> ![a](1)> ![a](1)", ["1", "1"], f"> a> a\n\n{P}\n\n{P}"),
        ("x\0y ![a](1)", ["1"], f"x\0y a\n\n{P}"),
    ],
)
def test_documents(source, images, text):
    found = find_images(source)
    assert [m.src for m in found] == images
    assert text_of(source) == (source if text is None else text)


def test_a_mark_knows_its_line():
    assert [m.line for m in find_images("a\n\n> b\n> ![c](1)\n\n<p>\n<img src=2>")] == [4, 7]


@given(documents)
def test_any_document_keeps_its_text_and_has_a_place_for_each_image(source):
    found = find_images(source)
    starts = [m.start for m in found]
    assert starts == sorted(set(starts))
    assert all(a.stop <= b.start for a, b in pairwise(found))
    for mark in found:
        markup = source[mark.start : mark.stop]
        assert markup.startswith("![") or markup.lower().startswith("<img")
        assert mark.stop <= mark.behind
    text = text_of(source)
    assert text.count(P) == len(found)
    without, at = "", 0
    for mark in found:
        without += source[at : mark.start] + mark.alt
        at = mark.stop
    without += source[at:]
    assert words(text.replace(P, " ")) == words(without)


def words(text):
    return re.findall(r"[^\s\x1c-\x1f\x85]+", text)


@pytest.mark.timeout(300)  # the square of these lengths would take minutes
@pytest.mark.parametrize(
    ("source", "images"),
    [
        ("![" * 20_000, 0),
        ("![a](" * 20_000, 0),
        ("<img " * 50_000, 0),
        ("<img src=x" * 50_000, 0),
        ("<!--" * 100_000 + "![a](1)", 0),
        ("![a](1)" * 5_000, 5_000),
        ("<p>\n" + "<img src=1>\n" * 5_000, 5_000),
        ("> " * 5_000 + "![a](1)", None),
        ("a" + "`" * 100_000 + "![a](1)", 1),
    ],
    ids=lambda s: str(s)[:12],
)
def test_no_document_takes_long(source, images):
    found = find_images(source)
    assert images in (None, len(found))
    assert with_placeholders(source, found).count(P) == len(found)
