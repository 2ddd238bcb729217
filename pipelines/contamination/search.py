"""Look for benchmark items in a batch of documents.

batch --fold--> text without disguises --find--> hits --back to the source--> FOUND
"""

import pyarrow as pa

from dedup.fold import fold
from dedup.overlap import find
from pipelines.contamination.benchmark_index import BenchmarkIndex
from pipelines.contamination.found import collect


def search(batch: pa.RecordBatch, index: BenchmarkIndex, source: str) -> pa.RecordBatch:
    """A row of schema FOUND for each document that has an n-gram of the index, ignored ones too.

    batch: documents (schema DOCUMENT).
    source: that of the batch's shard.
    """
    folded = fold(batch["text"], index.folding)
    hits = find(folded.text, index.ngrams)
    spans = folded.source_spans(hits.docs, hits.starts, hits.ends)
    located = hits._replace(starts=spans.starts, ends=spans.ends)
    return collect(batch, located, spans.foldings, source)
