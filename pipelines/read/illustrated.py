"""Documents with their images, gathered into batches.

    a reader's pages ── illustrated_batches ──► ReadBatch: documents, failures, images' bytes

A reader says what it found and where; here the headers are read, failed images leave their
documents with a receipt, and the bytes line up in the shard's stream of images.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.images.blobs import Window
from tokenmill.pipelines.images.edit import without_places
from tokenmill.pipelines.images.facts import Facts, image_facts, lies
from tokenmill.pipelines.images.options import Images
from tokenmill.pipelines.images.pillow import Unreadable
from tokenmill.pipelines.read.batch import STAGE, Failure, ReadBatch, make_batch, text_array
from tokenmill.pipelines.read.limits import BATCH_BYTES, BATCH_DOCS
from tokenmill.pipelines.schema import ILLUSTRATED, IMAGE, PLACEHOLDER, REMOVED_IMAGE, doc_ids

BATCH_IMAGE_BYTES = 64 * 1024**2
BATCH_SPAN = 2 * BATCH_IMAGE_BYTES
WITH_DOCUMENT = "document_failed"  # the cause of an image whose document could not be read


class Lost(NamedTuple):
    """Why something could not be read.

    cause: as in the ledger.  detail: file and place, and what is wrong.
    bytes: what it takes in the input, 0 where that could not be measured.
    """

    cause: str
    detail: str
    bytes: int = 0


class Told(NamedTuple):
    """What stands beside an image about it; believed where there is only a URL."""

    format: str | None = None
    width: int | None = None
    height: int | None = None


class Found(NamedTuple):
    """An image as the input has it.

    path, url, source_offset: as in `IMAGE`.  data: its bytes, None where there is only a URL.
    where: file and place as messages name it.  lost: why its bytes could not be had.
    """

    path: str
    where: str
    url: str | None = None
    data: bytes | memoryview | None = None
    source_offset: int | None = None
    told: Told = Told()
    lost: Lost | None = None


class Page(NamedTuple):
    """A document as the input has it.

    row: its number in the shard.  text: with U+FFFC for each of its images, or none at all.
    lost: why it could not be read; its images are lost with it.
    span: bytes of the input that it lies in, much of which may stay in memory with its images:
        these are views of the blocks that were read.
    """

    row: int
    id: str
    text: str = ""
    url: str | None = None
    images: Sequence[Found] = ()
    lost: Lost | None = None
    span: int = 0

    @property
    def image_bytes(self) -> int:
        return sum(len(i.data) for i in self.images if i.data is not None)


def own_text(text: str) -> str:
    """Text of the input: U+FFFC in it, which would stand for an image, becomes U+FFFD."""
    return text.replace(PLACEHOLDER, "\ufffd")


def illustrated_batches(
    ordinal: int, pages: Iterable[Page], options: Images, notes: Counter[str] | None = None
) -> Iterator[ReadBatch]:
    """Gather pages into batches, of at most some `BATCH_IMAGE_BYTES` but for one document's.

    notes: what the reader counts beside; each batch takes away what is there by then.
    """
    end, beside = 0, Counter() if notes is None else notes
    for held in _groups(pages):
        gathering = _Gathering(ordinal, options)
        for page in held:
            gathering.add(page)
        batch, end = gathering.batch(end)
        yield batch._replace(notes=gathering.notes + beside)
        beside.clear()
    if beside:
        batch, _ = _Gathering(ordinal, options).batch(end)
        yield batch._replace(notes=Counter(beside))


def _groups(pages: Iterable[Page]) -> Iterator[list[Page]]:
    held: list[Page] = []
    texts = images = span = 0
    for page in pages:
        size = page.image_bytes
        if held and (images + size > BATCH_IMAGE_BYTES or span + page.span > BATCH_SPAN):
            yield held
            held, texts, images, span = [], 0, 0, 0
        held.append(page)
        texts, images, span = texts + len(page.text), images + size, span + page.span
        if len(held) >= BATCH_DOCS or texts >= BATCH_BYTES:
            yield held
            held, texts, images, span = [], 0, 0, 0
    if held:
        yield held


class _Gathering:
    """The rows of a batch in the making."""

    def __init__(self, ordinal: int, options: Images) -> None:
        self._ordinal, self._options = ordinal, options
        self._pages: list[Page] = []
        self._texts: list[str] = []
        self._counts: list[int] = []
        self._images: list[tuple[int, Found, Facts | None]] = []
        self._failures: list[Failure] = []
        self._failed_images: list[dict[str, Any]] = []
        self.notes: Counter[str] = Counter()

    def add(self, page: Page) -> None:
        if page.lost is not None:
            cause, detail, n_bytes = page.lost
            self._failures.append(Failure(page.row, page.id, cause, detail, n_bytes))
            for number, found in enumerate(page.images):
                self._fail(page, number, found, found.lost or _went_with(page, found))
            return
        kept = [self._add_image(page, number, found) for number, found in enumerate(page.images)]
        text = page.text
        if not all(kept) and PLACEHOLDER in text:
            text = without_places(text, kept)
        self._pages.append(page)
        self._texts.append(text)
        self._counts.append(sum(kept))

    def _add_image(self, page: Page, number: int, found: Found) -> bool:
        facts, lost = self._told(found)
        if lost is not None:
            self._fail(page, number, found, lost)
            return False
        self._images.append((number, found, facts))
        if facts is not None and facts.notes:
            self.notes.update(facts.notes)
        if facts is not None and lies(found.path, facts.format):
            self.notes["extension_lies"] += 1
        return True

    def _told(self, found: Found) -> tuple[Facts | None, Lost | None]:
        """Facts of an image, none for one that is but a URL; or why it is lost."""
        if found.lost is not None or found.data is None:
            return None, found.lost
        facts = image_facts(found.data, self._options)
        if isinstance(facts, Unreadable):
            return None, Lost(facts.cause, f"{found.where}: {facts.detail}", len(found.data))
        return facts, None

    def _fail(self, page: Page, number: int, found: Found, lost: Lost) -> None:
        self._failed_images.append(
            {
                "doc_id": int(doc_ids(self._ordinal, page.row, 1)[0]),
                "number": number,
                "id": page.id,
                "url": found.url,
                "path": found.path,
                "outcome": "failed",
                "stage": STAGE,
                "reason": lost.cause,
                "detail": lost.detail,
                "bytes": lost.bytes,
            }
        )

    def batch(self, start: int) -> tuple[ReadBatch, int]:
        """The batch, and where the next one's images begin in the shard's stream."""
        blobs = Window(start, [f.data for _, f, _ in self._images if f.data is not None])
        made = make_batch(
            self._ordinal,
            np.array([p.row for p in self._pages], np.int64),
            ids=pa.array([p.id for p in self._pages], pa.string()),
            urls=pa.array([p.url for p in self._pages], pa.string()),
            texts=text_array(self._texts),
            failures=self._failures,
        )
        ends = np.concatenate(([0], np.cumsum(self._counts))).astype(np.int64)
        lists = pa.LargeListArray.from_arrays(pa.array(ends), self._items(blobs))
        documents = pa.record_batch([*made.documents.columns, lists], schema=ILLUSTRATED)
        failed = pa.RecordBatch.from_pylist(self._failed_images, schema=REMOVED_IMAGE)
        return made._replace(documents=documents, failed_images=failed, blobs=blobs), blobs.end

    def _items(self, blobs: Window) -> pa.StructArray:
        offsets = iter(blobs.offsets.tolist())
        rows = [_image(n, f, facts, offsets) for n, f, facts in self._images]
        columns = list(zip(*rows, strict=True)) or [()] * IMAGE.num_fields
        fields = [IMAGE.field(i) for i in range(IMAGE.num_fields)]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, fields, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=fields)


def _image(
    number: int, found: Found, facts: Facts | None, offsets: Iterator[int]
) -> tuple[object, ...]:
    """The values of an image, in the order of `IMAGE`."""
    place = (number, found.url, found.path, found.source_offset)
    if facts is None or found.data is None:
        kind, width, height = found.told
        return *place, None, kind, None, width, height, None, None
    size = len(found.data)
    md5, kind, mode, width, height, *_ = facts
    return *place, md5, kind, mode, width, height, size, next(offsets)


def _went_with(page: Page, found: Found) -> Lost:
    assert page.lost is not None
    size = 0 if found.data is None else len(found.data)
    return Lost(WITH_DOCUMENT, f"{found.where}: {page.lost.cause} of its document", size)
