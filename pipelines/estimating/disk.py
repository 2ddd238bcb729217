"""What it takes to write a file of the run directory: CPU seconds a byte."""

import time
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.arrow_files import arrow_file

BATCH_BYTES, NUMBER_BYTES = 1 << 22, 8
LEAST_BATCHES, MOST_BATCHES = 4, 64  # 256 MiB: less may all lie in memory that is at hand

_found: dict[Path, float] = {}
_lock = Lock()


def write_s_per_byte(folder: Path, size: int) -> float:
    """Seconds of one core; a file is written for it, once a process, and deleted.

    size: of a large file of the run, or more.
    """
    with _lock:
        if folder not in _found:
            batches = min(max(size // BATCH_BYTES, LEAST_BATCHES), MOST_BATCHES)
            _found[folder] = _written(folder / "written.arrow", batches) / (batches * BATCH_BYTES)
        return _found[folder]


def _written(path: Path, batches: int) -> float:
    numbers = pa.array(np.arange(BATCH_BYTES // NUMBER_BYTES))
    batch = pa.record_batch([numbers], names=["number"])
    started = time.thread_time()
    with arrow_file(path, batch.schema) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    seconds = time.thread_time() - started
    path.unlink()
    return seconds
