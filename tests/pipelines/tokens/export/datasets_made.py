"""Datasets as runs write them, made without a run."""

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tokenmill.pipelines.tokens.dataset import dataset_schema
from tokenmill.pipelines.tokens.export.rows import Tokens

WHEN = datetime(2026, 11, 21, 10, 0, 0, 500_000, tzinfo=UTC)


def tokens_of(schema, seq_len=None):
    return Tokens({}, {}, schema, {}, seq_len, 0)


def documents(rows, dtype="uint16", *, cuts=(), of_pages=False):
    """Tokens, and batches of rows of (ids, source); cuts: rows before which a batch ends.

    The batches are slices of larger ones, as readers give them out.
    """
    schema = dataset_schema(pa.type_for_alias(dtype), None, of_pages=of_pages)
    data = [
        {
            "input_ids": ids,
            "doc_id": (5 << 32) | i,
            "id": f"döc/{i}",
            "source": source,
            "url": None if i % 2 else f"https://a/{i}",
            "date": None if i % 3 else WHEN,
            "content_type": "text/html",
        }
        for i, (ids, source) in enumerate(rows)
    ]
    before = [{**row, "input_ids": [1, 2, 3]} for row in data[:1]] * 2
    whole = pa.RecordBatch.from_pylist(before + data, schema=schema).slice(len(before))
    ends = sorted({0, *(c for c in cuts if c < len(data)), len(data)})
    batches = [whole.slice(a, b - a) for a, b in pairwise(ends)]
    return tokens_of(schema), batches


def sequences(rows, seq_len, dtype="uint16"):
    """Tokens, and one batch of packed rows."""
    schema = dataset_schema(pa.type_for_alias(dtype), seq_len)
    made = [{"input_ids": ids, "doc_id": i, "doc_offset": 7 * i} for i, ids in enumerate(rows)]
    return tokens_of(schema, seq_len), [pa.RecordBatch.from_pylist(made, schema=schema)]


def rows_of(dtype):
    """Rows of (ids, source), with documents that have no tokens, and many of one source."""
    most = min(np.iinfo(dtype).max, 2**31 - 1)
    ids = st.lists(st.integers(0, int(most)), max_size=20) | st.integers(1, 600).map(
        lambda n: [n % 50] * n
    )
    return st.lists(st.tuples(ids, st.sampled_from(["web", "a/b", "a_b", ""])), max_size=12)


DATASETS = st.sampled_from(["uint16", "uint32"]).flatmap(
    lambda dtype: st.builds(
        lambda rows, cuts, of_pages: (rows, *documents(rows, dtype, cuts=cuts, of_pages=of_pages)),
        rows_of(dtype),
        st.sets(st.integers(0, 12)),
        st.booleans(),
    )
)
