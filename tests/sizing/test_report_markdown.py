"""The sheet as Markdown: figures, what they rest on, how they were computed; nothing obeyed."""

import pytest

from tests.sizing.corpora import measured
from tests.sizing.document.pages import tables_of
from tokenmill.sizing.inputs import example_names, size
from tokenmill.sizing.plan.load import parse_plan
from tokenmill.sizing.report_markdown import sheet_markdown
from tokenmill.sizing.requirements import requirement_sheet

PLAN = parse_plan("corpus: {tokens: 2T}\nmodel: {params: 70B}", where="plan")


def lines(plan=PLAN, **measurements):
    return sheet_markdown(requirement_sheet(plan, measurements)).splitlines()


@pytest.mark.parametrize("name", [None, *example_names()])
def test_tables_have_equal_columns_and_every_row_stands_in_one(name):
    sheet = size(name)
    tables = list(tables_of(sheet_markdown(sheet)))
    assert all(len({len(row) for row in rows}) == 1 for rows in tables)
    cells = [row[0].strip() for rows in tables for row in rows]
    assert {row.name for row in sheet} <= set(cells)


def test_the_headline_comes_first_with_value_interval_and_what_it_rests_on():
    text = lines(corpus=measured())
    assert text[0] == "# Storage requirements"
    assert text[4].startswith("For a model of 70 billion parameters, trained on 2 trillion tokens")
    assert text[6] == "## What matters first"
    assert text[8] == "| requirement | value | 95 % interval | rests on |"
    assert text[10].startswith("| raw capacity | ")
    dataset = "| stored: dataset | 4.4 TB | 4.36 to 4.44 TB | measured, stated |"
    assert dataset in text
    assert "| one checkpoint | 980 GB | — | stated, chosen |" in text


def test_a_column_of_intervals_stands_only_where_there_are_any():
    assert "| requirement | value | rests on |" in lines()
    assert "| requirement | value | 95 % interval | rests on |" not in lines()


def test_every_derivation_shows_formula_inputs_and_sources():
    text = lines(corpus=measured())
    at = text.index("**read bandwidth, whole job** = 2.76 MB/s")
    assert text[at + 2] == "`tokens_per_s x stored_bytes_per_token x read_amplification`"
    assert text[at + 4].endswith("**computed** · training rate")
    assert text[at + 5] == (
        "- `stored_bytes_per_token` = 2.2 bytes/token (2.18 to 2.22 bytes/token) · **computed** ·"
        " stored bytes a token"
    )
    assert any("· **measured** · measured: corpus docs" in line for line in text)
    assert any("· **unverified** · default of corpus.tokens_per_doc" in line for line in lines())


def test_warnings_stand_under_a_heading_of_their_own():
    high = lines(parse_plan("cluster: {mfu: 0.9}", where="p"))
    assert high[high.index("## Warnings") + 2].startswith("Warning: MFU 0.9 is above 0.803")
    assert "## Warnings" not in lines(parse_plan("", where="p"))


def test_a_bar_in_a_name_does_not_break_the_table():
    plan = parse_plan(
        "cluster: {accelerator: a|b, dense_flops_per_s: 1e15, per_node: 8, hbm: 80 GB}", where="p"
    )
    corpus = measured(stored_bytes={"a|b": 1, "dataset": 2})
    text = lines(plan, corpus=corpus)
    assert r"| stored: a\|b | 1 B | measured |" in text
    assert any(r"stated: cluster.accelerator a\|b" in line for line in text) or "a\\|b" in text[4]
