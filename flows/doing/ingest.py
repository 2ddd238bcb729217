"""Ingest what is new into a collection that is held, run by run, and show how it grew."""

from collections.abc import Iterator
from typing import Any

from tokenmill.flows.asked import Ingesting, whole
from tokenmill.flows.doing.prepare import PAGE, artifacts, in_short
from tokenmill.flows.ended import Ended, Shown, key_of
from tokenmill.flows.executing import reported
from tokenmill.flows.notes import notes
from tokenmill.flows.prefect.pages import link_to
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.prepare import growth
from tokenmill.pipelines.prepare.prepare import run_recipe


def ingest(asked: Ingesting) -> Ended:
    """Do the run that is planned, and those that a killed one left; or find nothing new."""
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
    notes.get().describe(title)
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
