"""Which items a corpus has copies of, edited or not, and where the best of them stand."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.fold import names_of
from pipelines.contamination.benchmark_index import BenchmarkIndex
from pipelines.contamination.copies import COPY
from pipelines.contamination.examples import best_of

MOST_CHARS = 4000  # of a copy, and of an item
OF_DOCUMENT = ("doc_id", "id", "source", "containment", "start_byte", "end_byte")


class CopyAnalysis:
    """What has been found so far.

    item_docs: (n_items,) int64, documents that have a copy of each item.
    containment: (n_items,) float64, of the best copy; 0 where there is none.
    examples: rows of schema COPY, the best of each item.
    """

    def __init__(self, n_items: int) -> None:
        self.item_docs = np.zeros(n_items, np.int64)
        self.containment = np.zeros(n_items)
        self.examples = COPY.empty_table()

    def add(self, copies: pa.RecordBatch) -> None:
        """Take in the copies in some documents (schema COPY); no document may come twice."""
        items, shares = np.asarray(copies["item"]), np.asarray(copies["containment"])
        self.item_docs += np.bincount(items, minlength=len(self.item_docs))
        np.maximum.at(self.containment, items, shares)
        both = pa.concat_tables([self.examples, pa.Table.from_batches([copies])])
        items, shares, doc_ids = (np.asarray(both[c]) for c in ("item", "containment", "doc_id"))
        kept = best_of(items, shares, doc_ids, 1)
        self.examples = both.take(pa.array(kept)).combine_chunks()

    def edited(self, item_docs: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """(n_items,) the items that have a copy, but of whose n-grams none that counts was found.

        Such copies are edited, or stand in so many documents that their n-grams do not count.

        item_docs: (n_items,) documents that have n-grams of each item which count.
        """
        unseen: npt.NDArray[np.bool_] = item_docs == 0
        return unseen & (self.item_docs > 0)


def summarize_edited(
    index: BenchmarkIndex, copies: CopyAnalysis, edited: npt.NDArray[np.bool_], most: int
) -> list[dict[str, Any]]:
    """Edited items beside the document that has the best copy, as plain JSON data.

    edited: (n_items,) bool.
    most: items of a benchmark; those with most of them left come first.
    """
    some = copies.examples.filter(pa.array(edited[np.asarray(copies.examples["item"])]))
    items = np.asarray(some["item"])
    which = np.searchsorted(index.texts.starts, items, "right") - 1
    best = best_of(which, np.asarray(some["containment"]), np.asarray(some["doc_id"]), most)
    return [
        {
            "benchmark": name.partition(":")[0],
            "item": name,
            "documents": int(copies.item_docs[row["item"]]),
            **{key: row[key] for key in OF_DOCUMENT},
            "foldings": list(names_of(row["foldings"])),
            "before": row["before"],
            "match": row["match"][:MOST_CHARS],
            "after": row["after"],
            "item_text": {"text": index.texts.texts[row["text"]].as_py()[:MOST_CHARS], "spans": []},
        }
        for name, row in zip(
            index.names_of(items[best]), some.take(pa.array(best)).to_pylist(), strict=True
        )
    ]
