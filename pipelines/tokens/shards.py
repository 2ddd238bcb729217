"""Token shards: the documents of one input shard as ids, before they are laid out for training.

A span of a split's token stream is what of mapped token shards lies in it, cut into rows.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, Bools, text_buffers
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.pieces import parent_ids
from tokenmill.pipelines.core.schema import OF_PAGES
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.corpus.copies import read_counts
from tokenmill.pipelines.read.batch import read_images
from tokenmill.pipelines.read.images.stored import REFERENCE, SPOOLED, kept_columns
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.storage.files import arrow_file, open_arrow
from tokenmill.pipelines.tokens.image_measure import ImageMeasure
from tokenmill.pipelines.tokens.images import batches_of, encode_illustrated
from tokenmill.pipelines.tokens.mix.draws import states
from tokenmill.pipelines.tokens.options import Output
from tokenmill.pipelines.tokens.reference import UnencodableError
from tokenmill.pipelines.tokens.run import TOKENS, Tokenizing, TokenRun
from tokenmill.pipelines.tokens.text import carried

IDS = "input_ids"
DOCUMENT_COLUMNS = (IDS, "doc_id", "id", "source")
MOST_COUNTED = 2**32 - 1  # of what left for a document: more are told as so many
LENGTH_BINS = 48  # bin k counts documents of 2**(k - 1) to 2**k - 1 bytes; bin 0 the empty ones


def document_fields(id_type: pa.DataType) -> list[pa.Field]:
    """Columns of every document that was tokenized."""
    kinds = (pa.list_(id_type), pa.uint64(), pa.string(), pa.string())
    return [pa.field(name, kind) for name, kind in zip(DOCUMENT_COLUMNS, kinds, strict=True)]


def copies_fields(names: Sequence[str]) -> list[pa.Field]:
    """How many documents left for one, by the column of the steps that took them."""
    return [pa.field(name, pa.uint32()) for name in names]


def token_schema(
    dtype: npt.DTypeLike | None,
    images: Images | None = None,
    *,
    of_pages: bool = False,
    copies: Sequence[str] = (),
) -> pa.Schema:
    """TOKENS: a document's ids and where it came from. text_bytes: UTF-8 bytes it was made from.

    Where documents have images, these too (`pipelines.read.images.stored`), and size: bytes
    that the document takes in the dataset, ids and images.

    dtype: of ids; None where there are none.
    of_pages: the recipe reads web archives, and what they tell of each page stays with it.
    copies: of `copies_fields`.
    """
    fields = document_fields(pa.null() if dtype is None else pa.from_numpy_dtype(dtype))
    fields = [*fields[dtype is None :], pa.field("text_bytes", pa.int64())]
    if of_pages:
        fields += OF_PAGES
    fields += copies_fields(copies)
    if images is not None:
        stored = pa.list_(SPOOLED if images.store == "bytes" else REFERENCE)
        fields += [pa.field("images", stored), pa.field("size", pa.int64())]
    return pa.schema(fields)


def schema_of(settings: Tokenizing) -> pa.Schema:
    """That of a run's token shards: where text is kept, with it and what is told of it."""
    schema = token_schema(
        settings.dtype, settings.images, of_pages=settings.of_pages, copies=settings.copies
    )
    if settings.output.text is None:
        return pa.schema([*schema, *settings.kept])
    return pa.schema([*schema, *carried(settings.kept, of_pages=settings.of_pages)])


def splits(job: TokenRun) -> tuple[str, ...]:
    """The splits of the dataset; a validation split is made if the recipe asks for one."""
    return ("train", "validation") if job.tokenizing.output.validation_frac else ("train",)


class TokenShards:
    """Encodes batches, writes each split's to its own file; without a tokenizer, what is kept."""

    def __init__(
        self, job: TokenRun, shard: SourceShard, files: contextlib.ExitStack, pass_index: int = 0
    ) -> None:
        """pass_index: the last, which it stands in."""
        settings = job.tokenizing
        self._engine = None if settings.tokenizer is None else settings.engine()
        self._output = settings.output
        self._images = settings.images
        self._copies = _copies_of(job, shard, pass_index - 1)
        self._shard = shard
        self._schema = schema_of(settings)
        paths = {split: job.path(TOKENS, split=split, key=shard.key) for split in splits(job)}
        self.paths = list(paths.values())
        self._writers = {
            split: files.enter_context(arrow_file(path, self._schema))
            for split, path in paths.items()
        }
        names = ["docs", "text_bytes", *(["tokens"] if self._engine else [])]
        names += ["sizes"] if self._images else []
        self._counted = {name: dict.fromkeys(paths, 0) for name in names}
        self._chars = 0
        self._lengths = np.zeros(LENGTH_BINS, np.int64)
        self._by: Counter[str] = Counter()
        self._measure = ImageMeasure(tuple(paths))

    def write(self, batch: pa.RecordBatch) -> StageStats:
        """Encode `batch`; every document comes out.

        Images have their offsets in the spool, should the dataset hold them.
        """
        if self._images is None:
            return self._write(batch)
        stats = StageStats(images=read_images(batch, None))
        for part in batches_of(batch, self._images.tokens):
            stats += self._write(part)
        return stats

    def refused(self, batch: pa.RecordBatch) -> dict[int, str]:
        """Which rows cannot be encoded, and why: each is tried alone."""
        found, by = {}, self._by.copy()
        for row in range(batch.num_rows):
            try:
                self._encoded(batch.slice(row, 1))
            except UnencodableError as e:
                found[row] = str(e)
        self._by = by
        return found

    def _write(self, batch: pa.RecordBatch) -> StageStats:
        made, text, per_image = self._encoded(batch)
        for split, here in sides(batch, self._output, tuple(self._writers)):
            part = made if here.all() else made.filter(pa.array(here))
            if part.num_rows:
                self._writers[split].write_batch(part)
                self._counted["docs"][split] += part.num_rows
                if self._engine is not None:
                    self._counted["tokens"][split] += len(part[IDS].flatten())
                self._counted["text_bytes"][split] += pc.sum(part["text_bytes"]).as_py()
                if self._images is not None:
                    self._counted["sizes"][split] += pc.sum(part["size"]).as_py()
                    self._measure.add(split, batch, here, per_image)
        self._chars += pc.sum(pc.utf8_length(text)).as_py() or 0
        _, bins = np.frexp(np.asarray(made["text_bytes"]))
        self._lengths += np.bincount(np.minimum(bins, LENGTH_BINS - 1), minlength=LENGTH_BINS)
        n, n_bytes = batch.num_rows, int(text_buffers(batch["text"]).lengths.sum())
        return StageStats(docs_in=n, docs_out=n, bytes_in=n_bytes, bytes_out=n_bytes)

    def _encoded(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array, I64]:
        """Token shard rows, their text, and (n_images,) how many ids are each image's."""
        text, per_image = batch["text"], np.empty(0, np.int64)
        made: dict[str, pa.Array] = {}
        if self._engine is not None:
            if self._images is None:
                tokens = self._engine.encode(text)
            else:
                tokens, per_image, text = encode_illustrated(self._engine, batch, self._images)
                made["images"], stored = kept_columns(batch, self._images, self._shard)
                sizes = np.diff(tokens.offsets) * self._engine.dtype.itemsize + stored
                made["size"] = pa.array(sizes)
            self._by.update(tokens.by)
            ends, ids = pa.array(tokens.offsets.astype(np.int32)), pa.array(tokens.ids)
            made[IDS] = pa.ListArray.from_arrays(ends, ids)
        made["source"] = self._sources(batch)
        made["text_bytes"] = pa.array(text_buffers(text).lengths)
        made |= self._copies(batch)
        columns = [made[n] if n in made else batch[n] for n in self._schema.names]
        return pa.record_batch(columns, schema=self._schema), text, per_image

    def _sources(self, batch: pa.RecordBatch) -> pa.Array:
        """(n_docs,) the input's name, but for documents that were of a source of an earlier run."""
        if "source" in batch.schema.names:
            return pc.fill_null(batch["source"], self._shard.source)
        return pa.repeat(self._shard.source, batch.num_rows)

    def measured(self) -> dict[str, Any]:
        """What was counted: documents, UTF-8 bytes and tokens by split; characters; lengths;
        documents by the engine that encoded them.

        With images: the same for them, and sizes: bytes of ids and images by split. Without a
        tokenizer nothing of tokens.
        """
        return {
            **self._counted,
            "chars": self._chars,
            "length_bins": self._lengths.tolist(),
            **({"docs_by_engine": dict(self._by)} if self._engine else {}),
            **({} if self._images is None else {"images": self._measure.to_json()}),
        }


def _copies_of(
    job: TokenRun, shard: SourceShard, pass_before: int
) -> Callable[[pa.RecordBatch], dict[str, pa.Array]]:
    """What tells how often documents were there, by column."""
    names = job.tokenizing.copies
    if not names:
        return lambda _: {}
    counts = read_counts(job, pass_before, shard.key, names)

    def copies(documents: pa.RecordBatch) -> dict[str, pa.Array]:
        found = np.minimum(counts.of(np.asarray(documents["doc_id"])), MOST_COUNTED)
        return {n: pa.array(c.astype(np.uint32)) for n, c in zip(names, found.T, strict=True)}

    return copies


def sides(
    documents: pa.RecordBatch, output: Output, names: Sequence[str]
) -> Iterator[tuple[str, Bools]]:
    """Of each of the splits named, (n_docs,) which documents are on its side."""
    validation = in_validation(parent_ids(documents), output.validation_frac, seed=output.seed)
    for split in names:
        yield split, validation == (split == "validation")


def in_validation(ids: pa.Array, frac: float, *, seed: int) -> Bools:
    """(n,) whether each document belongs to the validation split.

    ids: of the documents that the input had: pieces go where the whole would have gone.

    A document's own id decides, so that it stays on its side whatever else changes.
    """
    if frac == 0.0:
        return np.zeros(len(ids), np.bool_)
    return states(ids, seed=seed) < np.uint64(int(frac * 2.0**64))


BATCH_TOKENS = 1 << 20  # token ids in a record batch of the dataset, about
BATCH_BYTES = 1 << 26  # ids and images in one, about, where documents have images
MOST_ROWS = 8192  # documents in a record batch
NO_ROWS = pa.table(
    {"doc_id": pa.array([], "uint64"), "id": [], "text_bytes": pa.array([], "int64")}
)


class TokenShard(NamedTuple):
    """A finished token shard of one split: its key and what it holds.

    size: how much of the split's stream it is: tokens; or, where documents have images, bytes of
        ids and images; without a tokenizer bytes of text.
    """

    key: str
    tokens: int
    docs: int
    text_bytes: int
    size: int


class Documents(Protocol):
    """The documents of a split's token shards, in order, wherever they lie."""

    def sizes(self, shard: int) -> I64:
        """(n_docs,) how much of the stream each document is."""

    def rows(self, shard: int, lo: int, hi: int) -> pa.Table:
        """Documents [lo, hi), as the token shard has them."""


@dataclass(frozen=True)
class TokenFiles:
    """Those of files, one a shard, mapped for as long as a table of them lives."""

    paths: Sequence[Path]

    def sizes(self, shard: int) -> I64:
        """See `Documents`; the column of that name where there is one, else tokens, or text."""
        batches, schema = open_arrow(self.paths[shard])
        if IDS in schema.names and "size" not in schema.names:
            found = [np.asarray(b[IDS].value_lengths()) for b in batches]
        else:
            size = "size" if "size" in schema.names else "text_bytes"
            found = [np.asarray(b[size]) for b in batches]
        return np.concatenate([np.empty(0, np.int64), *found])

    def rows(self, shard: int, lo: int, hi: int) -> pa.Table:
        return pa.Table.from_batches(*open_arrow(self.paths[shard])).slice(lo, hi - lo)


class Part(NamedTuple):
    """A token shard that touches a span, and the rows of the span's `firsts` that are its own."""

    shard: int
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

    held: Documents
    parts: tuple[Part, ...]
    firsts: I64
    start: int
    stop: int
    last: bool

    def begun(self) -> pa.Table:
        """The documents that begin in the span."""
        return self._rows(*self._begun_rows())

    def documents(self) -> Iterator[pa.RecordBatch]:
        yield from self._batches(*self._begun_rows(), BATCH_TOKENS)

    def illustrated(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The documents begun in the span, by batch: the key of a token shard, some of its rows."""
        begun, end = self._begun_rows()
        for part in self.parts:
            rows = max(part.first, begun), min(part.end, end)
            for batch in self._batches(*rows, BATCH_BYTES):
                yield part.key, batch

    def _batches(self, row: int, end: int, most: int) -> Iterator[pa.RecordBatch]:
        """Rows [row, end) in batches of at most so much of the stream, if they can be."""
        while row < end:
            stop = int(np.searchsorted(self.firsts, self.firsts[row] + most, "right")) - 1
            stop = min(max(stop, row + 1), row + MOST_ROWS, end)
            (batch,) = self._rows(row, stop).combine_chunks().to_batches()
            yield batch
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
        pieces = [
            self.held.rows(shard, max(lo - first, 0), min(hi, end) - first)
            for shard, _, first, end in self.parts
            if first < hi and end > lo
        ]
        return pa.concat_tables(pieces) if pieces else NO_ROWS

    def _begun_rows(self) -> tuple[int, int]:
        docs = self.firsts[:-1]
        lo = int(np.searchsorted(docs, self.start, "left"))
        hi = len(docs) if self.last else int(np.searchsorted(docs, self.stop, "left"))
        return lo, hi


def token_span(
    documents: Documents, shards: Sequence[TokenShard], start: int, stop: int
) -> TokenSpan:
    """Token shards of [start, stop) of a split's stream; shards: all of the split, in order."""
    parts: list[Part] = []
    sizes = [np.zeros(1, np.int64)]
    at = rows = begin = 0
    for number, shard in enumerate(shards):
        # empty documents at either edge make it <= and >=, not < and >
        if shard.docs and at <= stop and at + shard.size >= start:
            begin = begin if parts else at
            sizes.append(documents.sizes(number))
            parts.append(Part(number, shard.key, rows, rows + shard.docs))
            rows += shard.docs
        at += shard.size
    firsts = begin + np.cumsum(np.concatenate(sizes))
    return TokenSpan(documents, tuple(parts), firsts, start, stop, last=stop == at)
