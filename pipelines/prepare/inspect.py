"""Look into a run directory: documents, what left by reason, a duplicate beside what was kept.

In what two texts differ, word by word, with work that grows with their length and no faster.

    Stretches that both have, and that stand once in each, are laid in order (the longest run that
    is in order in both); what lies between two of them is compared likewise by shorter stretches,
    and what is left by `difflib`, as long as there is little of it.

Source of the anchors: patience diff, Bram Cohen 2010, on words in place of lines.

What decontamination cut out of a document are the gaps between its pieces (pieces/*.parquet), and
why, overlaps/*.parquet tell. A document as the dataset has it is decoded from its tokens.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import reduce
from itertools import compress, count, groupby, pairwise
from operator import ne, or_
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.pieces import NUMBERS, PIECE
from tokenmill.pipelines.core.schema import DOCUMENT, IMAGE, REMOVED, REMOVED_IMAGE, shard_and_row
from tokenmill.pipelines.core.shard import numbered
from tokenmill.pipelines.core.step import Stage
from tokenmill.pipelines.corpus.step import is_corpus_wide
from tokenmill.pipelines.prepare.against import first_ordinal, holder, part_number
from tokenmill.pipelines.prepare.recipe import Recipe, make_recipe
from tokenmill.pipelines.read.parquet import bounded
from tokenmill.pipelines.runs.finished import prepared_run
from tokenmill.pipelines.runs.manifest import read_manifest
from tokenmill.pipelines.storage.inputs import open_input
from tokenmill.pipelines.storage.mirror import find, present
from tokenmill.pipelines.tokens.export.text import text_of
from tokenmill.pipelines.tokens.text import kept_rows

# a word, a mark, white space; of scripts without spaces between words one character
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u9fff"
_UNIT = re.compile(rf"[{_IDEOGRAPH}]|[^\W{_IDEOGRAPH}]+|[^\w\s]|\s+")
_WORD = re.compile(r"\w")
STRETCHES = (16, 4, 1)  # units of an anchor, tried in turn
MOST_CELLS = 40_000  # units of one side times the other's that `difflib` is given at once
MOST_WORK = 4_000_000  # such cells in all; what lies behind is told apart as a whole

Kind: TypeAlias = Literal["equal", "removed", "kept"]


class Stretch(NamedTuple):
    """Text that both have ("equal"), or the removed document alone, or the kept one alone."""

    kind: Kind
    text: str


class _Match(NamedTuple):
    """n units of one text from `a` on that are those of the other from `b` on."""

    a: int
    b: int
    n: int


def difference(removed: str, kept: str) -> list[Stretch]:
    """The stretches of two texts, in order; joined without those of the other they are each text.

    >>> [tuple(s) for s in difference("a big cat", "a small cat")]
    [('equal', 'a '), ('removed', 'big'), ('kept', 'small'), ('equal', ' cat')]
    """
    ours, theirs = _UNIT.findall(removed), _UNIT.findall(kept)
    stretches: list[Stretch] = []
    a = b = 0
    for i, j, n in (*_Texts(ours, theirs).matches(), _Match(len(ours), len(theirs), 0)):
        stretches.append(Stretch("removed", "".join(ours[a:i])))
        stretches.append(Stretch("kept", "".join(theirs[b:j])))
        stretches.append(Stretch("equal", "".join(ours[i : i + n])))
        a, b = i + n, j + n
    return _joined(stretches)


def _joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Without empty ones, and between two that are equal one of each kind at most.

    What is equal between two changes and has no word in it, as a comma, goes with the changes.
    """
    joined: list[Stretch] = []
    equal, ours, theirs, held = "", "", "", ""  # held: equal, if a word follows before a change
    for kind, text in stretches:
        if kind != "equal" and text:
            ours += held + (text if kind == "removed" else "")
            theirs += held + (text if kind == "kept" else "")
            held = ""
        elif kind == "equal" and not (ours or theirs):
            equal += text
        elif kind == "equal" and _WORD.search(text):
            joined += _told(equal, ours, theirs)
            equal, ours, theirs, held = held + text, "", "", ""
        else:
            held += text
    return [*joined, *_told(equal, ours, theirs), *_told(held, "", "")]


def _told(equal: str, ours: str, theirs: str) -> Iterator[Stretch]:
    stretches = Stretch("equal", equal), Stretch("removed", ours), Stretch("kept", theirs)
    return (stretch for stretch in stretches if stretch.text)


class _Texts:
    """Two texts as numbers, equal where their units are; a window is a range of each."""

    def __init__(self, ours: Sequence[str], theirs: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        self._a = [numbers.setdefault(unit, len(numbers)) for unit in ours]
        self._b = [numbers.setdefault(unit, len(numbers)) for unit in theirs]
        self._work = 0

    def matches(self) -> Iterator[_Match]:
        """What is equal, in the order of both texts."""
        yield from self._within(range(len(self._a)), range(len(self._b)), 0)

    def _within(self, ours: range, theirs: range, level: int) -> Iterator[_Match]:
        """What is equal in a window; level: of STRETCHES, behind its end the rest."""
        head = self._equal(ours, theirs)
        if head:
            yield _Match(ours.start, theirs.start, head)
        ours, theirs = ours[head:], theirs[head:]
        tail = self._equal(ours[::-1], theirs[::-1])
        ours, theirs = ours[: len(ours) - tail], theirs[: len(theirs) - tail]
        if ours and theirs:
            if level < len(STRETCHES):
                yield from self._between_anchors(ours, theirs, level)
            else:
                yield from self._closely(ours, theirs)
        if tail:
            yield _Match(ours.stop, theirs.stop, tail)

    def _between_anchors(self, ours: range, theirs: range, level: int) -> Iterator[_Match]:
        """Anchors are stretches that stand once in each: most of them in order."""
        here, there = (
            _once(text, window.start, window.stop, STRETCHES[level])
            for text, window in ((self._a, ours), (self._b, theirs))
        )
        for i, j in _in_order([(i, there[key]) for key, i in here.items() if key in there]):
            if i < ours.start or j < theirs.start:
                continue  # inside the match before, which went on for as long as it could
            yield from self._within(range(ours.start, i), range(theirs.start, j), level + 1)
            ours, theirs = range(i, ours.stop), range(j, theirs.stop)
            n = self._equal(ours, theirs)
            yield _Match(i, j, n)
            ours, theirs = ours[n:], theirs[n:]
        yield from self._within(ours, theirs, level + 1)

    def _equal(self, ours: range, theirs: range) -> int:
        """How many units are equal, in the order of the ranges, before the first that is not."""
        differs = map(ne, map(self._a.__getitem__, ours), map(self._b.__getitem__, theirs))
        return next(compress(count(), differs), min(len(ours), len(theirs)))

    def _closely(self, ours: range, theirs: range) -> Iterator[_Match]:
        cells = len(ours) * len(theirs)
        if cells > MOST_CELLS or self._work + cells > MOST_WORK:
            return
        self._work += cells
        units = self._a[ours.start : ours.stop], self._b[theirs.start : theirs.stop]
        for a, b, n in SequenceMatcher(None, *units, autojunk=False).get_matching_blocks():
            if n:
                yield _Match(ours.start + a, theirs.start + b, n)


def _once(units: Sequence[int], start: int, end: int, size: int) -> dict[tuple[int, ...], int]:
    """Where each stretch begins that stands once between `start` and `end`, in order."""
    keys = [tuple(units[i : i + size]) for i in range(start, end - size + 1)]
    times = Counter(keys)
    return {key: start + i for i, key in enumerate(keys) if times[key] == 1}


def _in_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose second numbers rise. pairs: their first numbers rise.

    >>> _in_order([(0, 5), (1, 1), (2, 9), (3, 2)])
    [(1, 1), (3, 2)]
    """
    ends: list[int] = []  # the least last number of a run of each length
    at: list[int] = []  # its pair
    before: list[int] = []
    for k, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        at[length : length + 1] = [k]
    run: list[tuple[int, int]] = []
    k = at[-1] if at else -1
    while k >= 0:
        run.append(pairs[k])
        k = before[k]
    return run[::-1]


class CutOut(NamedTuple):
    """A stretch of a document, in bytes of its text as it came to the step, and why it went.

    items: names of the benchmark items in it, each once, those with most n-grams first.
    excerpt: the beginning of what repeats the first of them; "" if there is none.
    """

    start_byte: int
    end_byte: int
    text: str
    items: tuple[str, ...]
    excerpt: str


def _rows_of(
    out: Path, folder: str, schema: pa.Schema, doc_ids: Iterable[int], *columns: str
) -> list[dict[str, Any]]:
    """Rows of a folder's files that have one of these documents in one of the columns."""
    rows: list[dict[str, Any]] = []
    for number, these in groupby(sorted(doc_ids), key=lambda doc_id: part_number(out, doc_id)):
        ids = pa.array(these, pa.uint64())
        wanted = reduce(or_, (pc.field(column).isin(ids) for column in columns))
        for path in find(out / folder, f"part-{number:05d}-*.parquet"):
            rows += pq.read_table(bounded(present(path)), filters=wanted, schema=schema).to_pylist()
    return rows


def overlaps_of(out: Path, doc_ids: Iterable[int]) -> list[dict[str, Any]]:
    """Rows of schema OVERLAP of these documents."""
    from tokenmill.pipelines.contamination.rows import OVERLAP  # loads all that searches

    return _rows_of(out, "overlaps", OVERLAP, doc_ids, "doc_id")


def pieces(out: Path, doc_ids: Iterable[int]) -> list[dict[str, Any]]:
    """Rows of schema PIECE: of these documents' pieces if they were cut, or of them if they are."""
    return _rows_of(out, "pieces", PIECE, doc_ids, "doc_id", "parent_doc_id")


def cut_out(
    text: bytes, pieces: Sequence[dict[str, Any]], overlaps: Sequence[dict[str, Any]]
) -> list[CutOut]:
    """The stretches that no piece has; of a document without pieces those that repeat an item.

    text: the document as it came to the step.
    pieces, overlaps: rows of schemas PIECE and OVERLAP of this document.
    """
    stretches = _gaps(len(text), pieces) if pieces else _union(overlaps)
    longest_first = sorted(overlaps, key=lambda o: -o["ngrams"])
    cut = []
    for start, end in stretches:
        within = [o for o in longest_first if o["start_byte"] < end and o["end_byte"] > start]
        items = tuple(dict.fromkeys(o["item"] for o in within))
        excerpt = within[0]["excerpt"] if within else ""
        cut.append(CutOut(start, end, text[start:end].decode(errors="replace"), items, excerpt))
    return cut


def cut_documents(out: Path, limit: int | None = None) -> list[dict[str, Any]]:
    """Documents that were cut and of which a piece is left: doc_id, id, pieces and items of each.

    Their order is that of the input; pieces dropped for their length count.
    """
    cut: list[dict[str, Any]] = []
    columns = ["parent_doc_id", "parent_id", "pieces"]
    for path in find(out / "pieces", "part-*.parquet"):
        table = pq.read_table(bounded(present(path)), columns=columns, schema=PIECE)
        # a row for each piece, those of a document together
        last = {row["parent_doc_id"]: row for row in table.to_pylist()}
        cut += [
            {"doc_id": d, "id": row["parent_id"], "pieces": row["pieces"]}
            for d, row in last.items()
        ]
        if limit is not None and len(cut) >= limit:
            break
    cut = cut[:limit]
    items: dict[int, dict[str, None]] = {row["doc_id"]: {} for row in cut}
    for overlap in overlaps_of(out, items):
        items[overlap["doc_id"]][overlap["item"]] = None
    return [{**row, "items": list(items[row["doc_id"]])} for row in cut]


def count_cut(out: Path) -> int:
    """How many documents `cut_documents` has."""
    paths, wanted = find(out / "pieces", "part-*.parquet"), ["parent_doc_id"]
    columns = (pq.read_table(bounded(present(path)), columns=wanted)[wanted[0]] for path in paths)
    return sum(pc.count_distinct(column).as_py() for column in columns)


def _gaps(size: int, pieces: Iterable[dict[str, Any]]) -> list[tuple[int, int]]:
    edges = sorted((p["start_byte"], p["end_byte"]) for p in pieces)
    bounds = [(0, 0), *edges, (size, size)]
    return [(end, start) for (_, end), (start, _) in pairwise(bounds) if end < start]


def _union(spans: Iterable[dict[str, Any]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted((s["start_byte"], s["end_byte"]) for s in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def decoded(out: Path, doc_id: int) -> dict[str, Any] | None:
    """A document with doc_id, id, source and text; of one that was cut, its pieces in order.

    None where that cannot be told: the run or its tokenizer is gone, its documents were packed
    into sequences, or the document is not in its dataset.
    """
    files = sorted((out / "dataset").rglob("*.arrow"))
    # copies are alike
    by_id = {row["doc_id"]: row for path in files for row in _rows(path, doc_id)}
    rows = [by_id[number] for number in sorted(by_id)]
    if not rows:
        return None
    manifest = read_manifest(out) or {"identity": {"recipe": {}}}
    try:
        recipe = make_recipe(manifest["identity"]["recipe"], where=str(out))
        engine = recipe.tokenizing().engine()
    except ConfigError:
        return None
    text = "\n".join(text_of(engine, row["input_ids"]) for row in rows)
    return {"doc_id": doc_id, "id": rows[0]["id"], "source": rows[0]["source"], "text": text}


def _rows(path: Path, doc_id: int) -> list[dict[str, Any]]:
    """The rows of a file of the dataset that are the document, or pieces of it."""
    rows: list[dict[str, Any]] = []
    with open_input(str(path), mapped=True) as mapped, pa.ipc.open_stream(mapped) as batches:
        if "source" not in batches.schema.names:  # packed: a row is a sequence
            return rows
        for batch in batches:
            ids = np.asarray(batch["doc_id"])
            these = (ids == doc_id) | ((ids & ~NUMBERS) == doc_id)
            if these.any():
                columns = batch.select(["input_ids", "doc_id", "id", "source"])
                rows += columns.filter(pa.array(these)).to_pylist()
    return rows


KEPT, WITH_DOCUMENT = "kept", "with_document"  # fates of images beside the outcomes of receipts
OF_IMAGE = tuple(f.name for f in IMAGE if not f.name.endswith("offset"))
OF_FATE = ("stage", "reason", "value", "detail", "duplicate_of", "duplicate_number")


class Pair(NamedTuple):
    """A removed document, its receipt, and the document kept in its place (None if none is named).

    chain: ids from the removed document to the kept one, where the first named was removed too.
    held_by: the earlier run that has the kept one, where it is not this one. Its text is then what
        the dataset's tokens stand for; None where that dataset cannot tell it any more.
    but: what is not in texts, which are otherwise as they came to the step that compared them.
    """

    receipt: dict[str, Any]
    removed: dict[str, Any]
    kept: dict[str, Any] | None
    chain: list[int]
    held_by: str | None = None
    but: str = ""


def removals(
    out: Path,
    *,
    reason: str | None = None,
    doc_id: int | None = None,
    name: str | None = None,
    column: str = "id",
    limit: int | None = None,
    images: bool = False,
) -> pa.Table:
    """Receipts of documents that left, shard by shard (schema REMOVED).

    reason: only those removed or failed for it.  doc_id: only that document's.
    name: only of documents with this id, or what else the column is.
    images: those of images that left their documents (schema REMOVED_IMAGE).
    """
    folder, schema = ("removed-images", REMOVED_IMAGE) if images else ("removed", REMOVED)
    wanted, shard = pc.scalar(True), ""
    if reason is not None:
        wanted &= pc.field("reason") == reason
    if name is not None:
        wanted &= pc.field(column) == name
    if doc_id is not None:
        wanted &= pc.field("doc_id") == pa.scalar(doc_id, pa.uint64())
        shard = f"{part_number(out, doc_id):05d}-"
    receipts = schema.empty_table()
    names = f"part-{shard}*.parquet", "packing.parquet"
    for path in [path for name in names for path in find(out / folder, name)]:
        table = pq.read_table(bounded(present(path)), filters=wanted, schema=schema)
        receipts = pa.concat_tables([receipts, table])
        if limit is not None and receipts.num_rows >= limit and doc_id is None:
            break
    return receipts.slice(0, limit) if limit is not None else receipts


def doc_ids_of(out: Path, name: str, column: str = "id") -> list[int]:
    """The documents, ascending, with an id of the input; of packed ones only those that left.

    column: "url", and the name is an address.
    """
    doc_ids = {row["doc_id"] for _, row in kept_rows(out, **{column: name})}
    doc_ids |= set(removals(out, name=name, column=column)["doc_id"].to_pylist())
    cut = find(out / "pieces", "part-*.parquet") if column == "id" else []
    for path in cut:
        wanted = pc.field("parent_id") == name
        table = pq.read_table(bounded(present(path)), columns=["parent_doc_id"], filters=wanted)
        doc_ids |= set(table["parent_doc_id"].to_pylist())
    for path in [p for pattern in ("*", "*/*") for p in find(out / "dataset", f"{pattern}.arrow")]:
        with open_input(str(present(path)), mapped=True) as file, pa.ipc.open_stream(file) as rows:
            for batch in rows if {column, "doc_id"} <= set(rows.schema.names) else ():
                doc_ids |= set(batch["doc_id"].filter(pc.equal(batch[column], name)).to_pylist())
    return sorted(doc_ids)


def documents(out: Path, doc_ids: list[int]) -> dict[int, dict[str, Any]]:
    """Documents by id, as they were read, not as later stages edited them; pieces as they were cut.

    Intermediates are deleted at the end of a run, so the inputs are read again; ids are
    only right while these are unchanged. In a run with images each has `images`: what
    `image_fates` tells.
    ConfigError: an id is not of this run, or its input has changed or is gone.
    """
    recipe = _recipe(out)
    links = {p["doc_id"]: p for p in pieces(out, doc_ids) if p["doc_id"] in doc_ids}
    whole = _read(out, recipe, [links[d]["parent_doc_id"] if d in links else d for d in doc_ids])
    by_id = {d: whole[d] for d in doc_ids if d in whole}
    for doc_id, link in links.items():
        parent = whole[link["parent_doc_id"]]
        text = as_decontaminated(recipe, parent)[link["start_byte"] : link["end_byte"]].decode()
        by_id[doc_id] = {**parent, "doc_id": doc_id, "id": link["id"], "text": text}
    return by_id


def _recipe(out: Path) -> Recipe:
    return make_recipe(prepared_run(out)["identity"]["recipe"], where=str(out / "manifest.json"))


def as_it_came(recipe: Recipe, document: dict[str, Any], stage: str | None) -> tuple[str, str]:
    """The text of a document as it came to a step, or to the end of all; and what is not in that.

    That is what steps changed that looked at the whole corpus: "" or a few words, with a comma.

    stage: name of the step; None is the end.
    document: of `documents`, which no step before removed.
    """
    batch = pa.RecordBatch.from_pylist([{f: document[f] for f in DOCUMENT.names}], DOCUMENT)
    others = []
    for step in recipe.steps:
        if step.stage_name == stage:
            break
        if is_corpus_wide(step):
            others += [step.name] if step.cuts else []
        elif step.changes_text and not step.annotations():
            batch = cast(Stage, step)(batch).kept
    text: str = batch["text"][0].as_py()
    return text, f", but for what {' and '.join(others)} changed" if others else ""


def as_decontaminated(recipe: Recipe, document: dict[str, Any]) -> bytes:
    """The text of a document as it came to the step that cut it, in UTF-8."""
    stage = next((step.stage_name for step in recipe.steps if step.makes_pieces), None)
    return as_it_came(recipe, document, stage)[0].encode()


def as_trained_on(out: Path, doc_id: int) -> tuple[dict[str, Any] | None, str]:
    """A document that stayed, as it is in the dataset, and a few words on whence; None if it is not
    of the run.

    Of kept text; else of its tokens; where these are packed, or it has images, as it was read, and
    changed anew by the steps that look at documents one by one.
    """
    recipe = _recipe(out)
    if recipe.images is None:
        for _, kept in kept_rows(out, doc_id=doc_id):
            return kept, ", as the run kept it"
        if (row := decoded(out, doc_id)) is not None:
            with suppress(ConfigError):  # its input has gone: url and date with it
                row = {**documents(out, [doc_id]).get(doc_id, {}), **row}
            return row, ", as its tokens have it"
    found = documents(out, [doc_id]).get(doc_id)
    if found is None:
        return None, ""
    if recipe.images is not None or int(found["doc_id"]) & int(NUMBERS):
        return found, ""
    text, but = as_it_came(recipe, found, None)
    return {**found, "text": text}, f", as it went to the tokenizer{but}"


def cuts(out: Path, document: dict[str, Any]) -> tuple[bytes, list[CutOut]]:
    """The text of a document as it came to the step that cut it, and what was cut out of it.

    Of a document that was not cut, what repeats benchmark items.

    document: of `documents`, whole.
    """
    doc_id = document["doc_id"]
    text = as_decontaminated(_recipe(out), document)
    links = [p for p in pieces(out, [doc_id]) if p["parent_doc_id"] == doc_id]
    return text, cut_out(text, links, overlaps_of(out, [doc_id]))


def _read(out: Path, recipe: Recipe, doc_ids: list[int]) -> dict[int, dict[str, Any]]:
    manifest = prepared_run(out)
    taken = manifest["identity"]["inputs"]  # of a collection's pattern, what this run took
    plan = recipe.plan(among=lambda file: file.path in taken)
    now = {f.path: [f.bytes, str(f.version)] for f in plan.files}
    if now != manifest["identity"]["inputs"]:
        raise ConfigError(
            f"{out}: the inputs have changed since the run; their documents cannot be shown"
        )
    first = first_ordinal(out)
    shards = {s.ordinal: s for s in numbered(plan.shards, first=first)}
    by_id: dict[int, dict[str, Any]] = {}
    for ordinal in sorted({shard_and_row(d)[0] for d in doc_ids}):
        if ordinal not in shards:
            behind = f" from {first} on" if first else ""
            raise ConfigError(f"{out}: no shard {ordinal}, ids run to {len(shards)} shards{behind}")
        wanted = pa.array([d for d in doc_ids if shard_and_row(d)[0] == ordinal], pa.uint64())
        for batch in recipe.read(shards[ordinal]):
            rows = batch.documents.filter(pc.is_in(batch.documents["doc_id"], wanted))
            for row in rows.to_pylist():
                if recipe.images is not None:
                    row["images"] = image_fates(out, row["doc_id"], row["images"])
                by_id[row["doc_id"]] = {**row, "source": shards[ordinal].source}
            if all(d in by_id for d in wanted.to_pylist()):
                break
    return by_id


def image_fates(out: Path, doc_id: int, read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The images of a document by their number, and the fate of each.

    read: what the reader found of them (`IMAGE`).

    Rows of `OF_IMAGE`, `OF_FATE` as in its receipt, and `fate`: "kept", "removed", "failed", or
    "with_document" where that left and took it along. `md5` is in hexadecimal.
    """
    others = WITH_DOCUMENT if removals(out, doc_id=doc_id).num_rows else KEPT
    left = {row["number"]: row for row in removals(out, doc_id=doc_id, images=True).to_pylist()}
    there = {image["number"]: image for image in read}
    fates = []
    for number in sorted(left | there):
        receipt = left.get(number, {})
        image = there.get(number, receipt)  # one that could not be read has but a receipt
        row = {name: image.get(name) for name in OF_IMAGE}
        row["md5"] = row["md5"] and row["md5"].hex()
        fate = {name: receipt.get(name) for name in OF_FATE}
        fates.append({**row, "fate": receipt.get("outcome", others), **fate})
    return fates


def beside(out: Path, doc_id: int) -> Pair:
    """A removed document beside the one kept for it; ConfigError: not removed, or not here."""
    chain, receipt = [doc_id], _receipt(out, doc_id)
    if receipt is None:
        raise ConfigError(f"{out}: document {doc_id} was not removed")
    step: dict[str, Any] | None = receipt
    while step is not None and step["duplicate_of"] is not None:
        chain.append(step["duplicate_of"])
        of_earlier = part_number(out, chain[-1]) < 0  # where it was kept
        step = None if of_earlier else _receipt(out, chain[-1])
    last = chain[-1]
    earlier = holder(prepared_run(out), last)
    texts = documents(out, [doc_id] if earlier else [doc_id, last])
    if doc_id not in texts:
        why = ": ".join(filter(None, (receipt["reason"], receipt["detail"])))
        raise ConfigError(f"{out}: document {doc_id} could not be read: {why}")
    if len(chain) == 1:
        return Pair(receipt, texts[doc_id], None, chain)
    recipe, but = _recipe(out), ""
    for one, document in texts.items() if recipe.images is None else ():
        if not one & int(NUMBERS):
            text, but = as_it_came(recipe, document, receipt["stage"])
            texts[one] = {**document, "text": text}
    if earlier is not None:
        return Pair(receipt, texts[doc_id], decoded(earlier, last), chain, str(earlier), but)
    return Pair(receipt, texts[doc_id], texts.get(last), chain, but=but)


def _receipt(out: Path, doc_id: int) -> dict[str, Any] | None:
    rows = removals(out, doc_id=doc_id).to_pylist()
    return rows[0] if rows else None
