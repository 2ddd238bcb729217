"""Look for benchmark items in a batch of documents.

batch --fold--> text without disguises --find--> hits --back to the source--> FOUND
"""

import pyarrow as pa

from tokenmill.dedup.fold import Folded, fold
from tokenmill.dedup.overlap import find
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.found import collect


def search(batch: pa.RecordBatch, index: BenchmarkIndex, source: str) -> pa.RecordBatch:
    """A row of schema FOUND for each document that has an n-gram of the index, ignored ones too.

    batch: documents (schema DOCUMENT).
    source: that of the batch's shard.
    """
    return search_folded(batch, fold(batch["text"], index.folding), index, source)


def search_folded(
    batch: pa.RecordBatch, folded: Folded, index: BenchmarkIndex, source: str
) -> pa.RecordBatch:
    """As `search`, of documents whose texts have been folded as the index says."""
    hits = find(folded.text, index.ngrams)
    spans = folded.source_spans(hits.docs, hits.starts, hits.ends)
    located = hits._replace(starts=spans.starts, ends=spans.ends)
    return collect(batch, located, spans.foldings, source)
