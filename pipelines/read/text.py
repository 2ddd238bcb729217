"""Text, Markdown: each file is one document, tiny ones share a shard."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import pyarrow as pa

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import InputFile, SourceShard
from tokenmill.pipelines.read.batch import Lost, ReadBatch, SourceDocument, batch_of, gathered
from tokenmill.pipelines.read.options import Limits, Reading
from tokenmill.pipelines.read.stream import UnreadableError, compression_of, read_blocks
from tokenmill.pipelines.storage.inputs import open_input

BOM = b"\xef\xbb\xbf"
BOMS_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)
# What decodes as UTF-8 and is none: ISO-2022-JP's shift to Kanji, which no terminal has a use for,
# and UTF-16, of whose bytes half are 0, 4 of Cyrillic, 6 of Arabic, 14 of Thai; a hole is 0 too.
TO_KANJI = re.compile(rb"\x1b\$[@B]")
HIGH_BYTES, MOST_HIGH_FRAC = b"\0\4\6\x0e", 0.02
POINTER, MOST_POINTER = b"version https://git-lfs.github.com/spec/", 1024  # to a file; its bytes
NO_FILE = "a pointer of Git LFS in place of the file; `git lfs pull` fetches it"


def is_pointer(path: str) -> bool:
    """Whether a file is a pointer of Git LFS, by its bytes as they lie there."""
    try:
        with open_input(path) as f:
            begin = bytes(f.read(MOST_POINTER))
    except (InputError, OSError):
        return False
    return begin.startswith(POINTER) and len(begin) < MOST_POINTER


def is_utf8(data: bytes) -> bool:
    """Whether Python would decode it; Arrow takes a fifth of the time, and makes nothing."""
    if data.isascii():
        return True
    ends = pa.array([0, len(data)], pa.int64()).buffers()[1]
    text = pa.LargeStringArray.from_buffers(1, ends, pa.py_buffer(data))
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def odd_utf8(data: bytes | bytearray) -> str | None:
    """Why bytes that decode as UTF-8 are another charset, or no text, by what no text has."""
    if b"\x1b" in data and data.isascii() and TO_KANJI.search(data):
        return "it is ISO-2022-JP; `iconv -f iso-2022-jp -t utf-8` makes it UTF-8"
    high = sum(data.count(byte) for byte in HIGH_BYTES if byte in data)  # `in` is the faster
    if high > MOST_HIGH_FRAC * len(data):
        utf16 = "`iconv -f utf-16le -t utf-8` makes it UTF-8 if it is UTF-16"
        return f"{high:,} of its {len(data):,} bytes are 0, 4, 6 or 14; {utf16}"
    return None


def to_utf8(data: bytes | bytearray) -> str:
    """The way out of a file that is not UTF-8, by its beginning."""
    charset = "utf-16" if data.startswith(BOMS_UTF16) else "CHARSET"
    return f"`iconv -f {charset} -t utf-8` makes it UTF-8"


def group_texts(files: Sequence[InputFile], shard_bytes: int) -> list[list[InputFile]]:
    """Group files, in order, up to `shard_bytes`; a larger one stands alone."""
    groups: list[list[InputFile]] = []
    size = 0
    for file in files:
        if not groups or size + file.bytes > shard_bytes:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.bytes
    return groups


def read_texts(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield each file of the shard as a document; its id is its path below the input's folder."""
    documents = (read_text(shard, row, how.limits) for row in range(len(shard.paths)))
    return gathered(documents, partial(batch_of, shard.ordinal))


def read_text(shard: SourceShard, row: int, limits: Limits) -> SourceDocument:
    """A whole file as a document."""
    path, name = shard.paths[row], shard.names[row]
    data = bytearray()
    try:
        for piece in chain.from_iterable(read_blocks(path, compression_of(path), limits=limits)):
            data += piece
            if len(data) > limits.max_document_bytes:
                message = f"over limits.max_document_bytes, {limits.max_document_bytes}"
                raise UnreadableError("too_large", message)
        if data.startswith(POINTER) and len(data) < MOST_POINTER:
            raise UnreadableError("lfs_pointer", NO_FILE)
        text = bytes(data).removeprefix(BOM).decode()
        if not (odd := odd_utf8(data)):
            return SourceDocument(row, name, text)
        lost = Lost("invalid_utf8", f"{path}: not UTF-8: {odd}", len(data))
    except UnicodeDecodeError as e:
        at = e.start + (len(BOM) if data.startswith(BOM) else 0)
        why = f"not UTF-8: {e.reason}; {to_utf8(data)}"
        lost = Lost("invalid_utf8", f"{path} byte {at}: {why}", len(data))
    except UnreadableError as e:
        is_none = not data and is_pointer(path)  # in a name of what is compressed
        cause, why = ("lfs_pointer", NO_FILE) if is_none else (e.cause, str(e))
        lost = Lost(cause, f"{path}: {why}", len(data))
    except InputError as e:
        lost = Lost(e.cause, str(e))
    return SourceDocument(row, name, lost=lost)
