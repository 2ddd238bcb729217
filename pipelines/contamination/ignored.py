"""Which n-grams count for nothing, and what of the benchmarks is left: the corpus-wide work.

found of every shard, less duplicates ─┬─ documents of each n-gram ── ignored, a file
                                       └─ analysis ── what is in the corpus, as data
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.ngram_index import MIN_WORDS
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.contamination.found import count_corpus, ignored_grams
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.summary import summarize
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.equal import read_duplicates
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file, write_json
from tokenmill.pipelines.storage.sidecar import open_arrow

IGNORED = pa.schema([pa.field("ngram", pa.int64(), nullable=False)])


def find_ignored(job: PrepareJob, pass_index: int, steps: tuple[Step, ...]) -> Done:
    """Count n-grams over the corpus, write those that count for nothing, and what was found.

    steps: those behind the pass, this one last: documents that the others drop are not counted.
    """
    step = steps[-1]
    assert isinstance(step, Decontaminate)
    index = BenchmarkIndex.load(job.index, step)
    corpus = Corpus(job, pass_index, steps)
    keys = list(corpus.shard_keys())
    founds = (found for key in keys for found in surviving(job, pass_index, steps, key))
    counts = count_corpus(founds, len(index.ngrams.hashes))
    ignored = ignored_grams(index, counts)
    analysis = Analysis(index.texts, index.ngrams, ignored, frequent=ignored & ~index.ignored)
    for key in keys:
        for found in surviving(job, pass_index, steps, key):
            analysis.add(found)
    paths = job.ignored(pass_index), job.contamination(pass_index)
    write_ignored(paths[0], ignored | of_short_items(index))
    write_json(paths[1], summarize(index, analysis, counts))
    return Done(files=paths)


def surviving(
    job: PrepareJob, pass_index: int, steps: tuple[Step, ...], key: str
) -> Iterator[pa.RecordBatch]:
    """What was found in a shard (schema FOUND), of documents that no step before drops."""
    found = open_arrow(job.found(pass_index, key))[0]
    names = [s.name for s in steps if not isinstance(s, Decontaminate)]
    if not names:
        yield from (batch for batch in found if batch.num_rows)
        return
    keys = open_arrow(job.keys(pass_index, key))[0]
    dropped = [read_duplicates(job.duplicates(pass_index, name, key)) for name in names]
    for batch, documents, *of_steps in zip(found, keys, *dropped, strict=True):
        if batch.num_rows:
            alive = np.all([d["duplicate_of"].is_null() for d in of_steps], axis=0)
            left = np.isin(batch["doc_id"], np.asarray(documents["doc_id"])[alive])
            yield batch.filter(pa.array(left))


def of_short_items(index: BenchmarkIndex) -> npt.NDArray[np.bool_]:
    """(n_grams,) bool: the n-grams that are items under 8 words, whole.

    These are looked for and told, but no document is cut for them: GPT-3's appendix C on
    "examples less than 8 words long, which we ignored in our filtering process".
    """
    texts, grams = index.texts, index.ngrams
    which = np.searchsorted(texts.starts, np.arange(len(texts.lengths)), "right") - 1
    short = texts.lengths < np.minimum(texts.benchmark_ngrams[which], MIN_WORDS)
    # a text under N words and 8 is matched by one n-gram, shorter than all those of longer items
    of_short: npt.NDArray[np.bool_] = short[grams.items[grams.item_offsets[:-1]]]
    return of_short


def write_ignored(path: Path, ignored: npt.NDArray[np.bool_]) -> None:
    """Write the n-grams of a (n_grams,) mask, as indices: they are few."""
    with arrow_file(path, IGNORED) as writer:
        grams = pa.array(np.flatnonzero(ignored))
        writer.write_batch(pa.record_batch([grams], schema=IGNORED))


def read_ignored(path: Path, n_grams: int) -> npt.NDArray[np.bool_]:
    """(n_grams,) bool, what `write_ignored` wrote.

    Raises:
        ShardError: not a whole Arrow file.
    """
    ignored = np.zeros(n_grams, bool)
    for batch in open_arrow(path)[0]:
        ignored[np.asarray(batch["ngram"])] = True
    return ignored
