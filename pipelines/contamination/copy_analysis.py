"""Which items a corpus has copies of, edited or not, and where the best of them stand."""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.fold import names_of
from tokenmill.pipelines.contamination.analysis import MOST_DOCUMENTS
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.copies import COPY
from tokenmill.pipelines.contamination.copy_passages import copy_passage
from tokenmill.pipelines.contamination.examples import BestRows, best_of

MOST_CHARS = 4000  # of a copy, and of an item
OF_DOCUMENT = ("doc_id", "id", "source", "containment", "start_byte", "end_byte")


WORST_EDITED = pa.schema(
    [
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        # edited items that it has a copy of, and the containment of the best copy
        pa.field("items", pa.int64(), nullable=False),
        pa.field("containment", pa.float64(), nullable=False),
    ]
)


class CopyAnalysis:
    """What has been found so far.

    Items are edited that have a copy, but of whose n-grams none that counts was found.

    item_docs: (n_items,) int64, documents that have a copy of each item.
    containment: (n_items,) float64, of the best copy; 0 where there is none.
    benchmark_docs: (n_benchmarks,) int64, documents that have a copy of an edited item.
    sources: the same by source.
    worst: rows of schema WORST_EDITED: the documents with most such items.
    """

    def __init__(self, starts: npt.NDArray[np.int64], unseen: npt.NDArray[np.bool_]) -> None:
        """starts: first item of each benchmark.  unseen: (n_items,) may be edited."""
        self._starts, self._unseen = starts, unseen
        self.item_docs = np.zeros(len(unseen), np.int64)
        self.containment = np.zeros(len(unseen))
        self._examples = BestRows(COPY, "containment", 1)
        self.benchmark_docs = np.zeros(len(starts), np.int64)
        self.sources: Counter[str] = Counter()
        self.worst = WORST_EDITED.empty_table()

    def add(self, copies: pa.RecordBatch) -> None:
        """Take in the copies in some documents (schema COPY); no document may come twice."""
        items, shares = np.asarray(copies["item"]), np.asarray(copies["containment"])
        self.item_docs += np.bincount(items, minlength=len(self.item_docs))
        np.maximum.at(self.containment, items, shares)
        self._examples.add(pa.Table.from_batches([copies]))
        self._count_documents(copies.filter(pa.array(self._unseen[np.asarray(copies["item"])])))

    @property
    def examples(self) -> pa.Table:
        """Rows of schema COPY by item, the best of each."""
        return self._examples.table()

    def edited(self) -> npt.NDArray[np.bool_]:
        """(n_items,) the edited items."""
        return self._unseen & (self.item_docs > 0)

    def _count_documents(self, edited: pa.RecordBatch) -> None:
        """edited: copies of edited items (schema COPY)."""
        which = np.searchsorted(self._starts, np.asarray(edited["item"]), "right") - 1
        rows = np.unique(np.asarray(edited["doc_id"]), return_inverse=True)[1]
        n = len(self._starts)
        self.benchmark_docs += np.bincount(np.unique(rows * n + which) % n, minlength=n)
        by = ["doc_id", "id", "source"]
        docs = pa.Table.from_batches([edited]).group_by(by, use_threads=False)
        docs = docs.aggregate([("item", "count"), ("containment", "max")])
        self.sources.update(docs["source"].to_pylist())
        docs = docs.rename_columns([*by, "items", "containment"]).cast(WORST_EDITED)
        order = [("items", "descending"), ("containment", "descending"), ("doc_id", "ascending")]
        both = pa.concat_tables([self.worst, docs]).sort_by(order)
        self.worst = both.slice(0, MOST_DOCUMENTS).combine_chunks()


def summarize_edited(
    index: BenchmarkIndex, copies: CopyAnalysis, most: int
) -> list[dict[str, Any]]:
    """Edited items beside the document that has the best copy, as plain JSON data.

    most: items of a benchmark; those with most of them left come first.
    """
    some = copies.examples.filter(pa.array(copies.edited()[np.asarray(copies.examples["item"])]))
    items = np.asarray(some["item"])
    which = np.searchsorted(index.texts.starts, items, "right") - 1
    best = best_of(which, np.asarray(some["containment"]), np.asarray(some["doc_id"]), most)
    rows = some.take(pa.array(best)).to_pylist()
    return [
        {
            "benchmark": name.partition(":")[0],
            "item": name,
            "documents": int(copies.item_docs[row["item"]]),
            **_side_by_side(row, index),
        }
        for name, row in zip(index.names_of(items[best]), rows, strict=True)
    ]


def _side_by_side(row: dict[str, Any], index: BenchmarkIndex) -> dict[str, Any]:
    """row: of schema COPY.  The bytes are of `match`, which may reach farther than the row's."""
    item, match = index.texts.texts[row["text"]].as_py()[:MOST_CHARS], row["match"][:MOST_CHARS]
    shown = copy_passage(item, row["before"], match, row["after"], index.folding)
    return {
        **{key: row[key] for key in OF_DOCUMENT},
        "start_byte": row["start_byte"] - _lost(row["before"], shown.before),
        "end_byte": row["end_byte"] + _lost(row["after"], shown.after),
        "foldings": list(names_of(row["foldings"])),
        **{"before": shown.before, "match": shown.match, "after": shown.after},
        "item_text": {"text": item, "spans": [list(span) for span in shown.spans]},
    }


def _lost(whole: str, left: str) -> int:
    """UTF-8 bytes."""
    return len(whole.encode()) - len(left.encode())
