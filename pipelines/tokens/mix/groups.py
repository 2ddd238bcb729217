"""Groups of documents by what is known of them, as topic and quality, each with its share.

    token shards ── cuts: values between buckets ── counts: tokens of each group ──► its weight

A group is a path through `mix.shares`, as "law / high"; what no path leads to has no share.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import F64, I64, Bools
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.runs.receipt import WorkFacts
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import open_arrow
from tokenmill.pipelines.tokens.mix.draws import number
from tokenmill.pipelines.tokens.options import MOST_COPIES, Mix
from tokenmill.pipelines.tokens.run import TOKENS, TokenRun

CUTS, GROUPS = "mix-cuts", "mix-groups"  # works
MOST_VALUES = 1 << 24  # that quantiles are taken of; of more documents a sample by doc_id
NO_SHARE = "no share"  # the name of what no path leads to
IDS = "input_ids"


@dataclass(frozen=True, kw_only=True)
class CutFacts(WorkFacts):
    """cuts: by bucketed column, the least value of each bucket but the first."""

    cuts: Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class GroupFacts(WorkFacts):
    """Of a token shard's training side, by group. wanted: tokens, by the documents' own weights."""

    docs: Mapping[str, int]
    tokens: Mapping[str, int]
    wanted: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """cuts: of `CutFacts`.  weights: by group; of `mix.weights` each document has its own."""

    mix: Mix
    cuts: Mapping[str, Sequence[float]]
    weights: Mapping[str, float]

    def of(self, rows: pa.RecordBatch) -> tuple[I64, list[str]]:
        """(n_docs,) the number of each document's group, and the names of the groups."""
        columns = [self._values(rows, name).dictionary_encode() for name in self.mix.by]
        codes = [np.asarray(pc.fill_null(c.indices, -1)).astype(np.int64) + 1 for c in columns]
        sizes = [len(c.dictionary) + 1 for c in columns]
        keys = np.zeros(rows.num_rows, np.int64)
        for code, size in zip(codes, sizes, strict=True):
            keys = keys * size + code
        kinds, which = np.unique(keys, return_inverse=True)
        names = [self.mix.group(self._path(int(kind), columns, sizes)) for kind in kinds]
        known = list(dict.fromkeys(names))
        at = np.array([known.index(name) for name in names], np.int64)
        return at[which] if len(at) else which, known

    def weights_of(self, rows: pa.RecordBatch) -> F64:
        """(n_docs,) how often each document stands in an epoch, on average."""
        if self.mix.weights is not None:
            return own_weights(rows, self.mix.weights)
        which, names = self.of(rows)
        return np.array([self.weights.get(name, 0.0) for name in names])[which]

    def _values(self, rows: pa.RecordBatch, name: str) -> pa.Array:
        bucket = self.mix.buckets.get(name)
        if bucket is None:
            return rows[name].cast(pa.string())
        values = numbers(rows, bucket.of)
        place = np.searchsorted(self.cuts[name], values, "right")
        return pa.array(bucket.called).take(pa.array(place, mask=np.isnan(values)))

    @staticmethod
    def _path(kind: int, columns: Sequence[pa.Array], sizes: Sequence[int]) -> list[str | None]:
        """The values that a combination of codes stands for."""
        path: list[str | None] = []
        for column, size in zip(reversed(columns), reversed(sizes), strict=True):
            kind, code = divmod(kind, size)
            path.append(column.dictionary[code - 1].as_py() if code else None)
        return path[::-1]


def numbers(rows: pa.RecordBatch, name: str) -> F64:
    """(n_docs,) a column of numbers; NaN where there is none."""
    return np.asarray(pc.fill_null(rows[name].cast(pa.float64()), np.nan))


def own_weights(rows: pa.RecordBatch, name: str) -> F64:
    """(n_docs,) weights of a column, 0 where none; ConfigError: below 0, or beyond all bounds."""
    weights = np.nan_to_num(numbers(rows, name), nan=0.0)
    wrong = np.flatnonzero((weights < 0) | (weights > MOST_COPIES))
    if len(wrong):
        row = int(wrong[0])
        raise ConfigError(
            f"mix.weights: document {rows['id'][row].as_py()!r} has {name} {weights[row]:g};"
            f" weights are from 0 to {MOST_COPIES:,}"
        )
    return weights


def find_cuts(job: TokenRun, keys: Sequence[str], n_docs: int) -> Done[CutFacts]:
    """Find the values between buckets: quantiles over the documents of the training side."""
    mix = job.tokenizing.mix
    assert mix is not None
    found: dict[str, list[F64]] = {name: [] for name in mix.buckets}
    for key in keys:
        for rows in _training(job, key):
            taken = _sample(rows, n_docs)
            for name, bucket in mix.buckets.items():
                values = numbers(rows, bucket.of)[taken]
                found[name].append(values[~np.isnan(values)])
    cuts = {name: _quantiles(found[name], mix.buckets[name].cuts) for name in found}
    return Done(facts=CutFacts(cuts=cuts))


def _quantiles(parts: Sequence[F64], shares: Sequence[float]) -> list[float]:
    """The values below which such shares of all lie."""
    values = np.sort(np.concatenate([np.empty(0), *parts]))
    if not len(values):
        return [0.0] * len(shares)
    return [float(values[min(int(share * len(values)), len(values) - 1)]) for share in shares]


def _sample(rows: pa.RecordBatch, n_docs: int) -> Bools:
    if n_docs <= MOST_VALUES:
        return np.ones(rows.num_rows, np.bool_)
    most = np.uint64(MOST_VALUES / n_docs * 2.0**64)
    return number(np.asarray(rows["doc_id"]), 1) < most


def count_groups(job: TokenRun, key: str, cuts: Mapping[str, Sequence[float]]) -> Done[GroupFacts]:
    mix = job.tokenizing.mix
    assert mix is not None
    grouping = Grouping(mix=mix, cuts=cuts, weights={})
    docs, tokens, wanted = dict[str, int](), dict[str, int](), dict[str, float]()
    for rows in _training(job, key):
        which, names = grouping.of(rows)
        lengths = np.asarray(pc.list_value_length(rows[IDS])).astype(np.float64)
        weights = np.zeros(len(lengths)) if mix.weights is None else own_weights(rows, mix.weights)
        for total, values in ((docs, np.ones(len(lengths))), (tokens, lengths)):
            for name, n in zip(names, np.bincount(which, values, len(names)), strict=True):
                total[name] = total.get(name, 0) + int(n)
        for name, n in zip(names, np.bincount(which, weights * lengths, len(names)), strict=True):
            wanted[name] = wanted.get(name, 0.0) + float(n)
    return Done(facts=GroupFacts(docs=docs, tokens=tokens, wanted=wanted))


def _training(job: TokenRun, key: str) -> Iterator[pa.RecordBatch]:
    yield from open_arrow(job.path(TOKENS, split="train", key=key))[0]
