"""Every item of the benchmarks, and what became of it, as rows for whoever wants them all."""

import numpy as np
import pyarrow as pa

from tokenmill.dedup.fold import FOLDINGS, names_of
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.copy_analysis import CopyAnalysis
from tokenmill.pipelines.schema import SCHEMA_VERSION

STATUS = ("clean", "dirty", "untestable", "widespread")  # of CLEAN, DIRTY, UNTESTABLE
WIDESPREAD = STATUS.index("widespread")  # clean, but only for standing in too many documents

ITEM = pa.schema(
    [
        # "gsm8k:17", the benchmark's row counted from 0
        pa.field("item", pa.string(), nullable=False),
        pa.field("benchmark", pa.string(), nullable=False),
        # of `STATUS`; untestable items with documents were found as a whole
        pa.field("status", pa.string(), nullable=False),
        # of its longest text
        pa.field("words", pa.int64(), nullable=False),
        # share of its n-grams that count which stand anywhere in the corpus
        pa.field("found_frac", pa.float64(), nullable=False),
        # documents that have any of them
        pa.field("docs", pa.int64(), nullable=False),
        # of widespread items, documents that have n-grams which count but for that; 0 of others
        pa.field("widespread_docs", pa.int64(), nullable=False),
        # the fewest foldings that it took to see any of them
        pa.field("foldings", pa.list_(pa.string()), nullable=False),
        # of its best copy in any document, edited or not, and how many have one; 0 if none has
        pa.field("containment", pa.float64(), nullable=False),
        pa.field("copy_docs", pa.int64(), nullable=False),
    ],
    metadata={"tokenmill.schema": f"contamination-item/{SCHEMA_VERSION}"},
)
NAMES = pa.array([names_of(bits) for bits in range(1 << len(FOLDINGS))], pa.list_(pa.string()))


def item_rows(index: BenchmarkIndex, analysis: Analysis, copies: CopyAnalysis) -> pa.RecordBatch:
    """A row of schema ITEM for each item, in order."""
    items = np.arange(len(index.texts.lengths))
    names = index.names_of(items)
    widespread = analysis.widespread()
    columns = [
        pa.array(names, pa.string()),
        pa.array([name.partition(":")[0] for name in names], pa.string()),
        pa.array(STATUS).take(pa.array(np.where(widespread, WIDESPREAD, analysis.status()))),
        pa.array(index.texts.lengths),
        pa.array(analysis.found_frac()),
        pa.array(analysis.item_docs),
        pa.array(analysis.widespread_docs()),
        NAMES.take(pa.array(analysis.foldings())),
        pa.array(copies.containment),
        pa.array(copies.item_docs),
    ]
    return pa.record_batch(columns, schema=ITEM)
