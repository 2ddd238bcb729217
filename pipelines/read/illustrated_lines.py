"""Documents with images from JSON Lines: URLs, files beside the lines, or bytes as base64."""

import base64
import binascii
import contextlib
from collections.abc import Iterator
from typing import Any

import orjson

from tokenmill.pipelines.images.options import Images
from tokenmill.pipelines.read.batch import ReadBatch, without_images
from tokenmill.pipelines.read.illustrated import Lost, Page, illustrated_batches
from tokenmill.pipelines.read.interleaved import (
    GENERAL,
    HEIGHTS,
    METADATA,
    WIDTHS,
    Raw,
    Values,
    lost_page,
    make_page,
)
from tokenmill.pipelines.read.jsonl import (
    BOM,
    SHOWN_ERROR,
    as_string,
    json_type,
    line_failure,
    read_jsonl,
    what_is_wrong,
)
from tokenmill.pipelines.read.limits import Limits
from tokenmill.pipelines.read.lines import LineGroup, LostLine, first_byte, read_lines
from tokenmill.pipelines.read.references import Folder, Place, Value
from tokenmill.pipelines.read.stream import read_blocks
from tokenmill.pipelines.read.table_columns import BYTES, PATH
from tokenmill.pipelines.shard import SourceShard


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
        pages = _pages(shard, limits, Folder(shard.paths[0], shard.names[0], images), blocks)
        yield from illustrated_batches(shard.ordinal, pages, images)


def _pages(
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
