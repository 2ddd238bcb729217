"""In how many documents of the corpus each n-gram stands: exact, sparse, on disk.

FOUND of each shard --document_counts--> added up batch by batch --> counts.arrow
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.gram_counts import GramCounts, document_counts, frequent, total
from tokenmill.pipelines.arrow_files import arrow_file
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.found import hits_of
from tokenmill.pipelines.sidecar import open_arrow

COUNTS = pa.schema(
    [
        pa.field("gram", pa.int64(), nullable=False),  # index into the n-grams of the index
        pa.field("docs", pa.int64(), nullable=False),
    ]
)


def count_corpus(founds: Iterable[pa.RecordBatch], n_grams: int) -> GramCounts:
    """Count the documents that have each n-gram, holding one batch at a time.

    founds: of schema FOUND; no document may be in two of them.
    n_grams: of the index.
    """
    return total((document_counts(hits_of(found)) for found in founds), n_grams)


def save_counts(path: Path, counts: GramCounts) -> None:
    """Write the counts, atomically."""
    with arrow_file(path, COUNTS) as writer:
        writer.write_batch(pa.record_batch(list(map(pa.array, counts)), schema=COUNTS))


def load_counts(path: Path) -> GramCounts:
    """Map saved counts into memory."""
    (batch,) = open_arrow(path)[0]
    return GramCounts(*(np.asarray(batch[name]) for name in COUNTS.names))


def ignored_grams(index: BenchmarkIndex, counts: GramCounts) -> npt.NDArray[np.bool_]:
    """(n_grams,) bool: the n-grams that count for nothing, here or anywhere."""
    most = index.matching.most_docs
    if most is None:
        return index.ignored
    return index.ignored | frequent(counts, index.ngrams, most_docs=most)
