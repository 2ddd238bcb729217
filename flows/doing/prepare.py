"""Prepare a corpus that is asked for, or what is new for a collection, and show what came of it."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from tokenmill.flows.asked import Asked, Ingesting, whole
from tokenmill.flows.ended import Ended, Shown, key_of
from tokenmill.flows.executing import reported
from tokenmill.flows.notes import notes
from tokenmill.flows.prefect.pages import link_to
from tokenmill.flows.sheets import sheet_rows, size_run
from tokenmill.flows.troubles import NOTHING
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.prepare import growth
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import further_tables
from tokenmill.pipelines.storage.mirror import read_text, viewed
from tokenmill.sizing.document.section import count
from tokenmill.sizing.report.outline import about
from tokenmill.sizing.units import format_bytes

Row: TypeAlias = dict[str, str | int]  # of an artifact

DOCUMENT, PAGE, SHEET = "report.md", "report.html", "requirements.html"


def prepare(asked: Asked[Recipe, Place], plan: str | None) -> Ended:
    """Do the run, unless it was done before.  plan: as of `flows.prepare.prepare_flow`."""
    name = asked.what.name
    title = f"prepare {name}, {whole(asked.out)}"
    ended = reported(asked, run_recipe, in_short, artifacts, name=title, label=name)
    if plan is None or not ended.result["measurement"]["total"]["stored_bytes_per_token"]:
        return ended
    sheet = size_run(plan, asked.out)
    told = f"{about(sheet)}; {link_to(asked.out, SHEET)}"
    needed = Shown(key_of("requirements", name), sheet_rows(sheet), told)
    return ended._replace(artifacts=(*ended.artifacts, needed))


def in_short(report: Report) -> str:
    """What a run made, in one sentence."""
    if report.made_nothing:
        return NOTHING
    total, docs = report.total, count(report.total.docs, "document")
    if report.dataset is None or total.tokens is None:
        return f"{docs} as text"
    if total.tokens and not total.stored_bytes_per_token:
        return f"{docs}, of which no sequence was filled"
    return f"{docs}, {count(total.tokens, 'token')} in {report.dataset.path}"


def artifacts(report: Report, out: Place) -> Iterator[Shown]:
    """What a run has to show, in the order a reader asks; keys end in the recipe's name."""
    name = report.name
    with viewed(out) as folder:
        text = f"{link_to(out, PAGE)}\n\n{read_text(folder / DOCUMENT)}"
    yield Shown(key_of("report", name), text, f"{in_short(report)}; {link_to(out, PAGE)}")
    yield Shown(key_of("ledger", name), ledger_rows(report), "where the documents went")
    if removals := removal_rows(report):
        yield Shown(key_of("removals", name), removals, "why documents left")
    if clusters := cluster_rows(report):
        what = f"the largest clusters of duplicates; tokenmill inspect {out} --doc ID shows one"
        yield Shown(key_of("clusters", name), clusters, what)
    for step, rows in further_tables(report).items():
        content = [{"what": what, "value": value} for what, value in rows.rows]
        yield Shown(key_of(f"step-{step}", name), content, rows.caption)


def ledger_rows(report: Report) -> list[Row]:
    """A row a stage; what came in and was made by cutting is what went out, left or failed."""
    names = ("stage", "docs in", "made by cutting", "removed", "failed", "docs out", "text out")
    rows: list[list[str | int]]
    rows = [[row.stage, *row.counts, format_bytes(row.bytes_out)] for row in report.ledger]
    return [dict(zip(names, row, strict=True)) for row in rows]


def removal_rows(report: Report) -> list[Row]:
    names = ("stage", "outcome", "reason", "docs")
    return [dict(zip(names, row, strict=True)) for row in report.documents_that_left()]


def cluster_rows(report: Report) -> list[Row]:
    """Clusters by step and size; a document's id is text, which JavaScript leaves as it is."""
    return [
        {"step": step, "document kept": str(doc_id), "documents": size}
        for step, found in report.clusters.items()
        for doc_id, size in found.largest
    ]


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
    noted = f"; {count(len(told), 'file')} changed, gone or begun anew, see the log" if told else ""
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
