"""Why documents were cut or dropped: what of benchmark items stands in each, as a line."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.overlap import Hits
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.found import hits_of
from tokenmill.pipelines.contamination.overlap_rows import OVERLAP, overlap_rows


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
    ngrams: npt.NDArray[np.int64]
    details: pa.Array


def evidence(
    batch: pa.RecordBatch,
    found: pa.RecordBatch,
    index: BenchmarkIndex,
    ignored: npt.NDArray[np.bool_],
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
