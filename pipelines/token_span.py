"""A span of a split's token stream: the mapped token shards that hold it, cut into rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.sidecar import open_arrow

BATCH_TOKENS = 1 << 20  # token ids in a record batch of the dataset, about
BATCH_BYTES = 1 << 26  # ids and images in one, about, where documents have images
MOST_ROWS = 8192  # documents in a record batch
DOCUMENT_COLUMNS = ("input_ids", "doc_id", "id", "source")
NO_ROWS = pa.table(
    {"doc_id": pa.array([], "uint64"), "id": [], "text_bytes": pa.array([], "int64")}
)


class TokenShard(NamedTuple):
    """A finished token shard of one split: its key and what it holds.

    size: how much of the split's stream it is: tokens; or, where documents have images, bytes of
        ids and images.
    """

    key: str
    tokens: int
    docs: int
    text_bytes: int
    size: int


class Documents(Protocol):
    """The documents of a token shard, in order, wherever they lie."""

    def sizes(self) -> npt.NDArray[np.int64]:
        """(n_docs,) how much of the stream each document is."""

    def rows(self, lo: int, hi: int) -> pa.Table:
        """Documents [lo, hi), as the token shard has them."""


@dataclass(frozen=True)
class TokenFile:
    """Those of a file, mapped for as long as a table of them lives."""

    path: Path

    def sizes(self) -> npt.NDArray[np.int64]:
        """See `Documents`; the column of that name where there is one, else tokens."""
        batches, schema = open_arrow(self.path)
        if "size" in schema.names:
            found = [np.asarray(b["size"]) for b in batches]
        else:
            found = [np.asarray(b["input_ids"].value_lengths()) for b in batches]
        return np.concatenate([np.empty(0, np.int64), *found])

    def rows(self, lo: int, hi: int) -> pa.Table:
        """See `Documents`."""
        return pa.Table.from_batches(*open_arrow(self.path)).slice(lo, hi - lo)


class Part(NamedTuple):
    """A token shard that touches a span, and the rows of the span's `firsts` that are its own."""

    documents: Documents
    key: str
    first: int
    end: int


class TokenSpan(NamedTuple):
    """What of a split's stream lies in [start, stop), which counts as `TokenShard.size` does.

    parts: the token shards that touch the span. Files are mapped again for each batch, so that no
        more of them stays in memory.
    firsts: (n_docs + 1,) int64, where in the split each document begins, and the last one ends.
    last: the span ends the split, and so owns empty documents at its end.
    """

    parts: tuple[Part, ...]
    firsts: npt.NDArray[np.int64]
    start: int
    stop: int
    last: bool

    def begun(self) -> pa.Table:
        """The documents that begin in the span."""
        return self._rows(*self._begun_rows())

    def documents(self, names: Sequence[str] = DOCUMENT_COLUMNS) -> Iterator[list[pa.Array]]:
        """Some columns of the documents begun in the span, by batch."""
        for row, stop in self._cut(*self._begun_rows(), BATCH_TOKENS):
            (batch,) = self._rows(row, stop).combine_chunks().to_batches()
            yield [batch[name] for name in names]

    def illustrated(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The documents begun in the span, by batch: the key of a token shard, some of its rows."""
        begun, end = self._begun_rows()
        for part in self.parts:
            rows = max(part.first, begun), min(part.end, end)
            for row, stop in self._cut(*rows, BATCH_BYTES):
                (batch,) = self._rows(row, stop).combine_chunks().to_batches()
                yield part.key, batch

    def _cut(self, row: int, end: int, most: int) -> Iterator[tuple[int, int]]:
        """Rows [row, end) cut into batches of at most so much of the stream, if they can be."""
        while row < end:
            stop = int(np.searchsorted(self.firsts, self.firsts[row] + most, "right")) - 1
            stop = min(max(stop, row + 1), row + MOST_ROWS, end)
            yield row, stop
            row = stop

    def sequences(self, seq_len: int) -> Iterator[list[pa.Array]]:
        """Columns input_ids (seq_len tokens), doc_id, doc_offset of the whole sequences, by batch.

        The span's start is a multiple of `seq_len` tokens from the beginning of the split.
        """
        stop = self.start + (self.stop - self.start) // seq_len * seq_len
        step = max(BATCH_TOKENS // seq_len, 1) * seq_len
        for begin in range(self.start, stop, step):
            end = min(begin + step, stop)
            heads = np.arange(begin, end, seq_len)
            holder = np.searchsorted(self.firsts[:-1], heads, "right") - 1
            lo, hi = int(holder[0]), int(np.searchsorted(self.firsts, end, "left"))
            held = self._rows(lo, hi)
            ids = pa.concat_arrays([chunk.flatten() for chunk in held["input_ids"].chunks])
            yield [
                pa.FixedSizeListArray.from_arrays(
                    ids.slice(begin - int(self.firsts[lo]), end - begin), seq_len
                ),
                pa.array(held["doc_id"].to_numpy()[holder - lo]),
                pa.array(heads - self.firsts[holder]),
            ]

    def _rows(self, lo: int, hi: int) -> pa.Table:
        """Documents [lo, hi) of the parts."""
        pieces = [
            documents.rows(max(lo - first, 0), min(hi, end) - first)
            for documents, _, first, end in self.parts
            if first < hi and end > lo
        ]
        return pa.concat_tables(pieces) if pieces else NO_ROWS

    def _begun_rows(self) -> tuple[int, int]:
        docs = self.firsts[:-1]
        lo = int(np.searchsorted(docs, self.start, "left"))
        hi = len(docs) if self.last else int(np.searchsorted(docs, self.stop, "left"))
        return lo, hi


def token_span(
    shards: Sequence[tuple[Documents, TokenShard]], start: int, stop: int, *, last: bool
) -> TokenSpan:
    """Find the token shards that hold [start, stop) of their split's stream.

    Args:
        shards: all token shards of the split, in order.
        last: the span is the end of the split.
    """
    parts: list[Part] = []
    firsts: list[npt.NDArray[np.int64]] = []
    at = rows = 0
    for documents, shard in shards:
        # empty documents at either edge make it <= and >=, not < and >
        if shard.docs and at <= stop and at + shard.size >= start:
            ends = at + np.cumsum(documents.sizes(), dtype=np.int64)
            firsts += [np.array([at]), ends[:-1]]
            parts.append(Part(documents, shard.key, rows, rows + shard.docs))
            rows += shard.docs
            end = int(ends[-1])
        at += shard.size
    if not parts:
        return TokenSpan((), np.zeros(1, np.int64), start, stop, last)
    return TokenSpan(tuple(parts), np.concatenate([*firsts, [end]]), start, stop, last)
