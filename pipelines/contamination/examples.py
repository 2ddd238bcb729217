"""Documents that show what of an item was found: the longest match, and the text around it."""

from bisect import bisect_right
from typing import NamedTuple

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
        # bits of the foldings (`dedup.fold.FOLDINGS`) that it took to see them all
        pa.field("foldings", pa.uint8(), nullable=False),
        # spans of the document that have them; UTF-8 bytes of the longest
        pa.field("spans", pa.int64(), nullable=False),
        pa.field("start_byte", pa.int64(), nullable=False),
        pa.field("end_byte", pa.int64(), nullable=False),
        pa.field("before", pa.string(), nullable=False),
        pa.field("match", pa.string(), nullable=False),
        pa.field("after", pa.string(), nullable=False),
    ]
)


class Pairs(NamedTuple):
    """Pairs of a document and an item that has a span in it.

    rows, items: (n,) int64, rows of the documents, and items.
    ngrams, shares: (n,), n-grams of the item that the document has, and their share.
    foldings: (n,) uint8, bits of those that it took to see them all.
    """

    rows: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]
    ngrams: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    foldings: npt.NDArray[np.uint8]

    def only(self, wanted: npt.NDArray[np.int64]) -> "Pairs":
        """Those at the places `wanted`."""
        return Pairs(
            self.rows[wanted],
            self.items[wanted],
            self.ngrams[wanted],
            self.shares[wanted],
            self.foldings[wanted],
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


def examples_of(found: pa.RecordBatch, spans: Overlaps, chosen: Pairs) -> pa.Table:
    """A row of schema EXAMPLE for each pair of a document and an item.

    found: documents (schema FOUND).
    spans: of all of `found` and all items.
    chosen: the pairs, whose rows are those of `found`.
    """
    rows, items = chosen.rows, chosen.items
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
        pa.array(chosen.ngrams),
        pa.array(chosen.shares),
        pa.array(chosen.foldings),
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
