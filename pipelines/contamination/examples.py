"""Documents that show what of an item was found: the longest match, and the text around it."""

from bisect import bisect_right

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.overlap import Overlaps
from pipelines.contamination.found import CONTEXT_BYTES

EXAMPLE = pa.schema(
    [
        pa.field("item", pa.int64(), nullable=False),
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        # n-grams of the item that the document has, and their share of all that count
        pa.field("ngrams", pa.int64(), nullable=False),
        pa.field("found_frac", pa.float64(), nullable=False),
        # spans of the document that have them; UTF-8 bytes of the longest
        pa.field("spans", pa.int64(), nullable=False),
        pa.field("start_byte", pa.int64(), nullable=False),
        pa.field("end_byte", pa.int64(), nullable=False),
        pa.field("before", pa.string(), nullable=False),
        pa.field("match", pa.string(), nullable=False),
        pa.field("after", pa.string(), nullable=False),
    ]
)


def best_of(
    items: npt.NDArray[np.int64],
    shares: npt.NDArray[np.float64],
    doc_ids: npt.NDArray[np.uint64],
    most: int,
) -> npt.NDArray[np.int64]:
    """Rows of the `most` best of each item: the greatest shares, then the first documents.

    Returns them by item, the best first.
    """
    order = np.lexsort((doc_ids, -shares, items))
    by_item = items[order]
    rank = np.arange(len(order)) - np.searchsorted(by_item, by_item)
    return order[rank < most]


def examples_of(
    found: pa.RecordBatch,
    spans: Overlaps,
    rows: npt.NDArray[np.int64],
    items: npt.NDArray[np.int64],
    n_grams: npt.NDArray[np.int64],
    shares: npt.NDArray[np.float64],
) -> pa.Table:
    """A row of schema EXAMPLE for each pair of a document and an item.

    found: documents (schema FOUND).
    spans: of all of `found` and all items.
    rows, items: (n,) int64, the pairs: rows of `found`, and items that have a span in them.
    n_grams, shares: (n,), of each pair.
    """
    longest_first = np.lexsort((spans.starts, spans.starts - spans.ends, spans.items, spans.docs))
    pairs, first, counts = np.unique(
        np.stack([spans.docs, spans.items])[:, longest_first],
        axis=1,
        return_index=True,
        return_counts=True,
    )
    width = int(max(pairs[1].max(), items.max())) + 1 if len(items) else 1
    at = np.searchsorted(pairs[0] * width + pairs[1], rows * width + items)
    longest = longest_first[first[at]]
    starts, ends = spans.starts[longest], spans.ends[longest]
    columns = [
        pa.array(items),
        *(found[name].take(pa.array(rows)) for name in ("doc_id", "id", "source")),
        pa.array(n_grams),
        pa.array(shares),
        pa.array(counts[at]),
        pa.array(starts),
        pa.array(ends),
        *_excerpts(found, rows, starts, ends),
    ]
    return pa.table(columns, schema=EXAMPLE)


def _excerpts(
    found: pa.RecordBatch,
    rows: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
) -> list[pa.Array]:
    """The text before, in and after each span; an item has few examples, so this is a loop."""
    parts = []
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        passage_starts = found["passage_starts"][row].as_py()
        which = bisect_right(passage_starts, start) - 1
        text = found["passages"][row].values[which].as_py().encode()
        a, b = start - passage_starts[which], end - passage_starts[which]
        around = text[max(a - CONTEXT_BYTES, 0) : a], text[a:b], text[b : b + CONTEXT_BYTES]
        parts.append([part.decode(errors="ignore") for part in around])
    return [pa.array(column, pa.string()) for column in zip(*parts, strict=True)] or [
        pa.array([], pa.string())
    ] * 3
