"""The spans of documents that repeat items, as rows for whoever wants them all.

FOUND --> n-grams that count --> spans of each item --> OVERLAP
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.arrow_text import text_buffers
from dedup.overlap import Overlaps, overlaps
from pipelines.arrow_files import parquet_file
from pipelines.contamination.benchmark_index import BenchmarkIndex
from pipelines.contamination.found import hits_of
from pipelines.contamination.item_rows import NAMES
from pipelines.schema import SCHEMA_VERSION

EXCERPT_CHARS = 120
EXCERPT_BYTES = 4 * EXCERPT_CHARS  # of UTF-8, at most
PLACE_BITS = 40  # of a key to find a place by: bytes of a document are fewer than 2**40
ROW_GROUP = 1 << 16  # rows kept in memory, some 300 bytes each

OVERLAP = pa.schema(
    [
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("benchmark", pa.string(), nullable=False),
        # "gsm8k:17", the benchmark's row counted from 0
        pa.field("item", pa.string(), nullable=False),
        # UTF-8 bytes of the document's text that repeat the item
        pa.field("start_byte", pa.int64(), nullable=False),
        pa.field("end_byte", pa.int64(), nullable=False),
        pa.field("ngrams", pa.int64(), nullable=False),
        # foldings that it took to see all of the span
        pa.field("foldings", pa.list_(pa.string()), nullable=False),
        pa.field("excerpt", pa.string(), nullable=False),
    ],
    metadata={"tokenmill.schema": f"contamination-overlap/{SCHEMA_VERSION}"},
)


def overlap_rows(
    found: pa.RecordBatch, index: BenchmarkIndex, ignored: npt.NDArray[np.bool_]
) -> pa.RecordBatch:
    """A row of schema OVERLAP for each span of a document that repeats an item.

    found: documents (schema FOUND).
    ignored: (n_grams,) bool, n-grams that count for nothing.
    """
    hits = hits_of(found)
    counted = ~ignored[hits.grams]
    foldings, hits = np.asarray(found["foldings"].flatten())[counted], hits.only(counted)
    spans = overlaps(hits, index.ngrams)
    at, items = index.ngrams.items_of(hits.grams)
    # spans join hits in this order (`dedup.overlap.overlaps`), each as many as it has n-grams
    order = np.lexsort((hits.ends[at], hits.starts[at], items, hits.docs[at]))
    firsts = np.cumsum(spans.ngrams) - spans.ngrams
    needed = np.bitwise_or.reduceat(foldings[at][order], firsts) if len(firsts) else firsts
    names = index.names_of(spans.items)
    docs = pa.array(spans.docs)
    columns = [
        *(found[name].take(docs) for name in ("doc_id", "id", "source")),
        pa.array([name.partition(":")[0] for name in names], pa.string()),
        pa.array(names, pa.string()),
        pa.array(spans.starts),
        pa.array(spans.ends),
        pa.array(spans.ngrams),
        NAMES.take(pa.array(needed)),
        pa.array(_excerpts(found, spans), pa.string()),
    ]
    return pa.record_batch(columns, schema=OVERLAP)


@contextlib.contextmanager
def overlap_file(path: Path) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Write rows of schema OVERLAP, atomically; yields what takes the next ones."""
    with parquet_file(path, OVERLAP) as writer:
        held: list[pa.RecordBatch] = []

        def write(rows: pa.RecordBatch) -> None:
            held.append(rows)
            if sum(batch.num_rows for batch in held) >= ROW_GROUP:
                flush()

        def flush() -> None:
            writer.write_table(pa.Table.from_batches(held, OVERLAP))
            held.clear()

        yield write
        flush()


def _excerpts(found: pa.RecordBatch, spans: Overlaps) -> list[str]:
    """The first characters of each span, on one line."""
    data, offsets = text_buffers(found["passages"].flatten())
    counts = np.diff(found["passages"].offsets)
    first_bytes = found["passage_starts"].flatten().to_numpy()
    begins = (np.repeat(np.arange(len(counts)), counts) << PLACE_BITS) + first_bytes
    # a span lies in the last passage of its document that begins before it
    which = np.searchsorted(begins, (spans.docs << PLACE_BITS) + spans.starts, "right") - 1
    a = offsets[which] + spans.starts - first_bytes[which]
    b = np.minimum(a + EXCERPT_BYTES, a + spans.ends - spans.starts)
    return [
        " ".join(data[i:j].tobytes().decode(errors="ignore").split())[:EXCERPT_CHARS]
        for i, j in zip(a.tolist(), b.tolist(), strict=True)
    ]
