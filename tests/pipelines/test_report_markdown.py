"""A report as Markdown: every number, tables of equal columns, nothing obeyed as markup."""

import doctest
import re

import pytest

from pipelines import report_markdown
from pipelines.report_markdown import Section, count, markdown, table, with_error
from tests.pipelines.test_report import empty_report, hostile_report, run_report, written
from tests.pipelines.test_report_html import numbers_of


def tables_of(text):
    """Runs of Markdown lines that begin with a bar, as lists of cells."""
    for run in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        yield [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in run.splitlines()]


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


def test_a_row_of_other_width_is_refused():
    with pytest.raises(ValueError, match="stages: 1 cells in 2 columns"):
        table("stages", ("stage", ">documents"), [("read",)])


def test_markdown_shows_what_it_would_obey():
    rows = [("a|b\nc", "*x* `y` [z](w) \\ &amp; _v_ snake_case \ud800")]
    made = table("cap", ("n", ">m"), rows)
    text = markdown("#1 <b>", [Section(key="k", title="s", blocks=("p", made))])
    assert text == (
        "# #1 &lt;b&gt;\n\n## s\n\np\n\n**cap**\n\n| n | m |\n| --- | ---: |\n"
        "| a\\|b c | \\*x\\* \\`y\\` \\[z\\](w) \\\\ &amp;amp; \\_v\\_ snake_case ? |\n"
    )


def test_a_table_without_rows_says_so():
    made = markdown("t", [Section(key="k", title="s", blocks=(table("cap", ("n",), []),))])
    assert made.endswith("**cap:** none\n")


def test_a_section_without_blocks_is_left_out():
    assert markdown("t", [Section(key="k", title="s", blocks=())]) == "# t\n"


def test_the_examples_hold():
    assert doctest.testmod(report_markdown).failed == 0


def test_figures_in_words():
    assert count(1, "shard") == "1 shard"
    assert with_error({"r": 12.3456, "r_se": 1.5}, "r") == "12.3 ± 1.5"
    assert with_error({"r": 12.3456, "r_se": 25.0}, "r") == "12 ± 25"
    assert with_error({"r": 12.3456, "r_se": None}, "r") == "12.346"
    assert with_error({"r": 2.0, "r_se": 0.0}, "r") == "2.000"
    assert with_error({"r": None, "r_se": None}, "r") == "—"
