"""What pages ask of a parser, told before one sees them, against what one then does."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from tokenmill.pipelines.read.web.extract import Bounds, Outline, outline

BOUNDS = Bounds(tags=10_000, attributes=50, depth=512)
TAGS = str.split(
    "div p span b i font a table tr td th tbody ul li dl dd dt h1 h3 form button select option"
    " textarea title script style svg g path math mi foreignObject desc template object marquee"
    " nobr br img input hr body html head caption section em noscript applet"
)


def tree(page: str) -> tuple[int, int]:
    """Elements of the tree that a parser builds, and how deep the deepest is."""
    elements = most = 0
    level = [(HTMLTree.parse(page).document, 0)]
    while level:
        node, depth = level.pop()
        most = max(most, depth)
        for child in node.child_nodes:
            if child.type == 1:
                elements += 1
                level.append((child, depth + 1))
    return elements, most


@st.composite
def soups(draw):
    names = draw(st.lists(st.sampled_from(TAGS), min_size=1, max_size=4))
    tags = st.sampled_from([f"{s}{n}>" for n in names for s in ("<", "</")] + ["x", "<b id=1>"])
    unit = "".join(draw(st.lists(tags, min_size=1, max_size=8)))
    return unit * draw(st.integers(1, 16))


def told(page):
    found, cause = outline(page.encode(), BOUNDS)
    assert cause == "" or cause == "too_deep"
    return found


@given(soups())
@example("<p><div>" * 20)
@example("<div><table></div>" * 20)
@example("<div><table><td></div></table>" * 20)
@example("<span><div></span></div>" * 20)
@example("<form><div></form>" * 20)
@example("<h2><span><h1></h2>" * 20)
@example("<svg><title></svg>" * 20)
@example("<svg><a>" * 20)
@example("<svg><svg><b id=1><svg><svg><b id=1></svg>x" * 16)  # text where formatting waits
@example("<table><td><svg><td>" * 20)
@example("<td><div>" * 20)
@example("<caption><b id=1></caption><b id=2>" * 20)
@example("<template>" + "<div><td>" * 20)
@example("<b id=1></span><span>" * 20)
@example("<b><p>" * 20)
@example("<div><select></div></select>" * 20)
@example("<p><b id=1><i><font><b id=2>" * 20)
@example("<li><ul></li>" * 20)
@example("<g></form><form></g>" * 20)
@example("<template><form>" * 20)
@example("<li><section><li>" * 20)
@example("<table><td><table></td></table>" * 20)
@example("<table><template></table>" * 20)
@example("<table><td><svg><desc></table>" * 20)
def test_no_tree_is_deeper_or_larger_than_told(page):
    found = told(page)
    elements, depth = tree(page)
    # html, head and body are there without tags; each open element may hold a few that need no end
    assert depth <= 4 * (found.depth + 1) + 8
    assert elements <= 2 * found.nodes + found.tags + 60  # </br> and </p> are elements too


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("", Outline(0, 0, 0, 0, 0)),
        ("no tags < here, 1<2", Outline(0, 0, 0, 0, 0)),
        ("<div><section>x</section></div><div>", Outline(5, 0, 2, 3, 0)),
        ("<DIV></div><div></DIV >", Outline(4, 0, 1, 2, 0)),
        ("<li>" * 9 + "<br/>" * 9, Outline(18, 0, 1, 18, 0)),
        ("<p>x" * 9, Outline(9, 0, 1, 9, 0)),
        ("<table>" + "<tr><td>x" * 9, Outline(19, 0, 2, 19, 0)),
        ("<td>" * 9, Outline(9, 0, 0, 0, 0)),
        ("<p><font size=1>x" * 9, Outline(18, 1, 5, 48, 0)),
        ("<!-- <div> --><div><!--><div><!---><div>", Outline(3, 0, 3, 3, 0)),
        ("<!-- <div> --!><div>", Outline(1, 0, 1, 1, 0)),
        ("<!-- <div>", Outline(0, 0, 0, 0, 0)),
        ("<!doctype html <div><?xml <div>>", Outline(0, 0, 0, 0, 0)),
        ("<script>a = '<div>' </scripts></SCRIPT ><div>", Outline(3, 0, 1, 2, 0)),
        ("<style><div>", Outline(1, 0, 0, 1, 0)),
        ("<svg><style><g></g></style></svg>", Outline(6, 0, 3, 3, 0)),
        ("<svg><path/><path/><p>", Outline(4, 0, 1, 4, 0)),
        ("<div a=1 b='2 > 3' c=\"<div>\" d e = f>", Outline(1, 5, 1, 6, 0)),
        ("<div a='unclosed>", Outline(1, 1, 1, 2, 0)),
        ("<select><option>a<OPTION>b</select>", Outline(4, 0, 1, 3, 2)),
        ("</div></p></b>", Outline(3, 0, 0, 0, 0)),
        ("<div", Outline(1, 0, 1, 1, 0)),
        ("<", Outline(0, 0, 0, 0, 0)),
        ("</", Outline(0, 0, 0, 0, 0)),
    ],
)
def test_what_is_counted(page, found):
    assert outline(page.encode(), BOUNDS) == (found, "")


@pytest.mark.parametrize(
    ("page", "cause"),
    [
        ("<br>" * 10_001, "too_many_tags"),
        ("</div>" * 10_001, "too_many_tags"),
        ("<div " + " ".join(f"a{i}" for i in range(51)) + ">", "too_many_attributes"),
        ("<div>" * 513, "too_deep"),
        ("<b>" * 513, "too_deep"),
        ("<svg>" + "<a>" * 600, "too_deep"),
        ("<p>" + "".join(f"<b id={i}>" for i in range(400)) + "<p>x" * 3000, "too_many_nodes"),
        ("<select>" + "<option>" * 9_999, ""),
        ("<div>" * 512, ""),
        ("<p>" * 10_000, ""),
    ],
)
def test_pages_that_ask_for_too_much_are_refused(page, cause):
    assert outline(page.encode(), BOUNDS)[1] == cause


@pytest.mark.parametrize(
    ("begin", "unit"),
    [
        ("<ul>", "<li><p>x"),
        ("<ul>", "<li><div>x"),
        ("<ol>", "<li><strong>x"),
        ("<dl>", "<dt>x<dd><div><p>y"),
        ("<ruby>", "a<rp>(<rt>b<rp>)"),
        ("<div>", "<form>x<p>"),
        ("<select>", "<optgroup><option>x"),
        ("<table>", "<caption><p>x<colgroup><col><thead><tr><th><p>y<tbody><tr><td><div>z"),
        ("", "<table><caption>x<tr><th>y<tbody><tr><td>z</table>"),
        ("<p>", "x<table><tr><td><p>y</table>"),
        ("<table><tr><td>", "<table><tr><td>x</table>"),
    ],
)
def test_end_tags_may_be_left_out_where_the_standard_lets_them(begin, unit):
    page = begin + unit * 80
    found, cause = outline(page.encode(), Bounds(tags=10_000, attributes=50, depth=64))
    assert cause == ""
    assert found.depth <= tree(page)[1] + 3


@pytest.mark.parametrize(
    ("begin", "end"),
    [("", ""), ("<p title='", "'>"), ("<!--", "-->"), ("<script>a<b", "</script >"), ("<?", ">")],
)
def test_tags_are_found_however_far_they_stand(begin, end):
    there = outline(f"{begin}{end}<p>".encode(), BOUNDS)
    for n in range(200):
        assert outline(f"{begin}{'x' * n}{end}<p>".encode(), BOUNDS) == there


def test_options_have_a_bound_of_their_own():
    page = "<option>" * 10_001
    assert outline(page.encode(), Bounds(10**6, 50, 512))[1] == "too_many_options"
