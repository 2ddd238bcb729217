"""Documents that have n-grams of benchmark items, kept until the whole corpus has been searched.

    batch ─ fold, find ─► hits ─ back to the source ─► FOUND: documents, and the text around hits
    FOUND of all shards ─ count_corpus ─► counts.arrow: in how many documents each n-gram stands

Which n-grams are ignored is known once all shards have been searched; the text is kept here so
that no document need be read again to show what was found in it.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8, Bools, parts, read_only, text_buffers
from tokenmill.dedup.kernels.overlap import merge_spans
from tokenmill.dedup.overlap.counts import GramCounts, document_counts, frequent, total
from tokenmill.dedup.overlap.cut import Pieces, piece_texts
from tokenmill.dedup.overlap.find import MOST_PAIRS, Hits, find
from tokenmill.dedup.overlap.index import NgramIndex
from tokenmill.dedup.text.fold import Folded, fold
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.core.schema import DOCUMENT, needed, versioned
from tokenmill.pipelines.storage.files import arrow_file, open_arrow

CONTEXT_BYTES = 240  # of text kept on each side of a hit
PLACE_BITS = 40  # of a key to find a place by: bytes of a document are fewer than 2**40

IDS = (  # of a document, in every table of what was found
    DOCUMENT.field("doc_id"),
    DOCUMENT.field("id"),
    *needed(source=pa.string()),
)

FOUND = versioned(
    "found",
    *IDS,
    *needed(text_bytes=pa.int64()),
    # of each hit: index into the n-grams of the index, UTF-8 bytes of the document's text
    *needed(grams=pa.list_(pa.int64()), starts=pa.list_(pa.int64()), ends=pa.list_(pa.int64())),
    # bits of the foldings (`dedup.text.fold.FOLDINGS`) that it took to see it
    *needed(foldings=pa.list_(pa.uint8())),
    # of each stretch of text with hits: its first byte in the document, the text
    *needed(passage_starts=pa.list_(pa.int64()), passages=pa.list_(pa.large_string())),
)


def collect(batch: pa.RecordBatch, hits: Hits, foldings: U8, source: str) -> pa.RecordBatch:
    """A row of schema FOUND for each document that has a hit.

    batch: documents (schema DOCUMENT).
    hits: of `dedup.overlap.find`, in bytes of the text column of the batch.
    foldings: (n_hits,) uint8, bits of the foldings that each hit needed.
    source: that of the batch's shard.
    """
    rows = np.unique(hits.docs)
    passages = _passages(batch["text"], hits)
    columns = [
        batch["doc_id"].take(pa.array(rows)),
        batch["id"].take(pa.array(rows)),
        pa.repeat(source, len(rows)),
        pa.array(text_buffers(batch["text"]).lengths[rows]),
        *(
            _lists(rows, hits.docs, pa.array(column))
            for column in (hits.grams, hits.starts, hits.ends, foldings)
        ),
        _lists(rows, passages.docs, pa.array(passages.starts)),
        _lists(rows, passages.docs, piece_texts(batch["text"], passages)),
    ]
    return pa.record_batch(columns, schema=FOUND)


def hits_of(found: pa.RecordBatch) -> Hits:
    """The hits of rows of schema FOUND, as of a column of these documents; words are not kept."""
    counts = np.diff(found["grams"].offsets)
    none = np.full(int(counts.sum()), -1)
    grams, starts, ends = (found[name].flatten().to_numpy() for name in ("grams", "starts", "ends"))
    return Hits(
        found.num_rows,
        np.repeat(np.arange(found.num_rows), counts),
        grams,
        none,
        none,
        starts,
        ends,
    )


def parts_of(found: pa.RecordBatch, index: NgramIndex) -> Iterator[pa.RecordBatch]:
    """Cut FOUND rows into parts of MOST_PAIRS pairs of hit and item at most, or of one document."""
    hits = hits_of(found)
    pairs = np.bincount(hits.docs, index.n_items_of(hits.grams), minlength=found.num_rows)
    for part in parts(pairs.astype(np.int64), MOST_PAIRS):
        yield found.slice(part.start, part.stop - part.start)


class Places(NamedTuple):
    """Where (n,) bytes of documents, and their passages, are in `data`, the text FOUND keeps."""

    data: U8
    at: I64
    begins: I64
    ends: I64


def places_of(found: pa.RecordBatch, rows: I64, starts: I64) -> Places:
    """Find the bytes `starts` of the documents `rows` in the passages of `found` (schema FOUND)."""
    data, offsets = text_buffers(found["passages"].flatten())
    counts = np.diff(found["passages"].offsets)
    first_bytes = found["passage_starts"].flatten().to_numpy()
    begins = (np.repeat(np.arange(len(counts)), counts) << PLACE_BITS) + first_bytes
    # a hit lies in the last passage of its document that begins before it
    which = np.searchsorted(begins, (rows << PLACE_BITS) + starts, "right") - 1
    at = offsets[which] + starts - first_bytes[which]
    return Places(data, at, offsets[which], offsets[which + 1])


def excerpts(data: U8, starts: I64, stops: I64, *, begins: I64, ends: I64) -> list[pa.Array]:
    """The text before, in and after each span; a loop, as spans to be shown are few.

    starts, stops: (n,) bytes of `data`.
    begins, ends: (n,) of the text that each span is in.
    """
    first, last = (
        np.maximum(starts - CONTEXT_BYTES, begins),
        np.minimum(stops + CONTEXT_BYTES, ends),
    )
    cuts = [cut.tolist() for cut in (first, starts, stops, last)]
    return [
        pa.array(
            [data[i:j].tobytes().decode(errors="ignore") for i, j in zip(*ends_of, strict=True)],
            pa.string(),
        )
        for ends_of in pairwise(cuts)
    ]


def _lists(rows: I64, docs: I64, values: pa.Array) -> pa.ListArray:
    """(n_rows,) lists: the values of each of `rows`; docs: the row of each value, ascending."""
    offsets = np.append(np.searchsorted(docs, rows), len(docs))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _passages(text: pa.Array, hits: Hits) -> Pieces:
    """Hits and the text around them, joined where they touch, cut at characters."""
    data, offsets = text_buffers(text)
    begin, end = offsets[hits.docs], offsets[hits.docs + 1]
    starts = np.maximum(begin + hits.starts - CONTEXT_BYTES, begin)
    ends = np.minimum(begin + hits.ends + CONTEXT_BYTES, end)
    last = max(len(data) - 1, 0)  # behind the last document there may be no byte
    for _ in range(3):
        starts += (data[starts] & 0xC0) == 0x80
        ends += (ends < end) & ((data[np.minimum(ends, last)] & 0xC0) == 0x80)
    stretches = np.column_stack((hits.docs, np.zeros_like(hits.docs), starts, ends))
    stretches = stretches[np.lexsort(stretches.T[::-1])]
    merged = np.empty((len(stretches), 5), np.int64)
    merged = merged[: merge_spans(read_only(stretches), merged)]
    docs, first_bytes = merged[:, 0], offsets[merged[:, 0]]
    return Pieces(
        docs, merged[:, 2] - first_bytes, merged[:, 3] - first_bytes, np.empty(0, np.int64)
    )


COUNTS = pa.schema(
    [
        *needed(gram=pa.int64()),  # index into the n-grams of the index
        *needed(docs=pa.int64()),
    ]
)


def count_corpus(founds: Iterable[pa.RecordBatch], n_grams: int) -> GramCounts:
    """Count the documents that have each n-gram, holding one batch at a time.

    founds: of schema FOUND; no document may be in two of them.
    n_grams: of the index.
    """
    return total((document_counts(hits_of(found)) for found in founds), n_grams)


def save_counts(path: Path, counts: GramCounts) -> None:
    with arrow_file(path, COUNTS) as writer:
        writer.write_batch(pa.record_batch(list(map(pa.array, counts)), schema=COUNTS))


def load_counts(path: Path) -> GramCounts:
    """Map saved counts into memory."""
    (batch,) = open_arrow(path)[0]
    return GramCounts(*(np.asarray(batch[name]) for name in COUNTS.names))


def ignored_grams(index: BenchmarkIndex, counts: GramCounts) -> Bools:
    """(n_grams,) bool: the n-grams that are ignored, in this corpus or in any."""
    return index.ignored | frequent(counts, index.ngrams, most_docs=index.matching.most_docs)


def search(
    batch: pa.RecordBatch, index: BenchmarkIndex, source: str, folded: Folded | None = None
) -> pa.RecordBatch:
    """A row of schema FOUND for each document that has an n-gram of the index, ignored ones too.

    batch: documents (schema DOCUMENT).
    source: that of the batch's shard.
    folded: their texts, if they have been folded as the index says.
    """
    folded = folded or fold(batch["text"], index.folding)
    return collect(batch, *located(folded, index), source)


def located(folded: Folded, index: BenchmarkIndex) -> tuple[Hits, U8]:
    """The n-grams of the index that texts have, in bytes of the texts before they were folded.

    Returns them, and (n_hits,) uint8, bits of the foldings that each needed.
    """
    hits = find(folded.text, index.ngrams)
    spans = folded.source_spans(hits.docs, hits.starts, hits.ends)
    return hits._replace(starts=spans.starts, ends=spans.ends), spans.foldings
