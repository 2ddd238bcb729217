r"""The lines of a stream: which of them are a shard's, and which are too long to be held.

    blocks ── read_lines ──► LineGroup, LostLine, …

A line ends at "\n" and belongs to the shard in which its first byte lies, so the shards
of a file share out its lines whatever bytes they are cut at:

    a a \n b b b b \n c c \n
    [ shard 0 )[ shard 1 )       shard 0 owns a and b, shard 1 owns c
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from tokenmill.pipelines.read.stream import DamagedError, pieces


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
                line = _Open(line.offset + line.bytes + 1 + size_of(whole[1:]), max_bytes)
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
    if stop is not None and offset + size_of(lines) > stop:
        lines = [
            line
            for at, line in zip(LineGroup(offset, lines).offsets, lines, strict=True)
            if at < stop
        ]
    yield from in_limits(LineGroup(offset, lines), first.limit)


def in_limits(group: LineGroup, limit: int) -> Iterator[LineGroup | LostLine]:
    """Lines together, or one by one where some may be too long or of too many values."""
    if not group.lines or max(map(len, group.lines)) <= min(limit, WIDE_BYTES):
        yield from [group] if group.lines else ()
        return
    for offset, line in zip(group.offsets, group.lines, strict=True):
        if len(line) > limit:
            yield _too_long(offset, len(line), limit)
        elif is_overfull(line):
            said = f"a line of over {MOST_VALUES:,} JSON values; leave out what is not text"
            yield LostLine(offset, "too_many_values", said, len(line))
        else:
            yield LineGroup(offset, [line])


# As Python objects `[],` takes 24 times its bytes. Each value but the first follows a mark.
WIDE_BYTES, MOST_VALUES, MOST_LINES = 1024**2, 2**20, 2**18
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def is_overfull(line: bytes) -> bool:
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


def size_of(lines: Sequence[bytes]) -> int:
    """Bytes of whole lines, their ends included."""
    return sum(map(len, lines)) + len(lines)


def _within(offset: int, start: int, stop: int | None) -> bool:
    return offset >= start and (stop is None or offset < stop)
