r"""JSON Lines, plain or compressed: one object a line, cut by bytes of the plain stream.

    blocks ── read_lines ──► lines ──► _batch, or where a column has images _documents ──► ReadBatch

A line ends at "\n" and belongs to the shard in which its first byte lies, so the shards
of a file share out its lines whatever bytes they are cut at:

    a a \n b b b b \n c c \n
    [ shard 0 )[ shard 1 )       shard 0 owns a and b, shard 1 owns c
"""

import base64
import binascii
import contextlib
import json
import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, islice, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input, InputFile, SourceShard
from tokenmill.pipelines.read.batch import (
    FILE_CAUSES,
    Failure,
    Lost,
    ReadBatch,
    SourceDocument,
    batch_of,
    make_batch,
    text_array,
)
from tokenmill.pipelines.read.beside import ABSENT, beside_of, value_at, with_beside
from tokenmill.pipelines.read.columns import BYTES, MOST_DEPTH, PATH, Columns, Piece, find_columns
from tokenmill.pipelines.read.images.documents import (
    GENERAL,
    METADATA,
    SIDES,
    Folder,
    Place,
    Raw,
    Value,
    Values,
    document_of,
    illustrated_batches,
)
from tokenmill.pipelines.read.options import BATCH_DOCS, Limits, Reading
from tokenmill.pipelines.read.stream import (
    BLOCK_BYTES,
    DamagedError,
    compression_of,
    expansion_ratio,
    one_line,
    pieces,
    read_blocks,
)
from tokenmill.pipelines.read.text import BOM


class LineGroup(NamedTuple):
    """Lines that follow one another, without their ends; the first begins at byte `offset`."""

    offset: int
    lines: list[bytes]

    @property
    def offsets(self) -> list[int]:
        """Byte at which each line begins."""
        return list(accumulate((len(line) + 1 for line in self.lines), initial=self.offset))[:-1]


class LostLine(NamedTuple):
    """A line that cannot be had: too long, or the one in which the file breaks off.

    cause: "too_large", "too_many_values", or why the file breaks off; then nothing follows.
    bytes: its length as far as it was seen.
    """

    offset: int
    cause: str
    message: str
    bytes: int


def first_byte(start: int) -> int:
    """Where to begin reading for the lines that begin at `start` or later.

    One byte before: only an end of line there makes a line begin at `start`.
    """
    return max(start - 1, 0)


class _Open:
    """The line in progress: begins at `offset`; its pieces are dropped past `limit` bytes."""

    def __init__(self, offset: int, limit: int) -> None:
        self.offset, self.limit = offset, limit
        self.pieces: list[bytes] = []
        self.bytes = 0

    def add(self, piece: bytes) -> None:
        self.bytes += len(piece)
        if self.bytes > self.limit:
            self.pieces.clear()
        elif piece:
            self.pieces.append(piece)


def read_lines(
    blocks: Iterator[bytes], *, start: int, stop: int | None, max_bytes: int
) -> Iterator[LineGroup | LostLine]:
    """Yield the lines that begin in [start, stop), in order.

    blocks: the stream from `first_byte(start)` on.
    max_bytes: a longer line comes as `LostLine`, never held in memory whole.
    """
    line = _Open(first_byte(start), max_bytes)
    try:
        for block in _in_bounds(blocks):
            *whole, rest = block.split(b"\n")
            if whole:
                line.add(whole[0])
                yield from _finished(line, whole[1:], start, stop)
                line = _Open(line.offset + line.bytes + 1 + _size(whole[1:]), max_bytes)
                if stop is not None and line.offset >= stop:
                    return
            line.add(rest)
    except DamagedError as e:
        if _within(line.offset, start, stop):
            yield LostLine(line.offset, e.cause, str(e), line.bytes)
        return
    if line.bytes and _within(line.offset, start, stop):
        yield from _finished(line, [], start, stop)


def _in_bounds(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks, those of very many lines in pieces: a line of no byte takes some all the same."""
    for block in blocks:
        full = block.count(b"\n") > MOST_LINES
        yield from pieces(iter((block,)), MOST_LINES) if full else (block,)


def _finished(
    first: _Open, others: Sequence[bytes], start: int, stop: int | None
) -> Iterator[LineGroup | LostLine]:
    """`first`, which has just ended, and the whole lines behind it, if they are in the range."""
    offset = first.offset + first.bytes + 1
    lines = list(others)
    if _within(first.offset, start, stop):
        if first.bytes > first.limit:
            yield _too_long(first.offset, first.bytes, first.limit)
        else:
            offset, lines = first.offset, [b"".join(first.pieces), *lines]
    if stop is not None and offset + _size(lines) > stop:
        lines = [
            line
            for at, line in zip(LineGroup(offset, lines).offsets, lines, strict=True)
            if at < stop
        ]
    if lines and max(map(len, lines)) > min(first.limit, WIDE_BYTES):
        yield from _one_by_one(LineGroup(offset, lines), first.limit)
    elif lines:
        yield LineGroup(offset, lines)


def _one_by_one(group: LineGroup, limit: int) -> Iterator[LineGroup | LostLine]:
    for offset, line in zip(group.offsets, group.lines, strict=True):
        if len(line) > limit:
            yield _too_long(offset, len(line), limit)
        elif _is_overfull(line):
            said = f"a line of over {MOST_VALUES:,} JSON values; leave out what is not text"
            yield LostLine(offset, "too_many_values", said, len(line))
        else:
            yield LineGroup(offset, [line])


# As Python objects `[],` takes 24 times its bytes. Each value but the first follows a mark.
WIDE_BYTES, MOST_VALUES, MOST_LINES = 1024**2, 2**20, 2**18
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def _is_overfull(line: bytes) -> bool:
    """Whether a line holds more values than may be made, marks in its strings aside."""
    if len(line) <= WIDE_BYTES or _marks(line, 0, len(line)) <= MOST_VALUES:
        return False
    found = at = 0
    for string in _STRING.finditer(line):
        found += _marks(line, at, string.start())
        at = string.end()
        if found > MOST_VALUES:
            return True
    return found + _marks(line, at, len(line)) > MOST_VALUES


def _marks(line: bytes, start: int, stop: int) -> int:
    return sum(line.count(mark, start, stop) for mark in (b",", b":", b"["))


def _too_long(offset: int, size: int, limit: int) -> LostLine:
    return LostLine(
        offset, "too_large", f"a line of {size} bytes, limits.max_document_bytes is {limit}", size
    )


def _size(lines: Sequence[bytes]) -> int:
    """Bytes of whole lines, their ends included."""
    return sum(map(len, lines)) + len(lines)


def _within(offset: int, start: int, stop: int | None) -> bool:
    return offset >= start and (stop is None or offset < stop)


# How far to look for a line that tells the columns, before a file is given up as not JSON Lines.
SNIFF_LINES, SNIFF_BYTES = 100, 256 * 1024**2


def cut_jsonl(file: InputFile, wanted: Input, shard_bytes: int, limits: Limits) -> list[Piece]:
    """Find the columns, and cut into equal ranges of at most about `shard_bytes`.

    How long a compressed file is only reading it would tell: its length is estimated from
    its first MiB, and the last shard is open-ended.

    Raises:
        InputError: not JSON Lines ("invalid_json"), or without a text column ("missing_column").
    """
    compression = compression_of(file.name)
    columns = _sniff(file.path, wanted, compression, limits)
    size, damage = file.bytes, ""
    if compression is not None:
        ratio, damage = expansion_ratio(file.path, compression, limits)
        size = math.ceil(size * ratio)
    n = max(1, -(-size // shard_bytes))
    starts = [i * size // n for i in range(n)]
    return [
        Piece(columns, a, None if b == size else b, bytes=b - a, damage=damage)
        for a, b in pairwise([*starts, size])
    ]


def read_jsonl(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield the documents of a shard; blank lines are no documents."""
    limits = how.limits
    blocks = read_blocks(
        shard.paths[0],
        shard.compression,
        start=first_byte(shard.start),
        stop=shard.stop,
        limits=limits,
        run=how.run,
    )
    with contextlib.closing(blocks):
        lines = read_lines(
            blocks, start=shard.start, stop=shard.stop, max_bytes=limits.max_document_bytes
        )
        if how.images is None or shard.images is None:
            yield from _batches(shard, lines)
        else:
            documents = _documents(shard, lines, Folder(shard.paths[0], shard.names[0], how.images))
            yield from illustrated_batches(shard, documents, how.images)


def _batches(shard: SourceShard, lines: Iterator[LineGroup | LostLine]) -> Iterator[ReadBatch]:
    row = 0
    for item in lines:
        if isinstance(item, LostLine):
            yield batch_of(shard.ordinal, [_lost_line(shard, row, item)])
            row += 1
            continue
        for group in _split(item):
            batch = _batch(shard, group, row)
            if batch.rows:  # not only blank lines
                yield batch
                row += batch.rows


def _batch(shard: SourceShard, group: LineGroup, first_row: int) -> ReadBatch:
    """Lines as documents: parsed all at once if all are good, else one by one to name bad ones."""
    plain = _without_bom(group)
    rows: Sequence[int] = range(len(plain.lines))  # among those that are not blank
    good: Sequence[int] = rows  # lines that are documents
    failures: list[Failure] = []
    text = _text_of(shard)
    try:
        objects = [orjson.loads(line) for line in plain.lines]
        texts = text_array(list(map(text, objects)))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        objects, good, rows, offsets = [], [], [], group.offsets
        there = (i for i, line in enumerate(plain.lines) if line.strip())
        for row, i in enumerate(there):
            value, reason, message = _parse_one(plain.lines[i], shard)
            if reason:
                detail = f"{shard.paths[0]} byte {offsets[i]}: {message}"
                name = f"{shard.names[0]}#{offsets[i]}"
                failures.append(Failure(first_row + row, name, reason, detail))
            else:
                objects.append(value)
                good.append(i)
                rows.append(row)
        texts = text_array(list(map(text, objects)))
    urls = None
    if shard.url:
        values = _all_at(objects, shard.url)
        urls = pa.array([v if isinstance(v, str) else None for v in values], pa.string())
    batch = make_batch(
        shard.ordinal,
        first_row + np.array(rows, np.int64),
        ids=pa.array(_ids(shard, objects, plain, good), pa.string()),
        urls=urls,
        texts=texts,
        failures=failures,
    )
    return with_beside(batch, shard, partial(_all_at, objects, absent=ABSENT))


def _text_of(shard: SourceShard) -> Callable[[Any], Any]:
    """What gives the text of a line's object; the plainest that does."""
    if "." not in shard.text and shard.join is None:
        return itemgetter(shard.text)
    return partial(value_at, path=shard.text, join=shard.join)


def _all_at(objects: Sequence[dict[str, Any]], path: str, absent: Any = None) -> list[Any]:
    if "." not in path:
        return [o.get(path, absent) for o in objects]
    return [value_at(o, path, absent=absent) for o in objects]


def _without_bom(group: LineGroup) -> LineGroup:
    """Lines without the byte order mark that a file may begin with."""
    if group.offset == 0 and group.lines[0].startswith(BOM):
        return LineGroup(len(BOM), [group.lines[0][len(BOM) :], *group.lines[1:]])
    return group


def _ids(
    shard: SourceShard, objects: Sequence[dict[str, Any]], group: LineGroup, good: Sequence[int]
) -> list[str]:
    """The documents' own ids, else "name#byte of the file"."""
    ids: list[Any] = _all_at(objects, shard.id) if shard.id else [None] * len(objects)
    if None in ids:
        offsets, name = group.offsets, shard.names[0]
        ids = [f"{name}#{offsets[i]}" if v is None else v for i, v in zip(good, ids, strict=True)]
    if any(type(v) is not str for v in ids):
        ids = [_as_string(v, group.lines[i], shard.id) for i, v in zip(good, ids, strict=True)]
    return ids


def _parse_one(line: bytes, shard: SourceShard) -> tuple[dict[str, Any], str, str]:
    """The object of a line, or why it is no document: (object, reason, message)."""
    value, reason, message = _object(line)
    if reason:
        return {}, reason, message
    found, name = value_at(value, shard.text, shard.join), shard.text
    if found is None:
        return {}, "missing_text", f"{name!r} is {'null' if name in value else 'not there'}"
    if not isinstance(found, str):
        way = "; say what stands between, as join" if isinstance(found, list) else ""
        return {}, "text_not_string", f"{name!r} is {_json_type(found)}{way}"
    return value, "", ""


def _object(line: bytes) -> tuple[dict[str, Any], str, str]:
    """The object of a line, or why it is none."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as e:
        return {}, _what_is_wrong(line), one_line(e)
    if not isinstance(value, dict):
        return {}, "invalid_json", f"a line must be an object, not {_json_type(value)}"
    return value, "", ""


def _what_is_wrong(line: bytes) -> str:
    """Tell bad bytes and lone surrogates from bad JSON; orjson refuses all three alike."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return "invalid_utf8"
    try:
        value = json.loads(
            line, parse_constant=_refuse
        )  # takes lone surrogates, as orjson does not
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "invalid_utf8"
    except (ValueError, RecursionError):
        return "invalid_json"
    return "invalid_json"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _as_string(value: Any, line: bytes, column: str | None) -> str:
    """An id as a string; numbers as they are written, those over 64 bits too."""
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, float) and column is not None:
            value = value_at(json.loads(line, parse_float=str), column)
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:  # orjson goes a little deeper than json
        return str(value) if isinstance(value, float) else "[… nested too deep]"


def _split(group: LineGroup) -> Iterator[LineGroup]:
    """Groups of at most `BATCH_DOCS` lines."""
    offset = group.offset
    for i in range(0, len(group.lines), BATCH_DOCS):
        part = LineGroup(offset, group.lines[i : i + BATCH_DOCS])
        yield part
        offset += _size(part.lines)


def _lost_line(shard: SourceShard, row: int, line: LostLine) -> SourceDocument:
    detail = f"{shard.paths[0]} byte {line.offset}: {line.message}"
    lost = Lost(line.cause, detail, 0 if line.cause in FILE_CAUSES else line.bytes)
    return SourceDocument(row, f"{shard.names[0]}#{line.offset}", lost=lost)


UTF_16 = "it begins as UTF-16 does, which `iconv -f utf-16 -t utf-8` makes UTF-8"


def _sniff(path: str, wanted: Input, compression: str | None, limits: Limits) -> Columns:
    """The columns by the keys of the first objects; an empty file has whatever it should have."""
    keys: dict[str, None] = {}
    problems: list[tuple[str, str]] = []  # (cause, message) of each line that is no object
    objects = 0
    for line in islice(_first_lines(path, compression, limits), SNIFF_LINES):
        if isinstance(line, LostLine):
            problems.append((line.cause, f"byte {line.offset}: {line.message}"))
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as e:
            told = UTF_16 if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else one_line(e)
            problems.append(("invalid_json", told))
            continue
        if isinstance(value, dict):
            objects += 1
            keys.update(dict.fromkeys(_paths_in(value)))
        else:
            problems.append(("invalid_json", f"a line is {_json_type(value)}"))
    if objects:
        # a column beside the text may be of later lines alone
        return find_columns(keys, wanted.model_copy(update={"columns": {}}), path)
    if problems:
        raise _not_jsonl(path, problems[0])
    return Columns(wanted.text or "text", wanted.id, wanted.url)


def _paths_in(value: dict[str, Any]) -> Iterator[str]:
    """The keys of an object, and those of the objects in it, by paths."""
    level: list[tuple[str, dict[str, Any]]] = [("", value)]
    for _ in range(MOST_DEPTH):
        yield from (first + key for first, of in level for key in of)
        level = [
            (f"{first}{key}.", inner)
            for first, of in level
            for key, inner in of.items()
            if isinstance(inner, dict)
        ]


def _first_lines(path: str, compression: str | None, limits: Limits) -> Iterator[bytes | LostLine]:
    blocks = islice(read_blocks(path, compression, limits=limits), SNIFF_BYTES // BLOCK_BYTES)
    for item in read_lines(blocks, start=0, stop=None, max_bytes=limits.max_document_bytes):
        if isinstance(item, LostLine):
            yield item
        else:
            yield from (line.removeprefix(BOM) for line in item.lines if line.strip())


def _not_jsonl(path: str, problem: tuple[str, str]) -> InputError:
    cause, message = problem
    if cause != "invalid_json":
        return InputError(f"{path}: {message}", cause=cause)
    return InputError(
        f"{path}: no line is a JSON object ({message}); one object a line is needed,"
        " a single array can be converted with `jq -c '.[]'`",
        cause=cause,
    )


def _json_type(value: Any) -> str:
    names = {bool: "a boolean", str: "a string", list: "an array", dict: "an object"}
    return "null" if value is None else names.get(type(value), "a number")


def _documents(
    shard: SourceShard, lines: Iterator[LineGroup | LostLine], folder: Folder
) -> Iterator[SourceDocument]:
    """Each line as a document, with its images."""
    row = 0
    for item in lines:
        if isinstance(item, LostLine):
            yield _lost_line(shard, row, item)
            row += 1
            continue
        for offset, line in _not_blank(item):
            yield _document(shard, row, offset, line, folder)
            row += 1


def _not_blank(group: LineGroup) -> Iterator[tuple[int, bytes]]:
    """Each line that is not blank, and the byte it begins at."""
    for offset, line in zip(group.offsets, group.lines, strict=True):
        if offset == 0:
            line = line.removeprefix(BOM)
        if line.strip():
            yield offset, line


def _document(
    shard: SourceShard, row: int, offset: int, line: bytes, folder: Folder
) -> SourceDocument:
    assert shard.images is not None
    name, where = f"{shard.names[0]}#{offset}", f"{shard.paths[0]} byte {offset}"
    value, reason, message = _object(line)
    if reason:
        return SourceDocument(row, name, lost=Lost(reason, f"{where}: {message}", len(line)))
    own = value.get(shard.id) if shard.id else None
    url = value.get(shard.url) if shard.url else None
    text, images = value.get(shard.text), value.get(shard.images)
    listed = isinstance(images, list) or (images is None and isinstance(text, list))
    raw = Raw(
        row,
        name if own is None else _as_string(own, line, shard.id),
        Place(name, where),
        text if _is_text(text) else None,
        _values(images),
        listed,
        url if isinstance(url, str) else None,
        value.get(METADATA) if listed else {k: value.get(k) for k in SIDES},
        value.get(GENERAL) if listed else None,
        beside_of(value, (path for path, _ in shard.columns)),
    )
    lost = None
    if text is not None and not _is_text(text):
        odd = _json_type(text)
        if isinstance(text, list):
            odd = "an array with other things than strings"
        lost = Lost("text_not_string", f"{where}: {shard.text!r} is {odd}")
    return document_of(raw, lost, shard.captions, folder)


def _is_text(value: Any) -> bool:
    if isinstance(value, list):
        return all(v is None or isinstance(v, str) for v in value)
    return isinstance(value, str)


def _values(images: Any) -> Values:
    return [_value(v) for v in images] if isinstance(images, list) else _value(images)


def _value(value: Any) -> Value | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return Value(reference=value)
    if not isinstance(value, dict):
        return Value(other=_json_type(value))
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
