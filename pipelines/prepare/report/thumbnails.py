"""A few images of each fate, small: what a contact sheet shows of those kept and those removed.

Of each shard the first images of each reason are looked at, so what is shown depends on the
input alone. An image is decoded here only if it is small enough; one that will not decode is
shown by its name. A contact sheet shows some of the images kept, and some of each reason.
"""

import contextlib
import io
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageOps

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.prepare.report.model import LedgerRow
from tokenmill.pipelines.read.batch import Lost
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.images.facts import BAD, loaded
from tokenmill.pipelines.read.images.nodes import owners_of
from tokenmill.pipelines.read.parquet import bounded
from tokenmill.pipelines.storage.files import parquet_file
from tokenmill.pipelines.storage.mirror import find, present
from tokenmill.sizing.document.passages import Picture, sheet
from tokenmill.sizing.document.section import count

THUMBNAIL = pa.schema(
    [
        pa.field("stage", pa.string(), nullable=False),  # "" of an image that was kept
        pa.field("reason", pa.string(), nullable=False),
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("number", pa.int32(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("format", pa.string()),
        pa.field("width", pa.int32()),
        pa.field("height", pa.int32()),
        pa.field("bytes", pa.int64()),
        pa.field("detail", pa.string()),
        pa.field("jpeg", pa.binary()),  # null where it has no bytes, or they do not decode
    ]
)

Fate: TypeAlias = tuple[str, str]  # stage and reason, both "" of an image that was kept
Thumbnail: TypeAlias = dict[str, Any]  # a row of THUMBNAIL


SIDE = 112  # pixels
QUALITY = 70
MOST = 6  # of a reason, of one shard and pass
MOST_PIXELS = 50_000_000  # an image of more is not decoded for a thumbnail: 200 MB in memory
MOST_KEPT = 12
MOST_DECODED = 100_000_000  # pixels in all, of one shard and pass: some 2 s of PNGs
DRAFT = 64  # a JPEG's blocks become single pixels, if it is large


class Thumbnails:
    """Takes the images of one shard's pass as they come. Make it with `thumbnail_file`."""

    def __init__(self) -> None:
        self._seen: Counter[Fate] = Counter()
        self._left = MOST_DECODED
        self.rows: list[Thumbnail] = []

    def removed(
        self, before: pa.RecordBatch, receipts: pa.RecordBatch | None, blobs: Blobs | None
    ) -> None:
        """Images that a stage took out of documents `before`; receipts: schema REMOVED_IMAGE."""
        if receipts is None or not receipts.num_rows:
            return
        stages, reasons = receipts["stage"].to_pylist(), receipts["reason"].to_pylist()
        wanted = []
        for row, fate in enumerate(zip(stages, reasons, strict=True)):
            self._seen[fate] += 1
            if self._seen[fate] <= MOST:
                wanted.append(row)
        if wanted:
            chosen = receipts.take(pa.array(wanted))
            places = _places(before, chosen)
            for row, place in zip(chosen.to_pylist(), places.tolist(), strict=True):
                self._add(before, place, (row["stage"], row["reason"]), row["detail"], blobs)

    def kept(self, documents: pa.RecordBatch, blobs: Blobs | None) -> None:
        """Images that came to the end."""
        n = min(len(owners_of(documents)), MOST_KEPT - self._seen["", ""])
        for place in range(n):
            self._seen["", ""] += 1
            self._add(documents, place, ("", ""), None, blobs)

    def _add(
        self,
        documents: pa.RecordBatch,
        place: int,
        fate: Fate,
        detail: str | None,
        blobs: Blobs | None,
    ) -> None:
        image = documents["images"].flatten()[place].as_py()
        owner = int(owners_of(documents)[place])
        shown = None
        if blobs is not None and image["offset"] is not None:
            pixels = (image["width"] or 0) * (image["height"] or 0)
            work = pixels // DRAFT if image["format"] == "jpeg" else pixels
            if 0 < pixels <= MOST_PIXELS and work <= self._left:
                self._left -= work
                shown = thumbnail(blobs.take(image["offset"], image["bytes"]))
        of_document = {name: documents[name][owner].as_py() for name in ("doc_id", "id")}
        of_image = {name: image[name] for name in image.keys() & set(THUMBNAIL.names)}
        fates = dict(zip(("stage", "reason"), fate, strict=True))
        self.rows.append(fates | of_document | of_image | {"detail": detail, "jpeg": shown})


@contextlib.contextmanager
def thumbnail_file(path: Path) -> Iterator[Thumbnails]:
    """Write what a shard's pass has to show, atomically."""
    thumbnails = Thumbnails()
    yield thumbnails
    with parquet_file(path, THUMBNAIL) as writer:
        writer.write_table(pa.Table.from_pylist(thumbnails.rows, schema=THUMBNAIL))


def thumbnail(data: memoryview) -> bytes | None:
    """A small JPEG of an image, upright; None if it does not decode."""
    image = loaded(data, MOST_PIXELS, draft=(SIDE, SIDE))
    if isinstance(image, Lost):
        return None
    try:
        image.thumbnail((SIDE, SIDE))
        small = _flat(ImageOps.exif_transpose(image))
    except BAD:
        return None
    out = io.BytesIO()
    small.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def _flat(image: Image.Image) -> Image.Image:
    """In RGB, on white where it is transparent."""
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    clear = image.convert("RGBA")
    white = Image.new("RGBA", clear.size, "white")
    return Image.alpha_composite(white, clear).convert("RGB")


def _places(documents: pa.RecordBatch, receipts: pa.RecordBatch) -> I64:
    """(n,) of each receipt: its image's place among those of all documents."""
    ids = np.asarray(documents["doc_id"])[owners_of(documents)]
    numbers = np.asarray(documents["images"].flatten().field("number"))
    place = {key: at for at, key in enumerate(zip(ids.tolist(), numbers.tolist(), strict=True))}
    wanted = zip(receipts["doc_id"].to_pylist(), receipts["number"].to_pylist(), strict=True)
    return np.array([place[key] for key in wanted], np.int64)


SHOWN_KEPT, SHOWN_REMOVED = 36, 12
LONGEST_NAME = 24


def contact_sheet(folder: Path, ledger: Sequence[LedgerRow]) -> list[str]:
    """A sheet for the images kept and one a reason, as HTML, of `thumbnail_file`'s files."""
    by_fate: dict[Fate, list[list[Thumbnail]]] = defaultdict(list)
    for path in find(folder, "*.parquet"):
        of_shard: dict[Fate, list[Thumbnail]] = defaultdict(list)
        for row in pq.read_table(bounded(present(path))).to_pylist():
            of_shard[row["stage"], row["reason"]].append(row)
        for fate, rows in of_shard.items():
            by_fate[fate].append(rows)
    sheets = []
    if ("", "") in by_fate:
        kept = next((row.images.images_out for row in ledger[::-1] if row.images), 0)
        sheets.append(_sheet("Kept", kept, by_fate["", ""], SHOWN_KEPT))
    for stage, images in ((row.stage, row.images) for row in ledger if row.images):
        for reason, n in {**images.removed, **images.failed}.items():
            if by_shard := by_fate.get((stage, reason)):
                sheets.append(_sheet(f"{reason} · {stage}", n, by_shard, SHOWN_REMOVED))
    return sheets


def _sheet(title: str, n: int, by_shard: list[list[Thumbnail]], most: int) -> str:
    in_turn = chain.from_iterable(zip_longest(*by_shard))  # the first of each shard, and so on
    rows = [row for row in in_turn if row is not None][:most]
    note = f"{count(n, 'image')}, {len(rows)} shown" if n > len(rows) else count(n, "image")
    return sheet(title, note, [_picture(row) for row in rows])


def _picture(row: Thumbnail) -> Picture:
    sides = f"{row['width']} x {row['height']}" if row["width"] else ""
    place = row["path"] if row["bytes"] is not None else row["url"] or row["path"]
    name = place.rpartition("/")[2]
    short = name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:]}"
    facts = " · ".join(filter(None, [place, row["format"], sides, row["detail"]]))
    return Picture(row["jpeg"], " ".join(filter(None, [sides, short])), facts)
