"""Benchmark items as n-grams, made ready once in files that every worker maps into memory.

    Matching ─ build ─► BenchmarkIndex ─ save ─► FOLDER/ngrams.arrow, items.arrow ─ load ─► the same

N, the words in a benchmark's n-grams, is chosen as in GPT-3's overlap analysis (Brown et al. 2020,
arXiv:2005.14165, appendix C): "the 5th percentile example length in words, ignoring all
punctuation, whitespace, and casing", at least 8 and at most 13. The paper does not say which
percentile; here it is the nearest rank, the least length that 5 % of the items do not exceed: an
item has that many words, so that nothing is rounded.

    words     N-grams                    matched as a whole
    0-2       -                          no: such words stand everywhere
    3-7       -  not testable by them    the item: found where all its words stand in a row
    8-(N-1)   -                          each text of the item
    N-        each text of the item

Where most words of a text are characters or clusters by themselves, as in Chinese, Japanese and
Thai, two stand for one in this table: of such a text n-grams are 2 N characters, and 16 to 26 of
them are matched as a whole. Where items are judged by shares, N is 8 of Han and Kana, 8 to 10 of
clusters: half of an item of 48 has none of 26. Of 20 clusters and 16 characters few of clean text
are an item's, and these are phrases (README.md), of 16 clusters ten times as many.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, field_validator

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.dedup.overlap.containment_index import LONG_WORDS
from tokenmill.dedup.overlap.counts import MOST_DOCS, letterless, shared
from tokenmill.dedup.overlap.index import MAX_NGRAM, MIN_WORDS, NgramIndex
from tokenmill.dedup.text.fold import Folding, fold
from tokenmill.dedup.text.gram_words import (
    HAN_OR_KANA,
    GramWords,
    count_led,
    count_words,
    dense,
)
from tokenmill.pipelines.contamination.items.items import item_texts, read_items
from tokenmill.pipelines.contamination.items.spec import OTHER, WHOLE, Benchmark, role_of
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.pipelines.storage.files import arrow_file, open_arrow
from tokenmill.pipelines.storage.mirror import present

PERCENTILE = 5
LEAST_NGRAM, MOST_NGRAM = 8, 13
MOST_OF_CHARACTERS, MOST_OF_CLUSTERS = 8, 10  # where two stand for a word
LEAST_WHOLE = 3  # words of an item that is matched as a whole, though under 8


def ngram_of(lengths_words: npt.NDArray[np.integer]) -> int:
    """N of a benchmark: the 5th percentile of the lengths of its items, from 8 to 13.

    lengths_words: (n_items,) words of each item, one at least.

    >>> ngram_of(np.array([40, 10, 90, 70]))
    10
    """
    rank = np.percentile(lengths_words, PERCENTILE, method="inverted_cdf")
    return int(np.clip(rank, LEAST_NGRAM, MOST_NGRAM))


@dataclass(frozen=True, eq=False)
class ItemTexts:
    """The texts of all benchmarks' items, and how each is matched.

    texts: (n_texts,) large_string, as the benchmarks have them.
    folding: disguises that are taken off before words are counted and n-grams made.
    words: what a gram word is.
    items: (n_texts,) int64, the item of each text; items count through the benchmarks.
    ngrams: (n_texts,) int64, gram words of a window: N of the item's benchmark, or up to 2 N.
    least: (n_texts,) int64, gram words from which on the text is matched as a whole.
    roles: (n_texts,) int64, what each is to its item: a number of `items.spec`.
    lengths: (n_items,) int64, words of each item, characters for half a word: of its longest text.
    starts: (n_benchmarks,) int64, first item of each benchmark.
    benchmark_ngrams: (n_benchmarks,) int64.
    """

    texts: pa.Array
    folding: Folding
    words: GramWords
    items: I64
    ngrams: I64
    least: I64
    roles: I64
    lengths: I64
    starts: I64
    benchmark_ngrams: I64

    def benchmarks_of(self, items: npt.NDArray[np.integer]) -> I64:
        """The number of each item's benchmark."""
        return np.searchsorted(self.starts, items, "right") - 1

    @property
    def is_short(self) -> Bools:
        """(n_items,) items under 8 words, or N if that is less: n-grams cannot test them."""
        ngrams = self.benchmark_ngrams[self.benchmarks_of(np.arange(len(self.lengths)))]
        return self.lengths < np.minimum(ngrams, MIN_WORDS)

    def brief(self) -> Bools:
        """(n_items,) items too short for the common threshold of edited copies."""
        words = np.zeros(len(self.lengths), np.int64)
        folded = fold(self.texts, self.folding).text
        np.maximum.at(words, self.items, count_words(folded, self.words, apart=True))
        return words < LONG_WORDS

    def indexed(self) -> NgramIndex:
        folded = fold(self.texts, self.folding).text
        return NgramIndex.build(
            folded, self.items, ngram=self.ngrams, least=self.least, words=self.words
        )


def prepare_texts(
    texts: pa.Array,
    items: I64,
    n_items: I64,
    ngrams: list[int | None] | None = None,
    folding: Folding | None = None,
    words: GramWords = "scripts",
    roles: I64 | None = None,
    *,
    published: bool = False,
) -> ItemTexts:
    """Choose N of each benchmark, and which texts are matched as a whole.

    Of an item under 8 words only the longest text is matched, the first if several are longest.

    texts, items: as of `ItemTexts`; those of an item need not stand together.
    n_items: (n_benchmarks,) int64, items of each benchmark, one at least.
    ngrams: N of each benchmark; None computes it.
    folding: the default of `Folding` if None.
    roles: as of `ItemTexts`; None says nothing of them.
    published: N is not less of characters and clusters: one n-gram makes an item dirty.
    """
    folding = folding or Folding()
    folded = fold(texts, folding).text
    counts = count_words(folded, words)
    by = dense(folded, counts, words)
    of_characters = 2 * count_led(folded, HAN_OR_KANA) > counts
    most = np.where(of_characters, MOST_OF_CHARACTERS, MOST_OF_CLUSTERS)
    counts //= by
    lengths = np.zeros(int(n_items.sum()), np.int64)
    np.maximum.at(lengths, items, counts)
    starts = np.cumsum(n_items) - n_items
    given = ngrams or [None] * len(n_items)
    settled = np.array(
        [
            ngram if ngram is not None else ngram_of(lengths[start : start + n])
            for ngram, start, n in zip(given, starts.tolist(), n_items.tolist(), strict=True)
        ],
        np.int64,
    )
    of = np.searchsorted(starts, items, "right") - 1
    of_texts, computed = settled[of], np.array([n is None and not published for n in given])
    np.minimum(of_texts, most, out=of_texts, where=(by > 1) & computed[of])
    order = np.lexsort((-counts, items))
    longest = order[np.unique(items[order], return_index=True)[1]]
    least = np.full(len(texts), MIN_WORDS)
    least[longest[counts[longest] < MIN_WORDS]] = LEAST_WHOLE
    return ItemTexts(
        texts=texts,
        folding=folding,
        words=words,
        items=items,
        ngrams=np.minimum(by * of_texts, MAX_NGRAM),
        least=by * least,
        roles=np.full(len(texts), OTHER) if roles is None else roles,
        lengths=lengths,
        starts=starts,
        benchmark_ngrams=settled,
    )


class Folds(Config):
    """Which disguises to see through; `dedup.text.fold` says how.

    entities: HTML character references, as `&quot;`.
    line_breaks: words that are hyphenated at the end of a line.
    compat: full width, mathematical letters, ligatures and the like.
    invisible: soft hyphens, zero width and other characters that nobody sees.
    signs: what looks like punctuation and is none to Unicode, as the minus sign.
    marks: accents and other diacritics.
    confusables: letters of other alphabets that look like Latin ones, among these.
    markup: HTML tags and the names of LaTeX commands.
    """

    entities: bool = True
    line_breaks: bool = True
    compat: bool = True
    invisible: bool = True
    signs: bool = True
    marks: bool = False
    confusables: bool = True
    markup: bool = True

    def folding(self) -> Folding:
        return Folding(**self.model_dump())


class Matching(Config):
    """How items are looked for; the defaults are GPT-3's (Brown et al. 2020, appendix C).

    Words are lower-cased, without punctuation, between white space (`dedup.text.gram_words`). An
    item's fields are matched each by itself and all together; a text of fewer words than an n-gram
    is matched as a whole, and not at all under 8 words unless the item has no longer one.

    ngram: words in an n-gram; "auto" is, of each benchmark, the 5th percentile of its items'
        lengths, at least 8 and at most 13.
    words: "scripts" takes one character, or grapheme cluster, for a word where a script sets no
        spaces; two of them for one in an n-gram and wherever words are counted, but an "auto"
        n-gram is 16 characters or 16 to 20 clusters unless one alone makes an item dirty.
    folding: disguises that documents and items are both freed from first.
    most_docs: an n-gram in more documents is ignored; None is no limit.
    """

    benchmarks: Annotated[tuple[Benchmark, ...], Field(min_length=1)]
    ngram: Annotated[int, Field(ge=1, le=MAX_NGRAM)] | Literal["auto"] = "auto"
    words: GramWords = "scripts"
    folding: Folds = Folds()
    most_docs: Annotated[int, Field(ge=1)] | None = MOST_DOCS

    @field_validator("benchmarks")
    @classmethod
    def _names_differ(cls, benchmarks: tuple[Benchmark, ...]) -> tuple[Benchmark, ...]:
        names = [b.name for b in benchmarks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"benchmark {twice[0]!r} stands twice; give each its own name")
        return benchmarks


NGRAMS, ITEMS = "ngrams.arrow", "items.arrow"
_KEY = b"tokenmill.benchmarks"  # of the metadata of ITEMS
# of ItemTexts
_COLUMNS = ("items", "ngrams", "least", "roles", "lengths", "starts", "benchmark_ngrams")


class IndexedBenchmark(TypedDict):
    """What the index has of a benchmark, as JSON; untestable: items of fewer than 8 words."""

    benchmark: dict[str, Any]
    fields: list[str]
    items: int
    ngram: int
    untestable: int
    md5: str


@dataclass(frozen=True, eq=False)
class BenchmarkIndex:
    """Benchmarks as n-grams, and the texts that these are of.

    ignored: (n_grams,) bool, n-grams that are ignored in any corpus: without a letter, or shared
        by many items of a benchmark.
    """

    matching: Matching
    ngrams: NgramIndex
    texts: ItemTexts
    ignored: Bools
    benchmarks: tuple[IndexedBenchmark, ...]

    @classmethod
    def build(cls, matching: Matching, *, published: bool = False) -> "BenchmarkIndex":
        """Read the benchmarks and index their n-grams; published: as of `prepare_texts`.

        ConfigError: a benchmark cannot be read, or none of its items can be matched.
        OSError: a file could not be read.
        """
        tables = [read_items(b) for b in matching.benchmarks]
        columns, items, roles, first = [], [], [], 0
        for benchmark, table in zip(matching.benchmarks, tables, strict=True):
            text, row, column = item_texts(table)
            columns.append(text)
            items.append(row.to_numpy() + first)
            names = table.column_names[1:]
            kinds = [OTHER, *(role_of(benchmark.name, name) for name in names), WHOLE]
            roles.append(np.array(kinds)[column.to_numpy()])
            first += table.num_rows
        wanted = None if matching.ngram == "auto" else matching.ngram
        texts = prepare_texts(
            pa.concat_arrays(columns),
            np.concatenate(items),
            np.array([table.num_rows for table in tables]),
            [wanted] * len(tables),
            matching.folding.folding(),
            matching.words,
            np.concatenate(roles),
            published=published,
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
        texts = ItemTexts(
            texts=row["texts"].values,
            folding=matching.folding.folding(),
            words=matching.words,
            **arrays,
        )
        wanted = tuple(sorted(set(texts.ngrams.tolist())))
        try:
            ngrams = NgramIndex.load(present(folder / NGRAMS), ngrams=wanted, words=matching.words)
        except ValueError as e:
            raise ShardError(str(e)) from e
        ignored = row["ignored"].values.to_numpy(zero_copy_only=False)
        return cls(matching, ngrams, texts, ignored, tuple(benchmarks))

    def names_of(self, items: npt.NDArray[np.integer]) -> list[str]:
        """Names like "gsm8k:17" of items, which count through the benchmarks in order."""
        which = self.texts.benchmarks_of(items)
        rows = items - self.texts.starts[which]
        names = [b.name for b in self.matching.benchmarks]
        return [f"{names[b]}:{row}" for b, row in zip(which.tolist(), rows.tolist(), strict=True)]


def _identity(matching: Matching) -> dict[str, Any]:
    """What decides the index, as JSON; `most_docs` does not."""
    return matching.model_dump(mode="json", include={"benchmarks", "ngram", "words", "folding"})


def _differing(there: dict[str, Any], here: dict[str, Any]) -> str:
    key = next(k for k in here if there.get(k) != here[k])
    return f"{key} {there.get(key)}, this run needs {here[key]}"


def _described(
    matching: Matching, tables: list[pa.Table], texts: ItemTexts
) -> list[IndexedBenchmark]:
    """Describe each benchmark; ConfigError where no item of one is long enough to be matched."""
    described, is_short = [], texts.is_short
    for number, (benchmark, table) in enumerate(zip(matching.benchmarks, tables, strict=True)):
        start = int(texts.starts[number])
        items = slice(start, start + table.num_rows)
        ngram = int(texts.benchmark_ngrams[number])
        least = min(ngram, LEAST_WHOLE)
        if texts.lengths[items].max() < least:
            raise ConfigError(
                f"benchmark {benchmark.name!r}: {benchmark.path}: none of {table.num_rows} items"
                f" has {least} words in {', '.join(table.column_names[1:])}; name other fields, or"
                " drop the benchmark"
            )
        whole = json.dumps(table.to_pydict()).encode()
        described.append(
            IndexedBenchmark(
                benchmark=benchmark.model_dump(mode="json"),
                fields=table.column_names[1:],
                items=table.num_rows,
                ngram=ngram,
                untestable=int(np.count_nonzero(is_short[items])),
                md5=hashlib.md5(whole, usedforsecurity=False).hexdigest(),
            )
        )
    return described
