"""What `tokenmill inspect` shows: documents, images, removals by reason, pairs side by side."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from rich.table import Table

from tokenmill.flows.documents import (
    cut_lines,
    fates_table,
    marked,
    piece_blocks,
    removed_table,
    show_beside,
    with_numbers,
)
from tokenmill.flows.show import filled, table
from tokenmill.pipelines.contamination.decontaminate import NAME
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import OWN_COLUMNS, shard_and_row
from tokenmill.pipelines.core.shard import shard_number
from tokenmill.pipelines.prepare.against import first_ordinal, holder, part_number
from tokenmill.pipelines.prepare.collection import Collection
from tokenmill.pipelines.prepare.growth import growth, growth_table
from tokenmill.pipelines.prepare.inspect import (
    Pair,
    as_trained_on,
    beside,
    count_cut,
    cut_documents,
    cuts,
    documents,
    pieces,
    removals,
)
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.runs.collected import run_names
from tokenmill.pipelines.runs.finished import prepared_run
from tokenmill.pipelines.runs.manifest import RUNNING
from tokenmill.pipelines.tokens.dataset import first_rows
from tokenmill.pipelines.tokens.reference import open_reference
from tokenmill.pipelines.tokens.text import kept_rows

EXCERPT = 100  # characters of a document in a list
CUT = "cut"  # as if a reason: it has no receipt, for nothing left but a stretch of text
SHOWN = 2000  # characters of a document shown whole

Answer: TypeAlias = tuple[Any, Iterable[Any]]  # as data, and as blocks of `show`


def answer(out: Path, args: argparse.Namespace) -> Answer:
    """What the arguments ask for; without any, the removals by reason.

    Raises:
        ConfigError: there is no run, or it has no such thing.
    """
    names = run_names(out)
    if names is not None:
        return _of_collection(out, args)
    manifest = prepared_run(out)
    if manifest["status"] == RUNNING:
        raise ConfigError(f"{out}: the run has not finished; run prepare again to continue it")
    if args.doc is not None:
        return _document(out, manifest, args.doc)
    if args.reason == CUT:
        return _cut(out, args.limit)
    if args.reason is not None:
        _known_reason(out, manifest, args.reason)
        return _removals(out, args.reason, args.limit)
    return _documents(out, manifest, args.limit) if args.documents else _reasons(out, manifest)


def _of_collection(out: Path, args: argparse.Namespace) -> Answer:
    """Of all runs that have finished; a document is of the one whose shards have its number."""
    collection = Collection(out, out)
    runs = [out / name for name in collection.finished]
    if not runs:
        raise ConfigError(f"{out}: no run of the collection has finished; ingest again")
    if args.doc is not None:
        shard = shard_and_row(args.doc)[0]
        return answer([run for run in runs if first_ordinal(run) <= shard][-1], args)
    if args.reason is None and not args.documents:
        found = growth(collection)
        removed = [(r["run"], why, n) for r in found["runs"] for why, n in r["removed"].items()]
        return found, (growth_table(found), table("removed", ("run", "reason", ">docs"), removed))
    data: list[Any] = []
    blocks: list[Any] = []
    for run in runs:
        left = args.limit - len(data)
        if left <= 0:
            break
        if args.documents:
            rows, shown = _documents(run, prepared_run(run), left)
        else:
            rows, shown = (_cut if args.reason == CUT else _left_for(args.reason))(run, left)
        data += rows
        blocks += [run.name, *shown] if rows else []
    if args.reason is not None and not data:
        raise ConfigError(f"{out}: no document left for the reason {args.reason!r} in any run")
    return data, blocks


def _left_for(reason: str) -> Callable[[Path, int], Answer]:
    return lambda out, limit: _removals(out, reason, limit)


def _reasons(out: Path, manifest: dict[str, Any]) -> Answer:
    report = Report.read(manifest["report"], str(out))
    rows, has_images = _counted(out, manifest, report), _has_images(manifest)
    names = ("stage", "outcome", "reason", "docs", *(["images"] if has_images else []))
    columns = [f">{name}" if name in ("docs", "images") else name for name in names]
    what = "documents and images" if has_images else "documents"
    lines = [
        f"{report.total.docs:,} documents {report.reached}",
        *([images_left(report)] if has_images else []),
        "--reason NAME lists them, --doc DOC_ID shows one beside what it duplicates",
    ]
    data = [dict(zip(names, row, strict=True)) for row in rows]
    return data, (table(f"{what} that left, or were cut", columns, rows), lines)


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


def documents_and_images(report: Report) -> list[tuple[str, str, str, int, int]]:
    """(stage, outcome, reason, documents, images), by stage; images that left on their own."""
    docs = {(stage, out, why): n for stage, out, why, n in report.documents_that_left()}
    images = {(stage, out, why): n for stage, out, why, n in report.images_that_left()}
    stages = [row.stage for row in report.ledger]
    both = sorted(dict.fromkeys([*docs, *images]), key=lambda key: stages.index(key[0]))
    return [(*key, docs.get(key, 0), images.get(key, 0)) for key in both]


def images_left(report: Report) -> str:
    """How many images there are at the end, and how many went with their documents."""
    of = [row.images for row in report.ledger if row.images]
    gone = sum(images.with_document for images in of)
    return f"{of[-1].images_out:,} images are left; {gone:,} went with their documents"


def _known_reason(out: Path, manifest: dict[str, Any], reason: str) -> None:
    report = Report.read(manifest["report"], str(out))
    known = list(dict.fromkeys(row[2] for row in _counted(out, manifest, report)))
    if reason not in known and removals(out, reason=reason, limit=1).num_rows == 0:
        there = f"there are: {', '.join(known)}" if known else "none left for any"
        what = "document or image" if _has_images(manifest) else "document"
        raise ConfigError(f"{out}: no {what} left for the reason {reason!r}; {there}")


def _cut(out: Path, limit: int) -> Answer:
    rows = cut_documents(out, limit)
    cells = [(str(r["doc_id"]), r["id"], r["pieces"], ", ".join(r["items"])) for r in rows]
    title = f"documents cut into pieces: the first {len(rows)}"
    return rows, [table(title, ("doc_id", "id", ">pieces", "for items"), cells)]


def _removals(out: Path, reason: str, limit: int) -> Answer:
    rows = removals(out, reason=reason, limit=limit).to_pylist()
    images = removals(out, reason=reason, limit=limit, images=True).to_pylist()
    for image in images:
        image["md5"] = image["md5"] and image["md5"].hex()
    tables = [_removals_table(reason, rows), removed_table(reason, images)]
    return [*rows, *images], [tables]


def _removals_table(reason: str, rows: Sequence[dict[str, Any]]) -> Table | None:
    columns = (">doc_id", "id", "stage", ">value", ">duplicate_of", ">similarity", "detail")
    cells = [[row[c.removeprefix(">")] for c in columns] for row in rows]
    for row in cells:  # ids are names, not quantities: no thousands separators
        row[0], row[4] = str(row[0]), None if row[4] is None else str(row[4])
    return filled(table(f"{reason}: the first {len(rows)}", columns, cells))


def _documents(out: Path, manifest: dict[str, Any], limit: int) -> Answer:
    recipe = manifest["identity"]["recipe"]
    if recipe["tokenizer"] is None:
        return _texts(out, limit)
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
    return rows, [table("documents of the dataset", columns, cells)]


def _texts(out: Path, limit: int) -> Answer:
    """The first documents of each split of a run that made no tokens."""
    by_split: dict[str, list[dict[str, Any]]] = {}
    for split, row in kept_rows(out):
        if len(of := by_split.setdefault(split, [])) < limit:
            of.append({**row, "split": split})
    rows = [row for of in by_split.values() for row in of]
    cells = [(str(r["doc_id"]), r["split"], " ".join(r["text"].split())[:EXCERPT]) for r in rows]
    return rows, [table("documents of the kept text", ("doc_id", "split", "text"), cells)]


def _document(out: Path, manifest: dict[str, Any], doc_id: int) -> Answer:
    earlier = holder(manifest, doc_id)
    if earlier is not None:
        raise ConfigError(
            f"{out}: document {doc_id} is of the earlier run {earlier}; inspect that one"
        )
    number = part_number(out, doc_id)
    for failed in Report.read(manifest["report"], str(out)).failed_shards:
        if shard_number(failed.key) == number:
            raise ConfigError(
                f"document {doc_id} is in shard {failed.key}, which failed: {failed.error}"
            )
    links = pieces(out, [doc_id])
    if any(link["parent_doc_id"] == doc_id for link in links):
        return _cut_document(out, doc_id, links)
    if removals(out, doc_id=doc_id).num_rows:
        pair = beside(out, doc_id)
        return {**pair._asdict(), "pieces": links}, _pair_blocks(out, pair, links)
    kept, as_it_is = as_trained_on(out, doc_id)
    if kept is None:
        raise ConfigError(f"{out}: no document {doc_id} in this run")
    first = [f"kept: {kept['id']} ({kept['source']}){as_it_is}", *_beside(kept), *_links(links)]
    blocks = first, with_numbers(kept)[:SHOWN], fates_table(kept)
    return {"receipt": None, "kept": kept, "pieces": links}, blocks


def _beside(kept: dict[str, Any]) -> Iterator[str]:
    """What steps and inputs told of a document, where the run kept that with its text."""
    for name, value in kept.items():
        if name not in OWN_COLUMNS and value is not None:
            yield f"  {name}: {f'{value:.6g}' if isinstance(value, float) else value}"


def _cut_document(out: Path, doc_id: int, links: list[dict[str, Any]]) -> Answer:
    """A document of which pieces are left, or were until something removed them."""
    document = documents(out, [doc_id])[doc_id]
    text, stretches = cuts(out, document)

    def blocks() -> Iterator[Any]:
        receipts = (removals(out, doc_id=link["doc_id"]).to_pylist() for link in links)
        dropped = {r["doc_id"]: r["reason"] for rows in receipts for r in rows}
        head = f"cut into pieces: {document['id']} ({document['source']})"
        yield [head, *cut_lines(stretches)]
        yield marked(text, stretches)
        yield from piece_blocks(text, links, dropped)

    cut = [stretch._asdict() for stretch in stretches]
    return {"receipt": None, "cut": document, "cut_out": cut, "pieces": links}, blocks()


def _links(links: list[dict[str, Any]]) -> list[str]:
    """What a piece was part of."""
    return [
        f"  {link['doc_id']} is piece {link['piece']} of {link['pieces']} of"
        f" {link['parent_id']} ({link['parent_doc_id']}): bytes {link['start_byte']:,} to"
        f" {link['end_byte']:,}"
        for link in links
    ]


def _pair_blocks(out: Path, pair: Pair, links: list[dict[str, Any]]) -> Iterator[Any]:
    """Why a document left, and beside it the one that was kept in its place."""
    receipt = pair.receipt
    first: list[Any] = [f"{receipt['outcome']} at {receipt['stage']}: {receipt['reason']}"]
    for name in ("value", "similarity", "detail"):
        if (value := receipt[name]) is not None:
            first.append(f"  {name}: {f'{value:.4g}' if isinstance(value, float) else value}")
    first += _links(links)
    if pair.held_by is not None:
        gone = "" if pair.kept else ", whose dataset cannot tell its text any more"
        first.append(f"  kept: {pair.chain[-1]}, in the earlier run {pair.held_by}{gone}")
    if pair.kept is None:
        yield first
        yield f"{pair.removed['id']} ({pair.removed['source']})"
        if receipt["stage"] == NAME and not links:
            text, stretches = cuts(out, pair.removed)
            yield list(cut_lines(stretches))
            yield marked(text, stretches)
        else:
            yield with_numbers(pair.removed)[:SHOWN]
        yield fates_table(pair.removed)
        return
    first.append(f"  as they came to {receipt['stage']}{pair.but}")
    if len(pair.chain) > 2:
        way = ", ".join(map(str, pair.chain[1:-1]))
        first.append(f"  by way of {way}, removed as well")
    yield [*first, partial(show_beside, removed=pair.removed, kept=pair.kept)]
    yield fates_table(pair.removed)
    yield fates_table(pair.kept)
