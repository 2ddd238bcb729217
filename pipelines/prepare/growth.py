"""What a collection has become: its growth by run, and one dataset over all of its runs.

manifests of the runs ─┬─ report.json: what `size --corpus` reads, and a row for each run
                       ├─ report.html: the same as a page
                       └─ dataset/: `datasets` opens the Arrow files of all runs where they lie
"""

import os
import posixpath
from collections import Counter
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.measured import added, ratio_and_error
from tokenmill.pipelines.prepare.collection import Collection
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import json_text
from tokenmill.pipelines.tokens.dataset import split_folders
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Series, Stack
from tokenmill.sizing.document.page import KeyFigure, figure, page
from tokenmill.sizing.document.section import Section, Table, count, table
from tokenmill.sizing.document.svg import Axis

PAGE, REPORT = "report.html", "report.json"
DOCUMENTS = Axis("documents", lambda n: f"{n:,.0f}")
COLUMNS = (
    "run", ">files", ">read", ">kept", ">tokens", ">removed", ">in earlier runs", ">failed"
)  # fmt: skip


def write_growth(collection: Collection) -> dict[str, Any]:
    """Write what a collection is by now, and return it; the dataset last."""
    found = growth(collection)
    mirror.write_changed(collection.folder / REPORT, json_text(found))
    mirror.write_changed(collection.folder / PAGE, growth_page(found))
    _write_dataset(collection)
    return found


def growth(collection: Collection) -> dict[str, Any]:
    """A row for each run that has finished, and all of them together as one report."""
    reports = {name: of["report"] for name, of in collection.finished.items()}
    return {
        "collection": str(collection.place),
        "name": next((of["name"] for of in reports.values()), ""),
        "runs": [_row(name, of) for name, of in reports.items()],
        "inputs": {"bytes": sum(of["inputs"]["bytes"] for of in reports.values())},
        "stored_bytes": added([of["stored_bytes"] for of in reports.values()], {}),
        "dataset": {"dtype": next((of["dataset"]["dtype"] for of in reports.values()), None)},
        "measurement": {"total": _together([_total(of) for of in reports.values()])},
    }


def _row(name: str, report: dict[str, Any]) -> dict[str, Any]:
    """Of a run.  removed: documents by reason.  against: those that an earlier run has, by step."""
    removed: Counter[str] = Counter()
    for stage in report["ledger"]:
        removed.update(stage["removed"])
    return {
        "run": name,
        "files": report["inputs"]["files"],
        "docs_in": report["ledger"][0]["docs_in"],
        "docs": _total(report)["docs"],
        "tokens": _total(report)["tokens"],
        "removed": dict(removed),
        "against": (report.get("against") or {}).get("duplicates", {}),
        "failed": sum(sum(stage["failed"].values()) for stage in report["ledger"]),
    }


def _total(report: dict[str, Any]) -> dict[str, Any]:
    """As it is trained on: with its copies, where documents were mixed."""
    mixture = report.get("mixture") or {}
    return {**report["measurement"]["total"], **mixture.get("total", {})}


def _together(totals: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts of all runs, and their ratios; errors are over runs, of one alone its own."""
    names = ("docs", "chars", "text_bytes", "tokens", "stored_bytes")
    made: dict[str, Any] = {name: sum(of[name] for of in totals) for name in names}
    for name in ("text_bytes", "stored_bytes"):
        ratio = f"{name}_per_token"
        value, se = ratio_and_error([t[name] for t in totals], [t["tokens"] for t in totals])
        alone = totals[0][f"{ratio}_se"] if len(totals) == 1 else None
        made |= {ratio: value, f"{ratio}_se": alone if se is None else se}
    return made


def growth_table(found: dict[str, Any]) -> Table:
    """A row for each run, and their sums."""
    rows = []
    for run in found["runs"]:
        counts = [run[name] for name in ("files", "docs_in", "docs", "tokens")]
        left = [sum(run[name].values()) for name in ("removed", "against")]
        rows.append((run["run"], *counts, *left, run["failed"]))
    rows.append(("all runs", *(sum(cells) for cells in list(zip(*rows, strict=True))[1:])))
    shown = [(name, *(f"{n:,}" for n in counts)) for name, *counts in rows]
    return table("Growth, in documents", COLUMNS, shown, sums=True)


def growth_page(found: dict[str, Any]) -> str:
    """The page of a collection's growth; without runs it has no table."""
    total, rows = found["measurement"]["total"], found["runs"]
    title = f"Growth of the collection {found['name']}"
    reasons = sorted({reason for row in rows for reason in row["removed"]})
    removed = [
        (row["run"], *(f"{row['removed'].get(reason, 0):,}" for reason in reasons)) for row in rows
    ]
    sections = [
        Section("summary", "In short", (in_short(found) + ".",)),
        Section("runs", "By run", (growth_table(found),) if rows else ()),
        Section(
            "removed",
            "Removed, by reason",
            (table("Documents", ("run", *(f">{r}" for r in reasons)), removed),) if reasons else (),
        ),
    ]
    figures = [
        KeyFigure("runs", f"{len(rows):,}"),
        KeyFigure("documents", f"{total['docs']:,}"),
        KeyFigure("tokens", f"{total['tokens']:,}"),
    ]
    series = (Series("kept", "main"), Series("removed", "gone"))
    stacks = [Stack(r["run"], (r["docs"], sum(r["removed"].values()))) for r in rows]
    drawn = charts.stacked("growth", "Documents by run", DOCUMENTS, series, stacks)
    plots = {"runs": [figure("Documents by run", "the figure is what was kept", drawn)]}
    footer = f"tokenmill, {found['collection']}"
    plotted = plots if rows else {}
    return page(title, sections, key_figures=figures, plots=plotted, footer=footer)


def in_short(found: dict[str, Any]) -> str:
    """The whole collection in one sentence."""
    total, n = found["measurement"]["total"], len(found["runs"])
    return f"{total['docs']:,} documents, {total['tokens']:,} tokens in {count(n, 'run')}"


def _write_dataset(collection: Collection) -> None:
    """Let `datasets` open the files of all runs, by paths that move with the collection."""
    splits: dict[str, list[tuple[Path, dict[str, Any]]]] = {}
    for name in collection.finished:
        for split, folder in split_folders(collection.folder / name).items():
            state = mirror.read_json(folder / "state.json")
            splits.setdefault(split, []).append((folder, state))
    dataset = collection.folder / "dataset"
    for split, runs in splits.items():
        to = dataset if len(splits) == 1 else dataset / split
        files = [
            {"filename": posixpath.join(os.path.relpath(folder, to), file["filename"])}
            for folder, state in runs
            for file in state["_data_files"]
        ]
        prints = digest_of(state["_fingerprint"] for _, state in runs)[:16]
        state = {**runs[0][1], "_data_files": files, "_fingerprint": prints}
        info = mirror.read_text(runs[0][0] / "dataset_info.json")
        mirror.write_changed(to / "dataset_info.json", info)
        mirror.write_changed(to / "state.json", json_text(state))
    if len(splits) > 1:
        told = json_text({"splits": list(splits)})
        mirror.write_changed(dataset / "dataset_dict.json", told)
