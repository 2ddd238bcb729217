"""Documents with images from the columns of a table: Parquet, Arrow and saved datasets.

Documents with images from JSON Lines: URLs, files beside the lines, or bytes as base64.
"""

import base64
import binascii
import contextlib
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.arrow import arrow_tables, read_arrow
from tokenmill.pipelines.read.batch import ReadBatch, without_images
from tokenmill.pipelines.read.columns import BYTES, PATH, Columns, is_listed
from tokenmill.pipelines.read.images.documents import (
    BATCH_IMAGE_BYTES,
    GENERAL,
    HEIGHTS,
    METADATA,
    WIDTHS,
    Folder,
    Lost,
    Page,
    Place,
    Raw,
    Texts,
    Value,
    Values,
    illustrated_batches,
    lost_page,
    make_page,
    unsigned,
)
from tokenmill.pipelines.read.images.webdataset import ERROR, STATUS, missing_page, not_downloaded
from tokenmill.pipelines.read.jsonl import (
    BOM,
    SHOWN_ERROR,
    LineGroup,
    LostLine,
    as_string,
    first_byte,
    json_type,
    line_failure,
    read_jsonl,
    read_lines,
    what_is_wrong,
)
from tokenmill.pipelines.read.options import BATCH_BYTES, BATCH_DOCS, Images, Limits
from tokenmill.pipelines.read.parquet import parquet_tables, read_parquet
from tokenmill.pipelines.read.stream import read_blocks
from tokenmill.pipelines.read.table import TABLE_ERRORS, broken_off, raw, row_ids, strings

PIECE_BYTES = 1024**2  # of a column, read at a time
OF_SAMPLES = (*WIDTHS, *HEIGHTS, STATUS, ERROR)


def read_illustrated_parquet(
    shard: SourceShard, limits: Limits, images: Images
) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's row groups, with their images.

    Memory does not grow with the row groups, but does with their pages, which are decoded whole:
    pyarrow's writer puts 1,024 images on one unless told otherwise (`write_batch_size`).
    """
    if shard.images is None:
        yield from map(without_images, read_parquet(shard, limits))
        return
    tables = parquet_tables(
        shard.paths[0],
        _columns(shard),
        n_bytes=BATCH_IMAGE_BYTES // 4,
        start=shard.start,
        stop=shard.stop,
        buffer_bytes=PIECE_BYTES,
    )
    yield from illustrated_batches(shard.ordinal, _pages(shard, tables, limits, images), images)


def read_illustrated_arrow(
    shard: SourceShard, limits: Limits, images: Images
) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's record batches, with their images."""
    if shard.images is None:
        yield from map(without_images, read_arrow(shard, limits))
        return
    pages = _pages(shard, arrow_tables(shard), limits, images)
    yield from illustrated_batches(shard.ordinal, pages, images)


def _columns(shard: SourceShard) -> list[str]:
    named = Columns(shard.text, shard.id, shard.url, shard.images).named
    return list(dict.fromkeys([*named, METADATA, GENERAL, *OF_SAMPLES]))


def _pages(
    shard: SourceShard, tables: Iterator[pa.RecordBatch], limits: Limits, images: Images
) -> Iterator[Page]:
    row = 0
    folder = Folder(shard.paths[0], shard.names[0], images)
    try:
        for table in tables:
            for part in _parts(table, shard):
                for page in _table_pages(shard, part, row, limits, folder):
                    yield page
                    row += 1
    except TABLE_ERRORS as e:
        failure = broken_off(shard, row, e)
        yield Page(row, failure.id, lost=Lost(failure.reason, failure.detail))


def _parts(table: pa.RecordBatch, shard: SourceShard) -> Iterator[pa.RecordBatch]:
    """Rows at a time that are small enough to be made Python objects, images' bytes aside."""
    names = [n for n in _columns(shard) if n in table.schema.names and n != shard.images]
    for name in names:
        table[name].validate()  # to measure a damaged one would crash
    mean_bytes = sum(table[n].nbytes for n in names) / max(table.num_rows, 1)
    rows = int(min(max(BATCH_BYTES / max(mean_bytes, 1.0), 1), BATCH_DOCS))
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def _table_pages(
    shard: SourceShard, table: pa.RecordBatch, row: int, limits: Limits, folder: Folder
) -> Iterator[Page]:
    assert shard.images is not None
    ids = row_ids(shard, table, row).to_pylist()
    urls = strings(table[shard.url]).to_pylist() if shard.url else [None] * len(ids)
    texts = _bytes_of(table[shard.text]).to_pylist()
    values = image_values(table[shard.images])
    listed = is_listed(table[shard.images].type)
    metadata, general = _beside(table, listed)
    for i, id_ in enumerate(ids):
        number = shard.first_row + row + i
        place = Place(f"{shard.names[0]}#{number}", f"{shard.paths[0]} row {number}")
        text, lost = _decoded(texts[i], place, limits)
        made = Raw(row + i, id_, place, text, values[i], listed, urls[i], metadata[i], general[i])
        gone = None if listed or made.images else not_downloaded(made.metadata, place.where)
        if gone is not None:
            yield missing_page(made.row, id_, place, urls[i], gone)
        elif lost is not None:
            yield lost_page(made, lost)
        else:
            yield make_page(made, captions=shard.captions or "join", folder=folder)


def _beside(table: pa.RecordBatch, listed: bool) -> tuple[list[Any], list[Any]]:
    """What is told of the images of each document, and of the document itself."""
    names = (METADATA, GENERAL) if listed else OF_SAMPLES
    told = {n: _plain_list(table[n]) for n in names if n in table.schema.names}
    nothing = [None] * table.num_rows
    if listed:
        return told.get(METADATA, nothing), told.get(GENERAL, nothing)
    return [{n: values[i] for n, values in told.items()} for i in range(len(nothing))], nothing


def _plain_list(column: pa.Array) -> list[Any]:
    """Values as Python's own; nothing where they are damaged: they are told beside the rest."""
    try:
        column.validate(full=True)
        return list(column.to_pylist())
    except pa.ArrowInvalid:
        return [None] * len(column)


def _decoded(
    value: bytes | list[bytes | None] | None, place: Place, limits: Limits
) -> tuple[Texts, Lost | None]:
    """The text of a document, or why it has none."""
    parts = value if isinstance(value, list) else [value]
    size = sum(len(p) for p in parts if p is not None)
    if size > limits.max_document_bytes:
        limit = f"limits.max_document_bytes is {limits.max_document_bytes}"
        return None, Lost("too_large", f"{place.where}: a text of {size} bytes, {limit}", size)
    try:
        texts = [None if p is None else p.decode() for p in parts]
    except UnicodeDecodeError as e:
        message = f"{place.where}: byte {e.start} of the text: {e.reason}"
        return None, Lost("invalid_utf8", message, size)
    return (texts if isinstance(value, list) else texts[0]), None


def image_values(column: pa.Array) -> list[Any]:
    """(n_docs,) what stands for the image of each document, or lists of that; None for null.

    Bytes are views of the column's own.
    """
    if not is_listed(column.type):
        return _flat_values(column)
    column.validate()
    lengths = column.value_lengths().to_pylist()
    flat = _flat_values(column.flatten())
    ends = accumulate((n or 0 for n in lengths), initial=0)
    return [
        None if n is None else flat[a:b] for n, (a, b) in zip(lengths, pairwise(ends), strict=True)
    ]


def _flat_values(column: pa.Array) -> list[Value | None]:
    if pa.types.is_struct(column.type):
        column.validate()
        parts = dict(zip((f.name for f in column.type), column.flatten(), strict=True))
        nulls = pa.nulls(len(column))
        blobs, paths = parts.get(BYTES, nulls), parts.get(PATH, nulls)
        pairs = zip(_views(blobs), _references(paths), strict=True)
        return [None if b is None and not p else Value(b, p) for b, p in pairs]
    if pa.types.is_binary(column.type) or column.type in (pa.large_binary(), pa.binary_view()):
        return [None if b is None else Value(b) for b in _views(column)]
    return [Value(reference=r) if r else None for r in _references(column)]


def _views(column: pa.Array) -> list[memoryview | None]:
    """The values of a column of bytes, none of them copied."""
    column.validate(full=True)  # a damaged file's offsets would point anywhere
    if column.null_count == len(column):
        return [None] * len(column)
    large = column.cast(pa.large_binary())
    _, offsets, data = large.buffers()
    ends = np.frombuffer(offsets, np.int64)[large.offset : large.offset + len(large) + 1].tolist()
    view = unsigned(data) if data is not None else memoryview(b"")
    valid = large.is_valid().to_pylist()
    return [view[a:b] if ok else None for ok, (a, b) in zip(valid, pairwise(ends), strict=True)]


def _references(column: pa.Array) -> Sequence[str | None]:
    values = _bytes_of(column).to_pylist()
    return [v.decode(errors="replace") if isinstance(v, bytes) else None for v in values]


def _bytes_of(column: pa.Array) -> pa.Array:
    """Text, or lists of it, as the bytes it is."""
    column.validate()
    if pa.types.is_dictionary(column.type):
        column.validate(full=True)
        column = column.dictionary_decode()
    kind = pa.large_list(pa.large_binary()) if is_listed(column.type) else None
    values = column.cast(kind) if kind is not None else raw(column)
    values.validate(full=True)
    return values


def read_illustrated_jsonl(
    shard: SourceShard, limits: Limits, images: Images, run: str = ""
) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's lines, with their images."""
    if shard.images is None:
        yield from map(without_images, read_jsonl(shard, limits, run))
        return
    blocks = read_blocks(
        shard.paths[0],
        shard.compression,
        start=first_byte(shard.start),
        stop=shard.stop,
        limits=limits,
        run=run,
    )
    with contextlib.closing(blocks):
        pages = _line_pages(shard, limits, Folder(shard.paths[0], shard.names[0], images), blocks)
        yield from illustrated_batches(shard.ordinal, pages, images)


def _line_pages(
    shard: SourceShard, limits: Limits, folder: Folder, blocks: Iterator[bytes]
) -> Iterator[Page]:
    row = 0
    found = read_lines(
        blocks, start=shard.start, stop=shard.stop, max_bytes=limits.max_document_bytes
    )
    for item in found:
        if isinstance(item, LostLine):
            failure = line_failure(shard, row, item)
            lost = Lost(failure.reason, failure.detail, failure.text_bytes)
            yield Page(row, failure.id, lost=lost)
            row += 1
            continue
        for offset, line in _lines(item):
            yield _page(shard, row, offset, line, folder)
            row += 1


def _lines(group: LineGroup) -> Iterator[tuple[int, bytes]]:
    """Each line that is not blank, and the byte it begins at."""
    for offset, line in zip(group.offsets, group.lines, strict=True):
        if offset == 0:
            line = line.removeprefix(BOM)
        if line.strip():
            yield offset, line


def _page(shard: SourceShard, row: int, offset: int, line: bytes, folder: Folder) -> Page:
    assert shard.images is not None
    name, where = f"{shard.names[0]}#{offset}", f"{shard.paths[0]} byte {offset}"
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as e:
        lost = Lost(what_is_wrong(line), f"{where}: {str(e)[:SHOWN_ERROR]}", len(line))
        return Page(row, name, lost=lost)
    if not isinstance(value, dict):
        message = f"{where}: a line must be an object, not {json_type(value)}"
        return Page(row, name, lost=Lost("invalid_json", message, len(line)))
    own = value.get(shard.id) if shard.id else None
    url = value.get(shard.url) if shard.url else None
    text, images = value.get(shard.text), value.get(shard.images)
    listed = isinstance(images, list) or (images is None and isinstance(text, list))
    raw = Raw(
        row,
        name if own is None else as_string(own, line, shard.id),
        Place(name, where),
        text if _is_text(text) else None,
        _values(images),
        listed,
        url if isinstance(url, str) else None,
        value.get(METADATA) if listed else {k: value.get(k) for k in (*WIDTHS, *HEIGHTS)},
        value.get(GENERAL) if listed else None,
    )
    if text is not None and not _is_text(text):
        message = f"{where}: {shard.text!r} is {_kind(text)}"
        return lost_page(raw, Lost("text_not_string", message))
    return make_page(raw, captions=shard.captions or "join", folder=folder)


def _is_text(value: Any) -> bool:
    if isinstance(value, list):
        return all(v is None or isinstance(v, str) for v in value)
    return isinstance(value, str)


def _kind(value: Any) -> str:
    return (
        "an array with other things than strings" if isinstance(value, list) else json_type(value)
    )


def _values(images: Any) -> Values:
    return [_value(v) for v in images] if isinstance(images, list) else _value(images)


def _value(value: Any) -> Value | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return Value(reference=value)
    if not isinstance(value, dict):
        return Value(other=json_type(value))
    data, reference = value.get(BYTES), value.get(PATH) or value.get("url")
    if isinstance(data, str):
        try:
            return Value(base64.b64decode(data, validate=True))
        except binascii.Error as e:
            return Value(other=f"bytes that are not base64 ({e})")
    if isinstance(reference, str):
        return Value(reference=reference)
    said = data is not None or reference is not None or not {BYTES, PATH} & set(value)
    return Value(other=f"an object without {BYTES} or {PATH}") if said else None
