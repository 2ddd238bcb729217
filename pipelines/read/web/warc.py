"""Web archives as documents: pages of responses, resources, and text that was made of pages before.

A shard is a range of members (or, of a plain file, of bytes) at whose bounds records begin. In a
packed file nothing says where members begin, and their first bytes may stand by chance, or inside
of a record that is itself a packed archive and was stored as it is. But no format stores more than
`STORED_BYTES` in one piece: where members follow one another over more than that, each whole and
each begun by a record, or up to the end of the file, no record has them inside it.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.schema import CRAWLED
from tokenmill.pipelines.core.shard import InputFile, SourceShard
from tokenmill.pipelines.read.batch import Lost, ReadBatch, SourceDocument, batch_of, gathered
from tokenmill.pipelines.read.columns import Columns, Piece
from tokenmill.pipelines.read.options import Html, Limits, Reading
from tokenmill.pipelines.read.stream import UnreadableError, expansion_ratio
from tokenmill.pipelines.read.web.extract import Extractor
from tokenmill.pipelines.read.web.members import DICTIONARY, MAGIC, Feed, read_members
from tokenmill.pipelines.read.web.pages import Page, Pages, url_of
from tokenmill.pipelines.read.web.records import (
    LONGEST_ARC_LINE,
    Walk,
    begins_record,
    read_past_damage,
)
from tokenmill.pipelines.storage.inputs import open_input, patiently

STORED_BYTES = 128 * 1024  # of a zstd block; a stored block of deflate has 64 KiB
LOOK_BYTES = 4 * 1024**2  # behind a place where a file might be cut
MOST_EXPANDED_BYTES = 256 * 1024**2  # of members looked into at one place
HEADER_BYTES = 256  # of a record, that tell that it is one
ASKED_BYTES, ASKED_PAGES = 1024**2, 1024  # of pages that the extractor is asked for at once
_COLUMNS = Columns("text", None, None)


def packing_of(path: str) -> str | None:
    """How a file is packed, "gzip", "zstd", "lz4" or not, by its first bytes, not by its name."""
    with open_input(path) as file:
        head = bytes(file.read(4))
    if head == DICTIONARY:
        return "zstd"
    return next((name for name, magic in MAGIC.items() if head.startswith(magic)), None)


def cut_warc(file: InputFile, *, shard_bytes: int, limits: Limits) -> list[Piece]:
    """Cut into pieces of about `shard_bytes` of plain text, at least; each can be read by itself.

    A file whose members are not begun by records is one piece, and so is one packed with lz4.
    InputError: it does not begin with a record ("damaged_warc"), or cannot be unpacked.
    """
    packing = packing_of(file.path)
    _check(file.path, packing, limits)
    if packing is None:
        return _cut_plain(file, shard_bytes, limits)
    if packing == "lz4":
        return [Piece(_COLUMNS, 0, None, bytes=file.bytes)]
    ratio, damage = expansion_ratio(file.path, packing, limits)
    size = int(file.bytes * ratio)
    n = max(size // shard_bytes, 1)
    starts = [0]
    for i in range(1, n):
        nominal = i * file.bytes // n
        if nominal > starts[-1]:
            find = partial(_member_from, file.path, packing, nominal, limits)
            begin = patiently(find, file.path)  # a file has hundreds of cuts: not all of them anew
            starts += [begin] if begin is not None and begin > starts[-1] else []
    return _pieces(starts, file.bytes, ratio, damage)


def _check(path: str, packing: str | None, limits: Limits) -> None:
    """Look at the first bytes of a file; an empty one is an archive of no records."""
    with contextlib.closing(read_past_damage(path, packing, limits=limits)) as pieces:
        feed = Feed(pieces)
        head = feed.peek(LONGEST_ARC_LINE)
        if not head and feed.go_on():
            head = feed.peek(LONGEST_ARC_LINE)
        if feed.broken is not None and not head:
            raise InputError(f"{path}: {feed.broken}", cause=feed.broken.cause)
        if head.strip() and not begins_record(head.lstrip(b"\r\n")):
            raise InputError(
                f"{path}: not a web archive, it begins with {head[:40]!r};"
                " a WARC file begins with WARC/1.0 or the like",
                cause="damaged_warc",
            )


def _cut_plain(file: InputFile, shard_bytes: int, limits: Limits) -> list[Piece]:
    n = max(file.bytes // shard_bytes, 1)
    if n == 1:
        return _pieces([0], file.bytes, 1.0)
    nominal = [i * file.bytes // n for i in range(1, n)]
    starts = [0]
    with contextlib.closing(read_members(file.path, None, limits=limits)) as pieces:
        for record in Walk(pieces, stop=None, plain=True, most_bytes=0):
            at = record.place.offset
            if nominal and at >= nominal[0] and not record.cause:
                starts.append(at)
                nominal = [place for place in nominal if place > at]
    return _pieces(starts, file.bytes, 1.0)


def _pieces(starts: list[int], size: int, ratio: float, damage: str = "") -> list[Piece]:
    return [
        Piece(_COLUMNS, a, None if b == size else b, bytes=int((b - a) * ratio), damage=damage)
        for a, b in pairwise([*starts, size])
    ]


def _member_from(path: str, packing: str, at: int, limits: Limits) -> int | None:
    """The first byte from `at` on where a member begins, and a record with it; None if far away."""
    with open_input(path) as file:
        file.seek(at)
        data = bytes(file.read(LOOK_BYTES))
    magic = MAGIC[packing]
    here = data.find(magic)
    while here >= 0:
        if _follow_one_another(path, packing, at + here, limits):
            return at + here
        here = data.find(magic, here + 1)
    return None


def _follow_one_another(path: str, packing: str, at: int, limits: Limits) -> bool:
    """Whether a member begins at `at` and others behind it, as far as a record cannot reach."""
    with contextlib.closing(read_members(path, packing, start=at, limits=limits)) as pieces:
        try:
            for begin, head in _heads(pieces):
                if not begins_record(head.lstrip(b"\r\n")):
                    return False
                if begin - at > STORED_BYTES:
                    return True
        except UnreadableError:
            return False
    return True


def _heads(pieces: Iterator[tuple[int | None, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Where each member begins, and its first bytes; the one before was whole by then."""
    begin: int | None = None
    head, expanded = b"", 0
    for at, data in pieces:
        if at is not None:
            if begin is not None:
                yield begin, head
            begin, head = at, b""
        if len(head) < HEADER_BYTES:
            head += data[: HEADER_BYTES - len(head)]
        expanded += len(data)
        if expanded > MOST_EXPANDED_BYTES:
            raise UnreadableError("too_large", "more than it is worth to look into")
    if begin is not None:
        yield begin, head


def read_warc(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's records.

    The notes count every record by its kind ("records_response"), and those that are no documents
    by why ("skipped_request", "skipped_status_404", "skipped_image/png").
    """
    path, limits, options = shard.paths[0], how.limits, how.html or Html()
    packing = packing_of(path)
    pieces = read_past_damage(path, packing, start=shard.start, limits=limits)
    walk = Walk(
        pieces, stop=shard.stop, plain=packing is None, most_bytes=limits.max_document_bytes
    )
    with contextlib.closing(pieces), Extractor(options) as extractor:
        notes, cut = Counter[str](), list[str]()
        documents = _documents(_found(shard, walk, Pages(options), notes, cut), extractor)
        yield from gathered(documents, partial(_crawled, shard.ordinal, cut), notes)


class _Found(NamedTuple):
    """What becomes a document, as `SourceDocument`; where: as messages name it."""

    row: int
    id: str
    url: str | None
    where: str
    page: Page | UnreadableError


def _found(
    shard: SourceShard, walk: Walk, pages: Pages, notes: Counter[str], cut: list[str]
) -> Iterator[_Found]:
    """The pages of a shard's records, in order; `notes` take up the rest, `cut` why one is cut."""
    path, name = shard.paths[0], shard.names[0]
    row = 0
    for record in walk:
        notes[f"records_{record.kind}"] += 1
        own = record.headers.get("warc-record-id") or f"{name}#{record.place}"
        where = f"{path} byte {record.place}: record {record.number} of the shard"
        cut += [f"{record.cause}: {where}: {record.damage}"] if record.cut else []
        try:
            page = pages(record)
        except UnreadableError as e:
            yield _Found(row, own, url_of(record), where, e)
        else:
            if isinstance(page, str):
                notes[page] += 1
                continue
            notes.update(page.odd)
            yield _Found(row, own, page.url, where, page)
        row += 1


def _documents(found: Iterator[_Found], extractor: Extractor) -> Iterator[SourceDocument]:
    """The documents of pages, in order, so many at a time as are worth to ask for."""
    held: list[_Found] = []
    size = 0
    for one in found:
        held.append(one)
        size += len(one.page.utf8) if isinstance(one.page, Page) else 0
        if size >= ASKED_BYTES or len(held) >= ASKED_PAGES:
            yield from _extracted(held, extractor)
            held, size = [], 0
    yield from _extracted(held, extractor)


def _extracted(found: Sequence[_Found], extractor: Extractor) -> Iterator[SourceDocument]:
    pages = [one.page.utf8 for one in found if isinstance(one.page, Page) and one.page.html]
    texts = iter(extractor(pages))
    for row, own, url, where, page in found:
        if isinstance(page, UnreadableError):
            lost = Lost(page.cause, f"{where}: {page}")
            yield SourceDocument(row, own, url=url, lost=lost)
            continue
        text = next(texts) if page.html else page.utf8.decode()
        if isinstance(text, str) and not text.strip():
            text = UnreadableError("no_text", "nothing is left of the page")
        if isinstance(text, UnreadableError):
            lost = Lost(text.cause, f"{where}: {url}: {text}")
            yield SourceDocument(row, own, url=url, lost=lost)
        else:
            yield SourceDocument(row, own, text, url, date=page.date, content_type=page.type)


def _crawled(ordinal: int, cut: list[str], documents: Sequence[SourceDocument]) -> ReadBatch:
    """Documents of pages as a batch, which takes away what is in `cut`."""
    batch = batch_of(ordinal, documents)
    read = [d for d in documents if d.lost is None]
    dates = pa.array([d.date for d in read], CRAWLED.field("date").type)
    types = pa.array([d.content_type for d in read], pa.string())
    columns = [*batch.documents.columns, dates, types]
    told = tuple(cut)
    cut.clear()
    return batch._replace(documents=pa.record_batch(columns, schema=CRAWLED), cut=told)
