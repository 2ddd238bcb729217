"""The plain bytes of a web archive from some member on, in order, and where its members begin.

    crawl.warc.gz: | member | member | member | …      gzip members, zstd or lz4 frames: as a rule
                     └ record  └ record  └ record      each holds one record

A `Feed` is a buffer over them that knows of each byte in which member of the file it stands. Memory
stays at a few blocks whatever a member claims to expand to.
"""

from collections import deque
from collections.abc import Generator, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import lz4.frame
import zstandard

from tokenmill.pipelines.read import stream
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.storage.inputs import open_input

MAGIC = {"gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18"}
DICTIONARY = b"\x5d\x2a\x4d\x18"
SKIPPABLE_HEADER = 8
MOST_DICTIONARY_BYTES = 16 * 1024**2
LZ4_PIECE_BYTES = 64 * 1024

# Some plain bytes, and the byte of the file where a member begins with these; else None.
Piece: TypeAlias = tuple[int | None, bytes]


def read_members(
    path: str, packing: str | None, *, start: int = 0, limits: Limits
) -> Generator[Piece, None, None]:
    """The plain bytes of a file from byte `start`, where a member begins, to its end.

    A plain file is one member. A zstd file may begin with the dictionary of its frames
    (the format's "dictionary frame"), which is no member.
    DamagedError: after the last good byte was yielded.
    InputError, OSError: as `open_input`.
    """
    with open_input(path) as file:
        codec = None if packing is None else codec_for(file, packing, limits)
        file.seek(start)
        blocks = stream.raw_blocks(file, path)
        if packing is not None and codec is not None:
            yield from stream.unpacked(blocks, start, codec, partial(_damage, packing))
            return
        at: int | None = start
        for block in blocks:
            yield at, block
            at = None


def codec_for(file: Any, packing: str, limits: Limits) -> stream.Codec:
    """How the members of a file are unpacked, which stands at its beginning."""
    if packing == "lz4":
        return _LZ4
    dictionary = _dictionary(file, limits) if packing == "zstd" else None
    return stream.codec_of(packing, limits, dictionary)


def _unlz4ed(frame: Any, data: bytes) -> Iterator[bytes]:
    while True:
        out = frame.decompress(data, stream.GZIP_OUT_BYTES)
        if out:
            yield out
        if frame.eof or frame.needs_input:
            return
        data = b""


_LZ4 = stream.Codec(LZ4_PIECE_BYTES, lz4.frame.LZ4FrameDecompressor, _unlz4ed, RuntimeError)


def _damage(packing: str, error: Exception | None, at: int) -> stream.DamagedError:
    if error is None:
        message = f"the file ends inside of a {packing} member, at byte {at}"
        return stream.DamagedError(f"truncated_{packing}", message)
    message = stream.one_line(error)
    if "too much memory" in message:
        return stream.DamagedError(
            "window_too_large", "its zstd window is too large; raise limits.max_window_bytes"
        )
    return stream.DamagedError(f"damaged_{packing}", f"{message}, in packed byte {at} or before")


def _dictionary(file: Any, limits: Limits) -> zstandard.ZstdCompressionDict | None:
    """The dictionary in the first frame of a file, plain or compressed itself; None without one.

    Source: IIPC, "Zstandard Compression for WARC Files 1.0", section 5.
    """
    head = bytes(file.read(SKIPPABLE_HEADER))
    if head[:4] != DICTIONARY:
        return None
    size = int.from_bytes(head[4:8], "little")
    data = bytes(file.read(min(size, MOST_DICTIONARY_BYTES + 1)))
    if size > MOST_DICTIONARY_BYTES or len(data) < size:
        raise stream.DamagedError("damaged_zstd", f"its dictionary claims {size} bytes")
    if data[:4] == MAGIC["zstd"]:
        codec, damage = stream.codec_of("zstd", limits), partial(_damage, "zstd")
        frames = stream.unpacked(iter([data]), 0, codec, damage)
        data = b""
        for _, plain in frames:
            data += plain
            if len(data) > MOST_DICTIONARY_BYTES:
                raise stream.DamagedError("damaged_zstd", "its dictionary expands to too much")
    return zstandard.ZstdCompressionDict(data)


FIRST_LOOK = 1024  # bytes


class Place(NamedTuple):
    """member: byte of the file where the member begins.  offset: plain byte in the member."""

    member: int
    offset: int

    def __str__(self) -> str:
        return f"{self.member}+{self.offset}" if self.offset else str(self.member)


class Feed:
    """A buffer over pieces; at: plain bytes taken so far, from where the pieces begin."""

    def __init__(self, pieces: Iterator[Piece | stream.DamagedError]) -> None:
        """pieces: with an error in place of what is damaged, where there are more behind."""
        self._pieces = pieces
        self._buffer = b""
        self._here = 0  # in the buffer
        self.at = 0
        self._end = 0  # plain bytes of all pieces so far
        self.broken: stream.DamagedError | None = None  # why the pieces ended, if they broke off
        self._goes_on = False  # though they did
        self._begun: deque[tuple[int, int]] = deque()  # members: plain byte, byte of the file

    def place(self) -> Place:
        """Of the next byte."""
        while len(self._begun) > 1 and self._begun[1][0] <= self.at:
            self._begun.popleft()
        plain, begin = self._begun[0] if self._begun else (0, 0)
        return Place(begin, self.at - plain)

    def peek(self, size: int) -> bytes:
        """The next bytes, without taking them; fewer where the pieces end."""
        self._hold(size)
        return self._buffer[self._here : self._here + size]

    def through(self, marks: tuple[bytes, ...], most: int) -> int | None:
        """How many bytes it is to the end of the first of some marks; None if it is over `most`."""
        size = FIRST_LOOK
        while True:
            self._hold(min(size, most))
            end = min(len(self._buffer), self._here + min(size, most))
            found = [(self._buffer.find(mark, self._here, end), len(mark)) for mark in marks]
            ends = [at + length for at, length in found if at >= 0]
            if ends:
                return min(ends) - self._here
            if size >= most or len(self._buffer) - self._here < size:
                return None
            size *= 8

    def has_ended(self, within: int) -> bool:
        """Whether there are fewer bytes than so many, or whatever made them broke down."""
        self._hold(within)
        return len(self._buffer) - self._here < within

    def take(self, size: int) -> bytes:
        """The next bytes; fewer where the pieces end."""
        taken = self.peek(size)
        self._here += len(taken)
        self.at += len(taken)
        return taken

    def skip(self, size: int) -> None:
        """Pass over bytes, which need not fit into memory."""
        while size > (here := len(self._buffer) - self._here):
            self.at += here
            size -= here
            piece = self._next()
            self._buffer, self._here = piece or b"", 0
            if piece is None:
                return
        self._here += size
        self.at += size

    def next_member(self, within: int) -> int | None:
        """Bytes to where a member begins behind the next byte, if not over `within`; holds them."""
        self._hold(within)
        ahead = (plain - self.at for plain, _ in self._begun)
        return next((size for size in ahead if 0 < size <= within), None)

    def go_on(self) -> bool:
        """Pass over all up to the member behind what is damaged; False if there is none."""
        if not self._goes_on:
            return False
        self._buffer, self._here, self.at = b"", 0, self._end
        self.broken, self._goes_on = None, False
        return True

    def _hold(self, size: int) -> None:
        """Have `size` bytes at hand if there are as many."""
        if len(self._buffer) - self._here >= size:
            return
        held = [self._buffer[self._here :]]
        n = len(held[0])
        while n < size:
            piece = self._next()
            if piece is None:
                break
            held.append(piece)
            n += len(piece)
        self._buffer, self._here = b"".join(held), 0

    def _next(self) -> bytes | None:
        if self.broken is not None:
            return None
        try:
            found = next(self._pieces, None)
        except stream.DamagedError as e:
            self.broken, found = e, None
        if isinstance(found, stream.DamagedError):
            self.broken, self._goes_on, found = found, True, None
        if found is None:
            return None
        begin, data = found
        if begin is not None:
            self._begun.append((self._end, begin))
        self._end += len(data)
        return data
