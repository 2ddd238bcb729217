"""A document as Markdown: tables of equal columns, nothing obeyed as markup."""

import pytest

from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.section import Section, count, table


def test_a_count_and_what_is_counted():
    assert count(1, "shard") == "1 shard"
    assert count(4733, "document") == "4,733 documents"


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


def test_underscores_in_a_row_make_nothing_strong():
    made = markdown("t", [Section(key="k", title="s", blocks=("a __init__ b", "too__few_words"))])
    assert made.endswith("a \\_\\_init\\_\\_ b\n\ntoo\\_\\_few_words\n")
