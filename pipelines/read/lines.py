"""The lines of a stream of blocks that begin in a range of bytes.

A line ends at "\\n" and belongs to the shard in which its first byte lies, so the shards
of a file share out its lines whatever bytes they are cut at:

    a a \\n b b b b \\n c c \\n
    [ shard 0 )[ shard 1 )       shard 0 owns a and b, shard 1 owns c
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from tokenmill.pipelines.read.stream import DamagedError


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

    cause: "too_large", or why the file breaks off; then nothing follows.
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
        for block in blocks:
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
    if lines and max(map(len, lines)) > first.limit:
        yield from _without_long_lines(LineGroup(offset, lines), first.limit)
    elif lines:
        yield LineGroup(offset, lines)


def _without_long_lines(group: LineGroup, limit: int) -> Iterator[LineGroup | LostLine]:
    for offset, line in zip(group.offsets, group.lines, strict=True):
        if len(line) > limit:
            yield _too_long(offset, len(line), limit)
        else:
            yield LineGroup(offset, [line])


def _too_long(offset: int, size: int, limit: int) -> LostLine:
    return LostLine(
        offset, "too_large", f"a line of {size} bytes, limits.max_document_bytes is {limit}", size
    )


def _size(lines: Sequence[bytes]) -> int:
    """Bytes of whole lines, their ends included."""
    return sum(map(len, lines)) + len(lines)


def _within(offset: int, start: int, stop: int | None) -> bool:
    return offset >= start and (stop is None or offset < stop)
