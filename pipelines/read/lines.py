r"""The lines of a stream: which of them are a shard's, and which are too long to be held.

    blocks ── read_lines ──► Lines, LostLine, …

A line ends at "\n" and belongs to the shard in which its first byte lies, so the shards
of a file share out its lines whatever bytes they are cut at:

    a a \n b b b b \n c c \n
    [ shard 0 )[ shard 1 )       shard 0 owns a and b, shard 1 owns c
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple, TypeVar

from tokenmill.pipelines.read.stream import DamagedError


class Lines(NamedTuple):
    """Whole lines that follow one another, an end between each two; the first is at `offset`."""

    offset: int
    data: bytes

    def pairs(self) -> Iterator[tuple[int, bytes]]:
        """The byte at which each line begins, and the line."""
        at = 0
        while at <= len(self.data):
            end = self.data.find(b"\n", at) % (len(self.data) + 1)  # of none the end of all
            yield self.offset + at, self.data[at:end]
            at = end + 1

    def some(self, offset: int, lines: list[bytes]) -> "Lines":
        """Those of them that follow one another from `offset` on."""
        return Lines(offset, b"\n".join(lines))

    def has_over(self, most: int) -> bool:
        """Whether a line has more bytes."""
        at = 0
        while at + most < len(self.data):
            end = self.data.rfind(b"\n", at, at + most + 1)
            if end < 0:
                return True
            at = end + 1
        return False


class LineGroup(NamedTuple):
    """As `Lines`, of objects of an array, which may hold ends of lines."""

    offset: int
    lines: list[bytes]

    def pairs(self) -> Iterator[tuple[int, bytes]]:
        """The byte at which each begins, and the object."""
        lengths = (len(line) + 1 for line in self.lines)
        return zip(accumulate(lengths, initial=self.offset), self.lines, strict=False)

    def some(self, offset: int, lines: list[bytes]) -> "LineGroup":
        """Those of them that follow one another from `offset` on."""
        return LineGroup(offset, lines)

    def has_over(self, most: int) -> bool:
        """Whether one has more bytes."""
        return max(map(len, self.lines), default=0) > most


Group = TypeVar("Group", Lines, LineGroup)


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

    def add(self, *pieces: bytes) -> None:
        self.bytes += sum(map(len, pieces))
        if self.bytes > self.limit:
            self.pieces.clear()
        else:
            self.pieces += pieces


def read_lines(
    blocks: Iterator[list[bytes]], *, start: int, stop: int | None, max_bytes: int
) -> Iterator[Lines | LostLine]:
    """Yield the lines that begin in [start, stop), in order.

    blocks: the stream from `first_byte(start)` on, each in pieces.
    max_bytes: a longer line comes as `LostLine`, never held in memory whole.
    """
    line = _Open(first_byte(start), max_bytes)
    try:
        for pieces in blocks:
            ending = [i for i, piece in enumerate(pieces) if b"\n" in piece]
            if not ending:
                line.add(*pieces)
                continue
            i, j = ending[0], ending[-1]
            first, last = pieces[i].find(b"\n"), pieces[j].rfind(b"\n")
            line.add(*pieces[:i], pieces[i][:first])
            others = [memoryview(piece) for piece in pieces[i : j + 1]]
            others[-1] = others[-1][:last]
            others[0] = others[0][first + 1 :]
            size = sum(map(len, others)) + 1
            if (i, first) == (j, last):
                others, size = [], 0
            yield from _finished(line, others, start, stop)
            line = _Open(line.offset + line.bytes + 1 + size, max_bytes)
            if stop is not None and line.offset >= stop:
                return
            line.add(pieces[j][last + 1 :], *pieces[j + 1 :])
    except DamagedError as e:
        if _within(line.offset, start, stop):
            yield LostLine(line.offset, e.cause, str(e), line.bytes)
        return
    if line.bytes and _within(line.offset, start, stop):
        yield from _finished(line, (), start, stop)


def _finished(
    first: _Open, others: Sequence[bytes | memoryview], start: int, stop: int | None
) -> Iterator[Lines | LostLine]:
    """`first`, just ended, and whole lines behind it in the range; others: in pieces, if any."""
    offset, parts = first.offset + first.bytes + 1, [*others]
    if _within(first.offset, start, stop):
        if first.bytes > first.limit:
            yield _too_long(first.offset, first.bytes, first.limit)
        else:
            between = [b"\n"] if parts else []
            offset, parts = first.offset, [*first.pieces, *between, *parts] or [b""]
    if parts and (stop is None or offset < stop):
        data = b"".join(parts)
        if stop is not None and offset + len(data) >= stop:
            end = data.find(b"\n", stop - 1 - offset)
            data = data if end < 0 else data[:end]
        yield from in_limits(Lines(offset, data), first.limit)


def in_limits(group: Group, limit: int) -> Iterator[Group | LostLine]:
    """Lines together, but for those that may be too long or of too many values."""
    widest = min(limit, WIDE_BYTES)
    if not group.has_over(widest):
        yield group
        return
    for is_wide, pairs in groupby(group.pairs(), lambda pair: len(pair[1]) > widest):
        if not is_wide:
            offsets, lines = zip(*pairs, strict=True)
            yield group.some(offsets[0], list(lines))
            continue
        for offset, line in pairs:
            if len(line) > limit:
                yield _too_long(offset, len(line), limit)
            elif is_overfull(line):
                said = f"a line of over {MOST_VALUES:,} JSON values; leave out what is not text"
                yield LostLine(offset, "too_many_values", said, len(line))
            else:
                yield group.some(offset, [line])


# As Python objects `[],` takes 24 times its bytes. Each value but the first follows a mark.
WIDE_BYTES, MOST_VALUES = 1024**2, 2**20
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # or one that does not end, at once


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


def _within(offset: int, start: int, stop: int | None) -> bool:
    return offset >= start and (stop is None or offset < stop)
