"""Documents that repeat benchmark items: found by their n-grams, removed or only reported.

benchmarks --prepare--> index file --bind--> BoundStage: batch --> StageResult
                                                              \\-> overlaps (schema OVERLAP)
"""

import hashlib
import json
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, field_validator

from dedup.arrow_text import text_buffers
from dedup.ngram_index import MAX_NGRAM, MIN_WORDS, NgramIndex, saved_extra
from dedup.overlap import Overlaps, scan
from pipelines.atomic import atomic_path
from pipelines.benchmark.items import item_texts, read_items
from pipelines.benchmark.spec import Benchmark
from pipelines.config import Config
from pipelines.errors import ConfigError, ShardError
from pipelines.schema import SCHEMA_VERSION
from pipelines.stage import KEEP, StageResult, keep_where

NAME = "decontaminate"
REASON = "overlap"
EXCERPT_CHARS = 120
EXCERPT_BYTES = 4 * EXCERPT_CHARS  # of UTF-8, at most
_EXTRA = "tokenmill.benchmarks"  # key in the index file

OVERLAP = pa.schema(
    [
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("benchmark", pa.string(), nullable=False),
        # "gsm8k:17", the benchmark's row counted from 0
        pa.field("item", pa.string(), nullable=False),
        # UTF-8 bytes of the document's text that repeat the item
        pa.field("start_byte", pa.int64(), nullable=False),
        pa.field("end_byte", pa.int64(), nullable=False),
        pa.field("ngrams", pa.int64(), nullable=False),
        pa.field("excerpt", pa.string(), nullable=False),
    ],
    metadata={"tokenmill.schema": f"overlap/{SCHEMA_VERSION}"},
)


class Decontaminate(Config):
    """Find documents that have a word n-gram in common with a benchmark item.

    Words are GPT-3's: lower-cased, without punctuation (`dedup.gram_words`). An item's
    fields are matched each by itself and all together; a text of fewer words than an
    n-gram is matched as a whole, and not at all under 8 words.

    ngram: words in an n-gram (default: GPT-3, Brown et al. 2020, appendix C).
    action: remove the document, or report the overlap and keep it.
    """

    benchmarks: Annotated[tuple[Benchmark, ...], Field(min_length=1)]
    ngram: Annotated[int, Field(ge=1, le=MAX_NGRAM)] = 13
    action: Literal["remove", "report"] = "remove"

    @field_validator("benchmarks")
    @classmethod
    def _names_differ(cls, benchmarks: tuple[Benchmark, ...]) -> tuple[Benchmark, ...]:
        names = [b.name for b in benchmarks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"benchmark {twice[0]!r} stands twice; give each its own name")
        return benchmarks

    @property
    def name(self) -> str:
        return NAME

    def prepare(self, path: Path) -> None:
        """Read the benchmarks and write their index, atomically.

        Raises:
            ConfigError: a benchmark cannot be read, or none of its items can be matched.
            OSError: a file could not be read or written.
        """
        tables = [read_items(b) for b in self.benchmarks]
        texts, ids, first = [], [], 0
        for table in tables:
            text, row = item_texts(table)
            texts.append(text)
            ids.append(row.to_numpy() + first)
            first += table.num_rows
        index = NgramIndex.build(pa.concat_arrays(texts), np.concatenate(ids), ngram=self.ngram)
        indexed = _indexed(self.benchmarks, tables, index)
        with atomic_path(path) as partial:
            index.save(partial, {_EXTRA: json.dumps(indexed)})

    def bind(self, path: Path) -> "BoundStage":
        """Map a prepared index into memory, and return the stage that uses it.

        Raises:
            ShardError: the file is not an index, or was prepared for another recipe.
            OSError: it cannot be read.
        """
        try:
            indexed = json.loads(saved_extra(path).get(_EXTRA, "[]"))
            index = NgramIndex.load(path, ngram=self.ngram)
        except ValueError as e:
            raise ShardError(str(e)) from e
        for found, wanted in zip_longest(indexed, self.benchmarks):
            expected = None if wanted is None else wanted.model_dump(mode="json")
            if found is None or found["benchmark"] != expected:
                raise ShardError(
                    f"{path}: n-gram index of benchmark {found and found['benchmark']},"
                    f" this run needs {expected}; delete it and build it again"
                )
        return BoundStage(self, index, tuple(indexed))


@dataclass(frozen=True, eq=False)
class BoundStage:
    """The stage `config` with its index at hand.

    benchmarks: for the manifest, of each benchmark: its config, the fields used, items,
        rows of untestable items, MD5 of the texts.
    """

    config: Decontaminate
    index: NgramIndex
    benchmarks: tuple[dict[str, Any], ...]

    @property
    def name(self) -> str:
        return NAME

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        """Remove what overlaps, or with action "report" nothing.

        A receipt's value is the number of n-grams that any item has; its detail the longest
        overlap, as "gsm8k:17 n=11 'matched text' (and 2 more items)".
        """
        return self.check(batch)[0]

    def overlaps(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A row of schema OVERLAP for each span of a document that repeats an item."""
        return self.check(batch)[1]

    def check(self, batch: pa.RecordBatch) -> tuple[StageResult, pa.RecordBatch]:
        """What `__call__` and `overlaps` return, for one scan."""
        found = scan(batch["text"], self.index)
        names = self._item_names(found.items)
        excerpts = _excerpts(batch["text"], found)
        verdicts = np.full(batch.num_rows, KEEP, np.uint8)
        if self.config.action == "remove":
            verdicts[found.docs] = 1
        result = keep_where(
            NAME,
            batch,
            verdicts,
            (REASON,),
            values=found.doc_ngrams.astype(np.float64),
            details=_details(found, names, excerpts, batch.num_rows),
        )
        rows = pa.array(found.docs)
        columns = [
            batch["doc_id"].take(rows),
            batch["id"].take(rows),
            pa.array([name.partition(":")[0] for name in names], pa.string()),
            pa.array(names, pa.string()),
            pa.array(found.starts),
            pa.array(found.ends),
            pa.array(found.ngrams),
            pa.array(excerpts, pa.string()),
        ]
        return result, pa.record_batch(columns, schema=OVERLAP)

    def _item_names(self, ids: npt.NDArray[np.int64]) -> list[str]:
        """Names like "gsm8k:17" of item ids, which count through the benchmarks in order."""
        ends = np.cumsum([b["items"] for b in self.benchmarks])
        which = np.searchsorted(ends, ids, side="right")
        rows = ids - np.concatenate(([0], ends))[which]
        return [
            f"{self.config.benchmarks[b].name}:{row}"
            for b, row in zip(which.tolist(), rows.tolist(), strict=True)
        ]


def _indexed(
    benchmarks: tuple[Benchmark, ...], tables: list[pa.Table], index: NgramIndex
) -> list[dict[str, Any]]:
    """What of each benchmark is in the index, as JSON.

    Raises:
        ConfigError: no item of a benchmark is long enough to be matched.
    """
    indexed, first = [], 0
    for benchmark, table in zip(benchmarks, tables, strict=True):
        ids = index.untestable - first
        untestable = ids[(ids >= 0) & (ids < table.num_rows)]
        if len(untestable) == table.num_rows:
            raise ConfigError(
                f"benchmark {benchmark.name!r}: {benchmark.path}: none of {table.num_rows} items"
                f" has {min(index.ngram, MIN_WORDS)} words in {', '.join(table.column_names[1:])};"
                " name other fields, or drop the benchmark"
            )
        indexed.append(
            {
                "benchmark": benchmark.model_dump(mode="json"),
                "fields": table.column_names[1:],
                "items": table.num_rows,
                "untestable": untestable.tolist(),
                "md5": _md5(table),
            }
        )
        first += table.num_rows
    return indexed


def _md5(table: pa.Table) -> str:
    return hashlib.md5(json.dumps(table.to_pydict()).encode(), usedforsecurity=False).hexdigest()


def _excerpts(text: pa.Array, found: Overlaps) -> list[str]:
    """The first characters of each span, on one line."""
    data, offsets = text_buffers(text)
    starts = offsets[:-1][found.docs] + found.starts
    stops = np.minimum(starts + EXCERPT_BYTES, offsets[:-1][found.docs] + found.ends)
    return [
        " ".join(data[a:b].tobytes().decode(errors="ignore").split())[:EXCERPT_CHARS]
        for a, b in zip(starts.tolist(), stops.tolist(), strict=True)
    ]


def _details(found: Overlaps, names: list[str], excerpts: list[str], n_docs: int) -> pa.Array:
    """(n_docs,) string: the longest overlap of each document, null where there is none."""
    details: list[str | None] = [None] * n_docs
    pairs = np.unique(np.stack([found.docs, found.items]), axis=1)
    n_items = np.bincount(pairs[0], minlength=n_docs)
    longest_first = np.lexsort((-found.ngrams, found.docs))
    docs, at = np.unique(found.docs[longest_first], return_index=True)
    for doc, span in zip(docs.tolist(), longest_first[at].tolist(), strict=True):
        more = int(n_items[doc]) - 1
        others = f" (and {more} more item{'s' if more > 1 else ''})" if more else ""
        details[doc] = f"{names[span]} n={found.ngrams[span]} '{excerpts[span]}'{others}"
    return pa.array(details, pa.string())
