"""The step that frees documents from benchmark items.

The work is in three places, since which n-grams count is only known once the whole corpus has
been searched:

    pass before:  documents ──search──► found, a sidecar
    corpus-wide:  found of all shards, less duplicates ─┬─ documents of each n-gram ── ignored
                                                        └─ what of the benchmarks is in the corpus
    pass behind:  documents, found ──cut──► documents, receipts          (contamination.cleaner)
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import Bools
from tokenmill.pipelines.contamination.cleaning import NAME, Cleaning
from tokenmill.pipelines.contamination.index import Matching
from tokenmill.pipelines.contamination.items.rows import check_outside, files_of
from tokenmill.pipelines.contamination.rows import OVERLAP, overlap_file
from tokenmill.pipelines.core.pieces import PIECE
from tokenmill.pipelines.core.shard import Input, InputFile
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.step import (
    Applied,
    Applier,
    Chain,
    CuttingStep,
    Pass,
    Rows,
    Sidecar,
    SideTable,
    Size,
    Told,
)
from tokenmill.pipelines.corpus.verdicts import removed_ids
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases, Work
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import write_json
from tokenmill.pipelines.storage.files import arrow_file, open_arrow

if TYPE_CHECKING:
    from tokenmill.pipelines.contamination.index import BenchmarkIndex

BENCHMARKS = Folder("05-index", "", of_pass=False)
FOUND_FOLDER = Folder("5-found", "part-{key}.arrow")
IGNORED_FOLDER = Folder("6-ignored", "ngrams.arrow")
CONTAMINATION = Folder("6-ignored", "contamination.json")
OVERLAPS = Folder("overlaps", "part-{key}.parquet", of_pass=False)
PIECES = Folder("pieces", "part-{key}.parquet", of_pass=False)
IGNORED = pa.schema([pa.field("ngram", pa.int64(), nullable=False)])


class Decontaminate(Cleaning, Matching, CuttingStep):
    """Free documents from what they have in common with benchmark items.

    The defaults are GPT-3's filtering (Brown et al. 2020, arXiv:2005.14165, appendix C), with N
    of its overlap analysis: items under 8 words count for nothing, n-grams of more than
    `most_docs` documents neither. Documents are counted as the steps before this one left them.

    action: "cut" cuts n-grams out, with the text around them, and goes on with the pieces, each a
        document of its own; "document" drops every document with an n-gram; "paragraph" drops
        paragraphs of at least 13 words that have half of theirs from benchmarks; "report" keeps
        everything as it is.
    window_chars: cut out on each side of an n-gram.
    least_chars: shorter pieces are dropped.
    most_pieces: a document that falls into more is dropped.
    """

    name: ClassVar[str] = NAME
    makes_pieces: ClassVar[bool] = True
    makes_ready: ClassVar[bool] = True
    side_tables = (SideTable(OVERLAPS, OVERLAP, overlap_file), SideTable(PIECES, PIECE))

    @property
    def only_own_run(self) -> bool:
        return bool(self.most_docs)

    def check(self, inputs: Sequence[Input]) -> None:
        check_outside(self.benchmarks, [one.path for one in inputs])

    def files(self) -> Iterator[InputFile]:
        for benchmark in self.benchmarks:
            yield from files_of(benchmark)

    def build(self) -> "BenchmarkIndex":
        from tokenmill.pipelines.contamination.index import BenchmarkIndex

        return BenchmarkIndex.build(self)

    def setup(self, run: RunFolder, built: Any = None) -> Work:
        args = (self, built)
        call = index_benchmarks
        return Work(step="index", key="all", inputs=run.identity, call=call, args=args)

    def sidecar(
        self, run: RunFolder, pass_index: int, key: str, *, source: str, images: Images | None
    ) -> Sidecar:
        from tokenmill.pipelines.contamination.found import FOUND, search

        index = self._index(run)

        def found(documents: pa.RecordBatch, blobs: Blobs | None) -> pa.RecordBatch:
            return search(documents, index, source)

        return Sidecar(run.path(FOUND_FOLDER, pass_index, key=key), FOUND, found, "lz4")

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        yield from chain.phase(NAME, NAME, find_ignored, {"all": ()})

    def applier(self, run: RunFolder, pass_index: int, key: str) -> Applier:
        from tokenmill.pipelines.contamination.cleaner import Cleaner

        index = self._index(run)
        ignored = read_ignored(run.path(IGNORED_FOLDER, pass_index), len(index.ngrams.hashes))
        cleaner = Cleaner(self, index, ignored)
        found = iter(open_arrow(run.path(FOUND_FOLDER, pass_index, key=key))[0])

        def apply(documents: pa.RecordBatch, rows: Rows) -> Applied:
            cleaned = cleaner(documents, next(found))
            tables = {OVERLAPS.name: cleaned.overlaps, PIECES.name: cleaned.pieces}
            return Applied(cleaned.result, tables=tables)

        return apply

    @property
    def what_tells_instead(self) -> str:
        return "tokenmill contamination says how many hold benchmark items"

    def told(self, run: RunFolder, pass_index: int, receipts: Sequence[Receipt]) -> Told:
        return {"contamination": json.loads(mirror.read_text(run.path(CONTAMINATION, pass_index)))}

    def _index(self, run: RunFolder) -> "BenchmarkIndex":
        from tokenmill.pipelines.contamination.index import BenchmarkIndex

        return BenchmarkIndex.load(run.out / BENCHMARKS.name, self)


def index_benchmarks(run: RunFolder, step: Decontaminate, built: Any) -> Done:
    """Read the benchmarks and index their n-grams, unless they are at hand."""
    index = built or step.build()
    facts = {"benchmarks": list(index.benchmarks)}
    return Done(files=index.save(run.out / BENCHMARKS.name), facts=facts)


def find_ignored(run: RunFolder, part: Pass) -> Done:
    """Count n-grams over the corpus, write those that count for nothing, and what was found.

    Documents that a step before this one removes are not counted.
    """
    from tokenmill.pipelines.contamination.analysis import Analysis
    from tokenmill.pipelines.contamination.found import count_corpus, ignored_grams
    from tokenmill.pipelines.contamination.summary import summarize

    corpus, step = Corpus(run, part), part.step(NAME, Decontaminate)
    index = step._index(run)
    keys = corpus.shard_keys()
    counts = count_corpus(
        (found for key in keys for found in surviving(corpus, key)), len(index.ngrams.hashes)
    )
    ignored = ignored_grams(index, counts)
    analysis = Analysis(index.texts, index.ngrams, ignored, frequent=ignored & ~index.ignored)
    for key in keys:
        for found in surviving(corpus, key):
            analysis.add(found)
    paths = corpus.path(IGNORED_FOLDER), corpus.path(CONTAMINATION)
    write_ignored(paths[0], ignored | of_short_items(index))
    write_json(paths[1], summarize(index, analysis, counts).to_json())
    return Done(files=paths)


def surviving(corpus: Corpus, key: str) -> Iterator[pa.RecordBatch]:
    """What was found in a shard (schema FOUND), of documents that no step before drops."""
    found = open_arrow(corpus.path(FOUND_FOLDER, key=key))[0]
    removed = removed_ids(corpus, NAME, key)
    if removed is None:
        yield from (batch for batch in found if batch.num_rows)
        return
    for batch, gone in zip(found, removed, strict=True):
        if batch.num_rows:
            yield batch.filter(pa.array(~np.isin(batch["doc_id"], gone)))


def of_short_items(index: "BenchmarkIndex") -> Bools:
    """(n_grams,) bool: the n-grams that are items under 8 words, whole.

    These are looked for and told, but no document is cut for them: GPT-3's appendix C on
    "examples less than 8 words long, which we ignored in our filtering process".
    """
    from tokenmill.dedup.overlap.index import MIN_WORDS

    texts, grams = index.texts, index.ngrams
    which = np.searchsorted(texts.starts, np.arange(len(texts.lengths)), "right") - 1
    short = texts.lengths < np.minimum(texts.benchmark_ngrams[which], MIN_WORDS)
    # a text under N words and 8 is matched by one n-gram, shorter than all those of longer items
    of_short: Bools = short[grams.items[grams.item_offsets[:-1]]]
    return of_short


def write_ignored(path: Path, ignored: Bools) -> None:
    """Write the n-grams of a (n_grams,) mask, as indices: they are few."""
    with arrow_file(path, IGNORED) as writer:
        grams = pa.array(np.flatnonzero(ignored))
        writer.write_batch(pa.record_batch([grams], schema=IGNORED))


def read_ignored(path: Path, n_grams: int) -> Bools:
    """(n_grams,) bool, what `write_ignored` wrote.

    Raises:
        ShardError: not a whole Arrow file.
    """
    ignored = np.zeros(n_grams, bool)
    for batch in open_arrow(path)[0]:
        ignored[np.asarray(batch["ngram"])] = True
    return ignored
