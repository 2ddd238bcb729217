"""The bytes of a file from some place on, decompressed as they come.

Memory stays at a few blocks whatever the file claims: a gzip or zstd bomb comes out in
blocks like any other file.
"""

from collections.abc import Callable, Generator, Iterator
from typing import Any

import pyarrow as pa
import zstandard
from isal import isal_zlib

from tokenmill.pipelines.read.limits import Limits
from tokenmill.pipelines.read.parked import BLOCK_BYTES, Stream, ends_past, park, take
from tokenmill.pipelines.store import is_outage, open_input, translated

# What a damaged piece would have given is lost; 16 KiB cost 2 % of the speed of 256 KiB.
GZIP_PIECE_BYTES = 16 * 1024
GZIP_OUT_BYTES = 1024**2
# zstandard returns all that a piece decompresses to; 4 bytes can stand for a block of
# 128 KiB, so 2 KiB make 64 MiB at most. Smaller pieces cost speed (1 KiB: 15 %).
ZSTD_PIECE_BYTES = 2 * 1024
TAIL_BYTES = 64 * 1024  # read at a time of the line that reaches into the next shard
GZIP_WBITS = 31  # zlib's way to say: gzip, and nothing else
_GZIP_ERROR: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # a slip of its stub
RATIO_SAMPLE_BYTES = 1024**2
RATIO_OUT_BYTES = 1024**3


class DamagedError(Exception):
    """The file breaks off or breaks down here; what came before is good.

    cause: one of `FILE_CAUSES`.
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


def read_blocks(
    path: str,
    compression: str | None,
    *,
    start: int = 0,
    stop: int | None = None,
    limits: Limits,
    run: str = "",
) -> Generator[bytes, None, None]:
    """Blocks of about `BLOCK_BYTES` of the uncompressed file, from byte `start` on.

    stop: where another shard begins: a block ends early once it holds the end of the last line
        that begins before, so that small shards do not read each other's lines.
    run: an identity under which files do not change. With it a compressed stream is set down
        where reading ends, for the shard that begins there (see `parked`).

    Raises:
        DamagedError: after the last good byte was yielded.
        InputError, OSError: as `open_input`.
    """
    if compression is None:
        with open_input(path) as file:
            file.seek(start)
            yield from _raw(file, path) if stop is None else _to(stop, file, path, start)
        return
    key = (run, path)
    stream = take(key, start) if run else None
    if stream is None:
        file = open_input(path)
        stream = Stream(file, _decompressed(file, path, compression, limits))
    try:
        yield from stream.blocks(start, stop)
    finally:
        if run and stop is not None:
            park(key, stream)
        else:
            stream.close()


def expansion_ratio(path: str, compression: str, limits: Limits) -> float:
    """Uncompressed bytes per compressed byte, measured on the first MiB of the file."""
    taken = made = 0

    def sample(blocks: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal taken
        for block in blocks:
            piece = block[: RATIO_SAMPLE_BYTES - taken]
            taken += len(piece)
            yield piece
            if taken >= RATIO_SAMPLE_BYTES:
                return

    with open_input(path) as file:
        try:
            for out in _DECOMPRESS[compression](sample(_raw(file, path)), limits):
                made += len(out)
                if made > RATIO_OUT_BYTES:
                    break
        except DamagedError:
            pass  # the sample breaks off by design; the reader reports what is really broken
    return made / taken if taken else 1.0


def _decompressed(
    file: pa.NativeFile, path: str, compression: str, limits: Limits
) -> Iterator[bytes]:
    return _DECOMPRESS[compression](_raw(file, path), limits)


def _raw(file: pa.NativeFile, path: str) -> Iterator[bytes]:
    while block := _read(file, path, BLOCK_BYTES):
        yield block


def _to(stop: int, file: pa.NativeFile, path: str, at: int) -> Iterator[bytes]:
    """As `_raw` from byte `at` on, but for where the blocks of lines that are wanted end."""
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
        raise (translated(e, path) if is_outage(e) else e) from None


def _pieces(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    return (block[i : i + size] for block in blocks for i in range(0, len(block), size))


def _gunzipped(blocks: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    """Members one after the other; zero bytes between and after them are padding (gzip(1))."""
    member: Any = None
    try:
        for data in _pieces(blocks, GZIP_PIECE_BYTES):
            while data := data if member else data.lstrip(b"\0"):
                member = member or isal_zlib.decompressobj(GZIP_WBITS)
                yield from _inflated(member, data)
                if not member.eof:
                    break
                data, member = member.unused_data, None
        if member is not None:
            yield from _inflated(member, b"")
    except _GZIP_ERROR as e:
        raise DamagedError("damaged_gzip", str(e)) from None
    if member is not None and not member.eof:
        raise DamagedError("truncated_gzip", "the file ends inside a gzip member")


def _inflated(member: Any, data: bytes) -> Iterator[bytes]:
    """All that a gzip member makes of some bytes, in pieces of bounded size."""
    while True:
        out = member.decompress(data, GZIP_OUT_BYTES)
        if out:
            yield out
        data = member.unconsumed_tail
        if member.eof or (not data and len(out) < GZIP_OUT_BYTES):
            return


def _unzstded(blocks: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    """Frames one after the other."""
    context = zstandard.ZstdDecompressor(max_window_size=limits.max_window_bytes)
    frame: Any = None
    try:
        for data in _pieces(blocks, ZSTD_PIECE_BYTES):
            while data:
                frame = context.decompressobj() if frame is None else frame
                out = frame.decompress(data)
                if out:
                    yield out
                if not frame.eof:
                    break
                data, frame = frame.unused_data, None
    except zstandard.ZstdError as e:
        message = " ".join(str(e).split())
        if "too much memory" in message:
            raise DamagedError(
                "window_too_large",
                f"its zstd window is over {limits.max_window_bytes} bytes;"
                " raise limits.max_window_bytes",
            ) from None
        raise DamagedError("damaged_zstd", message) from None
    if frame is not None:
        raise DamagedError("truncated_zstd", "the file ends inside a zstd frame")


_DECOMPRESS: dict[str, Callable[[Iterator[bytes], Limits], Iterator[bytes]]] = {
    "gzip": _gunzipped,
    "zstd": _unzstded,
}
