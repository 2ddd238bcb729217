"""Pairs of rows in files: edges between documents, and who leaves for whom.

A forest has a row for each document that is not the one kept of those it is joined with, and names
that one; its rows ascend.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.runs.folder import Folder
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, values

Pairs = npt.NDArray[np.int64]

FORESTS = Folder("2-forest", "{step}-{level}-{number:05d}.arrow")
FOREST = pa.schema([pa.field("row", pa.int64()), pa.field("of", pa.int64())])
PAIRS_AT_ONCE = 1 << 16  # in a batch of a file, whatever the memory they were found in


def write_pairs(path: Path, schema: pa.Schema, pairs: Iterable[Pairs]) -> int:
    """Write (n, 2) pairs as the two columns of a file; return how many there were."""
    n = 0
    with arrow_file(path, schema) as writer:
        for block in _equal_blocks(pairs):
            n += len(block)
            columns = [pa.array(np.ascontiguousarray(block[:, side])) for side in (0, 1)]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return n


def read_pairs(path: Path) -> Iterator[Pairs]:
    """The (n, 2) pairs of a file, some at a time."""
    for batch in open_arrow(path)[0]:
        yield np.column_stack([batch[0], batch[1]])


def trees_between(path: Path, lo: int, hi: int) -> Pairs:
    """The (n, 2) rows of a forest, which ascend, from `lo` to before `hi`."""
    found = [np.empty((0, 2), np.int64)]
    for batch in open_arrow(path)[0]:
        rows = values(batch, "row")
        if rows[-1] >= lo and rows[0] < hi:
            start, stop = np.searchsorted(rows, [lo, hi]).tolist()
            found.append(np.column_stack([rows[start:stop], values(batch, "of")[start:stop]]))
    return np.concatenate(found)


def _equal_blocks(pairs: Iterable[Pairs]) -> Iterator[Pairs]:
    """The pairs in blocks whose size does not depend on how they come, nor on the memory."""
    waiting: list[Pairs] = []
    n = 0
    for found in pairs:
        waiting.append(found)
        n += len(found)
        if n >= PAIRS_AT_ONCE:
            joined = np.concatenate(waiting)
            whole = n - n % PAIRS_AT_ONCE
            for at in range(0, whole, PAIRS_AT_ONCE):
                yield joined[at : at + PAIRS_AT_ONCE]
            waiting = [joined[whole:].copy()]
            n -= whole
    if n:
        yield np.concatenate(waiting)
