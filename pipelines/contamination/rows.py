"""What a search leaves for further analysis: a row for every item, and for every repeated span.

Analysis, CopyAnalysis ──► ITEM
FOUND ─ n-grams that count ─► spans of each item ──► OVERLAP, kind "ngrams"
COPY ─ of items of which the document has no such span ─► OVERLAP, kind "copy"
PARAPHRASE ─ of items of which it has neither ─► OVERLAP, kind "paraphrase" or "sibling"
"""

import contextlib
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.dedup.overlap.find import Overlaps, overlaps
from tokenmill.dedup.text.fold import FOLDINGS, names_of
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.copies import CopyAnalysis
from tokenmill.pipelines.contamination.found import IDS, hits_of, parts_of, places_of
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.paraphrases import siblings
from tokenmill.pipelines.contamination.shares import Shares
from tokenmill.pipelines.core.schema import needed, versioned
from tokenmill.pipelines.storage.files import parquet_file

# of CLEAN, DIRTY, UNTESTABLE, SOME, ONLY_CONTEXT, EDITED
STATUS = ("clean", "dirty", "untestable", "some", "only_context", "edited", "widespread")
WIDESPREAD = STATUS.index("widespread")  # clean, but only for standing in too many documents

ITEM = versioned(
    "contamination-item",
    # "gsm8k:17", the benchmark's row counted from 0
    *needed(item=pa.string(), benchmark=pa.string()),
    # of `STATUS`; untestable items with documents were found as a whole
    *needed(status=pa.string()),
    # of its longest text
    *needed(words=pa.int64()),
    # share of its own n-grams that one document has; by the published verdict, of those that
    # count and stand anywhere in the corpus
    *needed(found_frac=pa.float64()),
    # documents that make it dirty, or have it as a whole
    *needed(docs=pa.int64()),
    # of widespread items, documents that have their n-grams in too many documents; else 0
    *needed(widespread_docs=pa.int64()),
    # the fewest foldings that it took to see any of them
    *needed(foldings=pa.list_(pa.string())),
    # of its best copy in any document, edited or not, and how many have one; 0 if none has
    *needed(containment=pa.float64(), copy_docs=pa.int64()),
    # of the window that may have it in other words, the share by weight of its words; how many
    # documents have one; 0 if none has, and unless they were looked for
    *needed(paraphrase=pa.float64(), paraphrase_docs=pa.int64()),
)


@cache
def foldings_by_bits() -> pa.Array:
    """(2**n_foldings,) list<string>: the foldings that the bits of a row's number name."""
    # not at import: Arrow imports pandas for the first array that it makes of a list, 0.2 s
    return pa.array([names_of(bits) for bits in range(1 << len(FOLDINGS))], pa.list_(pa.string()))


def item_rows(
    index: BenchmarkIndex, analysis: Analysis, copies: CopyAnalysis, others: CopyAnalysis
) -> pa.RecordBatch:
    """A row of schema ITEM for each item, in order.  others: of paraphrases."""
    items = np.arange(len(index.texts.lengths))
    names = index.names_of(items)
    status = np.where(analysis.widespread(), WIDESPREAD, analysis.status(copies.edited()))
    columns = [
        pa.array(names, pa.string()),
        pa.array([name.partition(":")[0] for name in names], pa.string()),
        pa.array(STATUS).take(pa.array(status)),
        pa.array(index.texts.lengths),
        pa.array(analysis.found_frac()),
        pa.array(analysis.item_docs),
        pa.array(analysis.widespread_docs()),
        foldings_by_bits().take(pa.array(analysis.foldings())),
        pa.array(copies.containment),
        pa.array(copies.item_docs),
        pa.array(others.containment),
        pa.array(others.item_docs),
    ]
    return pa.record_batch(columns, schema=ITEM)


EXCERPT_CHARS = 120
EXCERPT_BYTES = 4 * EXCERPT_CHARS  # of UTF-8, at most
ROW_GROUP = 1 << 16  # rows kept in memory, some 300 bytes each
HELD_BATCHES = 1 << 10  # kept in memory, some 4 KB each however few rows they have

OVERLAP = versioned(
    "contamination-overlap",
    *IDS,
    *needed(benchmark=pa.string()),
    # "gsm8k:17", the benchmark's row counted from 0
    *needed(item=pa.string()),
    # "ngrams": n-grams of the item that count.  "copy": a stretch with many of its pairs of
    # words, edited or of an item whose n-grams stand in too many documents to count.
    # "paraphrase": a stretch with most of its words, in any order.  "sibling": but with other
    # numbers
    *needed(kind=pa.string()),
    # UTF-8 bytes of the document's text that repeat the item
    *needed(start_byte=pa.int64(), end_byte=pa.int64()),
    # n-grams of the span; null of others
    pa.field("ngrams", pa.int64()),
    # share of the item's pairs of words, of paraphrases of its words; null of n-grams
    pa.field("containment", pa.float64()),
    # foldings that it took to see all of the span
    *needed(foldings=pa.list_(pa.string()), excerpt=pa.string()),
)

Pair: TypeAlias = tuple[int, str]  # a document's doc_id, and the name of an item


def overlap_rows(
    found: pa.RecordBatch, index: BenchmarkIndex, ignored: Bools, shares: Shares | None = None
) -> Iterator[pa.RecordBatch]:
    """A row of schema OVERLAP for each span of a document that repeats an item.

    Yields at most ROW_GROUP rows at once.

    found: documents (schema FOUND).
    ignored: (n_grams,) bool, n-grams that do not count.
    shares: only pairs of document and item with a share above 0 get rows; None: all do.
    """
    for part in parts_of(found, index.ngrams):
        foldings = np.asarray(part["foldings"].flatten())
        hits = hits_of(part)
        counted = ~ignored[hits.grams]
        hits = hits.only(counted)
        spans = overlaps(hits, index.ngrams, marks=foldings[counted])
        if shares is not None:
            pairs = shares.of(hits)
            at = pairs.at(spans.docs, spans.items)
            has_some = np.append(pairs.shares, 0.0)[at] > 0
            spans = spans.only(has_some)
        texts, which = _excerpts(part, spans)
        for first in range(0, len(which), ROW_GROUP):
            some = slice(first, first + ROW_GROUP)
            docs, items, starts, ends, ngrams, marks = (column[some] for column in spans)
            names = index.names_of(items)
            columns = [
                *(part[name].take(pa.array(docs)) for name in ("doc_id", "id", "source")),
                pa.array([name.partition(":")[0] for name in names], pa.string()),
                pa.array(names, pa.string()),
                pa.repeat("ngrams", len(names)),
                *map(pa.array, (starts, ends, ngrams)),
                pa.nulls(len(names), pa.float64()),
                foldings_by_bits().take(pa.array(marks)),
                texts.take(pa.array(which[some])),
            ]
            yield pa.record_batch(columns, schema=OVERLAP)


def copy_rows(
    copies: pa.RecordBatch, index: BenchmarkIndex, told: AbstractSet[Pair]
) -> pa.RecordBatch:
    """A row of schema OVERLAP for each copy of an item in a document; copies are few.

    copies: in documents (schema COPY).
    told: pairs that have a row already, and get none.
    """
    return _stretch_rows(copies, pa.repeat("copy", copies.num_rows), index, told)


def paraphrase_rows(
    found: pa.RecordBatch, index: BenchmarkIndex, told: AbstractSet[Pair]
) -> pa.RecordBatch:
    """A row of schema OVERLAP for each of `found` (PARAPHRASE); told: as of `copy_rows`."""
    kinds = pa.array(["paraphrase", "sibling"]).take(pa.array(siblings(found).astype(np.int8)))
    return _stretch_rows(found, kinds, index, told)


def _stretch_rows(
    found: pa.RecordBatch, kinds: pa.Array, index: BenchmarkIndex, told: AbstractSet[Pair]
) -> pa.RecordBatch:
    names = index.names_of(np.asarray(found["item"]))
    columns = [
        *(found[name] for name in ("doc_id", "id", "source")),
        pa.array([name.partition(":")[0] for name in names], pa.string()),
        pa.array(names, pa.string()),
        kinds,
        *(found[name] for name in ("start_byte", "end_byte")),
        pa.nulls(len(names), pa.int64()),
        found["containment"],
        foldings_by_bits().take(found["foldings"]),
        pa.array([_on_one_line(match) for match in found["match"].to_pylist()], pa.string()),
    ]
    rows = pa.record_batch(columns, schema=OVERLAP)
    return rows.filter(pa.array([pair not in told for pair in pairs_of(rows)], pa.bool_()))


def pairs_of(rows: pa.RecordBatch) -> list[Pair]:
    """The document and the item of each row (schema OVERLAP)."""
    return list(zip(rows["doc_id"].to_pylist(), rows["item"].to_pylist(), strict=True))


@contextlib.contextmanager
def overlap_file(path: Path) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Write a file of schema OVERLAP, atomically; yields a function that takes the next rows."""
    with parquet_file(path, OVERLAP) as writer:
        held: list[pa.RecordBatch] = []
        n_held = 0

        def write(rows: pa.RecordBatch) -> None:
            nonlocal n_held
            if rows.num_rows == 0:
                return
            held.append(rows)
            n_held += rows.num_rows
            if n_held >= ROW_GROUP:
                flush()
            elif len(held) >= HELD_BATCHES:
                held[:] = pa.Table.from_batches(held, OVERLAP).combine_chunks().to_batches()

        def flush() -> None:
            nonlocal n_held
            n_held = 0
            writer.write_table(pa.Table.from_batches(held, OVERLAP))
            held.clear()

        yield write
        flush()


def _excerpts(found: pa.RecordBatch, spans: Overlaps) -> tuple[pa.Array, I64]:
    """First characters of spans, on one line, shared ones once; and (n_spans,) which each has."""
    data, at, *_ = places_of(found, spans.docs, spans.starts)
    lengths = np.minimum(spans.ends - spans.starts, EXCERPT_BYTES)
    keys, which = np.unique(at * (EXCERPT_BYTES + 1) + lengths, return_inverse=True)
    excerpts = [
        _on_one_line(data[i : i + n].tobytes().decode(errors="ignore"))
        for i, n in zip(*(k.tolist() for k in np.divmod(keys, EXCERPT_BYTES + 1)), strict=True)
    ]
    return pa.array(excerpts, pa.string()), which


def _on_one_line(text: str) -> str:
    return " ".join(text.split())[:EXCERPT_CHARS]
