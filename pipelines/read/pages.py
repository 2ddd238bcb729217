"""What a Parquet column chunk unpacks to, told from the headers of its pages.

    chunk:  [header dictionary page] header page | header page | …       header: Thrift, compact

A page of a few bytes may unpack to 2 GB, and a dictionary's value or a common beginning of 1 MB may
stand for each of a million rows: the footer tells neither (and may lie), pages' headers do.

Source: parquet-format 2.10, parquet.thrift (PageHeader); Thrift's compact protocol.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.storage.bounds import check_expansion, most_bytes

DICTIONARY_PAGE, DATA_PAGE_V2 = 2, 3
DELTA_BYTE_ARRAY = 7
CODED = (2, 8)  # PLAIN_DICTIONARY, RLE_DICTIONARY
COUNTED = 8192  # groups of eight numbers, at a time
HEADER_BYTES, MOST_HEADER_BYTES = 256, 16 * 1024**2  # read at first; what pyarrow takes at most
WIDEST_NUMBER = 12  # bytes
LEVEL_BYTES = 16  # of a nested value that is nothing, as pyarrow holds it
# by kind: fields of PageHeader, encoding
_ABOUT = {0: (5, 2), DICTIONARY_PAGE: (7, 2), DATA_PAGE_V2: (8, 4)}
_TRUE, _FALSE, _BYTE, _I32, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 5, 7, 8, 12  # of Thrift
_KEPT = (_TRUE, _FALSE, _I32, _STRUCT)
_ReadAt = Callable[[int, int], bytes]  # size, place


class Page(NamedTuple):
    """kind: as in PageHeader.  at: byte of the file where it begins, behind its header.

    unpacked, packed: bytes.  values: nulls included.  about: the header's own fields of its kind.
    """

    kind: int
    at: int
    unpacked: int
    packed: int
    values: int
    encoding: int
    about: dict[int, Any]


def pages(read_at: _ReadAt, chunk: pq.ColumnChunkMetaData) -> Iterator[Page]:
    """The pages of a column chunk, as far as pyarrow reads them; ValueError: a header is none."""
    at, stop = chunk_place(chunk)
    values = 0
    while at < stop and values < chunk.num_values:
        page = _page(read_at, at, stop)
        yield page
        values += page.values if page.kind != DICTIONARY_PAGE else 0
        at = page.at + page.packed


def chunk_place(chunk: pq.ColumnChunkMetaData) -> tuple[int, int]:
    """Bytes [start, stop) of the file where a column chunk lies."""
    start = chunk.data_page_offset
    if chunk.dictionary_page_offset is not None and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, start + chunk.total_compressed_size


def _page(read_at: _ReadAt, at: int, stop: int) -> Page:
    most = HEADER_BYTES
    while True:
        try:
            found, size = _struct(read_at(min(most, stop - at), at), 0)
            break
        except IndexError:  # statistics make it longer
            if most >= min(stop - at, MOST_HEADER_BYTES):
                raise ValueError(f"a page's header at byte {at} does not end") from None
            most *= 16
        except RecursionError:
            raise ValueError(f"no page's header at byte {at}") from None
    kind, unpacked, packed = (found.get(i, -1) for i in (1, 2, 3))
    named, encoding = _ABOUT.get(kind, (0, 0))
    about = found.get(named, {})
    values = about.get(1, 0)
    if min(unpacked, packed, values) < 0:
        raise ValueError(f"a page at byte {at} claims {unpacked} bytes of {values} values")
    return Page(kind, at + size, unpacked, packed, values, about.get(encoding, 0), about)


def _struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """The truths, integers and structs among the fields of a struct, by number; where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while (byte := data[at]) & 15:
        at += 1
        if byte >> 4:
            number += byte >> 4
        else:
            number, at = _integer(data, at)
        number = (number + 2**15) % 2**16 - 2**15
        value, at = _value(data, at, byte & 15)
        if byte & 15 in _KEPT:  # as Thrift, which passes over a field of another type
            fields[number] = value
    return fields, at + 1


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind < _BYTE:
        return kind == _TRUE, at
    if kind == _BYTE:
        return None, at + 1
    if kind < _DOUBLE:
        return _integer(data, at)
    if kind == _DOUBLE:
        return None, at + 8
    if kind == _STRUCT:
        return _struct(data, at)
    if kind == _BINARY:
        size, at = _varint(data, at)
        return None, at + size
    raise ValueError(f"a field of type {kind} in a page's header")


def _integer(data: bytes, at: int) -> tuple[int, int]:
    """A 32-bit number, zigzag."""
    value, at = _varint(data, at)
    value &= 0xFFFFFFFF
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) & 0x80:
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | byte << shift, at + 1


class Bound(NamedTuple):
    """How a chunk is to be read.

    rows: at a time, at most.
    coded: by its dictionary, values standing for the places where they come.
    """

    rows: int
    coded: bool = False


class _Weights(NamedTuple):
    """What the pages of a chunk hold, in bytes.

    plain: of values that stand for themselves; each: of a row of them, by the mean of a page.
    shared, coded: of what may come again in every value: common beginnings, a dictionary.
    """

    values: int
    plain: int
    each: float
    shared: int
    coded: int


def chunk_bound(
    read_at: _ReadAt, chunk: pq.ColumnChunkMetaData, column: pq.ColumnSchema, rows: int
) -> Bound:
    """How a chunk can be read so that what comes at once stays in bounds.

    rows: to be read at a time if nothing speaks against it.
    ExpandsError: a page or a list would take more than it may.
    ValueError: what should be a page is none.
    """
    packed, text = chunk.total_compressed_size, chunk.physical_type == "BYTE_ARRAY"
    most, found = most_bytes(packed), list(pages(read_at, chunk))
    values, plain, each, shared, coded = _weigh(found, chunk, column)
    listed = column.max_repetition_level > 0  # of which a row may hold any number
    come = values if listed else rows
    if listed:
        fixed = shared if text else shared + coded
        unpacked = plain + values * (fixed + LEVEL_BYTES)
        check_expansion(unpacked, packed, f"lists of {chunk.path_in_schema!r}")
    elif min(plain, each * rows) + shared * rows > most:
        return Bound(max(1, int(most / (each + shared + coded))))
    if not text or coded * come <= most:
        return Bound(rows)
    longest, total = _stood_for(read_at, chunk, column, found, most)
    if min(longest * come, total) <= most:
        return Bound(rows)
    return Bound(rows, True) if listed else Bound(max(1, most // longest))


def chunk_bytes(read_at: _ReadAt, chunk: pq.ColumnChunkMetaData, column: pq.ColumnSchema) -> int:
    """What a whole chunk takes, at most; ExpandsError, ValueError: as `chunk_bound`."""
    found = list(pages(read_at, chunk))
    values, plain, _, shared, coded = _weigh(found, chunk, column)
    of_codes = coded * values
    if of_codes > most_bytes(chunk.total_compressed_size) and chunk.physical_type == "BYTE_ARRAY":
        of_codes = _stood_for(read_at, chunk, column, found, 0)[1]
    levels = LEVEL_BYTES if column.max_repetition_level else 0
    return plain + of_codes + values * (shared + levels)


def _weigh(
    found: Sequence[Page], chunk: pq.ColumnChunkMetaData, column: pq.ColumnSchema
) -> _Weights:
    values = plain = shared = coded = 0
    each = 0.0
    for page in found:
        name = f"a page of column {chunk.path_in_schema!r}"
        check_expansion(page.unpacked, page.packed, name)
        values += page.values if page.kind != DICTIONARY_PAGE else 0
        if page.kind == DICTIONARY_PAGE:
            coded = max(coded, page.unpacked)
        elif page.encoding == DELTA_BYTE_ARRAY:
            shared = max(shared, page.unpacked)
        elif page.encoding not in CODED:
            plain += page.unpacked
            each = max(each, page.unpacked / max(page.values, 1))
    if chunk.physical_type != "BYTE_ARRAY":
        coded = min(coded, max(column.length, WIDEST_NUMBER))
    return _Weights(values, plain, each, shared, coded)


def _stood_for(
    read_at: _ReadAt,
    chunk: pq.ColumnChunkMetaData,
    column: pq.ColumnSchema,
    found: Sequence[Page],
    most: int,
) -> tuple[int, int]:
    """Bytes of a dictionary's longest value, and of all that its values stand for, at most.

    As a rule each comes about once: then it is enough to count how often.
    """
    dictionary = next(page for page in found if page.kind == DICTIONARY_PAGE)
    size = dictionary.unpacked
    try:
        times = np.zeros(min(dictionary.values, size // 4) + 1, np.int64)
        for page in found:
            if page.kind != DICTIONARY_PAGE and page.encoding in CODED:
                _count(_payload(read_at, chunk, page), page, column, times)
        if times.max() * size <= most:
            return size, int(times.max()) * size
        lengths = np.fromiter(_lengths(_payload(read_at, chunk, dictionary), times), np.int64)
        return int(lengths.max()), int(times @ lengths)
    except (pa.ArrowException, OSError, ValueError, IndexError, struct.error):
        return size, size * chunk.num_values  # what we cannot look into


def _payload(read_at: _ReadAt, chunk: pq.ColumnChunkMetaData, page: Page) -> bytes:
    """What a page holds; of its second version, behind the levels."""
    levels = sum(page.about.get(i, 0) for i in (5, 6)) if page.kind == DATA_PAGE_V2 else 0
    data = read_at(page.packed - levels, page.at + levels)
    if chunk.compression == "UNCOMPRESSED" or (
        page.kind == DATA_PAGE_V2 and not page.about.get(7, True)
    ):
        return data
    codec = pa.Codec({"LZ4": "lz4_raw"}.get(chunk.compression, chunk.compression.lower()))
    return bytes(codec.decompress(data, page.unpacked - levels, asbytes=True))


def _count(data: bytes, page: Page, column: pq.ColumnSchema, times: I64) -> None:
    """Add to `times` how often a page names each value of the dictionary, or a little more.

    data: [size, levels]… | bits of a number | runs: of one number, or of groups of eight
    """
    at = 0
    if page.kind != DATA_PAGE_V2:
        for level in (column.max_repetition_level, column.max_definition_level):
            at += 4 + struct.unpack_from("<I", data, at)[0] if level else 0
    width, at = data[at], at + 1
    if width == 0:
        times[0] += page.values
        return
    groups = []
    while at < len(data):
        head, at = _varint(data, at)
        size = (head >> 1) * width if head & 1 else (width + 7) // 8
        if head & 1:
            groups.append(data[at : at + size])
        else:
            times[int.from_bytes(data[at : at + size], "little")] += head >> 1
        at += size
    packed = np.frombuffer(b"".join(groups), np.uint8)
    powers = 1 << np.arange(width, dtype=np.int64)
    for start in range(0, len(packed) // width * width, width * COUNTED):
        some = packed[start : start + width * COUNTED]
        bits = np.unpackbits(some, bitorder="little", count=len(some) // width * width * 8)
        times += np.bincount(bits.reshape(-1, width) @ powers, minlength=len(times))


def _lengths(data: bytes, times: I64) -> Iterator[int]:
    at = 0
    for _ in times[1:]:
        (size,) = struct.unpack_from("<I", data, at)
        yield size
        at += 4 + size
    yield 0
