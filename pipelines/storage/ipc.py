"""Arrow IPC, message by message: where each lies, and what its buffers would unpack to.

    stream:  schema | batch | batch | … | end
    file:    "ARROW1" pad | the same stream | footer | footer's size | "ARROW1"

A message is `0xFFFFFFFF, size of header, header (flatbuffer), body`; before Arrow 0.15 the
first word was missing. A file is thus read as the stream inside it, and so is what is left
of one that was cut short. Where batches lie is read from their headers alone: pyarrow gives neither
the length of a batch nor its number of rows without reading its body.

A compressed buffer begins with the bytes it unpacks to, and pyarrow makes room for all that is
claimed: a batch that claims too much is refused before.

Source: Arrow columnar format 1.5, "Encapsulated message format", format/Message.fbs.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from tokenmill.pipelines.storage.bounds import check_expansion

MAGIC = b"ARROW1"
CONTINUATION = 0xFFFFFFFF
SCHEMA, DICTIONARY, BATCH = 1, 2, 3
# Fields of the flatbuffer table Message, by slot.
_VERSION, _HEADER_TYPE, _HEADER, _BODY_LENGTH, _METADATA = range(5)
_V5 = 4  # before it, compression was told in the message's metadata
_ROWS, _BUFFERS, _COMPRESSION = 0, 2, 3  # of the table RecordBatch
_DATA = 1  # of the table DictionaryBatch: a RecordBatch
_DICTIONARIES, _BATCHES = 2, 3  # of the table Footer
END_BYTES = 8  # of the mark behind the last message
MAX_HEADER_BYTES = 256 * 1024**2


class Message(NamedTuple):
    """kind: `SCHEMA`, `DICTIONARY`, `BATCH` or another.  start, stop: bytes of the file."""

    kind: int
    start: int
    stop: int
    rows: int


class CutShortError(ValueError):
    """The file ends, or stops making sense, inside the message that begins at byte `start`."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.start = start


def stream_start(file: pa.NativeFile) -> int:
    """Byte at which the stream begins: 8 in a file, 0 in a stream."""
    file.seek(0)
    return 8 if file.read(len(MAGIC)) == MAGIC else 0


def read_schema(file: pa.NativeFile) -> pa.Schema:
    """The schema that a file or stream begins with; raises what pyarrow does where it has none."""
    file.seek(stream_start(file))
    return pa.ipc.read_schema(pa.ipc.read_message(file))


def messages(
    file: pa.NativeFile, start: int | None = None, stop: int | None = None
) -> Iterator[Message]:
    """Yield messages that begin in [start, stop), one at `start`; CutShortError after the last."""
    start = stream_start(file) if start is None else start
    end, whole = _stream_stop(file)
    while start < (end if stop is None else stop):
        message = _message(file, start, end)
        if message is None:
            if end - start > END_BYTES and stream_start(file):  # of a file it stands at the footer
                raise CutShortError("an end before the footer", start)
            return
        yield message
        start = message.stop
    if not whole and (stop is None or start < stop):
        raise CutShortError("no footer", start)


def _stream_stop(file: pa.NativeFile) -> tuple[int, bool]:
    """Byte at which the messages end at the latest, and whether that is where they should.

    In a file they should end at its footer, and one without has been cut short.
    """
    size = int(file.size())
    if stream_start(file) == 0:
        return size, True
    if size < 18:
        return size, False
    file.seek(size - 10)
    footer_bytes, magic = struct.unpack("<i6s", file.read(10))
    whole = magic == MAGIC and 0 < footer_bytes <= size - 18
    return (size - 10 - footer_bytes if whole else size), whole


def _message(file: pa.NativeFile, start: int, file_stop: int) -> Message | None:
    """The message at `start`, or None at the mark of the end."""
    file.seek(start)
    try:
        (word,) = struct.unpack("<I", file.read(4))
        prefix = 8 if word == CONTINUATION else 4
        (size,) = struct.unpack("<i", file.read(4)) if prefix == 8 else (word,)
        if size == 0:
            return None
        if not 0 < size <= min(MAX_HEADER_BYTES, file_stop - start):
            raise CutShortError(f"a header of {size} bytes", start)
        header = file.read(size)
        table = _unpack("<I", header, 0)
        kind = _scalar(header, table, _HEADER_TYPE, "<B")
        body_bytes = _scalar(header, table, _BODY_LENGTH, "<q")
        rows = 0
        if kind == BATCH:
            rows = _scalar(header, _pointed(header, table, _HEADER), _ROWS, "<q")
    except struct.error as e:
        raise CutShortError(f"the file ends inside a header ({e})", start) from None
    end = start + prefix + size + body_bytes
    if body_bytes < 0 or rows < 0 or end > file_stop:
        raise CutShortError(f"a body of {body_bytes} bytes in a file of {file_stop}", start)
    return Message(kind, start, end, rows)


def _field(buffer: bytes | memoryview, table: int, slot: int) -> int:
    """Byte of a table's field, 0 if it has its default."""
    vtable = table - _unpack("<i", buffer, table)
    if vtable < 0 or 4 + 2 * slot >= _unpack("<H", buffer, vtable):
        return 0
    offset = _unpack("<H", buffer, vtable + 4 + 2 * slot)
    return table + offset if offset else 0


def _scalar(buffer: bytes | memoryview, table: int, slot: int, form: str) -> int:
    at = _field(buffer, table, slot)
    return _unpack(form, buffer, at) if at else 0


def _pointed(buffer: bytes | memoryview, table: int, slot: int) -> int:
    """Byte of what a table's field points to, a table or a vector."""
    at = _field(buffer, table, slot)
    return at + _unpack("<I", buffer, at)


def _unpack(form: str, buffer: bytes | memoryview, at: int) -> int:
    if at < 0:
        raise struct.error("an offset before the header")
    return int(struct.unpack_from(form, buffer, at)[0])


class Layout(NamedTuple):
    """Where the buffers of a record batch lie.

    body: byte of the message where they begin.  buffers: (first byte behind `body`, bytes) of each,
    in the order of the columns.  compressed: all of them.
    """

    body: int
    buffers: tuple[tuple[int, int], ...]
    compressed: bool


def layout_of(data: bytes | memoryview) -> Layout:
    """The header of a record batch, with which `data` begins; CutShortError: none, or not whole."""
    try:
        word, size = struct.unpack_from("<Ii", data, 0)
        prefix, size = (8, size) if word == CONTINUATION else (4, word)
        header = memoryview(data)[prefix : prefix + size]
        if not 0 < size == len(header):
            raise struct.error(f"a header of {size} bytes")
        batch = _pointed(header, _unpack("<I", header, 0), _HEADER)
        vector = _pointed(header, batch, _BUFFERS)
        n = _unpack("<I", header, vector)
        found = tuple(struct.unpack_from("<qq", header, vector + 4 + 16 * i) for i in range(n))
        compressed = bool(_field(header, batch, _COMPRESSION))
        return Layout(prefix + size, found, compressed)
    except struct.error as e:
        raise CutShortError(f"no header of a record batch ({e})", 0) from None


def header_bytes(data: bytes | memoryview) -> int:
    """Bytes of a message up to its body, of which `data` holds the first 8."""
    word, size = struct.unpack_from("<Ii", data, 0)
    return 8 + max(size, 0) if word == CONTINUATION else 4 + int(word)


def check_message(message: pa.ipc.Message) -> int:
    """Bytes that a message's compressed buffers unpack to, or 0; ExpandsError: over the bound."""
    unpacked = _unpacked(memoryview(message.metadata), memoryview(message.body or b""))
    return check_expansion(unpacked, message.body.size if unpacked else 0, "a record batch")


def check_blocks(data: memoryview, wanted: Callable[[int], Iterable[int]]) -> None:
    """Check the dictionaries of a file, and its record batches that are `wanted` of so many.

    ExpandsError: as `check_message`.
    ValueError: its footer points elsewhere.
    """
    try:
        for unpacked in _claims(data, wanted):
            check_expansion(unpacked, len(data), "a record batch")
    except struct.error as e:
        raise ValueError(f"a message lies outside the file: {e}") from None


def _claims(data: memoryview, wanted: Callable[[int], Iterable[int]]) -> Iterator[int]:
    """What all dictionaries claim to unpack to, as far as they were seen; then each batch."""
    (size,) = struct.unpack_from("<i", data, len(data) - 10)
    footer = data[len(data) - 10 - size : len(data) - 10]
    whole = 0
    for slot, some in ((_DICTIONARIES, range), (_BATCHES, wanted)):
        at = _field(footer, _unpack("<I", footer, 0), slot)
        vector = at + _unpack("<I", footer, at) if at else 0
        n = _unpack("<I", footer, vector) if at else 0
        for i in (i for i in some(n) if i < n):
            start, header = struct.unpack_from("<qi", footer, vector + 4 + 24 * i)
            prefix = 8 if _unpack("<I", data, start) == CONTINUATION else 4
            claimed = _unpacked(data[start + prefix : start + header], data[start + header :])
            whole += claimed if slot == _DICTIONARIES else 0
            yield whole if slot == _DICTIONARIES else claimed


def _unpacked(header: memoryview, body: memoryview) -> int:
    """What the compressed buffers of a batch claim to unpack to, each as often as it is named."""
    table = _unpack("<I", header, 0)
    kind = _scalar(header, table, _HEADER_TYPE, "<B")
    if kind not in (DICTIONARY, BATCH) or not _field(header, table, _HEADER):
        return 0
    batch = _pointed(header, table, _HEADER)
    if kind == DICTIONARY:
        batch = _pointed(header, batch, _DATA)
    early = _scalar(header, table, _VERSION, "<h") < _V5 and _field(header, table, _METADATA)
    compressed = early or _field(header, batch, _COMPRESSION)
    if not compressed or not _field(header, batch, _BUFFERS):
        return 0
    vector = _pointed(header, batch, _BUFFERS)
    claims = 0
    for i in range(_unpack("<I", header, vector)):
        start, size = struct.unpack_from("<qq", header, vector + 4 + 16 * i)
        if size >= 8 and 0 <= start <= len(body) - 8:  # else pyarrow refuses it
            claims += max(_unpack("<q", body, start), 0)
    return claims
