"""What finding duplicates sets down besides keys and findings, and the memory it takes.

Works and files are counted as `pipelines.spill_phases` does, by documents alone.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.config import Config
from tokenmill.pipelines.dedup_steps import NearDedup
from tokenmill.pipelines.duplicates import EXACT_BYTES_PER_DOC, EXACT_BYTES_PER_ROW
from tokenmill.pipelines.edges import ROW_BYTES
from tokenmill.pipelines.estimate.drawn import Drawn
from tokenmill.pipelines.estimating.blocks import between
from tokenmill.pipelines.estimating.job import MeasureJob
from tokenmill.pipelines.forest import FAN_IN, FOREST, PAIRS_AT_ONCE, TOUCHED_BYTES
from tokenmill.pipelines.spill import ROW_BYTES as SPILL_BYTES
from tokenmill.pipelines.spill import Keyed, key_columns, n_words_of, spilled_batch
from tokenmill.pipelines.spill_rows import GROUP_ROWS, RANGE_ROWS

NUMBER_BYTES, WORD_BYTES, PAIR_BYTES = 4, 8, 8
UNPADDED_ROWS, MOST_PADDING = 64, 8.0  # of a batch of row numbers

Counts: TypeAlias = Any  # a number of documents, or (n_draws,) of them


def of_step(step: Config, docs: Drawn, left: Drawn) -> dict[str, Drawn]:
    """Bytes of spilled keys and of forests.

    docs, left: before and behind the step.
    """
    columns, n_words = len(key_columns(step)), n_words_of(step)
    keys = np.zeros((UNPADDED_ROWS, n_words), np.uint64)
    head, batch = _head_bytes(spilled_batch(Keyed(keys[:, 0].astype(np.uint32), keys)))
    row = NUMBER_BYTES + WORD_BYTES * n_words
    spill = _of(
        docs, lambda n: columns * (n * row + _groups(n) * _ranges(n) * batch) + _groups(n) * head
    )
    rows = pa.array(np.zeros(UNPADDED_ROWS, np.uint32))
    head, batch = _head_bytes(pa.record_batch([rows, rows], schema=FOREST))
    if isinstance(step, NearDedup):  # the forests below the last one: pairs of many bands
        files = _of(docs, lambda n: _forests(columns * _ranges(n)))
    else:
        files = _of(docs, _ranges)
    gone = docs + left * -1.0
    gone = Drawn(max(gone.value, 0.0), np.maximum(gone.draws, 0.0))
    batches = _of(gone, lambda n: np.ceil(n / PAIRS_AT_ONCE))
    padded = between(batch, batch + MOST_PADDING, order=12, value=batch + MOST_PADDING / 2)
    forest = gone * PAIR_BYTES + files * head + batches * padded
    return {"spill": spill, "forest": forest}


def clustering_memory_bytes(job: MeasureJob, docs: Drawn) -> Drawn | None:
    """Peak RAM of the arrays of the corpus-wide steps: with less, keys are read in parts.

    Documents in pairs are taken to be all.
    """
    if not job.dedup:
        return None
    cores, most = job.measuring.cores, job.recipe.run.memory_budget

    def needed(n: Counts) -> Counts:
        return np.minimum(np.max([_needed(step, n, cores) for step in job.dedup], axis=0), most)

    return _of(docs, needed)


def _needed(step: Config, n: Counts, cores: int) -> Counts:
    groups, ranges = _groups(n), _ranges(n)
    per_row = SPILL_BYTES + WORD_BYTES * n_words_of(step)
    spill = np.minimum(cores, groups) * np.minimum(n, GROUP_ROWS) * per_row
    if isinstance(step, NearDedup):
        works = np.minimum(cores, step.lsh().bands * ranges)
        return np.max([spill, works * n / ranges * ROW_BYTES, n * TOUCHED_BYTES], axis=0)
    per_row = EXACT_BYTES_PER_DOC + EXACT_BYTES_PER_ROW
    return np.maximum(spill, np.minimum(cores, ranges) * n / ranges * per_row)


def _of(drawn: Drawn, how: Callable[[Counts], Counts]) -> Drawn:
    return Drawn(float(how(np.float64(drawn.value))), np.asarray(how(drawn.draws), np.float64))


def _groups(n: Counts) -> Counts:
    return np.ceil(n / GROUP_ROWS)


def _ranges(n: Counts) -> Counts:
    return np.exp2(np.ceil(np.log2(np.maximum(n / RANGE_ROWS, 1.0))))


def _forests(n_edges: Counts) -> Counts:
    """Files of all levels, as `pipelines.forest.levels` counts them."""
    total = files = np.ceil(n_edges / FAN_IN)
    while np.any(files > 1):
        files = np.where(files > 1, np.ceil(files / FAN_IN), 0.0)
        total = total + files
    return total


def _head_bytes(example: pa.RecordBatch) -> tuple[int, int]:
    """Of a file without batches, and what a batch adds besides its rows and their padding.

    example: of as many rows as need no padding.
    """
    sizes = []
    for n_batches in (0, 1):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, example.schema) as writer:
            for _ in range(n_batches):
                writer.write_batch(example)
        sizes.append(int(sink.tell()))
    return sizes[0], sizes[1] - sizes[0] - example.nbytes
