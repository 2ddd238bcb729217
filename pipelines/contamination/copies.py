"""Copies of items in documents, edited or not: what n-grams in a row do not find.

folded batch ─ contained ─► the best stretch of each document and item ─► COPY, in source bytes
COPY of every shard ─ add ─► CopyAnalysis: which items have edited copies, where the best stand
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tokenmill.dedup.arrays import I64, Bools, text_buffers
from tokenmill.dedup.overlap.containment import SHORT_THRESHOLD, THRESHOLD, contained
from tokenmill.dedup.overlap.containment_index import ContainmentIndex
from tokenmill.dedup.text.fold import Folded, fold
from tokenmill.pipelines.contamination.analysis import MOST_DOCUMENTS, BestRows
from tokenmill.pipelines.contamination.found import IDS, excerpts
from tokenmill.pipelines.contamination.index import ItemTexts
from tokenmill.pipelines.contamination.items.spec import WHOLE
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.schema import needed, versioned

COPY = versioned(
    "copy",
    *IDS,
    # which item, and which of the item texts of the index
    *needed(item=pa.int64(), text=pa.int64()),
    # share of the text's word pairs that the stretch of the document has, or of words in place
    *needed(containment=pa.float64()),
    # bits of the foldings (`dedup.text.fold.FOLDINGS`) that it took to see all of the stretch
    *needed(foldings=pa.uint8()),
    # UTF-8 bytes of the document's text
    *needed(start_byte=pa.int64(), end_byte=pa.int64()),
    *needed(before=pa.string(), match=pa.string(), after=pa.string()),
)

Share = Annotated[float, Field(gt=0, le=1)]


class Copies(Config):
    """From which containment on a stretch of a document is a copy (`dedup.overlap.containment`).

    threshold: of texts of some 20 words and more; those a little shorter, and those of Thai and
        its like, need .6 at least.
    short_threshold: of shorter texts.
    """

    threshold: Share = THRESHOLD
    short_threshold: Share = SHORT_THRESHOLD


def index_copies(texts: ItemTexts, contexts: Bools | None = None) -> ContainmentIndex:
    """Index the word pairs of items, for copies; contexts: (n_texts,) bool of `shares.Units`."""
    return ContainmentIndex.build(
        fold(texts.texts, texts.folding).text,
        texts.items,
        benchmark_starts=texts.starts,
        n_items=len(texts.lengths),
        gram_words=texts.words,
        contexts=contexts,
    )


def find_copies(
    batch: pa.RecordBatch, folded: Folded, index: ContainmentIndex, least: Copies, source: str
) -> pa.RecordBatch:
    """A row of schema COPY for each document and item that it has a copy of: the best copy.

    Only where a document has nothing else of an item it is one of a context.

    batch: documents (schema DOCUMENT).
    folded: their texts, folded as the items were.
    source: that of the batch's shard.
    """
    found = contained(
        folded.text, index, threshold=least.threshold, short_threshold=least.short_threshold
    )
    is_context = index.contexts[found.texts]
    best_first = np.lexsort((found.texts, -found.containment, is_context, found.items, found.docs))
    pairs = np.stack([found.docs, found.items])[:, best_first]
    best = best_first[np.unique(pairs, axis=1, return_index=True)[1]]
    columns = [column[best] for column in (found.items, found.texts, found.containment)]
    places = (found.docs[best], found.starts[best], found.ends[best])
    return stretches(batch, folded, places, columns, COPY, source)


def stretches(
    batch: pa.RecordBatch,
    folded: Folded,
    places: tuple[I64, I64, I64],
    columns: Sequence[npt.NDArray[Any]],
    schema: pa.Schema,
    source: str,
) -> pa.RecordBatch:
    """Rows of a schema like COPY: stretches of documents, as these were before they were folded.

    places: (n,) int64 each: rows of the batch, bytes of the folded text from and to.
    columns: (n,) each, those of the schema between the source and the foldings.
    """
    docs = places[0]
    spans = folded.source_spans(*places)
    data, offsets = text_buffers(batch["text"])
    begins, stops = offsets[docs], offsets[docs + 1]
    rows = pa.array(docs)
    arrays = [
        batch["doc_id"].take(rows),
        batch["id"].take(rows),
        pa.repeat(source, len(docs)),
        *map(pa.array, columns),
        pa.array(spans.foldings),
        pa.array(spans.starts),
        pa.array(spans.ends),
        *excerpts(data, begins + spans.starts, begins + spans.ends, begins=begins, ends=stops),
    ]
    return pa.record_batch(arrays, schema=schema)


def passages(texts: ItemTexts, contexts: Bools | None) -> I64:
    """(n_items,) equal, from 0 on, for items mostly one context; contexts: as `index_copies`."""
    if contexts is None:
        return -1 - np.arange(len(texts.lengths))
    sizes, items = text_buffers(texts.texts).lengths, texts.items
    longest = np.zeros(len(texts.lengths), np.int64)
    np.maximum.at(longest, items, sizes)
    mostly = contexts & (2 * sizes > longest[items])
    about = -1 - np.arange(len(longest))
    about[items[mostly]] = np.asarray(texts.texts.dictionary_encode().indices)[mostly]
    return about


def best_explained(
    copies: pa.RecordBatch, texts: ItemTexts, dirty: Bools, about: I64
) -> pa.RecordBatch:
    """Copies (schema COPY) without those of which half is a better copy of another item.

    Items that are made from one template are copies of one another: of a benchmark's items that a
    stretch of a document may be a copy of, it is one of that which it has most of. But all of an
    item, passage and question, is told beside others about the passage: each has its own question.

    copies: all of some documents.
    dirty: (n_items,) bool, items that of two with equal copies it is one of.
    about: (n_items,), of `passages`.
    """
    items = np.asarray(copies["item"])
    shares = np.asarray(copies["containment"]) + 1e-6 * dirty[items]
    starts, ends = np.asarray(copies["start_byte"]), np.asarray(copies["end_byte"])
    is_whole = texts.roles[np.asarray(copies["text"])] == WHOLE
    about = np.where(is_whole, about[items], -1 - items)
    docs = np.unique(np.asarray(copies["doc_id"]), return_inverse=True)[1]
    # one behind the other as if each benchmark had its documents, and all were one text
    far = (docs * len(texts.starts) + texts.benchmarks_of(items)) * (ends.max(initial=0) + 1)
    starts, ends = starts + far, ends + far
    runs = _runs(starts, ends)
    order = np.lexsort((-shares, runs))
    bounds = np.flatnonzero(np.diff(runs[order], prepend=-1, append=-1))
    best = np.ones(len(items), bool)
    for first, end in pairwise(bounds.tolist()):
        rows = order[first:end]
        for n, row in enumerate(rows[1:].tolist(), 1):
            others = rows[:n]
            others = others[(shares[others] > shares[row]) & (about[others] != about[row])]
            common = np.minimum(ends[others], ends[row]) - np.maximum(starts[others], starts[row])
            best[row] = not (2 * common >= ends[row] - starts[row]).any()
    return copies.filter(pa.array(best))


def _runs(starts: I64, ends: I64) -> I64:
    """(n,) int64, equal for stretches that overlap, or are linked by others that do."""
    order = np.argsort(starts)
    reach = np.maximum.accumulate(ends[order])
    apart = starts[order][1:] >= reach[:-1]
    runs = np.zeros(len(order), np.int64)
    runs[order[1:]] = np.cumsum(apart)
    return runs


WORST_EDITED = pa.schema(
    [
        *IDS,
        # edited items that it has a copy of, and the containment of the best copy
        *needed(items=pa.int64(), containment=pa.float64()),
    ]
)


class CopyAnalysis:
    """Counts of edited items, documents and sources, from all COPY rows that were added.

    An item is edited if it has a copy, but is neither dirty nor widespread. So are paraphrases
    counted (`pipelines.contamination.paraphrases`), of items that are not edited either.

    item_docs: (n_items,) int64, documents that have a copy of each item.
    containment: (n_items,) float64, of the best copy; 0 where there is none.
    benchmark_docs: (n_benchmarks,) int64, documents that have a copy of an edited item.
    sources: these documents by source.
    worst: rows of schema WORST_EDITED: the documents with copies of most edited items.
    """

    def __init__(self, texts: ItemTexts, unseen: Bools, schema: pa.Schema = COPY) -> None:
        """unseen: (n_items,) bool, items that are edited if they have a copy."""
        self._texts, self._unseen = texts, unseen
        self.item_docs = np.zeros(len(unseen), np.int64)
        self.containment = np.zeros(len(unseen))
        self._examples = BestRows(schema, "containment", 1)
        self.benchmark_docs = np.zeros(len(texts.starts), np.int64)
        self.sources: Counter[str] = Counter()
        self.worst = WORST_EDITED.empty_table()

    def add(self, copies: pa.RecordBatch) -> None:
        """Add the copies in some documents (schema COPY); no document may come twice."""
        items, shares = np.asarray(copies["item"]), np.asarray(copies["containment"])
        self.item_docs += np.bincount(items, minlength=len(self.item_docs))
        np.maximum.at(self.containment, items, shares)
        self._examples.add(pa.Table.from_batches([copies]))
        self._count_documents(copies.filter(pa.array(self._unseen[np.asarray(copies["item"])])))

    @property
    def examples(self) -> pa.Table:
        """Rows of the schema by item, the best of each."""
        return self._examples.table()

    def edited(self) -> Bools:
        return self._unseen & (self.item_docs > 0)

    def _count_documents(self, edited: pa.RecordBatch) -> None:
        """edited: copies of edited items (schema COPY)."""
        which = self._texts.benchmarks_of(np.asarray(edited["item"]))
        rows = np.unique(np.asarray(edited["doc_id"]), return_inverse=True)[1]
        n = len(self.benchmark_docs)
        self.benchmark_docs += np.bincount(np.unique(rows * n + which) % n, minlength=n)
        by = ["doc_id", "id", "source"]
        docs = pa.Table.from_batches([edited]).group_by(by, use_threads=False)
        docs = docs.aggregate([("item", "count"), ("containment", "max")])
        self.sources.update(docs["source"].to_pylist())
        docs = docs.rename_columns([*by, "items", "containment"]).cast(WORST_EDITED)
        order = [("items", "descending"), ("containment", "descending"), ("doc_id", "ascending")]
        both = pa.concat_tables([self.worst, docs]).sort_by(order)
        self.worst = both.slice(0, MOST_DOCUMENTS).combine_chunks()


def with_edited(
    found: dict[str, Any], widespread: Sequence[str], overlaps: Iterable[pa.Table]
) -> None:
    """Tell apart, of a summary's items without n-grams, those of which a copy was taken out.

    found: the summary, which saw n-grams alone.  widespread: names of its widespread items.
    overlaps: columns doc_id, source, item and kind of all that was taken out.
    """
    copies, others = list[dict[str, Any]](), set(widespread)
    for rows in overlaps:
        is_copy = pc.equal(rows["kind"], "copy")
        others.update(pc.unique(rows["item"].filter(pc.invert(is_copy))).to_pylist())
        copies += rows.filter(is_copy).to_pylist()
    docs, sources = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    for row in copies:
        if row["item"] not in others:
            docs[row["item"]].add(row["doc_id"])
            sources[row["source"]].add(row["doc_id"])
    found["settings"]["copies"] = Copies().model_dump()
    for benchmark in found["benchmarks"]:
        begins = f"{benchmark['name']}:"
        edited = [of for item, of in docs.items() if item.startswith(begins)]
        benchmark["edited"] = len(edited)
        benchmark["edited_docs"] = len(set().union(*edited))
        benchmark["clean"] -= len(edited)
    new = sorted(sources.keys() - {of["source"] for of in found["sources"]})
    found["sources"] += [{"source": name, "docs": 0, "pairs": 0} for name in new]
    for source in found["sources"]:
        source["edited_docs"] = len(sources[source["source"]])
