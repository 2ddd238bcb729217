"""One rank's checkpoint file: written with fsync, evicted, read back, verified."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xxhash

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.cache import device_bytes, evict
from tokenmill.sizing.units import format_bytes

BLOCK_BYTES = 4 * 1024**2


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
        """Write, evict, read back and verify; the file is deleted whatever happens.

        Raises:
            ConfigError: the folder cannot be written, or is full.
        """
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
        blocks = _blocks(self.seed + self.rank)
        begun, written, times = time.perf_counter(), 0, 0
        while times == 0 or (self.until is not None and not self.until.exists()):
            digest = self._write(path, blocks)
            written, times = written + self.n_bytes, times + 1
        write_s = time.perf_counter() - begun
        evict([path])
        before, begun = device_bytes(), time.perf_counter()
        read_back = self._read(path)
        read_s, after = time.perf_counter() - begun, device_bytes()
        fetched = None if before is None or after is None else after - before
        return Written(
            n_bytes=written,
            write_s=write_s,
            read_s=read_s,
            device_bytes=fetched,
            verified=read_back == digest,
        )

    def _write(self, path: Path, blocks: list[bytes]) -> int:
        digest, left, i = xxhash.xxh3_64(), self.n_bytes, 0
        with path.open("wb", buffering=0) as f:
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


def _blocks(seed: int) -> list[bytes]:
    """Random blocks of sizes that never line up, so that storage finds no two alike."""
    rng = np.random.default_rng(seed)
    return [rng.bytes(BLOCK_BYTES - 4096 * i - 1) for i in range(5)]
