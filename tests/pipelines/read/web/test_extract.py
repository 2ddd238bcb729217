"""Text of pages: what is taken, bombs that end by their bounds, and a process that may die."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tokenmill.pipelines.read.options import Html
from tokenmill.pipelines.read.stream import UnreadableError
from tokenmill.pipelines.read.web.child import (
    ANSWER,
    REFUSED,
    TEXT,
    answer,
    asked,
    extractor,
    serve,
)
from tokenmill.pipelines.read.web.extract import MOST_OPTIONS, Bounds, Extractor, outline

GOLDEN = Path(__file__).parents[3] / "golden" / "html.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
MB = 1_000_000
BOMBS = {
    "nested": ("<div>" * 100_000 + "x", "too_deep"),
    "nested formatting": ("".join(f"<b id={i}>" for i in range(20_000)), "too_deep"),
    "formatting that is opened anew": (
        "<p>" + "".join(f"<b id={i}>" for i in range(500)) + "<p>x" * 20_000,
        "too_many_nodes",
    ),
    "one tag": ("<br>" * (50 * MB // 4), "too_many_tags"),
    "attributes": (
        "<div " + " ".join(f"a{i}=1" for i in range(100_000)) + ">",
        "too_many_attributes",
    ),
    "options": ("<select>" + "<option>a" * 100_000, "too_many_options"),
    "svg": ("<svg>" + "<g>" * 100_000, "too_deep"),
}
HARMLESS = {
    "attribute": ('<p title="' + "b" * 8 * MB + '">x</p>', "x"),
    "tag": ("<p " + "a" * 8 * MB + ">x</p>", "x"),
    "comment": ("<!--" + "-" * 8 * MB + "--><p>x</p>", "x"),
    "script": ("<script>" + "var x=1;" * MB + "</script><p>x</p>", "x"),
    "zero bytes": ("<p>x" + "\0" * 8 * MB, "x"),
    "entities of a document type": (
        '<!DOCTYPE html [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><p>x&b;</p>',
        "]>\n\nx&b;",
    ),
    "options": ("<select>" + "<option>a" * (MOST_OPTIONS - 1), ""),
    "deep": ("<div>" * 511 + "<p>x", "x"),
}


def text_of(extractor, page):
    """Of one page alone."""
    (found,) = extractor([page.encode()])
    if isinstance(found, UnreadableError):
        raise found
    return found


@pytest.fixture(scope="module")
def everything():
    with Extractor(Html(main_content=False)) as extractor:
        yield extractor


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden_pages(case):
    options = Html(**case.get("options", {}))
    with Extractor(options) as extractor:
        assert text_of(extractor, case["page"]) == case["text"]


RUBY = (
    "<p>私は<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>へ<ruby>行<rt><b>い</b></ruby>"
    "きました。<RUBY><RB>長<RT>なが<RB>文<RT>ぶん</RUBY>です。<p>The <rt>rest"
)


@pytest.mark.parametrize("options", [{}, {"main_content": False}, {"extractor": "trafilatura"}])
def test_readings_beside_words_are_left_out(options):
    with Extractor(Html(**options)) as extractor:
        text = text_of(extractor, f"<article>{RUBY}</article>{'<p>これは文章です。' * 20}")
    assert text.startswith("私は東京へ行きました。長文です。\n")


@pytest.mark.parametrize(
    "before",
    [
        "<!-- <rt> -->",
        "<script>var a = '<rt>'</script>",
        "<a href=/ title='<rt>'></a>",
        "<p>Of <rt-x>mills</rt-x> and <rt>rivers</p>",
    ],
)
def test_what_is_no_reading_beside_a_word_takes_no_text_with_it(before):
    page = "<p><ruby>東京<rt>とうきょう</rt></ruby>へ。" + "<p>これは文章です。" * 20
    with Extractor(Html()) as extractor:
        text = text_of(extractor, f"<article>{before}{page}</article>")
    assert "東京へ。" in text
    assert all(word in text for word in ("mills", "rivers") if word in before)


@pytest.mark.parametrize(("favor", "kept"), [(None, True), ("precision", False), ("recall", True)])
def test_trafilatura_can_be_asked_for_what_is_certain_alone(favor, kept):
    body = "The harbour was built in 1810 and is still in use today by fishing boats. " * 3
    links = "<div><a href=/a>Link one is here</a> <a href=/b>Link two is there</a> and a word</div>"
    page = f"<html><body><main><p>{body}</p><p>{body[::-1]}</p>{links}</main></body></html>"
    with Extractor(Html(extractor="trafilatura", favor=favor)) as extractor:
        text = text_of(extractor, page)
    assert body.strip() in text
    assert ("Link one" in text) == kept


HARBOUR = "The harbour was built in 1810 and is still in use by <b>fishing</b> boats today"
RICH = (
    f"<html><body><main><h1>Of it</h1><p>{HARBOUR}, see <a href='https://a.org/'>there</a>.</p>"
    f"<p>{HARBOUR[::-1].replace('>', '').replace('<', '')}.</p><table><tr><td>first cell</td>"
    "<td>second</td></tr></table></main></body></html>"
)


@pytest.mark.parametrize(
    ("settings", "there", "gone"),
    [
        ({}, ["first cell"], ["https://a.org/"]),
        ({"links": True}, ["https://a.org/"], ["**fishing**"]),
        (
            {"extractor": "trafilatura", "links": True},
            ["first cell", "https://a.org/"],
            ["**fishing**"],
        ),
        (
            {"extractor": "trafilatura", "tables": False, "formatting": True},
            ["see there", "**fishing**"],
            ["first cell", "https://a.org/"],
        ),
    ],
)
def test_options_of_the_extractors_are_passed_on(settings, there, gone):
    with Extractor(Html(**settings)) as extractor:
        text = text_of(extractor, RICH)
    assert all(words in text for words in there)
    assert not any(words in text for words in gone)


@pytest.mark.parametrize("asked", [{"tables": False}, {"formatting": True}])
def test_what_resiliparse_cannot_do_says_so(asked):
    with pytest.raises(ValueError, match="is of extractor: trafilatura and main_content: true"):
        Html(**asked)


@pytest.mark.parametrize("given", [{}, {"extractor": "trafilatura", "main_content": False}])
def test_what_cannot_favor_says_so(given):
    with pytest.raises(ValueError, match="favor: recall is of extractor: trafilatura"):
        Html(favor="recall", **given)
    assert Html(**given).favor is None


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_by_name(everything, name):
    page, cause = BOMBS[name]
    with pytest.raises(UnreadableError) as e:
        text_of(everything, page)
    assert e.value.cause == cause


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_large_but_simple_has_its_text(everything, name):
    page, text = HARMLESS[name]
    assert text_of(everything, page) == text


def test_entities_are_read_once(everything):
    assert text_of(everything, "<p>" + "&amp;lt;" * MB) == "&lt;" * MB


def test_a_page_that_kills_the_extractor_is_named_and_the_next_one_read():
    with Extractor(Html()) as extractor:
        assert text_of(extractor, "<p>one") == "one"
        process = extractor._process
        process.kill()
        process.wait()
        with pytest.raises(UnreadableError) as e:
            text_of(extractor, "<p>two")
        assert (e.value.cause, str(e.value)) == (
            "extractor_stopped",
            "the extractor ended with code -9",
        )
        assert text_of(extractor, "<p>three") == "three"


def test_no_page_is_lost_to_a_signal_that_all_processes_of_a_job_are_sent():
    with Extractor(Html()) as extractor:
        for page in ("one", "two"):  # while it starts, and once it is at work
            process = extractor._process = extractor._process or extractor._start()
            for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                process.send_signal(signum)
            assert text_of(extractor, f"<p>{page}") == page
            assert extractor._process is process


def test_nothing_of_the_folder_at_hand_is_run(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    with Extractor(Html()) as extractor:
        assert text_of(extractor, "<p>one") == "one"


def in_place_of_it(monkeypatch, lines):
    """Processes of an extractor that begin with some lines."""
    code = "import tokenmill.pipelines.read.web.child as c\n" + lines + "c.main({}, "

    def start(self):
        pipes, fd = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}, self._held.fileno()
        return subprocess.Popen([sys.executable, "-c", f"{code}{fd})"], pass_fds=[fd], **pipes)

    monkeypatch.setattr(Extractor, "_start", start)


def test_a_page_that_takes_too_long_ends_its_process(monkeypatch):
    started = Extractor._start
    slow = "c.CPU_SECONDS = 0.2; c.extractor = lambda **_: loop\n"
    in_place_of_it(monkeypatch, slow + "def loop(page):\n    while True: pass\n")
    with Extractor(Html()) as extractor:
        with pytest.raises(UnreadableError) as e:
            text_of(extractor, "<p>one")
        assert e.value.cause == "extractor_stopped"
        assert str(e.value) == "the extractor took more than 120 s of CPU time"
        monkeypatch.setattr(Extractor, "_start", started)
        assert text_of(extractor, "<p>two") == "two"


def test_of_pages_asked_for_together_the_one_that_kills_the_extractor_is_lost_alone(monkeypatch):
    dies = "import os\nc.extractor = lambda **_: make\n"
    dies += "def make(page):\n    return os._exit(7) if 'die' in page else page.upper()\n"
    in_place_of_it(monkeypatch, dies)
    pages = [b"one", b"die", BOMBS["nested"][0].encode(), b"tw\0o", b"die too", "é".encode(), b""]
    with Extractor(Html()) as extractor:
        made = extractor(pages)
        assert extractor([]) == []
    assert [m if isinstance(m, str) else (m.cause, str(m)) for m in made if m is not made[2]] == [
        "ONE",
        ("extractor_stopped", "the extractor ended with code 7"),
        "TWO",
        ("extractor_stopped", "the extractor ended with code 7"),
        "É",
        "",
    ]
    assert (made[2].cause, str(made[2])) == (
        "too_deep",
        "depth: 513 or more, where 512 are let in (html.max_depth)",
    )


def test_pages_asked_for_together_have_the_texts_that_they_have_alone():
    pages = [case["page"].encode() for case in CASES if not case.get("options")]
    bounds = Bounds(Html().max_tags, Html().max_attributes, Html().max_depth)
    pages += [b"", *(BOMBS[name][0].encode() for name in ("svg", "attributes")), *pages]
    make = extractor(
        **{"name": "resiliparse", "main_content": True, "comments": False, "favor": None}
    )
    alone = [outline(p, bounds)[1] or answer(p.decode(), make)[1] for p in pages]
    with Extractor(Html()) as asked_for:
        together = asked_for(pages)
    assert [t if isinstance(t, str) else t.cause for t in together] == alone


def test_what_an_extractor_raises_is_told():
    def fail(page):
        raise ValueError(page)

    assert answer("x", fail) == (REFUSED, "ValueError: x")
    assert answer("x", str.upper) == (TEXT, "X")


def test_pages_are_answered_in_order(tmp_path):
    held, texts = (tmp_path / "held").open("wb+"), io.BytesIO()
    for pages in ([b"abc", b""], ["é".encode()], [], [b"a longer one"]):
        serve(io.BytesIO(asked(pages, held)), texts, held.fileno(), str.upper)
    held.close()
    upper = "É".encode()
    assert texts.getvalue() == (
        ANSWER.pack(TEXT, 3)
        + ANSWER.pack(TEXT, 0)
        + b"ABC"
        + ANSWER.pack(TEXT, 2)
        + upper
        + ANSWER.pack(TEXT, 12)
        + b"A LONGER ONE"
    )
