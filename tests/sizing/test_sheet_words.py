"""Each figure of the plans that ship, and the whole page of one with several jobs."""

import re

import pytest

from tests.golden.held import held
from tests.sizing.sections.sheets import sheet
from tests.sizing.sections.test_jobs import JOBS
from tokenmill.sizing.report.data import rests_on
from tokenmill.sizing.report.html import sheet_html
from tokenmill.sizing.report.outline import sheet_markdown
from tokenmill.sizing.requirements import example_names, size


def lines(made):
    for section in made.sections:
        yield f"# {section.title}"
        for row in section.rows:
            told = f"{row.value:.9g} = {row.shown} ({row.between}): {rests_on(row, made.rows)}"
            yield f"{row.name}: {told}"


@pytest.mark.parametrize("name", example_names())
def test_figures_of_a_shipped_plan_are_what_they_were(name):
    held(f"{name}.txt", "\n".join(lines(size(name))) + "\n")


def test_all_that_a_sheet_tells_is_what_it_was():
    held("sheet.md", sheet_markdown(sheet(JOBS)))


def test_what_a_page_of_a_sheet_draws_is_what_it_was():
    drawn = re.findall("<svg.*?</svg>", sheet_html(size("gpt2-124m-8-h100")), re.DOTALL)
    held("sheet.svg.txt", "\n".join(drawn).replace("><", ">\n<") + "\n")
