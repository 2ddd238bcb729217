"""Documents freed from benchmark items: cut into pieces, dropped, or only reported.

documents, FOUND of them --Cleaner--> Cleaned: kept and removed, overlaps, links of pieces

Why documents were cut or dropped: what of benchmark items stands in each, as a line.
"""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, Bools, text_buffers
from tokenmill.dedup.overlap.cut import Pieces, cut, drop_paragraphs, piece_texts
from tokenmill.dedup.overlap.find import Hits
from tokenmill.pipelines.contamination.cleaning import NAME, Cleaning
from tokenmill.pipelines.contamination.found import hits_of
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.rows import OVERLAP, overlap_rows
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.pieces import PIECE, number_pieces
from tokenmill.pipelines.core.step import KEEP, StageResult, keep_where, removed_rows, with_text


class Evidence(NamedTuple):
    """What of the benchmarks stands in the documents of a batch, and counts.

    hits: of the batch's texts.
    rows: of schema OVERLAP.
    ngrams: (n_docs,) int64, windows of each document that any item has.
    details: (n_docs,) string, of each the longest span, as "gsm8k:17 n=11 'matched text' (and 2
        more items)"; null where there is none.
    """

    hits: Hits
    rows: pa.RecordBatch
    ngrams: I64
    details: pa.Array


def evidence(
    batch: pa.RecordBatch, found: pa.RecordBatch, index: BenchmarkIndex, ignored: Bools
) -> Evidence:
    """Tell what counts of what was found.

    batch: documents (schema DOCUMENT).
    found: rows of schema FOUND in the order of the batch, also of documents not in it any more.
    ignored: (n_grams,) bool, n-grams of the index that count for nothing.
    """
    rows = pc.index_in(found["doc_id"], batch["doc_id"])
    found, docs = found.filter(rows.is_valid()), np.asarray(rows.drop_null()).astype(np.int64)
    hits = hits_of(found)
    hits = hits.only(~ignored[hits.grams])._replace(n_docs=batch.num_rows)
    hits = hits._replace(docs=docs[hits.docs])
    none = pa.RecordBatch.from_pylist([], schema=OVERLAP)
    spans = pa.concat_batches([none, *overlap_rows(found, index, ignored)])
    ngrams = np.bincount(hits.docs, minlength=batch.num_rows)
    return Evidence(hits, spans, ngrams, _details(batch, spans))


def _details(batch: pa.RecordBatch, spans: pa.RecordBatch) -> pa.Array:
    """(n_docs,) string: the longest span of each document, null where there is none."""
    details: list[str | None] = [None] * batch.num_rows
    docs = np.asarray(pc.index_in(spans["doc_id"], batch["doc_id"]), np.int64)
    items = np.unique(spans["item"].to_pylist(), return_inverse=True)[1]
    pairs = np.unique(np.stack([docs, items]), axis=1)
    n_items = np.bincount(pairs[0], minlength=batch.num_rows)
    ngrams = np.asarray(spans["ngrams"])
    longest_first = np.lexsort((-ngrams, docs))
    which, first = np.unique(docs[longest_first], return_index=True)
    longest = spans.take(pa.array(longest_first[first])).to_pylist()
    for doc, span in zip(which.tolist(), longest, strict=True):
        more = int(n_items[doc]) - 1
        others = f" (and {more} more item{'s' if more > 1 else ''})" if more else ""
        details[doc] = f"{span['item']} n={span['ngrams']} '{span['excerpt']}'{others}"
    return pa.array(details, pa.string())


OVERLAPS, MANY_PIECES, SHORT_PIECE = "overlap", "many_pieces", "short_piece"  # reasons


class Cleaned(NamedTuple):
    """Documents after the step.

    overlaps: a row of schema OVERLAP for each span that repeats an item.
    pieces: a row of schema PIECE for each piece of a document, dropped ones too.
    """

    result: StageResult
    overlaps: pa.RecordBatch
    pieces: pa.RecordBatch


@dataclass(frozen=True, eq=False)
class Cleaner:
    """The step `config`, once it is known what counts.

    ignored: (n_grams,) bool, n-grams of the index that count for nothing.
    """

    config: Cleaning
    index: BenchmarkIndex
    ignored: Bools

    def __call__(self, batch: pa.RecordBatch, found: pa.RecordBatch) -> Cleaned:
        """Free the documents of a batch from benchmark items.

        found: rows of schema FOUND, in the order of the batch; those of documents that are not
            in it any more count for nothing.

        A document with nothing that counts passes as it is. Receipts of what leaves:
        - overlap: a document that is dropped, or of which nothing is left; the value is its
          n-grams that any item has;
        - many_pieces: a document that falls into more than allowed; the value is how many;
        - short_piece: a piece; the value is its characters.
        The detail is the longest overlap of the document.
        """
        if found.num_rows == 0:
            return Cleaned(_untouched(batch), _empty(OVERLAP), _empty(PIECE))
        told = evidence(batch, found, self.index, self.ignored)
        if not told.ngrams.any():
            return Cleaned(_untouched(batch), told.rows, _empty(PIECE))
        if self.config.action == "cut":
            result, pieces = self._cut(batch, told)
            return Cleaned(result, told.rows, pieces)
        if self.config.action == "document":
            result = _dropped(batch, told.ngrams > 0, told)
        elif self.config.action == "paragraph":
            result = self._without_paragraphs(batch, told)
        else:
            result = _untouched(batch)
        return Cleaned(result, told.rows, _empty(PIECE))

    def _cut(self, batch: pa.RecordBatch, told: Evidence) -> tuple[StageResult, pa.RecordBatch]:
        _, docs, _, _, _, starts, ends = told.hits
        window, most = self.config.window_chars, self.config.most_pieces
        pieces = cut(batch["text"], docs, starts, ends, window_chars=window, most_pieces=most)
        made, links = _documents(batch, pieces, told.ngrams > 0)
        chars = np.asarray(pc.utf8_length(made["text"]))
        numbered = told.ngrams[pieces.docs] > 0
        short = numbered & (chars < self.config.least_chars)
        many = pieces.n_pieces > self.config.most_pieces
        gone = np.flatnonzero(many | ((pieces.n_pieces == 0) & (told.ngrams > 0)))
        lost = removed_rows(
            NAME,
            batch.take(pa.array(gone)),
            [MANY_PIECES if of_many else OVERLAPS for of_many in many[gone]],
            text_bytes=text_buffers(batch["text"]).lengths[gone],
            values=np.where(many, pieces.n_pieces, told.ngrams)[gone].astype(np.float64),
            details=told.details.take(pa.array(gone)),
        )
        dropped = made.filter(pa.array(short))
        shorts = removed_rows(
            NAME,
            dropped,
            [SHORT_PIECE] * dropped.num_rows,
            text_bytes=text_buffers(dropped["text"]).lengths,
            values=chars[short].astype(np.float64),
            details=told.details.take(pa.array(pieces.docs[short])),
        )
        removed = pa.concat_batches([lost, shorts])
        kept = made.filter(pa.array(~short))
        created = made.num_rows - (batch.num_rows - len(gone))
        return StageResult(kept, removed, _stats(batch, kept, removed, created)), links

    def _without_paragraphs(self, batch: pa.RecordBatch, told: Evidence) -> StageResult:
        rows = np.flatnonzero(told.ngrams > 0)
        some = batch["text"].take(pa.array(rows))
        left = drop_paragraphs(some, self.index.ngrams, self.ignored, folding=self.index.folding)
        edited = rows[np.unique(left.docs)]
        is_hit, is_edited = told.ngrams > 0, np.isin(np.arange(batch.num_rows), edited)
        text = pc.replace_with_mask(batch["text"], pa.array(is_hit), left.text)
        blank = np.asarray(pc.equal(pc.utf8_trim_whitespace(text), ""))
        result = _dropped(batch, is_edited & blank, told)
        return with_text(result, text.filter(pa.array(~(is_edited & blank))))


def _documents(
    batch: pa.RecordBatch, pieces: Pieces, is_hit: Bools
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Pieces as documents, whole documents among them, and the links of the pieces.

    is_hit: (n_docs,) documents that were cut; the others are their only piece.
    """
    parents = batch.take(pa.array(pieces.docs))
    first = np.searchsorted(pieces.docs, pieces.docs)
    is_piece = is_hit[pieces.docs]
    numbers = np.where(is_piece, np.arange(len(first)) - first + 1, 0)
    doc_ids, ids = number_pieces(parents, numbers)
    columns = {"doc_id": doc_ids, "id": ids, "text": piece_texts(batch["text"], pieces)}
    columns = {f.name: columns.get(f.name, parents[f.name]) for f in batch.schema}
    links = [
        doc_ids,
        ids,
        parents["doc_id"],
        parents["id"],
        pa.array(numbers),
        pa.array(pieces.n_pieces[pieces.docs]),
        pa.array(pieces.starts),
        pa.array(pieces.ends),
    ]
    return (
        pa.record_batch(list(columns.values()), schema=batch.schema),
        pa.record_batch(links, schema=PIECE).filter(pa.array(is_piece)),
    )


def _stats(
    batch: pa.RecordBatch, kept: pa.RecordBatch, removed: pa.RecordBatch, created: int
) -> StageStats:
    """The account of cutting: text that was cut out is edited away."""
    bytes_in, bytes_out = (int(text_buffers(b["text"]).lengths.sum()) for b in (batch, kept))
    bytes_removed = pc.sum(removed["text_bytes"]).as_py() or 0
    return StageStats(
        docs_in=batch.num_rows,
        docs_created=created,
        docs_out=kept.num_rows,
        removed=dict(sorted(Counter(removed["reason"].to_pylist()).items())),
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        bytes_removed=bytes_removed,
        bytes_edited=bytes_in - bytes_out - bytes_removed,
    )


def _dropped(batch: pa.RecordBatch, gone: Bools, told: Evidence) -> StageResult:
    """The documents without those that are `gone`."""
    return keep_where(
        NAME,
        batch,
        np.where(gone, 1, KEEP).astype(np.uint8),
        (OVERLAPS,),
        values=told.ngrams.astype(np.float64),
        details=told.details,
    )


def _untouched(batch: pa.RecordBatch) -> StageResult:
    return keep_where(NAME, batch, np.full(batch.num_rows, KEEP, np.uint8), (OVERLAPS,))


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)
