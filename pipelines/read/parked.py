"""Decompressed streams set down where one shard of a file ends and taken up where the next begins.

A compressed file can only be read from its beginning. Shards of one file that are read in turn, in
one process, share one stream; whoever comes out of turn opens another and reads up to its start.
"""

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

BLOCK_BYTES = 4 * 1024**2  # on an object store each is a request
# The line that a shard ends with reaches into the next one, which begins a byte before its start.
KEPT_BYTES = 2 * BLOCK_BYTES
PARKED_STREAMS = 64  # more than a process has workers; each holds an open file and what it kept


class Stream:
    """The uncompressed bytes of a file, and the last of those already given out.

    file: closed with the stream.  pieces: of the uncompressed file, from its beginning.
    """

    def __init__(self, file: pa.NativeFile, pieces: Iterator[bytes]) -> None:
        self._file = file
        self._pieces = pieces
        self._kept: deque[bytes] = deque()
        self._kept_bytes = 0
        self.first = 0  # the first byte that can still be had
        self.damaged = False

    def close(self) -> None:
        self._file.close()

    def blocks(self, start: int, stop: int | None = None) -> Iterator[bytes]:
        """Blocks of at least `BLOCK_BYTES`, from byte `start` on, which is `first` at least.

        They end where pieces do, so that they do not depend on where the stream was taken up; and
        early where all lines that begin before `stop` have ended.
        """
        held: list[bytes] = []
        at, size, skip = start, 0, start - self.first
        try:
            for piece in self._from_first():
                if skip >= len(piece):
                    skip -= len(piece)
                    continue
                held.append(piece[skip:] if skip else piece)
                size += len(held[-1])
                skip = 0
                at += len(held[-1])
                if size >= BLOCK_BYTES or ends_past(held[-1], at - len(held[-1]), stop):
                    yield b"".join(held)
                    held, size = [], 0
        except Exception:
            if held:
                yield b"".join(held)  # what came before is good
            raise
        if held:
            yield b"".join(held)

    def _from_first(self) -> Iterator[bytes]:
        yield from list(self._kept)
        while (piece := self._another()) is not None:
            self._kept.append(piece)
            self._kept_bytes += len(piece)
            while self._kept_bytes - len(self._kept[0]) >= KEPT_BYTES:
                dropped = len(self._kept.popleft())
                self._kept_bytes -= dropped
                self.first += dropped
            yield piece

    def _another(self) -> bytes | None:
        """The next piece. Whatever ends this early, an interrupt too, leaves the stream damaged."""
        self.damaged = True
        piece = next(self._pieces, None)
        self.damaged = False
        return piece


def ends_past(piece: bytes, at: int, stop: int | None) -> bool:
    """Whether a line ends in a piece, from byte `at`, behind which the next begins at `stop`."""
    return stop is not None and piece.find(b"\n", max(stop - 1 - at, 0)) >= 0


_runs: Counter[str] = Counter()
_parked: deque[tuple[tuple[str, str], Stream]] = deque()
_lock = threading.Lock()


@contextmanager
def parking(run: str) -> Iterator[None]:
    """Let streams of a run be set down; at its end they are closed."""
    with _lock:
        _runs[run] += 1
    try:
        yield
    finally:
        with _lock:
            _runs[run] -= 1
            gone = [] if _runs[run] else [stream for key, stream in _parked if key[0] == run]
            rest = [item for item in _parked if item[1] not in gone]
            _parked.clear()
            _parked.extend(rest)
        for stream in gone:
            stream.close()


def park(key: tuple[str, str], stream: Stream) -> None:
    """Set a stream down for whoever reads on there; the one longest set down may be closed."""
    dropped: Stream | None = stream
    with _lock:
        if _runs[key[0]] and not stream.damaged:
            _parked.append((key, stream))
            dropped = _parked.popleft()[1] if len(_parked) > PARKED_STREAMS else None
    if dropped is not None:
        dropped.close()


def take(key: tuple[str, str], start: int) -> Stream | None:
    """The stream of this key that is nearest before byte `start`, taken away; None if none is."""
    with _lock:
        fitting = [
            (stream.first, i)
            for i, (there, stream) in enumerate(_parked)
            if there == key and stream.first <= start
        ]
        if not fitting:
            return None
        _, i = max(fitting)
        stream = _parked[i][1]
        del _parked[i]
        return stream
