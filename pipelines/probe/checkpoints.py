"""The checkpoint phase: files that the ranks of a node write at once, each one a rank's.

A rank writes its file with fsync, evicts it, reads it back and verifies it.
"""

import contextlib
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xxhash

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.cache import device_bytes, evict, fetched
from tokenmill.pipelines.probe.demand import Demand
from tokenmill.sizing.roots import held
from tokenmill.sizing.units import format_bytes

BLOCK_BYTES = 4 * 1024**2
MOST_BYTES = 1_000_000_000  # written of a node's checkpoint unless more is asked for
ROOM = 1.1


@dataclass(frozen=True, kw_only=True)
class Written:
    """verified: what was read back is what was written.  device_bytes: of reading it back."""

    n_bytes: int
    write_s: float
    read_s: float
    device_bytes: int | None
    verified: bool


@dataclass(frozen=True, kw_only=True)
class CheckpointFile:
    """name: of the file, before its rank.  n_bytes: of one rank.

    until: a file whose presence ends writing it again; it is read back once, at the end.
    """

    folder: Path
    name: str
    n_bytes: int
    rank: int
    seed: int
    until: Path | None = None

    def run(self) -> Written:
        """Write, evict, read back, verify; always deleted. ConfigError: not writable, or full."""
        path = self.folder / f"{self.name}-{self.rank}"
        try:
            return self._run(path)
        except OSError as e:
            raise ConfigError(
                f"{self.folder}: a checkpoint of {format_bytes(self.n_bytes)} a rank cannot be"
                f" written and read back ({e.strerror}); give a smaller --checkpoint-bytes, or"
                " another --checkpoint"
            ) from e
        finally:
            path.unlink(missing_ok=True)

    def _run(self, path: Path) -> Written:
        rng = np.random.default_rng(self.seed + self.rank)
        # of sizes that never line up, so that storage finds no two alike
        blocks = [rng.bytes(BLOCK_BYTES - 4096 * i - 1) for i in range(5)]
        begun, written, times = time.perf_counter(), 0, 0
        while times == 0 or (self.until is not None and not self.until.exists()):
            digest = self._write(path, blocks)
            written, times = written + self.n_bytes, times + 1
        write_s = time.perf_counter() - begun
        evict([path])
        before, begun = device_bytes(), time.perf_counter()
        read_back = self._read(path)
        return Written(
            n_bytes=written,
            write_s=write_s,
            read_s=time.perf_counter() - begun,
            device_bytes=fetched(before, device_bytes()),
            verified=read_back == digest,
        )

    def _write(self, path: Path, blocks: list[bytes]) -> int:
        digest, left, i = xxhash.xxh3_64(), self.n_bytes, 0
        with held(path.parent) as folder, Path(folder, path.name).open("wb", buffering=0) as f:
            while left:
                block = memoryview(blocks[i % len(blocks)])[:left]
                done = f.write(block)
                digest.update(block[:done])
                left, i = left - done, i + 1
            os.fsync(f.fileno())
        return digest.intdigest()

    def _read(self, path: Path) -> int:
        digest, held = xxhash.xxh3_64(), bytearray(BLOCK_BYTES)
        with path.open("rb", buffering=0) as f:
            while n := f.readinto(held):
                digest.update(memoryview(held)[:n])
        return digest.intdigest()


@dataclass(frozen=True, kw_only=True)
class CheckpointRates:
    """n_bytes: of all ranks together.  device_frac: of reading back, as of training.

    write_bytes_per_s: until the last rank's fsync returned.
    """

    n_bytes: int
    ranks: int
    write_bytes_per_s: float
    read_bytes_per_s: float
    device_frac: float | None
    verified: bool


@contextlib.contextmanager
def node_files(
    folder: Path, wanted: Demand, *, ranks: int, n_bytes: int | None, seed: int
) -> Iterator[list[CheckpointFile]]:
    """A file for each rank: the node's checkpoint, or 1 GB of it unless more is asked for.

    Whatever a rank left, as one that was killed, is deleted at the end; so is the folder where
    it was made for this.
    ConfigError: the folder cannot be written, or has no room.
    """
    total = int(min(wanted.checkpoint_bytes, MOST_BYTES if n_bytes is None else n_bytes))
    name = f".tokenmill-probe-{uuid.uuid4().hex}"
    is_new = check_writable(folder, "checkpoints cannot be written there", " --checkpoint")
    try:
        free = shutil.disk_usage(folder).free
        if free < ROOM * total:
            raise ConfigError(
                f"{folder}: {format_bytes(free)} are free, checkpoints of {format_bytes(total)} are"
                " to be written; give a smaller --checkpoint-bytes"
            )
        each = max(1, total // ranks)
        yield [
            CheckpointFile(folder=folder, name=name, n_bytes=each, rank=rank, seed=seed)
            for rank in range(ranks)
        ]
    finally:
        with contextlib.suppress(OSError):
            for left in folder.glob(f"{name}*"):
                left.unlink(missing_ok=True)
            if is_new:
                folder.rmdir()  # unless something else has come into it


def check_writable(folder: Path, wrong: str, option: str = "") -> bool:
    """Make the folder, a file in it; whether it was made now. ConfigError: `wrong`, by `option`."""
    is_new = not folder.exists()
    try:
        with held(folder, make=True) as known:
            tempfile.TemporaryFile(dir=known).close()
    except OSError as e:
        raise ConfigError(f"{folder}: {wrong} ({e.strerror}); choose another{option}") from e
    return is_new


def rates(written: Sequence[Written], each: int, *, seen: bool) -> CheckpointRates:
    """Of all ranks: the slowest decides.

    each: bytes of one rank's file.  seen: whether device bytes count what is read of them.
    """
    total, read_back = sum(w.n_bytes for w in written), each * len(written)
    devices = [w.device_bytes for w in written if w.device_bytes is not None]
    return CheckpointRates(
        n_bytes=read_back,
        ranks=len(written),
        write_bytes_per_s=total / max(w.write_s for w in written),
        read_bytes_per_s=read_back / max(w.read_s for w in written),
        device_frac=sum(devices) / read_back if seen and len(devices) == len(written) else None,
        verified=all(w.verified for w in written),
    )
