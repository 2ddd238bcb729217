"""Decompressed streams set down where one shard of a file ends and taken up where the next begins.

A compressed file can only be read from its beginning. Shards of one file that are read in turn, in
one process, share one stream; whoever comes out of turn opens another and reads up to its start.
"""

import os
import threading
from collections import deque
from collections.abc import Iterator

import pyarrow as pa

BLOCK_BYTES = 4 * 1024**2  # on an object store each is a request
# The line that a shard ends with reaches into the next one, which begins a byte before its start.
KEPT_BLOCKS = 2
PARKED_STREAMS = max(8, 4 * (os.cpu_count() or 1))  # each holds an open file and its kept blocks


class Stream:
    """The uncompressed bytes of a file, and the last of those already given out.

    file: closed with the stream.  pieces: of the uncompressed file, from its beginning.
    """

    def __init__(self, file: pa.NativeFile, pieces: Iterator[bytes]) -> None:
        self._file = file
        self._pieces = pieces
        self._next = 0
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=KEPT_BLOCKS)
        self._exhausted = False
        self.damaged = False

    @property
    def first(self) -> int:
        """The first byte that can still be had."""
        return self._kept[0][0] if self._kept else self._next

    def close(self) -> None:
        self._file.close()

    def blocks(self, start: int) -> Iterator[bytes]:
        """Blocks of about `BLOCK_BYTES`, from byte `start` on, which is `first` at least."""
        for offset, block in list(self._kept):
            if offset + len(block) > start:
                yield block[max(0, start - offset) :]
        while not self._exhausted:
            offset, block = self._gather(start)
            if block:
                yield block[max(0, start - offset) :]

    def _gather(self, start: int) -> tuple[int, bytes]:
        """The next block and its offset; what lies before `start` is not held."""
        held: list[bytes] = []
        offset, size = self._next, 0
        try:
            for piece in self._pieces:
                self._next += len(piece)
                if self._next <= start:
                    offset = self._next
                    continue
                held.append(piece)
                size += len(piece)
                if size >= BLOCK_BYTES:
                    break
            else:
                self._exhausted = True
        except Exception as e:
            self.damaged = True
            if not held:
                raise
            self._pieces = _raising(e)  # what came before is good, and goes out first
        block = b"".join(held)
        self._kept.append((offset, block))
        return offset, block


def _raising(error: Exception) -> Iterator[bytes]:
    raise error
    yield b""


_parked: deque[tuple[tuple[str, str], Stream]] = deque()
_lock = threading.Lock()


def park(key: tuple[str, str], stream: Stream) -> None:
    """Set a stream down for whoever reads on there; the one longest set down may be closed."""
    if stream.damaged:
        stream.close()
        return
    with _lock:
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


def forget(run: str) -> None:
    """Close the streams of a run."""
    with _lock:
        gone = [stream for key, stream in _parked if key[0] == run]
        rest = [item for item in _parked if item[0][0] != run]
        _parked.clear()
        _parked.extend(rest)
    for stream in gone:
        stream.close()
