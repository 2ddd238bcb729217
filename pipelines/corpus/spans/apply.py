"""Documents less what stood before: stretches of words cut out, or lines or documents dropped.

documents, FOUND of them ── without_spans ──► Applied, a row of SPAN for each cut
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import F64, I64, U64, Bools, text_buffers
from tokenmill.dedup.overlap.cut import cut_words, without_units
from tokenmill.dedup.text.words import Units, lines, whole_documents, word_places
from tokenmill.pipelines.core.schema import PLACEHOLDER, with_column
from tokenmill.pipelines.core.step import Rule, StageResult, above, ratio, with_texts
from tokenmill.pipelines.corpus.spans.settings import REMOVED_SPANS, SPAN, SpanSettings
from tokenmill.pipelines.corpus.step import Applied
from tokenmill.pipelines.filters.images.edit import edited_where
from tokenmill.pipelines.read.images.nodes import counts_of

REPEATED, LITTLE_LEFT = "repeated_ngrams", "too_little_left"  # reasons
ROW_BITS = 32


class Runs(NamedTuple):
    """Runs of n-grams in documents, by document and word: (n,) of schema FOUND.

    docs: row of the document.  of: id of the other one.  is_own: whether that is the same.
    """

    docs: I64
    words: I64
    ngrams: I64
    of: U64
    of_words: I64
    is_own: Bools

    def only(self, wanted: Bools) -> "Runs":
        columns: tuple[Any, ...] = self
        return Runs(*(column[wanted] for column in columns))


class Spans(NamedTuple):
    """What goes of documents: (n,) row, bytes, n-grams, and the run they are named by."""

    docs: I64
    starts: I64
    ends: I64
    ngrams: I64
    runs: I64


def without_spans(step: SpanSettings, documents: pa.RecordBatch, found: pa.RecordBatch) -> Applied:
    """Take out what was found (schema FOUND) in these documents.

    Receipts: "repeated_ngrams" of a document that is dropped for the share of its n-grams, its
    value; "too_little_left" of one that lost the most of its text, its value the characters left.
    duplicate_of is the document with which the longest run is shared.
    """
    runs = _runs(documents, found)
    touched, local = np.unique(runs.docs, return_inverse=True)
    text, runs = documents["text"].take(pa.array(touched)), runs._replace(docs=local)
    if step.action == "cut":
        left, spans = _cut(step, text, runs)
        share = np.zeros(len(touched))
    else:
        left, spans, share, runs = _dropped(step, documents, text, runs)
    runs = runs._replace(docs=touched[runs.docs])
    spans = spans._replace(docs=touched[spans.docs])
    edited = with_texts(documents, touched, left) if len(spans.docs) else documents
    shares = np.full(documents.num_rows, np.nan)
    shares[touched] = share
    rules = [above(REPEATED, shares, step.share), _rest_rule(step, edited, spans.docs)]
    result = edited_where(step.name, documents, edited, rules, None)
    result = _named(documents, result, runs)
    what = "lines" if step.of_lines else "spans"
    result = result._replace(notes={f"{what}_taken_out": len(spans.docs)})
    return Applied(result, tables={REMOVED_SPANS.name: _receipts(documents, spans, runs)})


def _runs(documents: pa.RecordBatch, found: pa.RecordBatch) -> Runs:
    rows = np.asarray(pc.index_in(found["doc_id"], documents["doc_id"])).astype(np.int64)
    words, ngrams, of_words = (
        np.asarray(found[name]).astype(np.int64) for name in ("word", "ngrams", "of_word")
    )
    of = np.asarray(found["of_doc_id"])
    return Runs(rows, words, ngrams, of, of_words, of == np.asarray(found["doc_id"]))


def _cut(step: SpanSettings, text: pa.Array, runs: Runs) -> tuple[pa.Array, Spans]:
    """Cut runs out, those together that touch. text: of the documents with runs alone."""
    firsts = runs.docs << ROW_BITS | runs.words
    ends = np.maximum.accumulate(firsts + runs.ngrams + step.ngram - 1)
    new = np.ones(len(firsts), np.bool_)
    new[1:] = firsts[1:] > ends[:-1]
    starts = np.flatnonzero(new)
    lasts = np.append(ends[starts[1:] - 1], ends[-1:]) - 1 - (runs.docs[starts] << ROW_BITS)
    places = word_places(text_buffers(text), step.words)
    rest = cut_words(text, places, runs.docs[starts], runs.words[starts], lasts)
    ngrams = np.add.reduceat(runs.ngrams, starts) if len(starts) else runs.ngrams
    return rest.text, Spans(runs.docs[starts], rest.starts, rest.ends, ngrams, starts)


def _dropped(
    step: SpanSettings, documents: pa.RecordBatch, text: pa.Array, runs: Runs
) -> tuple[pa.Array, Spans, F64, Runs]:
    """Drop lines; (n_docs,) the share of n-grams of each document, and the runs that count."""
    units = (lines if step.of_lines else whole_documents)(text_buffers(text))
    begins = word_places(units.text, step.words).doc_words
    windows = np.maximum(np.diff(begins) - step.ngram + 1, 0)
    of_doc = begins[units.docs][runs.docs]  # before the document's first word
    here = np.searchsorted(begins, of_doc + runs.words, "right") - 1
    there = np.searchsorted(begins, of_doc + runs.of_words, "right") - 1
    counts = ~(runs.is_own & (here == there))
    here, runs = here[counts], runs.only(counts)
    seen = np.bincount(here, runs.ngrams, len(windows))
    share = ratio(_by_doc(seen, units), _by_doc(windows, units))
    dropped = seen > step.share * windows
    if step.action == "document" or "images" in documents.schema.names:
        dropped &= step.of_lines & ~_have_images(units)
    lost = np.flatnonzero(dropped)
    firsts = np.searchsorted(here, lost)
    docs = np.searchsorted(units.docs, lost, "right") - 1
    starts = units.text.offsets[lost] - units.text.offsets[units.docs[docs]]
    ends = starts + units.text.lengths[lost] - (lost != units.docs[docs + 1] - 1)
    spans = Spans(docs, starts, ends, seen[lost].astype(np.int64), firsts)
    left = without_units(units, ~dropped) if len(lost) else text
    return left, spans, share if step.action != "paragraph" else np.zeros(len(share)), runs


def _by_doc(counts: F64 | I64, units: Units) -> F64:
    """(n_docs,) sums over the units of each document, which has one at least."""
    if len(units.docs) == 1:
        return np.empty(0)
    return np.add.reduceat(counts.astype(np.float64), units.docs[:-1])


def _have_images(units: Units) -> Bools:
    """(n_units,) whether the place of an image is in each."""
    data, offsets = units.text
    mark = np.frombuffer(PLACEHOLDER.encode(), np.uint8)
    begins = np.flatnonzero(data[offsets[0] : offsets[-1]] == mark[0]) + offsets[0]
    found = begins[(data[begins[:, None] + np.arange(len(mark))] == mark).all(axis=1)]
    at = np.searchsorted(found, offsets)
    return np.diff(at) > 0


def _rest_rule(step: SpanSettings, edited: pa.RecordBatch, docs: I64) -> Rule:
    left = np.asarray(pc.utf8_length(pc.utf8_trim_whitespace(edited["text"]))).astype(np.float64)
    lost = np.zeros(edited.num_rows, np.bool_)
    lost[docs] = True
    lost &= (left < step.least_chars) & (counts_of(edited) == 0)
    return Rule(LITTLE_LEFT, left, lost)


def _named(documents: pa.RecordBatch, result: StageResult, runs: Runs) -> StageResult:
    """With the document in duplicate_of that a removed one shares its longest run with."""
    removed = result.removed
    if removed.num_rows == 0:
        return result
    order = np.lexsort((np.arange(len(runs.docs)), -runs.ngrams, runs.docs))
    first = order[np.unique(runs.docs[order], return_index=True)[1]]
    rows = np.asarray(pc.index_in(removed["doc_id"], documents["doc_id"])).astype(np.int64)
    longest = first[np.searchsorted(runs.docs[first], rows)]
    of = pa.array(runs.of[longest], mask=runs.is_own[longest])
    return result._replace(removed=with_column(removed, "duplicate_of", of))


def _receipts(documents: pa.RecordBatch, spans: Spans, runs: Runs) -> pa.RecordBatch:
    rows = pa.array(spans.docs)
    columns = {
        "doc_id": documents["doc_id"].take(rows),
        "id": documents["id"].take(rows),
        "start": pa.array(spans.starts),
        "end": pa.array(spans.ends),
        "ngrams": pa.array(spans.ngrams.astype(np.uint32)),
        "of_doc_id": pa.array(runs.of[spans.runs]),
    }
    return pa.record_batch([columns[f.name] for f in SPAN], schema=SPAN)
