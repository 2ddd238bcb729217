"""Look into a run directory: documents, what left by reason, a duplicate beside what was kept."""

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenmill.pipelines.cut_out import CutOut, cut_out, overlaps_of
from tokenmill.pipelines.decoded import decoded
from tokenmill.pipelines.decontaminate import Decontaminate
from tokenmill.pipelines.earlier import first_ordinal, holder, part_number
from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.manifest import read_manifest
from tokenmill.pipelines.mirror import find, present
from tokenmill.pipelines.normalize import Normalize
from tokenmill.pipelines.pieces import PIECE
from tokenmill.pipelines.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.recipe import Recipe, make_recipe
from tokenmill.pipelines.schema import DOCUMENT, IMAGE, REMOVED, REMOVED_IMAGE, shard_and_row
from tokenmill.pipelines.shard import numbered

KEPT, WITH_DOCUMENT = "kept", "with_document"  # fates of images beside the outcomes of receipts
OF_IMAGE = tuple(f.name for f in IMAGE if not f.name.endswith("offset"))
OF_FATE = ("stage", "reason", "value", "detail", "duplicate_of", "duplicate_number")


class Pair(NamedTuple):
    """A removed document, its receipt, and the document kept in its place (None if none is named).

    chain: ids from the removed document to the kept one, where the first named was removed too.
    held_by: the earlier run that has the kept one, where it is not this one. Its text is then what
        the dataset's tokens stand for; None where that dataset cannot tell it any more.
    """

    receipt: dict[str, Any]
    removed: dict[str, Any]
    kept: dict[str, Any] | None
    chain: list[int]
    held_by: str | None = None


def open_run(out: Path) -> dict[str, Any]:
    """The manifest of a run directory.

    Raises:
        ConfigError: there is none, or not one that prepare made.
    """
    found = read_manifest(out)
    if found is None:
        raise ConfigError(
            f"{out}: no run here (no manifest.json); name a directory that prepare made"
        )
    if "check" in found["identity"]:
        raise ConfigError(
            f"{out}: made by contamination, not by prepare; see {out / 'contamination.html'}"
        )
    if "recipe" not in found["identity"] or "measuring" in found["identity"]:
        raise ConfigError(f"{out}: not made by prepare; name a directory that is")
    return found


def removals(
    out: Path, *, reason: str | None = None, doc_id: int | None = None, limit: int | None = None
) -> pa.Table:
    """Receipts (schema REMOVED) of documents that left, shard by shard.

    reason: only those removed or failed for it.  doc_id: only that document's.
    """
    return _receipts(out / "removed", REMOVED, reason, doc_id, limit)


def removed_images(
    out: Path, *, reason: str | None = None, doc_id: int | None = None, limit: int | None = None
) -> pa.Table:
    """Receipts (schema REMOVED_IMAGE) of images that left their documents, shard by shard.

    reason: only those removed or failed for it.  doc_id: only those of that document.
    """
    return _receipts(out / "removed-images", REMOVED_IMAGE, reason, doc_id, limit)


def _receipts(
    folder: Path, schema: pa.Schema, reason: str | None, doc_id: int | None, limit: int | None
) -> pa.Table:
    wanted = None
    if reason is not None:
        wanted = pc.field("reason") == reason
    if doc_id is not None:
        this = pc.field("doc_id") == pa.scalar(doc_id, pa.uint64())
        wanted = this if wanted is None else wanted & this
    tables = []
    have = 0
    shard = "" if doc_id is None else f"{part_number(folder.parent, doc_id):05d}-"
    names = f"part-{shard}*.parquet", "packing.parquet"
    for path in [path for name in names for path in find(folder, name)]:
        table = pq.read_table(present(path), filters=wanted, schema=schema)
        tables.append(table)
        have += table.num_rows
        if limit is not None and have >= limit and doc_id is None:
            break
    found = pa.concat_tables(tables) if tables else schema.empty_table()
    return found.slice(0, limit) if limit is not None else found


def pieces(out: Path, doc_ids: list[int]) -> list[dict[str, Any]]:
    """Rows of schema PIECE: of these documents' pieces if they were cut, or of them if they are."""
    rows: list[dict[str, Any]] = []
    for number in sorted({part_number(out, d) for d in doc_ids}):
        these = pa.array([d for d in doc_ids if part_number(out, d) == number], pa.uint64())
        wanted = pc.field("doc_id").isin(these) | pc.field("parent_doc_id").isin(these)
        for path in find(out / "pieces", f"part-{number:05d}-*.parquet"):
            rows += pq.read_table(present(path), filters=wanted, schema=PIECE).to_pylist()
    return rows


def documents(out: Path, doc_ids: list[int]) -> dict[int, dict[str, Any]]:
    """Documents by id, as they were read, not as later stages edited them; pieces as they were cut.

    Intermediates are deleted at the end of a run, so the inputs are read again; ids are
    only right while these are unchanged. In a run with images each has `images`: what
    `image_fates` tells.

    Raises:
        ConfigError: an id is not of this run, or its input has changed or is gone.
    """
    recipe = make_recipe(open_run(out)["identity"]["recipe"], where=str(out / "manifest.json"))
    links = {p["doc_id"]: p for p in pieces(out, doc_ids) if p["doc_id"] in doc_ids}
    whole = _read(out, recipe, [links[d]["parent_doc_id"] if d in links else d for d in doc_ids])
    found = {d: whole[d] for d in doc_ids if d in whole}
    for doc_id, link in links.items():
        parent = whole[link["parent_doc_id"]]
        text = as_decontaminated(recipe, parent)[link["start_byte"] : link["end_byte"]].decode()
        found[doc_id] = {**parent, "doc_id": doc_id, "id": link["id"], "text": text}
    return found


def as_decontaminated(recipe: Recipe, document: dict[str, Any]) -> bytes:
    """The text of a document as it came to the step that cut it, in UTF-8."""
    batch = pa.RecordBatch.from_pylist([{f: document[f] for f in DOCUMENT.names}], DOCUMENT)
    for step in recipe.steps:
        if isinstance(step, Decontaminate):
            break
        if isinstance(step, Normalize):  # the one stage that edits
            batch = step(batch).kept
    text: str = batch["text"][0].as_py()
    return text.encode()


def cuts(out: Path, document: dict[str, Any]) -> tuple[bytes, list[CutOut]]:
    """The text of a document as it came to the step that cut it, and what was cut out of it.

    Of a document that was not cut, what repeats benchmark items.

    document: of `documents`, whole.
    """
    doc_id = document["doc_id"]
    recipe = make_recipe(open_run(out)["identity"]["recipe"], where=str(out / "manifest.json"))
    text = as_decontaminated(recipe, document)
    links = [p for p in pieces(out, [doc_id]) if p["parent_doc_id"] == doc_id]
    return text, cut_out(text, links, overlaps_of(out, [doc_id]))


def _read(out: Path, recipe: Recipe, doc_ids: list[int]) -> dict[int, dict[str, Any]]:
    manifest = open_run(out)
    plan = plan_inputs(
        recipe.inputs,
        recipe.shard_bytes,
        limits=recipe.limits,
        images=recipe.images is not None,
        html=recipe.html is not None,
    )
    now = {f.path: [f.bytes, str(f.version)] for f in plan.files}
    if now != manifest["identity"]["inputs"]:
        raise ConfigError(
            f"{out}: the inputs have changed since the run; their documents cannot be shown"
        )
    first = first_ordinal(out)
    shards = {s.ordinal: s for s in numbered(plan.shards, first=first)}
    found: dict[int, dict[str, Any]] = {}
    for ordinal in sorted({shard_and_row(d)[0] for d in doc_ids}):
        if ordinal not in shards:
            behind = f" from {first} on" if first else ""
            raise ConfigError(f"{out}: no shard {ordinal}, ids run to {len(shards)} shards{behind}")
        wanted = pa.array([d for d in doc_ids if shard_and_row(d)[0] == ordinal], pa.uint64())
        batches = read_shard(
            shards[ordinal], limits=recipe.limits, images=recipe.images, html=recipe.html
        )
        for batch in batches:
            rows = batch.documents.filter(pc.is_in(batch.documents["doc_id"], wanted))
            for row in rows.to_pylist():
                if recipe.images is not None:
                    row["images"] = image_fates(out, row["doc_id"], row["images"])
                found[row["doc_id"]] = {**row, "source": shards[ordinal].source}
            if all(d in found for d in wanted.to_pylist()):
                break
    return found


def image_fates(out: Path, doc_id: int, read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The images of a document by their number, and the fate of each.

    read: what the reader found of them (`IMAGE`).

    Returns:
        Rows of `OF_IMAGE`, `OF_FATE` as in its receipt, and `fate`: "kept", "removed", "failed",
        or "with_document" where that left and took it along. `md5` is in hexadecimal.
    """
    others = WITH_DOCUMENT if removals(out, doc_id=doc_id).num_rows else KEPT
    left = {row["number"]: row for row in removed_images(out, doc_id=doc_id).to_pylist()}
    there = {image["number"]: image for image in read}
    fates = []
    for number in sorted(left | there):
        receipt = left.get(number, {})
        image = there.get(number, receipt)  # one that could not be read has but a receipt
        row = {name: image.get(name) for name in OF_IMAGE}
        row["md5"] = row["md5"] and row["md5"].hex()
        told = {name: receipt.get(name) for name in OF_FATE}
        fates.append({**row, "fate": receipt.get("outcome", others), **told})
    return fates


def beside(out: Path, doc_id: int) -> Pair:
    """A removed document beside the one that was kept in its place.

    Raises:
        ConfigError: the document was not removed, or is not of this run.
    """
    chain, receipt = [doc_id], _receipt(out, doc_id)
    if receipt is None:
        raise ConfigError(f"{out}: document {doc_id} was not removed")
    step: dict[str, Any] | None = receipt
    while step is not None and step["duplicate_of"] is not None:
        chain.append(step["duplicate_of"])
        of_earlier = part_number(out, chain[-1]) < 0  # where it was kept
        step = None if of_earlier else _receipt(out, chain[-1])
    last = chain[-1]
    earlier = holder(open_run(out), last)
    texts = documents(out, [doc_id] if earlier else [doc_id, last])
    if doc_id not in texts:
        told = ": ".join(filter(None, (receipt["reason"], receipt["detail"])))
        raise ConfigError(f"{out}: document {doc_id} could not be read: {told}")
    if earlier is not None:
        return Pair(receipt, texts[doc_id], decoded(earlier, last), chain, str(earlier))
    return Pair(receipt, texts[doc_id], texts.get(last) if len(chain) > 1 else None, chain)


def _receipt(out: Path, doc_id: int) -> dict[str, Any] | None:
    rows = removals(out, doc_id=doc_id).to_pylist()
    return rows[0] if rows else None
