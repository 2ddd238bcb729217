"""A span of a split's token stream: the mapped token shards that hold it, cut into rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.sidecar import open_arrow

BATCH_TOKENS = 1 << 20  # token ids in a record batch of the dataset, about
MOST_ROWS = 8192  # documents in a record batch


class TokenShard(NamedTuple):
    """A finished token shard of one split: its key and what it holds."""

    key: str
    tokens: int
    docs: int
    text_bytes: int


class TokenSpan(NamedTuple):
    """Tokens [start, stop) of a split.

    table: the documents of every batch that touches the span, mapped, not copied.
    firsts: (n_docs + 1,) int64, where in the split each of them begins, and the last one ends.
    last: the span ends the split, and so owns empty documents at its end.
    """

    table: pa.Table
    firsts: npt.NDArray[np.int64]
    start: int
    stop: int
    last: bool

    def begun(self) -> pa.Table:
        """The documents whose first token lies in the span."""
        lo, hi = self._begun_rows()
        return self.table.slice(lo, hi - lo)

    def documents(self) -> Iterator[list[pa.Array]]:
        """Columns input_ids, doc_id, id, source of the documents begun in the span, by batch."""
        row, end = self._begun_rows()
        while row < end:
            stop = int(np.searchsorted(self.firsts, self.firsts[row] + BATCH_TOKENS, "right")) - 1
            stop = min(max(stop, row + 1), row + MOST_ROWS, end)
            (batch,) = self.table.slice(row, stop - row).combine_chunks().to_batches()
            yield [batch[name] for name in ("input_ids", "doc_id", "id", "source")]
            row = stop

    def sequences(self, seq_len: int) -> Iterator[list[pa.Array]]:
        """Columns input_ids (seq_len tokens), doc_id, doc_offset of the whole sequences, by batch.

        The span's start is a multiple of `seq_len` tokens from the beginning of the split.
        """
        doc_ids = self.table["doc_id"].to_numpy()
        stop = self.start + (self.stop - self.start) // seq_len * seq_len
        step = max(BATCH_TOKENS // seq_len, 1) * seq_len
        for begin in range(self.start, stop, step):
            end = min(begin + step, stop)
            heads = np.arange(begin, end, seq_len)
            holder = np.searchsorted(self.firsts[:-1], heads, "right") - 1
            yield [
                pa.FixedSizeListArray.from_arrays(self._ids(begin, end), seq_len),
                pa.array(doc_ids[holder]),
                pa.array(heads - self.firsts[holder]),
            ]

    def _ids(self, begin: int, end: int) -> pa.Array:
        lo = int(np.searchsorted(self.firsts, begin, "right")) - 1
        hi = int(np.searchsorted(self.firsts, end, "left"))
        held = self.table["input_ids"].slice(lo, hi - lo)
        flat = [chunk.flatten() for chunk in held.chunks]
        joined = pa.concat_arrays(flat)
        return joined.slice(begin - int(self.firsts[lo]), end - begin)

    def _begun_rows(self) -> tuple[int, int]:
        docs = self.firsts[:-1]
        lo = int(np.searchsorted(docs, self.start, "left"))
        hi = len(docs) if self.last else int(np.searchsorted(docs, self.stop, "left"))
        return lo, hi


def token_span(
    shards: Sequence[tuple[Path, TokenShard]], start: int, stop: int, *, last: bool
) -> TokenSpan:
    """Map the token shards that hold tokens [start, stop) of their split.

    Args:
        shards: all token shards of the split, in order.
        last: the span is the end of the split.
    """
    batches: list[pa.RecordBatch] = []
    firsts: list[npt.NDArray[np.int64]] = []
    at = 0
    schema = None
    for path, shard in shards:
        # empty documents at either edge make it <= and >=, not < and >
        if shard.docs and at <= stop and at + shard.tokens >= start:
            held, schema = open_arrow(path)
            within = at
            for batch in held:
                lengths = np.asarray(batch["input_ids"].value_lengths()).astype(np.int64)
                ends = within + np.cumsum(lengths)
                firsts.append(ends - lengths)
                within = int(ends[-1])
                batches.append(batch)
        at += shard.tokens
    if schema is None:
        empty = pa.table({"doc_id": pa.array([], pa.uint64()), "text_bytes": pa.array([], "int64")})
        return TokenSpan(empty, np.zeros(1, np.int64), start, stop, last)
    end = int(firsts[-1][-1]) + len(batches[-1]["input_ids"][-1])
    starts = np.concatenate([*firsts, [end]])
    return TokenSpan(pa.Table.from_batches(batches, schema), starts, start, stop, last)
