"""Ingest into a collection: what is new of a recipe's inputs, as the next run, night by night."""

import contextlib
from collections.abc import Iterator
from typing import Any

from tokenmill.flows.asked import ingesting, read_recipe, whole
from tokenmill.flows.prefect.executing import reported
from tokenmill.flows.prefect.flow_run import (
    Ended,
    FileOrName,
    Named,
    Shown,
    asked_by,
    describe,
    key_of,
    our_flow,
)
from tokenmill.flows.prefect.pages import link_to
from tokenmill.flows.prepare import PAGE, artifacts, in_short
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.prepare import growth
from tokenmill.pipelines.prepare.prepare import run_recipe


@our_flow("ingest-collection", "ingest {into}")
def ingest_flow(
    recipe: FileOrName | dict[str, Any],
    into: Named,
    settings: dict[str, Any] | None = None,
    run: RunOptions | None = None,
    again: bool = False,
) -> Ended:
    """Take the files that no run of a collection has taken, as its next run; or find nothing new.

    Args:
        recipe: a recipe file by its path, or the name of one that ships, as `fineweb`; or the
            whole recipe; its inputs are read anew each time
        into: the collection by its whole path: a folder of runs, which is made
        settings: in place of the recipe's, by key, as `{"output.seq_len": 2048}`
        run: who does the work, in place of the recipe's own section
        again: whether files that changed since they were taken are taken once more
    """
    with contextlib.ExitStack() as stack:
        asked = asked_by(
            lambda: stack.enter_context(
                ingesting(read_recipe(recipe, settings, run), into, again=again)
            )
        )
        made: list[str] = []
        shown: list[Shown] = []
        failed, title = False, f"ingest {whole(asked.out)}"
        while asked.asked is not None:
            name = asked.asked.what.name
            ended = reported(asked.asked, run_recipe, in_short, artifacts, name=title, label=name)
            made, shown, failed = [*made, asked.name], [*ended.artifacts], failed or ended.failed
            if not asked.has_ended():
                break
            asked.advance()
        describe(title)
        found = growth.write_growth(asked.collection)
        told = asked.collection.told
        result = {**found, "made": made, "told": told, "failed": failed}
        new = f"new: {', '.join(made)}" if made else "nothing new"
        noted = f"; {len(told):,} files changed, gone or begun anew, see the log" if told else ""
        sentence = f"{new}; {growth.in_short(found)}{noted}"
        return Ended(result, sentence, failed, [*shown, *_grown(found, told, asked.out)])


def _grown(found: dict[str, Any], told: list[str], out: Place) -> Iterator[Shown]:
    table = growth.growth_table(found)
    rows = [dict(zip((c.name for c in table.columns), row, strict=True)) for row in table.rows]
    about = f"{growth.in_short(found)}; {link_to(out, PAGE)}"
    if found["runs"]:
        yield Shown(key_of("growth", found["name"]), rows, about)
    if told:
        yield Shown(key_of("changed", found["name"]), [{"what": t} for t in told], "files")
