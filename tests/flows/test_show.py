"""What stands on a terminal, in plain width."""

from tokenmill.flows.show import MATCH, marked, of_page, show
from tokenmill.sizing.document.section import Piece, Section, table


def test_a_long_match_is_shown_without_its_middle():
    shown = marked([Piece("b" * 500), Piece("m" * 1000, marked=True), Piece("a")])
    assert shown.plain == f"…{'b' * 80}{'m' * 120}…{'m' * 120}a"
    assert [(s.start, s.end, s.style) for s in shown.spans] == [(81, 322, MATCH)]


def test_of_a_text_without_a_mark_the_beginning_is_shown():
    assert marked([Piece("a " * 300)]).plain == "a " * 40 + "…"


def test_a_cell_of_a_page_is_one_line_and_a_long_text_its_beginning(capsys):
    words, name, told = "a line\n\nand another " * 9, "n" * 90, "what it says " * 9
    tables = [table("Texts", ("`text",), [(words,), (name,)]), table("Told", ("what",), [(told,)])]
    show(*of_page([Section("texts", "", tables)], {"texts": slice(2)}))
    shown = capsys.readouterr().out.split("\n")
    texts = [line.strip() for line in shown if line.strip()]
    cut = " ".join(words.split())[:80]
    assert texts[:4] == ["Texts", "text", f"{cut}…", name]
    assert " ".join(texts[6:]) == told.strip()


def test_numbers_under_long_names_stand_whole(capsys):
    names = [f">so long a name of column {n}" for n in range(5)]
    show(table("Numbers", ("tokens", *names), [("patch 14", *["400 billion tokens"] * 5)]))
    *_, last_of_names, row = filter(None, capsys.readouterr().out.split("\n"))
    assert last_of_names.split() == ["tokens", *"01234"]
    assert row.split() == ["patch", "14", *["400", "billion", "tokens"] * 5]


def test_names_stand_in_one_line_where_it_is_texts_that_are_wide(capsys):
    names = ("input", ">value", "key in the plan", "source")
    show(table("Inputs", names, [("rate", "2 GB/s", "storage.rate", "a long source " * 20)]))
    _, head, *_ = filter(None, capsys.readouterr().out.split("\n"))
    assert head.split() == ["input", "value", "key", "in", "the", "plan", "source"]
