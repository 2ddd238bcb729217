"""Plain bytes in order, taken from pieces; each knows in which member of the file it stands."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from tokenmill.pipelines.read.stream import DamagedError
from tokenmill.pipelines.read.web.members import Piece

FIRST_LOOK = 1024  # bytes


class Place(NamedTuple):
    """member: byte of the file where the member begins.  offset: plain byte in the member."""

    member: int
    offset: int

    def __str__(self) -> str:
        return f"{self.member}+{self.offset}" if self.offset else str(self.member)


class Feed:
    """A buffer over pieces.

    at: plain bytes taken so far, from where the pieces begin.
    """

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._pieces = pieces
        self._buffer = b""
        self._here = 0  # in the buffer
        self.at = 0
        self._end = 0  # plain bytes of all pieces so far
        self.broken: DamagedError | None = None  # why the pieces ended, if they broke off
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
            end = min(len(self._buffer), self._here + most)
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
        self._hold(size)
        taken = self._buffer[self._here : self._here + size]
        self._here += len(taken)
        self.at += len(taken)
        return taken

    def skip(self, size: int) -> int:
        """Pass over bytes, which need not fit into memory; return how many there were."""
        left = size
        while left:
            here = min(left, len(self._buffer) - self._here)
            self._here += here
            self.at += here
            left -= here
            if left and not self._more():
                break
        return size - left

    def next_member(self, within: int) -> int | None:
        """How many bytes it is to where a member begins behind the next byte, if not over `within`.

        Holds as many bytes.
        """
        self._hold(within)
        ahead = (plain - self.at for plain, _ in self._begun)
        return next((size for size in ahead if 0 < size <= within), None)

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

    def _more(self) -> bool:
        """Go on to the next piece; all held bytes have been taken."""
        piece = self._next()
        self._buffer, self._here = piece or b"", 0
        return piece is not None

    def _next(self) -> bytes | None:
        try:
            found = next(self._pieces, None)
        except DamagedError as e:
            self.broken, found = e, None
        if found is None:
            return None
        if found.begin is not None:
            self._begun.append((self._end, found.begin))
        self._end += len(found.data)
        return found.data
