"""Benchmarks made ready to be looked for, once, in files that every worker maps into memory.

Matching --build--> BenchmarkIndex --save--> FOLDER/ngrams.arrow, items.arrow --load--> the same
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.fold import Folding, fold
from tokenmill.dedup.gram_counts import letterless, shared
from tokenmill.dedup.ngram_index import MIN_WORDS, NgramIndex
from tokenmill.pipelines.arrow_files import arrow_file
from tokenmill.pipelines.atomic import atomic_path
from tokenmill.pipelines.benchmark.items import item_texts, read_items
from tokenmill.pipelines.benchmark.spec import Benchmark
from tokenmill.pipelines.contamination.matching import Matching
from tokenmill.pipelines.contamination.ngrams import LEAST_WHOLE, ItemTexts, prepare_texts
from tokenmill.pipelines.errors import ConfigError, ShardError
from tokenmill.pipelines.mirror import present
from tokenmill.pipelines.sidecar import open_arrow

NGRAMS, ITEMS = "ngrams.arrow", "items.arrow"
_KEY = b"tokenmill.benchmarks"  # of the metadata of ITEMS
_COLUMNS = ("items", "ngrams", "least", "lengths", "starts", "benchmark_ngrams")  # of ItemTexts


@dataclass(frozen=True, eq=False)
class BenchmarkIndex:
    """Benchmarks made ready.

    ngrams: their n-grams.
    texts: the items' texts, and how each is matched.
    ignored: (n_grams,) bool, n-grams that count for nothing wherever they stand: without a
        letter, or shared by many items of a benchmark.
    benchmarks: of each, as JSON: `benchmark` (its settings), `fields` looked for, `items`,
        `ngram`, `untestable` (items of fewer than 8 words), `md5` of its texts.
    """

    matching: Matching
    ngrams: NgramIndex
    texts: ItemTexts
    ignored: npt.NDArray[np.bool_]
    benchmarks: tuple[dict[str, Any], ...]

    @classmethod
    def build(cls, matching: Matching) -> "BenchmarkIndex":
        """Read the benchmarks and index their n-grams.

        Raises:
            ConfigError: a benchmark cannot be read, or none of its items can be matched.
            OSError: a file could not be read.
        """
        tables = [read_items(b) for b in matching.benchmarks]
        columns, items, first = [], [], 0
        for table in tables:
            text, row = item_texts(table)
            columns.append(text)
            items.append(row.to_numpy() + first)
            first += table.num_rows
        wanted = None if matching.ngram == "auto" else matching.ngram
        texts = prepare_texts(
            pa.concat_arrays(columns),
            np.concatenate(items),
            np.array([table.num_rows for table in tables]),
            [wanted] * len(tables),
            matching.folding.folding(),
        )
        ngrams = texts.indexed()
        folded = fold(texts.texts, texts.folding).text
        ignored = shared(ngrams, texts.starts, first) | letterless(ngrams, folded)
        return cls(matching, ngrams, texts, ignored, tuple(_described(matching, tables, texts)))

    @property
    def folding(self) -> Folding:
        return self.texts.folding

    def save(self, folder: Path) -> list[Path]:
        """Write the index into a folder, file by file atomically; return the files."""
        with atomic_path(folder / NGRAMS) as partial:
            self.ngrams.save(partial)
        columns = {name: getattr(self.texts, name) for name in _COLUMNS}
        lists = {
            name: pa.LargeListArray.from_arrays(pa.array([0, len(c)], pa.int64()), pa.array(c))
            for name, c in ({"texts": self.texts.texts, "ignored": self.ignored} | columns).items()
        }
        described = json.dumps([_identity(self.matching), *self.benchmarks])
        row = pa.record_batch(list(lists.values()), names=list(lists))
        row = row.replace_schema_metadata({_KEY: described})
        with arrow_file(folder / ITEMS, row.schema) as writer:
            writer.write_batch(row)
        return [folder / NGRAMS, folder / ITEMS]

    @classmethod
    def load(cls, folder: Path, matching: Matching) -> "BenchmarkIndex":
        """Map a saved index into memory.

        Raises:
            ShardError: a file is not of an index, or was made for other benchmarks or settings.
            OSError: it cannot be read.
        """
        path = folder / ITEMS
        batches, schema = open_arrow(path)
        if len(batches) != 1 or _KEY not in (schema.metadata or {}):
            raise ShardError(f"{path}: not an index of benchmarks; delete it and build it again")
        made_for, *benchmarks = json.loads(schema.metadata[_KEY])
        if made_for != _identity(matching):
            raise ShardError(
                f"{path}: made for {_differing(made_for, _identity(matching))};"
                " delete it and build it again"
            )
        (row,) = batches
        arrays = {name: row[name].values.to_numpy() for name in _COLUMNS}
        texts = ItemTexts(texts=row["texts"].values, folding=matching.folding.folding(), **arrays)
        wanted = tuple(sorted(set(texts.benchmark_ngrams.tolist())))
        try:
            ngrams = NgramIndex.load(present(folder / NGRAMS), ngram=wanted)
        except ValueError as e:
            raise ShardError(str(e)) from e
        ignored = row["ignored"].values.to_numpy(zero_copy_only=False)
        return cls(matching, ngrams, texts, ignored, tuple(benchmarks))

    def names_of(self, items: npt.NDArray[np.integer]) -> list[str]:
        """Names like "gsm8k:17" of items, which count through the benchmarks in order."""
        which = np.searchsorted(self.texts.starts, items, side="right") - 1
        rows = items - self.texts.starts[which]
        names = [b.name for b in self.matching.benchmarks]
        return [f"{names[b]}:{row}" for b, row in zip(which.tolist(), rows.tolist(), strict=True)]


def _identity(matching: Matching) -> dict[str, Any]:
    """What decides the index, as JSON; `most_docs` does not."""
    return matching.model_dump(mode="json", include={"benchmarks", "ngram", "folding"})


def _differing(there: dict[str, Any], here: dict[str, Any]) -> str:
    key = next(k for k in here if there.get(k) != here[k])
    return f"{key} {there.get(key)}, this run needs {here[key]}"


def _described(
    matching: Matching, tables: list[pa.Table], texts: ItemTexts
) -> list[dict[str, Any]]:
    """What of each benchmark is in the index.

    Raises:
        ConfigError: no item of a benchmark is long enough to be matched.
    """
    described = []
    for number, (benchmark, table) in enumerate(zip(matching.benchmarks, tables, strict=True)):
        start = int(texts.starts[number])
        lengths = texts.lengths[start : start + table.num_rows]
        ngram = int(texts.benchmark_ngrams[number])
        _check_lengths(benchmark, table, int(lengths.max()), min(ngram, LEAST_WHOLE))
        described.append(
            {
                "benchmark": benchmark.model_dump(mode="json"),
                "fields": table.column_names[1:],
                "items": table.num_rows,
                "ngram": ngram,
                "untestable": int(np.count_nonzero(lengths < min(ngram, MIN_WORDS))),
                "md5": _md5(table),
            }
        )
    return described


def _check_lengths(benchmark: Benchmark, table: pa.Table, longest: int, least: int) -> None:
    """Raise ConfigError if no item of the benchmark can be looked for."""
    if longest < least:
        raise ConfigError(
            f"benchmark {benchmark.name!r}: {benchmark.path}: none of {table.num_rows} items has"
            f" {least} words in {', '.join(table.column_names[1:])}; name other fields, or"
            " drop the benchmark"
        )


def _md5(table: pa.Table) -> str:
    return hashlib.md5(json.dumps(table.to_pydict()).encode(), usedforsecurity=False).hexdigest()
