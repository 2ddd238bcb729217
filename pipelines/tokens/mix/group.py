"""The copies of the documents of some token shards: where their ids lie, and all else of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from tokenmill.pipelines.core.pieces import parent_ids
from tokenmill.pipelines.storage.files import open_sidecar
from tokenmill.pipelines.tokens.mix.draws import Copies, copies, draws, states
from tokenmill.pipelines.tokens.mix.lists import Gathered, Spans, one_batch, spans_of
from tokenmill.pipelines.tokens.mix.weights import Weighed
from tokenmill.pipelines.tokens.run import TokenRun
from tokenmill.pipelines.tokens.shards import token_schema

IDS = "input_ids"


@dataclass(frozen=True)
class Drawn:
    """A token shard: its ids mapped, all else of it in memory, and what chance decides.

    rest: the other columns.  draw: (n_docs,) of each document, in 2**-32.
    """

    shard: Weighed
    spans: Spans
    rest: pa.RecordBatch
    draw: npt.NDArray[np.uint64]
    copies: Copies


def drawn(job: TokenRun, split: str, shard: Weighed) -> Drawn:
    """A shard's documents of one split and their copies; one of each where it is not "train".

    What a validation split measures would hang on few documents if some counted often.
    """
    output = job.tokenizing.output
    opened = open_sidecar(job.tokens(split, shard.key), {})
    schema = token_schema(job.tokenizing.engine().dtype, of_pages=job.tokenizing.of_pages)
    rest = one_batch(pa.Table.from_batches(opened.batches, schema).drop_columns([IDS]))
    ids, parents = rest["id"], parent_ids(rest)
    own = states(ids, seed=output.seed)
    draw = draws(own if parents.equals(ids) else states(parents, seed=output.seed))
    salt = np.uint64(xxhash.xxh3_64_intdigest(shard.salt.encode()) if shard.salt else 0)
    weight, epochs = (shard.weight, output.epochs) if split == "train" else (1.0, 1)
    data = np.frombuffer(opened.mapped, np.uint8)
    starts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for batch in opened.batches:
        spans = spans_of(batch[IDS], data)
        starts.append(spans.starts)
        ends.append(spans.ends)
    return Drawn(
        shard=shard,
        spans=Spans(data, np.concatenate(starts), np.concatenate(ends)),
        rest=rest,
        draw=draw,
        copies=copies(draw, own + salt, weight=weight, epochs=epochs),
    )


@dataclass(frozen=True)
class Group:
    """Copies of the documents of some token shards, in order; a row number is of a document."""

    shards: Sequence[Drawn]

    @cached_property
    def bases(self) -> npt.NDArray[np.int64]:
        """(n_shards + 1,) row of the group where each shard begins."""
        return np.concatenate(([0], np.cumsum([s.rest.num_rows for s in self.shards])))

    @cached_property
    def rest(self) -> pa.RecordBatch:
        """All columns but ids: a row for each document."""
        return one_batch(pa.Table.from_batches([s.rest for s in self.shards]))

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """(n_docs,) bytes of the ids of each document."""
        return np.concatenate([s.spans.sizes for s in self.shards])

    @cached_property
    def counts(self) -> npt.NDArray[np.uint64]:
        """(n_docs,) copies of each document."""
        return np.concatenate([s.copies.counts for s in self.shards])

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """(n_copies,) row of each copy's document, ascending."""
        bases = self.bases[:-1].tolist()
        return np.concatenate(
            [s.copies.rows + base for s, base in zip(self.shards, bases, strict=True)]
        )

    @cached_property
    def keys(self) -> npt.NDArray[np.uint64]:
        """(n_copies,)"""
        return np.concatenate([s.copies.keys for s in self.shards])

    def cell(self, here: npt.NDArray[np.int64], schema: pa.Schema) -> pa.RecordBatch:
        """Some copies, as rows of `schema`.  here: (n,) their numbers, ascending."""
        rows = self.rows[here]
        ids = Gathered(self.sizes[rows], schema.field(IDS).type.value_type)
        cuts = np.searchsorted(rows, self.bases).tolist()
        for number, (first, last) in enumerate(pairwise(cuts)):
            of_shard = rows[first:last] - self.bases[number]
            ids.put(np.arange(first, last), self.shards[number].spans, of_shard)
        rest = self.rest.take(pa.array(rows))
        made = {name: rest[name] for name in rest.schema.names} | {
            IDS: ids.array(),
            "key": pa.array(self.keys[here]),
            "copies": pa.array(self.counts[rows].astype(np.uint32)),
        }
        return pa.record_batch([made[name] for name in schema.names], schema=schema)
