"""The bytes of a file from some place on, decompressed as they come.

Memory stays at a few blocks whatever the file claims: a gzip or zstd bomb comes out in
blocks like any other file.

A compressed file can only be read from its beginning. Shards of one file that are read in turn, in
one process, share one stream, set down where one shard ends and taken up where the next begins;
whoever comes out of turn opens another and reads up to its start.
"""

import posixpath
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import zstandard
from isal import isal_zlib

from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.storage.inputs import is_outage, open_input, translated

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

    def blocks(self, start: int, stop: int | None = None) -> Iterator[list[bytes]]:
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
                    yield held
                    held, size = [], 0
        except Exception:  # whatever broke off is told behind what came before, which is good
            if held:
                yield held
            raise
        if held:
            yield held

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
            gone = [] if _runs[run] else [item for item in _parked if item[0][0] == run]
            for item in gone:
                _parked.remove(item)
        for _, stream in gone:
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
        fitting = [item for item in _parked if item[0] == key and item[1].first <= start]
        if not fitting:
            return None
        nearest = max(fitting, key=lambda item: item[1].first)
        _parked.remove(nearest)
        return nearest[1]


# What a damaged piece would have given is lost; 16 KiB cost 2 % of the speed of 256 KiB.
GZIP_PIECE_BYTES = 16 * 1024
GZIP_OUT_BYTES = 1024**2
# zstandard returns all that a piece decompresses to; 4 bytes can stand for a block of
# 128 KiB, so 2 KiB make 64 MiB at most. Smaller pieces cost speed (1 KiB: 15 %).
ZSTD_PIECE_BYTES = 2 * 1024
ZSTD_OUT_BYTES = 1024**2  # handed on at a time: 64 MiB of line ends would be as many lines at once
TAIL_BYTES = 64 * 1024  # read at a time of the line that reaches into the next shard
GZIP_WBITS = 31  # zlib's way to say: gzip, and nothing else
GZIP_ERROR: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # a slip of its stub
RATIO_SAMPLE_BYTES = 1024**2
RATIO_OUT_BYTES = 1024**3
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}  # by the endings of names


def compression_of(name: str) -> str | None:
    """The compression around a whole file, told by its name.

    >>> compression_of("crawl/part-0.jsonl.zst"), compression_of("photos.tgz")
    ('zstd', 'gzip')
    """
    ending = posixpath.splitext(name.lower())[1]
    return "gzip" if ending == ".tgz" else COMPRESSIONS.get(ending)


SHOWN_ERROR = 200


class UnreadableError(Exception):
    """Something cannot be read.  cause: as in the ledger."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


def one_line(error: BaseException) -> str:
    """What an error says, for the end of a message."""
    return " ".join(str(error).split())[:SHOWN_ERROR]


class DamagedError(UnreadableError):
    """The file breaks off or breaks down here; what came before is good.

    cause: one of `FILE_CAUSES`.  member: byte of the file where the member begins, if one did.
    """

    member: int | None = None


def read_blocks(
    path: str,
    compression: str | None,
    *,
    start: int = 0,
    stop: int | None = None,
    limits: Limits,
    run: str = "",
) -> Generator[list[bytes], None, None]:
    """Blocks of about `BLOCK_BYTES` of the uncompressed file, from byte `start` on.

    Each is the pieces that it came in: who needs it whole joins them, once.

    stop: where another shard begins: a block ends early once it holds the end of the last line
        that begins before, so that small shards do not read each other's lines.
    run: an identity under which files do not change. With it a compressed stream is set down
        where reading ends, for the shard that begins there (see `parking`).
    DamagedError: after the last good byte was yielded.
    InputError, OSError: as `open_input`.
    """
    if compression is None:
        with open_input(path) as file:
            file.seek(start)
            whole = raw_blocks(file, path) if stop is None else _to(stop, file, path, start)
            yield from ([block] for block in whole)
        return
    key = (run, path)
    stream = take(key, start) if run else None
    if stream is None:
        file = open_input(path)
        stream = Stream(file, _DECOMPRESS[compression](raw_blocks(file, path), limits))
    try:
        yield from stream.blocks(start, stop)
    finally:
        if run and stop is not None:
            park(key, stream)
        else:
            stream.close()


def expansion_ratio(path: str, compression: str, limits: Limits) -> tuple[float, str]:
    """Uncompressed bytes per compressed byte, measured on the first MiB of the file.

    Beside it the cause of the damage that was met there, which makes it too small, or "".
    """
    with open_input(path) as file:
        sample, size = _read(file, path, RATIO_SAMPLE_BYTES), file.size()
    made, damage = 0, ""
    try:
        for out in _DECOMPRESS[compression](iter((sample,)), limits):
            made += len(out)
            if made > RATIO_OUT_BYTES:
                break
    except DamagedError as e:  # the reader tells it again; a sample breaks off by design
        damage = "" if e.cause.startswith("truncated_") and len(sample) < size else e.cause
    return (made / len(sample) if sample else 1.0), damage


def raw_blocks(file: pa.NativeFile, path: str) -> Iterator[bytes]:
    """The bytes of a file from where it stands, as they are."""
    while block := _read(file, path, BLOCK_BYTES):
        yield block


def _to(stop: int, file: pa.NativeFile, path: str, at: int) -> Iterator[bytes]:
    """As `raw_blocks` from byte `at` on, but for where the blocks of lines that are wanted end."""
    held = b""
    while piece := _read(file, path, min(BLOCK_BYTES - len(held), max(stop - at, TAIL_BYTES))):
        held += piece
        at += len(piece)
        if len(held) >= BLOCK_BYTES or ends_past(piece, at - len(piece), stop):
            yield held
            held = b""
    if held:
        yield held


def _read(file: pa.NativeFile, path: str, size: int) -> bytes:
    try:
        return bytes(file.read(size))
    except OSError as e:
        raise outage_or(e, e, path) from None


def outage_or(fault: Exception, error: Exception, path: str) -> Exception:
    """What to raise for an error: the disk's or the network's fault if it is that, else `fault`."""
    if isinstance(error, OSError) and is_outage(error):
        return translated(error, path)
    return fault


def pieces(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Blocks in pieces of at most so many bytes."""
    return (block[i : i + size] for block in blocks for i in range(0, len(block), size))


class Codec(NamedTuple):
    """How a kind of file is unpacked.

    piece_bytes: of the file, taken at a time: what bounds the plain bytes that come at once.
    begin: a new member.  unpack: of a member, what it makes of some bytes, piece by piece.
    error: what it raises on damage.  padding: bytes between members that mean nothing.
    """

    piece_bytes: int
    begin: Callable[[], Any]
    unpack: Callable[[Any, bytes], Iterable[bytes]]
    error: type[Exception]
    padding: bytes = b""


def codec_of(
    packing: str, limits: Limits, dictionary: zstandard.ZstdCompressionDict | None = None
) -> Codec:
    """Of "gzip" or "zstd"."""
    if packing == "gzip":  # zero bytes between and after members are padding (gzip(1))
        begin = partial(isal_zlib.decompressobj, GZIP_WBITS)
        return Codec(GZIP_PIECE_BYTES, begin, inflated, GZIP_ERROR, b"\0")
    context = zstandard.ZstdDecompressor(
        dict_data=dictionary, max_window_size=limits.max_window_bytes
    )
    return Codec(ZSTD_PIECE_BYTES, context.decompressobj, _unzstded, zstandard.ZstdError)


def unpacked(
    blocks: Iterator[bytes],
    at: int,
    codec: Codec,
    damage: Callable[[Exception | None, int], DamagedError],
) -> Iterator[tuple[int | None, bytes]]:
    """The plain bytes of members (gzip) or frames one after the other.

    Each comes with the byte of the file where a member begins with it, else None.

    at: byte of the file where the blocks begin.
    damage: what to raise at a byte of the file: for an error, or None where it ends in a member.
    """
    member: Any = None
    begin: int | None = at
    first = at
    try:
        for piece in pieces(blocks, codec.piece_bytes):
            at, data = at + len(piece), piece
            while data := data if member else data.lstrip(codec.padding):
                if member is None:
                    member, begin = codec.begin(), at - len(data)
                    first = begin
                for out in codec.unpack(member, data):
                    yield begin, out
                    begin = None
                if not member.eof:
                    break
                data, member = member.unused_data or b"", None
    except codec.error as e:
        broken = damage(e, at)
        broken.member = first
        raise broken from None
    if member is not None:
        broken = damage(None, at)
        broken.member = first
        raise broken


def inflated(member: Any, data: bytes) -> Iterator[bytes]:
    """All that a gzip member makes of some bytes, in pieces of bounded size."""
    while True:
        out = member.decompress(data, GZIP_OUT_BYTES)
        if out:
            yield out
        data = member.unconsumed_tail
        if member.eof or (not data and len(out) < GZIP_OUT_BYTES):
            return


def _unzstded(frame: Any, data: bytes) -> Iterable[bytes]:
    """In pieces of bounded size; what is no data, as a dictionary, makes nothing."""
    out = frame.decompress(data)
    if len(out) > ZSTD_OUT_BYTES:
        return pieces(iter((out,)), ZSTD_OUT_BYTES)
    return (out,) if out else ()


NO_HEAD = ("gzip/zlib wrapper", "frame descriptor")  # as isal and zstandard say


def _decompressed(kind: str, blocks: Iterator[bytes], limits: Limits) -> Iterator[bytes]:

    def damage(error: Exception | None, _: int) -> DamagedError:
        if error is None:
            member = "member" if kind == "gzip" else "frame"
            return DamagedError(f"truncated_{kind}", f"the file ends inside a {kind} {member}")
        message = one_line(error)
        if any(said in message for said in NO_HEAD):
            message += (
                f"; no {kind} begins there: if the file is plain, take that ending off its name"
            )
        if "too much memory" not in message:
            return DamagedError(f"damaged_{kind}", message)
        return DamagedError(
            "window_too_large",
            f"its zstd window is over {limits.max_window_bytes} bytes;"
            " raise limits.max_window_bytes",
        )

    return (out for _, out in unpacked(blocks, 0, codec_of(kind, limits), damage))


_DECOMPRESS: dict[str, Callable[[Iterator[bytes], Limits], Iterator[bytes]]] = {
    kind: partial(_decompressed, kind) for kind in ("gzip", "zstd")
}
