"""What `tokenmill inspect` shows: documents, images, removals by reason, pairs side by side.

1  bytes 842 to 1,329, 487 characters: gsm8k:17 'Natalia sold clips to …'
… the text ⟦1: that went⟧ and that stayed …
piece 1 of 2: web/3#piece-1 (268435459), bytes 0 to 842, kept

A duplicate and the document that was kept are two panels on a terminal that has colours; elsewhere
one text, in which [-this-] is of the removed document and {+this+} of the kept one. Where both are
equal, some words around a change are shown.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tokenmill.flows.show import MATCH, filled, printable, table
from tokenmill.pipelines.contamination.model import NAME
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import OWN_COLUMNS, PLACEHOLDER, shard_and_row
from tokenmill.pipelines.core.shard import shard_number
from tokenmill.pipelines.prepare.against import first_ordinal, holder, part_number
from tokenmill.pipelines.prepare.collection import Collection
from tokenmill.pipelines.prepare.growth import growth, growth_table
from tokenmill.pipelines.prepare.inspect import (
    CutOut,
    Kind,
    Pair,
    Stretch,
    as_trained_on,
    beside,
    count_cut,
    cut_documents,
    cuts,
    difference,
    doc_ids_of,
    documents,
    pieces,
    removals,
)
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.runs.collected import run_names
from tokenmill.pipelines.runs.finished import prepared_run
from tokenmill.pipelines.runs.manifest import RUNNING
from tokenmill.pipelines.runs.packs import receipts_of
from tokenmill.pipelines.tokens.dataset import first_rows
from tokenmill.pipelines.tokens.reference import open_reference
from tokenmill.pipelines.tokens.text import kept_rows
from tokenmill.sizing.errors import meant
from tokenmill.sizing.units import format_bytes

CUT_CHARS, STAYS_CHARS, PIECE_CHARS = 240, 160, 600  # shown of each
MOST_ITEMS = 3
MOST_COMPARED = 1_000_000  # characters of each document
AROUND = 160  # characters that are equal, before and after a change
MOST_CHANGED = 800  # characters of a change
MOST_CHANGES = 40
MARKS = {"removed": ("[-", "-]", "bold red"), "kept": ("{+", "+}", "bold green")}
FOLD = "dim"

Row = Mapping[str, Any]


def shortened(text: str, most: int) -> str:
    """The first and last characters of a text, and how many are left out between them.

    >>> shortened("abcdefgh", 4)
    'ab … 4 characters … gh'
    """
    half = most // 2
    if len(text) <= most:
        return text
    return f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"


def cut_lines(stretches: Sequence[CutOut]) -> Iterator[str]:
    """A line for each stretch: where it is, how long, whose, and the words that tell."""
    for number, cut in enumerate(stretches, 1):
        more = len(cut.items) - MOST_ITEMS
        items = ", ".join(cut.items[:MOST_ITEMS]) + (f" and {more} more" if more > 0 else "")
        yield (
            f"  {number}  bytes {cut.start_byte:,} to {cut.end_byte:,}, {len(cut.text):,}"
            f" characters: {items} '{cut.excerpt}'"
        )


def marked(text: bytes, stretches: Sequence[CutOut]) -> Text:
    """A document with what was cut out, as it came to the step, in ⟦ ⟧ by number; all shortened."""
    made, end = Text(), 0
    for number, cut in enumerate(stretches, 1):
        made.append(_shown(text[end : cut.start_byte].decode(errors="replace"), STAYS_CHARS))
        made.append(f"⟦{number}: {_shown(cut.text, CUT_CHARS)}⟧", MATCH)
        end = cut.end_byte
    made.append(_shown(text[end:].decode(errors="replace"), STAYS_CHARS))
    return made


def piece_blocks(
    text: bytes, links: Sequence[Row], dropped: Mapping[int, str]
) -> Iterator[list[str]]:
    """A document's pieces; links: schema PIECE.  dropped: reasons by doc_id of those that left."""
    for link in links:
        start, end = link["start_byte"], link["end_byte"]
        fate = dropped.get(link["doc_id"])
        yield [
            f"piece {link['piece']} of {link['pieces']}: {link['id']} ({link['doc_id']}), bytes"
            f" {start:,} to {end:,}, {f'removed: {fate}' if fate else 'kept'}",
            shortened(text[start:end].decode(errors="replace"), PIECE_CHARS),
        ]


def _shown(text: str, most: int) -> str:
    return printable(shortened(text, most))


class Shown(NamedTuple):
    """A stretch as it is shown. style: "" for one that both documents have."""

    kind: Kind
    text: str
    style: str


def show_beside(show: Console, removed: dict[str, Any], kept: dict[str, Any]) -> None:
    """Print two documents, the first having been removed in favour of the second."""
    ours, theirs = with_numbers(removed), with_numbers(kept)
    if ours == theirs:
        show.print(printable(f"\nremoved: {removed['id']}\nkept:    {kept['id']}"))
        show.print(f"the texts are equal, {len(ours):,} characters\n")
        show.print(printable(shortened(ours, 2 * MOST_CHANGED)))
        return
    if max(len(ours), len(theirs)) > MOST_COMPARED:
        show.print(f"  compared: the first {MOST_COMPARED:,} characters")
    stretches = difference(ours[:MOST_COMPARED], theirs[:MOST_COMPARED])
    show.print(f"  {account(stretches)}")
    shown = list(folded(stretches))
    if not show.is_terminal or show.no_color or show.color_system is None:
        show.print(printable(f"\nremoved: {removed['id']}\nkept:    {kept['id']}\n"))
        show.print(inline(shown), soft_wrap=True)
        return
    panels = [
        Panel(
            Text.assemble(*((s.text, s.style) for s in shown if s.kind in ("equal", kind))),
            title=Text(printable(f"{kind}: {document['id']}")),
            width=show.width // 2 - 1,
        )
        for kind, document in (("removed", removed), ("kept", kept))
    ]
    show.print(Columns(panels, padding=(0, 1)))


def account(stretches: Sequence[Stretch]) -> str:
    """How much is equal, and how much only one of the two has."""
    n = {kind: sum(len(s.text) for s in stretches if s.kind == kind) for kind in MARKS}
    equal = sum(len(s.text) for s in stretches) - sum(n.values())
    return (
        f"characters: {equal:,} in both, {n['removed']:,} in the removed document only,"
        f" {n['kept']:,} in the kept one only"
    )


def folded(stretches: Sequence[Stretch]) -> Iterator[Shown]:
    """The stretches with what is long shortened, up to so many changes."""
    changes = [i for i, s in enumerate(stretches) if s.kind != "equal"]
    end = changes[MOST_CHANGES - 1] + 2 if len(changes) > MOST_CHANGES else len(stretches)
    for i, (kind, text) in enumerate(stretches[:end]):
        if kind == "equal":
            yield from _equal(text, before=i > 0, after=i + 1 < len(stretches))
        else:
            yield Shown(kind, printable(shortened(text, MOST_CHANGED)), MARKS[kind][2])
    left = sum(i >= end for i in changes)
    if left:
        yield Shown("equal", f"\n… {left:,} more changes …", FOLD)


def _equal(text: str, *, before: bool, after: bool) -> Iterator[Shown]:
    """What both have. before, after: there is a change on that side."""
    head, tail = AROUND * before, AROUND * after
    n = len(text) - head - tail
    if n <= AROUND // 2:
        yield Shown("equal", printable(text), "")
        return
    yield Shown("equal", printable(text[:head]), "")
    yield Shown("equal", f" … {n:,} equal characters … ", FOLD)
    yield Shown("equal", printable(text[len(text) - tail :]), "")


def inline(shown: Iterable[Shown]) -> Text:
    """Both documents as one text, with marks around what one has alone."""
    made = Text()
    for kind, text, style in shown:
        before, after, _ = MARKS.get(kind, ("", "", ""))
        made.append(f"{before}{text}{after}", style)
    return made


def removed_table(reason: str, rows: Sequence[Row]) -> Table | None:
    """Receipts of images that left for a reason; None if there are none."""
    columns = (">doc_id", ">image", "stage", ">value", "where it stands")
    cells = [
        (str(r["doc_id"]), r["number"], r["stage"], r["value"], _lines(r["path"], r["url"], r))
        for r in rows
    ]
    return filled(table(f"images, {reason}: the first {len(rows)}", columns, cells))


def fates_table(document: Row) -> Table | None:
    """The images of a document, as `pipelines.prepare.inspect` tells them; None if it has none."""
    columns = (">image", "format", ">pixels", ">bytes", "fate", "where it stands")
    cells = [
        (
            i["number"],
            i["format"],
            f"{i['width']:,} x {i['height']:,}" if i["width"] and i["height"] else None,
            format_bytes(i["bytes"]) if i["bytes"] else None,  # 0: not to be had
            _fate(i),
            _lines(i["path"], i["url"], i),
        )
        for i in document.get("images") or ()
    ]
    return filled(table(f"images of {document['id']}", columns, cells))


def with_numbers(document: Row) -> str:
    """The text of a document, with an image's number where it stands, if it could be read."""
    numbers = [i["number"] for i in document.get("images", ()) if i["stage"] != "read"]
    pieces: list[str] = document["text"].split(PLACEHOLDER)
    if len(pieces) != len(numbers) + 1:  # a sample has none; text alone is as it was written
        return str(document["text"])
    places = [f"[image {number}]" for number in numbers]
    return pieces[0] + "".join(p + t for p, t in zip(places, pieces[1:], strict=True))


def _fate(image: Row) -> str:
    fate = image["fate"].replace("_", " ")
    if image["reason"] is None:
        return str(fate)
    value = "" if image["value"] is None else f" ({image['value']:g})"
    return f"{fate} at {image['stage']}: {image['reason']}{value}"


def _lines(path: str, url: str | None, image: Row) -> str:
    """Path and URL of an image, what its receipt says, and which image it repeats."""
    repeats = image["duplicate_of"]
    of = None if repeats is None else f"repeats image {image['duplicate_number']} of {repeats}"
    told = dict.fromkeys(line for line in (path, url, image["detail"], of) if line)
    return "\n".join(told)


EXCERPT = 100  # characters of a document in a list
CUT = "cut"  # as if a reason: it has no receipt, for nothing left but a stretch of text
SHOWN = 2000  # characters of a document shown whole
MOST_NAMED = 5  # documents with one id, or sources
IN_BRACKETS = re.compile(r".+ \((?:doc_id )?(\d+)\)(?: of .+|, .+)?", re.DOTALL)

Answer: TypeAlias = tuple[Any, Iterable[Any]]  # as data, and as blocks of `show`


def answer(out: Path, args: argparse.Namespace) -> Answer:
    """What the arguments ask for, or removals by reason; ConfigError: no run, or no such thing."""
    names = run_names(out)
    if names is not None:
        return _of_collection(out, args)
    manifest = prepared_run(out)
    if manifest["status"] == RUNNING:
        raise ConfigError(f"{out}: the run has not finished; run prepare again to continue it")
    if args.doc is not None:
        return _found([out], args.doc, partial(_document, out, manifest))
    if args.reason is not None:
        if args.reason != CUT:
            _known_reason(out, manifest, args.reason)
        return _of_reason(out, args.reason, args.limit)
    return _documents(out, manifest, args.limit) if args.documents else _reasons(out, manifest)


def _of_collection(out: Path, args: argparse.Namespace) -> Answer:
    """Of all runs that have finished; a document is of the one whose shards have its number."""
    collection = Collection(out, out)
    runs = [out / name for name in collection.finished]
    if not runs:
        raise ConfigError(f"{out}: no run of the collection has finished; ingest again")
    if args.doc is not None:

        def of_its_run(doc_id: int) -> Answer:
            shard = shard_and_row(doc_id)[0]
            run = [run for run in runs if first_ordinal(run) <= shard][-1]
            return _document(run, prepared_run(run), doc_id)

        return _found(runs, args.doc, of_its_run)
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
            rows, shown = _of_reason(run, args.reason, left)
        data += rows
        blocks += [run.name, *shown] if rows else []
    if args.reason is not None and not data:
        raise ConfigError(f"{out}: no document left for the reason {args.reason!r} in any run")
    return data, blocks


def _found(runs: Sequence[Path], text: str, shown: Callable[[int], Answer]) -> Answer:
    """A document by any form in which commands and reports print it.

    These are the number, with commas or in brackets behind the id, the id, and "source: id"; or
    its URL.
    Digits are an id where no document has the number.
    """
    number = text.replace(",", "")
    if number.isdecimal() and int(number) < 2**64:
        try:
            return shown(int(number))
        except ConfigError:
            if (doc_id := _of_id(runs, text)) is None:
                raise
            return shown(doc_id)
    doc_id = _of_id(runs, text)
    if doc_id is None and (told := IN_BRACKETS.fullmatch(text)) and int(told[1]) < 2**64:
        doc_id = int(told[1])
    if doc_id is None:
        raise ConfigError(
            f"--doc {text}: no document that left, or is kept, has this id; write its number, the"
            " doc_id of --documents and --reason, or its id or URL as the input has it"
        )
    return shown(doc_id)


def _of_id(runs: Sequence[Path], text: str) -> int | None:
    """The document that has an id, which may stand behind that of its source."""
    source, _, name = text.partition(": ")
    of = [(run, doc_id) for run in runs for doc_id in doc_ids_of(run, text)]
    if not of and name and (of := [(run, d) for run in runs for d in doc_ids_of(run, name)]):
        read = ((run, receipt) for run in runs for receipt in receipts_of(run, "pass-0"))
        known = {(run, shard_number(r.key)): str(r.facts["source"]) for run, r in read}
        if source not in known.values():
            there = sorted(set(known.values()))
            some = ", ".join(there[:MOST_NAMED]) + ", …" * (len(there) > MOST_NAMED)
            hint = meant(source, there, f"there are: {some}")
            raise ConfigError(f"--doc {text}: no source {source!r}; {hint}")
        of = [(run, d) for run, d in of if known.get((run, part_number(run, d))) == source]
    of = of or [(run, d) for run in runs for d in doc_ids_of(run, text, "url")]
    if len(of) > 1:
        some = ", ".join(str(one) for _, one in of[:MOST_NAMED]) + ", …" * (len(of) > MOST_NAMED)
        told = f"{len(of):,} documents have it: {some}; name one"
        raise ConfigError(f"--doc {text}: {told}")
    return of[0][1] if of else None


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
    """Stage, outcome, reason, documents, images if any; documents left in pieces come last."""
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


def _of_reason(out: Path, reason: str, limit: int) -> Answer:
    if reason == CUT:
        return _cut(out, limit)
    rows = removals(out, reason=reason, limit=limit).to_pylist()
    images = removals(out, reason=reason, limit=limit, images=True).to_pylist()
    for image in images:
        image["md5"] = image["md5"] and image["md5"].hex()
    tables = [_removals_table(reason, rows), removed_table(reason, images)]
    return [*rows, *images], [tables]


def _removals_table(reason: str, rows: Sequence[dict[str, Any]]) -> Table | None:
    columns = [">doc_id", "id", "stage", ">value", ">duplicate_of", ">similarity", "detail"]
    columns += ["url"] if any(row["url"] for row in rows) else []
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
    if not _has_images(manifest):
        return rows, [_listed("documents of the dataset", rows, ">tokens")]
    counted = [{**row, "images": len(row["images"])} for row in rows]
    return rows, [_listed("documents of the dataset", counted, ">tokens", ">images")]


def _listed(title: str, rows: Sequence[dict[str, Any]], *more: str) -> Table:
    """Documents, a row each, with their addresses where they have some."""
    columns = ["id", "split", *more, *(["url"] if any(r.get("url") for r in rows) else [])]
    cells = [
        (
            str(r["doc_id"]),
            *(r.get(c.removeprefix(">")) for c in columns),
            " ".join(r["text"].split())[:EXCERPT],
        )
        for r in rows
    ]
    return table(title, ("doc_id", *columns, "text"), cells)


def _texts(out: Path, limit: int) -> Answer:
    """The first documents of each split of a run that made no tokens."""
    by_split: dict[str, list[dict[str, Any]]] = {}
    for split, row in kept_rows(out):
        if len(of := by_split.setdefault(split, [])) < limit:
            of.append({**row, "split": split})
    rows = [row for of in by_split.values() for row in of]
    return rows, [_listed("documents of the kept text", rows)]


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
        if (name not in OWN_COLUMNS or name == "url") and value is not None:
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
    for name in ("value", "similarity", "detail", "url"):
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
