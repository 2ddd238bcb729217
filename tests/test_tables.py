"""Each table of steps, keys and commands says what the code says, and misses none."""

import re
from typing import Literal

import pytest
from pydantic import BaseModel

from tests.pages import FIRST, ROOMS, ROOT
from tests.tables import MARKED, TABLES, keys, rendered, room_of, table
from tokenmill.flows.cli import COMMANDS
from tokenmill.pipelines.core.shard import FORMATS
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.prepare.recipe import SHIPPED, Recipe
from tokenmill.sizing.corpus import Estimate
from tokenmill.sizing.plan.plan import Plan

PAGES = {page.relative_to(ROOT).as_posix(): page.read_text() for page in (FIRST, *ROOMS)}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_its_tables_as_the_code_has_them(page):
    assert PAGES[page] == rendered(PAGES[page]), f"{page} is not as the code is: run `make pages`"


def test_every_table_stands_on_one_page():
    assert sorted(found[2] for text in PAGES.values() for found in MARKED.finditer(text)) == sorted(
        TABLES
    )


def test_what_stands_between_the_lines_is_replaced_and_nothing_else():
    page = "a\n<!-- make pages: runners -->\n{}<!-- end -->\n| b |\n"
    assert rendered(page.format("by hand\n\n| old |\n")) == page.format(TABLES["runners"]())


def first_cells(page):
    """What stands in backticks in the first cells of the rendered tables of a page."""
    rows = "".join(found[3] for found in MARKED.finditer(PAGES[page])).splitlines()
    return {name for row in rows for name in re.findall(r"`(.+?)`", row.split(" | ")[0])}


@pytest.mark.parametrize("step", STEPS)
def test_every_step_stands_on_the_page_of_its_room(step):
    assert step in first_cells(f"pipelines/{room_of(STEPS[step])}/README.md")


def test_every_command_format_and_recipe_has_a_row():
    assert {cell.split()[1] for cell in first_cells("README.md")} == set(COMMANDS)
    assert first_cells("pipelines/read/README.md") == set(FORMATS)
    assert first_cells("pipelines/prepare/README.md") > {p.stem for p in SHIPPED.iterdir()}


def keys_of(model):
    """All keys that a file may have, by the schema that Pydantic makes of a model."""
    schema = model.model_json_schema()

    def below(part, at):
        part = schema["$defs"].get(part.get("$ref", "").rpartition("/")[2], part)
        for key, one in part.get("properties", {}).items():
            yield f"{at}{key}"
            for kind in (one, one.get("items", {}), *one.get("anyOf", ())):
                yield from below(kind, f"{at}{key}.")

    return set(below(schema, ""))


def test_every_key_of_a_recipe_has_a_row():
    told = first_cells("pipelines/prepare/README.md") | first_cells("flows/README.md")
    assert keys_of(Recipe) - told == {"run"}


def _own(key):
    """A source has the keys of a corpus, a job those of the plan."""
    return re.sub(r"^sources\.", "corpus.", re.sub(r"^jobs\.", "", key))


def test_every_key_of_a_plan_has_a_row():
    """Of sections without a meaning of their own their keys are enough."""
    told = first_cells("sizing/README.md")
    without = {k for k in keys_of(Plan) - told if _own(k) not in told}
    assert without == {k for k in without if any(t.startswith(f"{_own(k)}.") for t in told)}


def test_every_key_of_an_estimate_has_a_row():
    assert first_cells("pipelines/measure/README.md") == set(Estimate.model_fields)


class Inner(BaseModel):
    """What an inner section is.

    size: in pixels | points.
    """

    size: int = 14


class Outer(BaseModel):
    """Settings.

    least, most: of them, least
        before most.  kind: what it is. "a": one. "b": another.
    any_*: more; None is none.
    """

    least: int = 1
    most: int
    kind: Literal["a", "b"] = "a"
    any_time: float | None = None
    inner: tuple[Inner, ...] = ()


def test_rows_of_keys():
    assert list(keys(Outer, "of.")) == [
        ("`of.least` `of.most`", "1 · needed", "of them, least before most"),
        ("`of.kind`", "`a`, or `b`", "what it is"),
        ("`of.any_time`", "`null`", "more; None is none"),
        ("`of.inner`", "`[]`", "what an inner section is"),
        ("`of.inner.size`", "14", "in pixels | points"),
    ]
    assert table(("key", ""), [("`a`", "None | `None`")]) == (
        "| key | |\n| --- | --- |\n| `a` | `null` \\| `null` |\n"
    )


def test_a_key_of_which_nothing_is_told_is_no_row_but_an_error():
    class Silent(Outer):
        added: int = 1

    with pytest.raises(ValueError, match="the docstring of Silent does not tell of 'added'"):
        list(keys(Silent, ""))
