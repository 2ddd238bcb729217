"""Documents with their images, gathered into batches.

    Raw ── document_of ──► SourceDocument ── batches ──► ReadBatch

An image is its bytes, a URL, or a file beside the document (`folder.py`).

A row of a table or a line of JSON (`Raw`) is a sample or an interleaved document:

    text "a cat",          image                    sample: the caption alone is its text
    text ["a cat", …],     image                    sample with several captions
    text "a cat",          images [i, j]            U+FFFC, U+FFFC, "a cat"
    texts ["a", null, "b"], images [null, i, null]  "a", U+FFFC, "b": as OBELICS ships them

Nodes are joined by blank lines. `layouts.py` makes these of what other corpora have.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import orjson
import pyarrow as pa

from tokenmill.pipelines.core.schema import ILLUSTRATED, IMAGE, PLACEHOLDER, REMOVED_IMAGE, doc_ids
from tokenmill.pipelines.core.shard import Captions, SourceShard
from tokenmill.pipelines.read.batch import (
    STAGE,
    Claims,
    Lost,
    ReadBatch,
    SourceDocument,
    SourceImage,
    batch_of,
    gathered,
)
from tokenmill.pipelines.read.beside import ABSENT, with_beside
from tokenmill.pipelines.read.images.blobs import Window
from tokenmill.pipelines.read.images.facts import Facts, image_facts, lies
from tokenmill.pipelines.read.images.folder import SHOWN, Folder, Place, is_url
from tokenmill.pipelines.read.images.layouts import IMAGE_TAG, Value, Woven
from tokenmill.pipelines.read.images.nodes import BREAK, own_text, without_places
from tokenmill.pipelines.read.images.tiff import with_pages
from tokenmill.pipelines.read.options import Images

WITH_DOCUMENT = "document_failed"  # the cause of an image whose document could not be read


def batches(
    shard: SourceShard,
    documents: Iterable[SourceDocument],
    options: Images,
    notes: Counter[str] | None = None,
) -> Iterator[ReadBatch]:
    """As `gathered`, with the images of the documents."""
    end = 0  # of the images so far, in the shard's stream

    def batch_with_images(group: Sequence[SourceDocument]) -> ReadBatch:
        nonlocal end
        batch, end = _with_images(shard, group, options, end)
        return batch

    return gathered(documents, batch_with_images, notes)


def _with_images(
    shard: SourceShard, documents: Sequence[SourceDocument], options: Images, start: int
) -> tuple[ReadBatch, int]:
    """A batch from byte `start` of the shard's images on, and where the next one's begin."""
    left: list[SourceDocument] = []  # without places for images that failed
    kept: list[tuple[int, SourceImage, Facts | None]] = []
    counts: list[int] = []
    failed: list[dict[str, Any]] = []
    notes: Counter[str] = Counter()
    for document in (with_pages(document, options.max_bytes) for document in documents):
        read = [_facts(document, image, options) for image in document.images]
        for number, (image, facts) in enumerate(zip(document.images, read, strict=True)):
            if isinstance(facts, Lost):
                failed.append(_failed(shard.ordinal, document, number, image, facts))
                continue
            kept.append((number, image, facts))
            if facts is not None:
                notes.update(facts.notes)
                notes["extension_lies"] += lies(image.path, facts.format)
        if document.lost is None and not options.keep_text:
            document = _without_text(document, read)
        if document.lost is None:
            there = [not isinstance(facts, Lost) for facts in read]
            counts.append(sum(there))
            if not all(there) and PLACEHOLDER in document.text:
                document = document._replace(text=without_places(document.text, there))
        left.append(document)
    blobs = Window(start, [image.data for _, image, _ in kept if image.data is not None])
    offsets = iter(blobs.offsets.tolist())
    items = pa.array([_image(*image, offsets) for image in kept], IMAGE)
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    lists = pa.LargeListArray.from_arrays(pa.array(ends), items)
    texts = batch_of(shard.ordinal, left)
    batch = texts._replace(
        documents=pa.record_batch([*texts.documents.columns, lists], schema=ILLUSTRATED),
        failed_images=pa.RecordBatch.from_pylist(failed, schema=REMOVED_IMAGE),
        blobs=blobs,
        notes=notes,
    )
    read_here = [document for document in left if document.lost is None]
    return with_beside(
        batch, shard, lambda path: [d.beside.get(path, ABSENT) for d in read_here]
    ), blobs.end


def _without_text(document: SourceDocument, read: Sequence[Facts | Lost | None]) -> SourceDocument:
    """The document; lost if it is a sample whose every image failed, of which a caption is left.

    A conversation about images is one too, articles of the web go on without theirs.
    """
    failed = bool(read) and all(isinstance(facts, Lost) for facts in read)
    if not failed or (PLACEHOLDER in document.text and not isinstance(document.text, Woven)):
        return document
    where = document.images[0].where
    what = "its image" if len(read) == 1 else f"each of its {len(read)} images"
    message = f"{where}: {what} failed; images.keep_text: true keeps the text"
    return document._replace(lost=Lost("no_image_left", message, len(document.text.encode())))


def _facts(document: SourceDocument, image: SourceImage, options: Images) -> Facts | Lost | None:
    """What is known of an image, or why it is lost; None for one that is but a URL."""
    size = 0 if image.data is None else len(image.data)
    if image.lost is not None:
        return image.lost
    if document.lost is not None:
        detail = f"{image.where}: {document.lost.cause} of its document"
        return Lost(WITH_DOCUMENT, detail, size)
    if image.data is None:
        return None
    facts = image_facts(image.data, options)
    if isinstance(facts, Lost):
        return Lost(facts.cause, f"{image.where}: {facts.detail}", size)
    return facts


def _failed(
    ordinal: int, document: SourceDocument, number: int, image: SourceImage, lost: Lost
) -> dict[str, Any]:
    return {
        "doc_id": int(doc_ids(ordinal, document.row, 1)[0]),
        "number": number,
        "id": document.id,
        "url": image.url,
        "path": image.path,
        "outcome": "failed",
        "stage": STAGE,
        "reason": lost.cause,
        "detail": lost.detail,
        "bytes": lost.bytes,
    }


def _image(
    number: int, image: SourceImage, facts: Facts | None, offsets: Iterator[int]
) -> tuple[object, ...]:
    """The values of an image, in the order of `IMAGE`."""
    place = (number, image.url, image.path, image.source_offset)
    if facts is None or image.data is None:
        kind, width, height = image.claims
        return *place, None, kind, None, width, height, None, None
    size = len(image.data)
    md5, kind, mode, width, height, *_ = facts
    return *place, md5, kind, mode, width, height, size, next(offsets)


# Columns that OBELICS has beside texts and images: of each image, and of the document.
METADATA, GENERAL = "metadata", "general_metadata"
# Sizes as OBELICS, img2dataset and LAION name them; the original comes before the stored.
WIDTHS = ("original_width", "width", "WIDTH")
HEIGHTS = ("original_height", "height", "HEIGHT")
SIDES = (*WIDTHS, *HEIGHTS)
MAX_SIDE = 2**31 - 1
# What img2dataset says of each row: whether it got the image, and why not.
NOT_DOWNLOADED = "not_downloaded"
STATUS, SUCCESS, ERROR = "status", "success", "error_message"

Texts: TypeAlias = str | Sequence[str | None] | None
Values: TypeAlias = Value | Sequence[Value | None] | None


class Raw(NamedTuple):
    """What the input says of a document.

    row: its number in the shard.  text, images: as above; `listed` tells whether `images` is a
    list even where it is null.  metadata: as `METADATA` holds it, JSON or what it stands for.
    beside: as in `SourceDocument`.
    """

    row: int
    id: str
    place: Place
    text: Texts
    images: Values
    listed: bool
    url: str | None = None
    metadata: Any = None
    general: Any = None
    beside: Mapping[str, Any] = MappingProxyType({})


def document_of(
    raw: Raw, lost: Lost | None, captions: Captions | None, folder: Folder
) -> SourceDocument:
    """The document, its images read, or why there is none; lost: why its text could not be read."""
    if not raw.listed and not raw.images:
        gone = not_downloaded(raw.metadata or {}, raw.place.where)
        if gone is not None:
            return missing_document(raw.row, raw.id, raw.place, raw.url, gone)
    values = _listed(raw.images)
    entries = _entries(raw, values)
    lost = lost or _lost_images(raw, values, entries)
    if lost is not None:
        return _lost_document(raw, lost)
    if not isinstance(entries, list) or len(entries) != len(values):
        entries = [None] * len(values)
    url = raw.url or _url_of(raw.general)
    images = [
        folder.image(
            value, raw.place, _url_of(entry, url if not raw.listed else None), claims_of(entry)
        )
        for value, entry in zip(values, entries, strict=True)
        if value is not None
    ]
    text = _text(raw, values, captions or "join")
    return SourceDocument(raw.row, raw.id, text, url, images, beside=raw.beside)


def _entries(raw: Raw, values: Sequence[Value | None]) -> Any:
    """What metadata has of each of the values, where there is a list of it."""
    if not raw.listed:
        return [raw.metadata] * len(values)
    entries = _parsed(raw.metadata)
    if not isinstance(entries, list) or len(entries) == len(values):
        return entries
    there = [value is not None for value in values]
    if len(entries) == sum(there):  # of images alone
        of_images = iter(entries)
        return [next(of_images) if is_there else None for is_there in there]
    return entries


def _lost_document(raw: Raw, lost: Lost) -> SourceDocument:
    """A document that could not be read, and the images that go with it; none of them is read."""
    images = [
        SourceImage(*raw.place, v.reference if is_url(v.reference or "") else None, v.data)
        for v in _listed(raw.images)
        if v is not None
    ]
    return SourceDocument(raw.row, raw.id, url=raw.url, images=images, lost=lost)


def not_downloaded(row: dict[str, Any], where: str) -> Lost | None:
    """Why there is no image in a row of img2dataset's, if it says so."""
    status = row.get(STATUS)
    if not isinstance(status, str) or status == SUCCESS:
        return None
    return Lost(NOT_DOWNLOADED, f"{where}: {status}: {str(row.get(ERROR) or 'no message')[:SHOWN]}")


def missing_document(
    row: int, id_: str, place: Place, url: str | None, lost: Lost
) -> SourceDocument:
    """A document of which there is no more than an address."""
    return SourceDocument(
        row, id_, url=url, images=[SourceImage(*place, url, lost=lost)], lost=lost
    )


def caption_of(captions: Sequence[str | None], how: Captions = "join") -> str | None:
    """One caption of several, or all as lines; None where there is none.

    >>> caption_of(["a cat", None, "a black cat"], "longest")
    'a black cat'
    """
    there = [c for c in captions if c]
    if not there:
        return next((c for c in captions if c is not None), None)
    if how == "join":
        return "\n".join(there)
    return there[0] if how == "first" else max(there, key=len)


def claims_of(entry: Any) -> Claims:
    """What metadata of an image says about it, as OBELICS and img2dataset name it."""
    if not isinstance(entry, dict):
        return Claims()
    kind = entry.get("format")
    kind = kind.lower() if isinstance(kind, str) else None
    return Claims("jpeg" if kind == "jpg" else kind, _side(entry, WIDTHS), _side(entry, HEIGHTS))


def layout_problem(raw: Raw) -> Lost | None:
    """Why no text can be told from images, if so."""
    values = _listed(raw.images)
    there = [value for value in values if value is not None]
    if there and all(value.other is not None for value in there):
        return Lost("not_an_image", f"{raw.place.where}: {there[0].other}, not an image")
    lost = _lost_images(raw, values, _entries(raw, values)) if there else None
    return None if lost is not None and lost.cause == "missing_text" else lost


def _lost_images(raw: Raw, values: Sequence[Value | None], entries: Any) -> Lost | None:
    """Why text and images make no document, if so.  entries: their metadata, if that is a list."""
    text, where = raw.text, raw.place.where
    woven = raw.listed and not isinstance(text, str)
    if text is None or (not isinstance(text, str) and not woven and caption_of(text) is None):
        return Lost("missing_text", f"{where}: no text")
    if isinstance(text, Woven):
        places, there = text.count(PLACEHOLDER), sum(v is not None for v in values)
        message = f"{where}: {places} {IMAGE_TAG}, {there} images"
        return None if places == there else Lost("unequal_lists", message, len(text.encode()))
    if not woven:
        return None
    counts = {"texts": len(text), "images": len(values)}
    if isinstance(entries, list):
        counts[METADATA] = len(entries)
    if len(set(counts.values())) == 1:
        return None
    shown = ", ".join(f"{n} {name}" for name, n in counts.items())
    return Lost("unequal_lists", f"{where}: {shown}", sum(len(t.encode()) for t in text if t))


def _text(raw: Raw, values: Sequence[Value | None], captions: Captions) -> str:
    if isinstance(raw.text, Woven):
        return raw.text
    if not raw.listed:
        caption = raw.text if isinstance(raw.text, str) else caption_of(raw.text or (), captions)
        return own_text(caption or "")
    if isinstance(raw.text, str):
        nodes = [PLACEHOLDER for v in values if v is not None]
        nodes += [own_text(raw.text)] if raw.text else []
        return BREAK.join(nodes)
    return woven(raw.text or (), values)


def woven(texts: Sequence[str | None], images: Sequence[Any]) -> str:
    """One text of lists of equal length, with U+FFFC for each image."""
    nodes: list[str] = []
    for text, image in zip(texts, images, strict=True):
        if text and not (image is not None and text == IMAGE_TAG):  # as some mark its place
            nodes.append(own_text(text))
        if image is not None:
            nodes.append(PLACEHOLDER)
    return BREAK.join(nodes)


def _listed(values: Values) -> Sequence[Value | None]:
    if isinstance(values, Value):
        return [values]
    return values if values is not None else []


def _url_of(entry: Any, otherwise: str | None = None) -> str | None:
    fields = _parsed(entry)
    for key in ("src", "url") if isinstance(fields, dict) else ():
        if isinstance(fields.get(key), str):
            return str(fields[key])
    return otherwise


def _parsed(value: Any) -> Any:
    if not isinstance(value, (str, bytes)):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None


def _side(entry: dict[str, Any], among: Sequence[str]) -> int | None:
    """The first of some fields that is a number of pixels."""
    for key in among:
        value: Any = entry.get(key)
        if type(value) in (int, float) and 0 < value <= MAX_SIDE:  # NaN is not above 0
            return int(value)
    return None
