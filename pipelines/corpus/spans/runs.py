"""What is to go of each shard: n-grams of all ranges, gathered and joined to runs.

a group's n-grams of every range ── find_runs ── FOUND: a file for each of its shards
"""

from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U64
from tokenmill.pipelines.core.schema import needed
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.shuffle import rows_between
from tokenmill.pipelines.corpus.spans.ngrams import LEAST_BYTES, WORD_BITS
from tokenmill.pipelines.corpus.spans.settings import FOUND_SPANS, SPANS, SpanSettings
from tokenmill.pipelines.corpus.spans.size import Group, Size, shards_of, span_paths
from tokenmill.pipelines.corpus.step import Pass
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import Rows, arrow_file, open_arrow, open_sidecar

# A run of n-grams that stand elsewhere, one word behind the other, there as here; a batch for each
# of documents.
FOUND = pa.schema(
    [
        *needed(doc_id=pa.uint64()),
        *needed(word=pa.uint32()),  # of the document: where the first begins
        *needed(ngrams=pa.uint32()),
        # where the first of them stands first; the document itself, if `keep: none` takes that too
        *needed(of_doc_id=pa.uint64(), of_word=pa.uint32()),
    ]
)
GATHERED_BYTES = 80  # of an n-gram: places 16, joined 16, sorted 8 and in order 16, runs 24
WORD_MASK = np.uint64((1 << WORD_BITS) - 1)

Places = U64


def find_runs(run: RunFolder, part: Pass, group: Group, size: Size) -> Done:
    """Write what is to go of each shard of a group."""
    corpus = Corpus(run, part)
    left = corpus.memory_left(SpanSettings.name, 0, 0, least=LEAST_BYTES, works=size.groups)
    names, shards = _names(corpus), shards_of(corpus, group)
    n_batches = [len(names.shard(s).batches) if _has_rows(names, s) else 0 for s in shards]
    found = _found(corpus, names, shards, size, max(left // GATHERED_BYTES, 1))
    paths = []
    for shard, n in zip(shards, n_batches, strict=True):
        paths.append(corpus.path(FOUND_SPANS, key=corpus.shards.keys[shard].as_py()))
        with arrow_file(paths[-1], FOUND) as writer:
            for batch in islice(found, n):
                writer.write_batch(batch)
    return Done(files=paths)


def _names(corpus: Corpus) -> Rows:
    """The ids of all documents; of those of earlier runs there are none."""
    return Rows(
        corpus.shards.starts,
        lambda shard: open_sidecar(corpus.path(SPANS, what="names", number=shard), {}),
    )


def _has_rows(names: Rows, shard: int) -> bool:
    return bool(names.starts[shard] < names.starts[shard + 1])


def _found(
    corpus: Corpus, names: Rows, shards: range, size: Size, most: int
) -> Iterator[pa.RecordBatch]:
    """What is to go of each batch of documents, in order; `most` n-grams are gathered at a time."""
    there = [s for s in shards if _has_rows(names, s)]
    begins = [names.starts[s] + names.shard(s).starts[:-1] for s in there]
    rows = np.concatenate((*begins, names.starts[[shards.stop]]))
    bounds = rows.astype(np.uint64) << np.uint64(WORD_BITS)
    for first, last in _slices(_counts(corpus, bounds, size), most):
        places, of = _gathered(corpus, bounds[[first, last]], size)
        for lo, hi in pairwise(np.searchsorted(places, bounds[first : last + 1]).tolist()):
            yield runs_of(names, places[lo:hi], of[lo:hi])


def runs_of(names: Rows, places: Places, of: Places) -> pa.RecordBatch:
    """Join n-grams to runs (schema FOUND).

    names: doc_id of all documents.  places, of: (n,) of schema EQUAL, ascending by places.
    """
    new = np.ones(len(places), np.bool_)
    new[1:] = (np.diff(places) != 1) | (np.diff(of) != 1)
    starts = np.flatnonzero(new)
    columns = [
        _doc_ids(names, places[starts]),
        (places[starts] & WORD_MASK).astype(np.uint32),
        np.diff(starts, append=len(places)).astype(np.uint32),
        _doc_ids(names, of[starts]),
        (of[starts] & WORD_MASK).astype(np.uint32),
    ]
    return pa.record_batch([pa.array(column) for column in columns], schema=FOUND)


def _doc_ids(names: Rows, places: Places) -> Places:
    rows = (places >> np.uint64(WORD_BITS)).astype(np.int64)
    return names.take_in_any_order(["doc_id"], rows)["doc_id"].astype(np.uint64)


def _counts(corpus: Corpus, bounds: Places, size: Size) -> I64:
    """(n,) n-grams found between each two of (n + 1,) places."""
    counts = np.zeros(len(bounds) - 1, np.int64)
    for path in span_paths(corpus, "equal", range(size.ranges)):
        for batch in open_arrow(path)[0]:
            counts += np.diff(np.searchsorted(np.asarray(batch["place"]), bounds))
    return counts


def _slices(counts: I64, most: int) -> Iterator[tuple[int, int]]:
    """Cut batches into slices of about `most` n-grams, one batch at least."""
    start = total = 0
    for number, count in enumerate(counts.tolist()):
        if number > start and total + count > most:
            yield start, number
            start, total = number, 0
        total += count
    if start < len(counts):
        yield start, len(counts)


def _gathered(corpus: Corpus, bounds: Places, size: Size) -> tuple[Places, Places]:
    """Places of the n-grams between two, ascending, and where each stands first."""
    found = [np.empty((0, 2), np.uint64)]
    for batch in rows_between(span_paths(corpus, "equal", range(size.ranges)), "place", bounds):
        found.append(np.column_stack([batch[0], batch[1]]))
    places, of = np.concatenate(found).T
    order = np.argsort(places)
    return places[order], of[order]
