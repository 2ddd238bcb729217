"""`tokenmill inspect`: documents, images, removals and their reasons, duplicates side by side."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from tokenmill.flows.cli import OK
from tokenmill.flows.cut_document import show_cut, show_pieces
from tokenmill.flows.duplicate_beside import show_beside
from tokenmill.flows.image_tables import (
    documents_and_images,
    fates_table,
    images_left,
    removed_table,
    with_numbers,
)
from tokenmill.flows.show import as_json, console, printable, table
from tokenmill.pipelines.contamination.decontaminate import NAME
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import place
from tokenmill.pipelines.prepare.against import holder, part_number
from tokenmill.pipelines.prepare.inspect import (
    Pair,
    beside,
    count_cut,
    cut_documents,
    cuts,
    documents,
    pieces,
    removals,
    removed_images,
)
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.runs.finished import prepared_run
from tokenmill.pipelines.runs.manifest import RUNNING
from tokenmill.pipelines.storage.mirror import viewed
from tokenmill.pipelines.tokens.dataset import first_rows
from tokenmill.pipelines.tokens.reference import open_reference

EXCERPT = 100  # characters of a document in a list
CUT = "cut"  # as if a reason: it has no receipt, for nothing left but a stretch of text
SHOWN = 2000  # characters of a document shown whole


def run(args: argparse.Namespace) -> int:
    """Show what the arguments ask for; without any, the removals by reason."""
    with viewed(place(args.run)) as out:
        _show(out, args)
    return OK


def _show(out: Path, args: argparse.Namespace) -> None:
    manifest = prepared_run(out)
    if manifest["status"] == RUNNING:
        raise ConfigError(f"{out}: the run has not finished; run prepare again to continue it")
    if args.doc is not None:
        _document(out, manifest, args.doc, as_data=args.json)
    elif args.reason == CUT:
        _cut(out, args.limit, as_data=args.json)
    elif args.reason is not None:
        _known_reason(out, manifest, args.reason)
        _removals(out, args.reason, args.limit, as_data=args.json)
    elif args.documents:
        _documents(out, manifest, args.limit, as_data=args.json)
    else:
        _reasons(out, manifest, as_data=args.json)


def _reasons(out: Path, manifest: dict[str, Any], *, as_data: bool) -> None:
    report = Report.read(manifest["report"], str(out))
    rows = _counted(out, manifest, report)
    names = ("stage", "outcome", "reason", "docs", *(["images"] if _has_images(manifest) else []))
    if as_data:
        as_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    show = console()
    columns = [f">{name}" if name in ("docs", "images") else name for name in names]
    what = "documents and images" if _has_images(manifest) else "documents"
    show.print(table(f"{what} that left, or were cut", columns, rows))
    show.print(f"\n{report.total.docs:,} documents reached the tokenizer")
    if _has_images(manifest):
        show.print(images_left(report))
    show.print("--reason NAME lists them, --doc DOC_ID shows one beside what it duplicates")


def _has_images(manifest: dict[str, Any]) -> bool:
    return manifest["identity"]["recipe"].get("images") is not None


def _counted(out: Path, manifest: dict[str, Any], report: Report) -> list[tuple[Any, ...]]:
    """Stage, outcome, reason, documents, and images in a run that has some.

    Documents that were cut and stayed in pieces come last.
    """
    n_cut = count_cut(out)
    cut = [(NAME, CUT, CUT, n_cut)] if n_cut else []
    if not _has_images(manifest):
        return [*report.documents_that_left(), *cut]
    return [*documents_and_images(report), *((*row, 0) for row in cut)]


def _known_reason(out: Path, manifest: dict[str, Any], reason: str) -> None:
    report = Report.read(manifest["report"], str(out))
    known = list(dict.fromkeys(row[2] for row in _counted(out, manifest, report)))
    if reason not in known and removals(out, reason=reason, limit=1).num_rows == 0:
        there = f"there are: {', '.join(known)}" if known else "none left for any"
        what = "document or image" if _has_images(manifest) else "document"
        raise ConfigError(f"{out}: no {what} left for the reason {reason!r}; {there}")


def _cut(out: Path, limit: int, *, as_data: bool) -> None:
    rows = cut_documents(out, limit)
    if as_data:
        as_json(rows)
        return
    cells = [(str(r["doc_id"]), r["id"], r["pieces"], ", ".join(r["items"])) for r in rows]
    title = f"documents cut into pieces: the first {len(rows)}"
    console().print(table(title, ("doc_id", "id", ">pieces", "for items"), cells))


def _removals(out: Path, reason: str, limit: int, *, as_data: bool) -> None:
    rows = removals(out, reason=reason, limit=limit).to_pylist()
    images = removed_images(out, reason=reason, limit=limit).to_pylist()
    for image in images:
        image["md5"] = image["md5"] and image["md5"].hex()
    if as_data:
        as_json([*rows, *images])
        return
    show = console()
    if rows:
        show.print(_removals_table(reason, rows))
    if images:
        show.print(removed_table(reason, images))


def _removals_table(reason: str, rows: Sequence[dict[str, Any]]) -> Table:
    columns = (">doc_id", "id", "stage", ">value", ">duplicate_of", ">similarity", "detail")
    cells = [[row[c.removeprefix(">")] for c in columns] for row in rows]
    for row in cells:  # ids are names, not quantities: no thousands separators
        row[0], row[4] = str(row[0]), None if row[4] is None else str(row[4])
    return table(f"{reason}: the first {len(rows)}", columns, cells)


def _documents(out: Path, manifest: dict[str, Any], limit: int, *, as_data: bool) -> None:
    recipe = manifest["identity"]["recipe"]
    tokenizer = open_reference(recipe["tokenizer"]["path"])
    rows = []
    for split, first in first_rows(out, limit):
        for row in first.to_pylist():  # as stored: to show images would decode or fetch them
            text = tokenizer.decode(row["input_ids"])
            rows.append({**row, "split": split, "tokens": len(row["input_ids"]), "text": text})
            rows[-1].pop("input_ids")
            for image in row.get("images", ()):
                if isinstance(image["bytes"], bytes):
                    image["bytes"] = len(image["bytes"])
    if as_data:
        as_json(rows)
        return
    has_images = _has_images(manifest)
    cells = [
        (
            str(r["doc_id"]),
            r["split"],
            r["tokens"],
            *([len(r["images"])] if has_images else []),
            " ".join(r["text"].split())[:EXCERPT],
        )
        for r in rows
    ]
    columns = ("doc_id", "split", ">tokens", *([">images"] if has_images else []), "text")
    console().print(table("documents of the dataset", columns, cells))


def _document(out: Path, manifest: dict[str, Any], doc_id: int, *, as_data: bool) -> None:
    earlier = holder(manifest, doc_id)
    if earlier is not None:
        raise ConfigError(
            f"{out}: document {doc_id} is of the earlier run {earlier}; inspect that one"
        )
    number = part_number(out, doc_id)
    for failed in Report.read(manifest["report"], str(out)).failed_shards:
        if int(failed.key.partition("-")[0]) == number:
            raise ConfigError(
                f"document {doc_id} is in shard {failed.key}, which failed: {failed.error}"
            )
    links = pieces(out, [doc_id])
    if any(link["parent_doc_id"] == doc_id for link in links):
        _cut_document(out, doc_id, links, as_data=as_data)
        return
    if removals(out, doc_id=doc_id).num_rows:
        pair = beside(out, doc_id)
        as_json({**pair._asdict(), "pieces": links}) if as_data else _show_pair(out, pair, links)
        return
    found = documents(out, [doc_id])
    if doc_id not in found:
        raise ConfigError(f"{out}: no document {doc_id} in this run")
    if as_data:
        as_json({"receipt": None, "kept": found[doc_id], "pieces": links})
        return
    show = console()
    show.print(printable(f"kept: {found[doc_id]['id']} ({found[doc_id]['source']})"))
    _show_links(links)
    show.print("\n" + _text(found[doc_id]))
    _show_images(found[doc_id])


def _text(document: dict[str, Any]) -> str:
    return printable(with_numbers(document)[:SHOWN])


def _show_images(document: dict[str, Any]) -> None:
    """The images of a document and where each went; nothing in a run of text alone."""
    if document.get("images"):
        console().print()
        console().print(fates_table(document))


def _cut_document(out: Path, doc_id: int, links: list[dict[str, Any]], *, as_data: bool) -> None:
    """A document of which pieces are left, or were until something removed them."""
    document = documents(out, [doc_id])[doc_id]
    text, stretches = cuts(out, document)
    if as_data:
        told = [cut._asdict() for cut in stretches]
        as_json({"receipt": None, "cut": document, "cut_out": told, "pieces": links})
        return
    show = console()
    show.print(printable(f"cut into pieces: {document['id']} ({document['source']})"))
    show_cut(show, text, stretches)
    receipts = (removals(out, doc_id=link["doc_id"]).to_pylist() for link in links)
    show_pieces(show, text, links, {r["doc_id"]: r["reason"] for rows in receipts for r in rows})


def _show_links(links: list[dict[str, Any]]) -> None:
    """What a piece was part of."""
    for link in links:
        console().print(
            printable(
                f"  {link['doc_id']} is piece {link['piece']} of {link['pieces']} of"
                f" {link['parent_id']} ({link['parent_doc_id']}): bytes {link['start_byte']:,} to"
                f" {link['end_byte']:,}"
            )
        )


def _show_pair(out: Path, pair: Pair, links: list[dict[str, Any]]) -> None:
    show = console()
    receipt = pair.receipt
    show.print(f"{receipt['outcome']} at {receipt['stage']}: {receipt['reason']}")
    for name in ("value", "similarity", "detail"):
        if receipt[name] is not None:
            told = receipt[name]
            told = f"{told:.4g}" if isinstance(told, float) else told
            show.print(printable(f"  {name}: {told}"))
    _show_links(links)
    if pair.held_by is not None:
        gone = "" if pair.kept else ", whose dataset cannot tell its text any more"
        show.print(printable(f"  kept: {pair.chain[-1]}, in the earlier run {pair.held_by}{gone}"))
    if pair.kept is None:
        show.print(printable(f"\n{pair.removed['id']} ({pair.removed['source']})\n"))
        if receipt["stage"] == NAME and not links:
            show_cut(show, *cuts(out, pair.removed))
        else:
            show.print(_text(pair.removed))
        _show_images(pair.removed)
        return
    if len(pair.chain) > 2:
        show.print("  by way of " + ", ".join(map(str, pair.chain[1:-1])) + ", removed as well")
    show_beside(show, pair.removed, pair.kept)
    for document in (pair.removed, pair.kept):
        _show_images(document)
