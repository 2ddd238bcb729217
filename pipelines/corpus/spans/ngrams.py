"""Which n-grams stand more than once, and where: their minimizers, they themselves, runs of them.

text of a group ── spill_minimizers ── hashes by range ── find_known ── a file a range: those
                                                                       that stand twice, by group
text of a group ── spill_ngrams ── n-grams of known minimizers, by range ── find_equal_ngrams
a group's n-grams of every range ── find_runs ── FOUND: what is to go, a file a shard
"""

from collections.abc import Iterator
from itertools import groupby, islice, pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U64
from tokenmill.dedup.overlap.ngrams import Known
from tokenmill.dedup.same.partition import prefix_bits
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import needed
from tokenmill.pipelines.corpus import shuffle
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.spans.settings import FOUND_SPANS, SPANS, SpanSettings
from tokenmill.pipelines.corpus.spans.size import Group, Size, shards_of, span_paths, texts
from tokenmill.pipelines.corpus.step import Pass
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import Rows, arrow_file, open_arrow, open_sidecar, values

HASHES = pa.schema([pa.field("key", shuffle.key_type(1))])
KNOWN = pa.schema(
    [
        *needed(group=pa.uint32()),  # ascending
        *needed(hash=pa.uint64()),
    ]
)
NAMES = pa.schema([pa.field("doc_id", pa.uint64(), nullable=False)])
ROW_BYTES = 44  # of a part: row and hash 16, partition 4, members 12, their ends 8, on the way 4
LARGEST_BYTES = 36  # of a hash table at most 16, hashes 8, members' places 12
CHUNK_BYTES = 40  # of a hash that is spilled: held, joined, parted, in order 8 each; partition 4
KNOWN_BYTES = 28  # of a hash of a group that stands twice: read, joined, sorted 8, its bucket 4
KNOWN_AT_ONCE = 1 << 14  # known ones that are written at a time: many batches take time to open
LEAST_BYTES = 1 << 19  # with less memory than this, nothing is gained by trying


def spill_minimizers(run: RunFolder, part: Pass, group: Group, size: Size) -> Done:
    """Write the minimizers of a group's documents by range, and the names of all its documents."""
    corpus = Corpus(run, part)
    step = corpus.last_step(SpanSettings)
    corpus.memory_left(
        step.name, size.chunk_rows, CHUNK_BYTES, least=LEAST_BYTES, works=size.groups, of="n-grams"
    )
    ngrams, paths = step.ngrams(), [corpus.path(SPANS, what="minimizers", number=group.number)]
    with shuffle.range_file(paths[0], HASHES, size.bits, size.chunk_rows) as by_range:
        for shard, of_shard in groupby(texts(corpus, group), key=attrgetter("shard")):
            paths.append(corpus.path(SPANS, what="names", number=shard))
            with arrow_file(paths[-1], NAMES) as names:
                for text in of_shard:
                    names.write_batch(pa.record_batch([text.doc_ids], schema=NAMES))
                    by_range.write(ngrams.minimizers(text.units))
    return Done(files=paths)


def find_known(run: RunFolder, part: Pass, number: int, size: Size) -> Done:
    """Write the minimizers of a range that stand at more than one place, for each group its own."""
    corpus = Corpus(run, part)
    rows = shuffle.Range(span_paths(corpus, "minimizers", range(size.groups)), size.bits, number)
    left = corpus.memory_left(
        SpanSettings.name, rows.n, 1, least=LEAST_BYTES, works=size.ranges, of="minimizers"
    )
    twice = np.zeros(rows.n, np.bool_)
    for members, _ in equal_rows(rows, left):
        twice[members] = True
    path, at = corpus.path(SPANS, what="known", number=number), 0
    with shuffle.range_file(path, KNOWN, 0, KNOWN_AT_ONCE) as known:
        for group, batch in rows.groups():
            hashes = values(batch, "key")
            there = np.unique(hashes[twice[at : at + len(hashes)]])
            at += len(hashes)
            known.write(np.full(len(there), group, np.uint32), there)
    return Done(files=[path], facts={"minimizers": rows.n, "known": int(twice.sum())})


def equal_rows(rows: shuffle.Range, room: int) -> Iterator[tuple[I64, I64]]:
    """Rows of a range that share their hash with others, and where each of the hashes ends.

    room: bytes that are taken for it at most.
    """
    for equal in shuffle.parts(rows, shuffle.Room(room, ROW_BYTES, LARGEST_BYTES)):
        yield equal.buckets(prefix_bits(rows.n))


def read_known(corpus: Corpus, group: Group, size: Size) -> Known:
    """The minimizers of a group that stand at more than one place in the corpus.

    Raises:
        ConfigError: they do not fit into memory.
    """
    paths = span_paths(corpus, "known", range(size.ranges))
    mine = shuffle.rows_between(paths, "group", [group.number, group.number + 1])
    # copies, so that no file stays mapped
    found = [np.empty(0, np.uint64), *(values(batch, "hash").copy() for batch in mine)]
    n = sum(map(len, found))
    least, works = size.chunk_rows * 2 * CHUNK_BYTES, size.groups
    corpus.memory_left(SpanSettings.name, n, KNOWN_BYTES, least=least, works=works, of="minimizers")
    back = shuffle.WORD_BITS - size.bits if size.bits else 0
    return Known.of(shuffle.turned(np.concatenate(found), back))


WORD_BITS = 28  # a place is `row of the corpus << WORD_BITS | first word of the n-gram`
PLACED = pa.schema([pa.field("key", shuffle.key_type(1)), *needed(place=pa.uint64())])
# An n-gram that stood before, and where it stood first; places ascend.
EQUAL = pa.schema([*needed(place=pa.uint64(), of_place=pa.uint64())])
ALONE = np.int64(-1)
FIRST_BYTES = 8  # of an n-gram of a range: row of the first that equals it
AT_ONCE = 1 << 17  # found ones that are written at a time: many batches take time to open
FOUND_BYTES = 64  # of each: rows, places, those in order


def spill_ngrams(run: RunFolder, part: Pass, group: Group, size: Size) -> Done:
    """Write the n-grams of a group's documents that may stand twice, by range."""
    corpus = Corpus(run, part)
    known, ngrams = read_known(corpus, group, size), corpus.last_step(SpanSettings).ngrams()
    path = corpus.path(SPANS, what="ngrams", number=group.number)
    with shuffle.range_file(path, PLACED, size.bits, size.chunk_rows) as by_range:
        for text in texts(corpus, group):
            found = ngrams.candidates(text.units, known)
            _check_words(found.words)
            places = text.rows[found.docs].astype(np.uint64) << np.uint64(WORD_BITS)
            by_range.write(found.hashes, places | found.words.astype(np.uint64))
    return Done(files=[path])


def find_equal_ngrams(run: RunFolder, part: Pass, number: int, size: Size) -> Done:
    """Write the n-grams of a range that are to go, and where each stands first."""
    corpus = Corpus(run, part)
    step = corpus.last_step(SpanSettings)
    rows = shuffle.Range(span_paths(corpus, "ngrams", range(size.groups)), size.bits, number)
    of_found = AT_ONCE * FOUND_BYTES
    least, works = LEAST_BYTES + of_found, size.ranges
    left = corpus.memory_left(
        step.name, rows.n, FIRST_BYTES, least=least, works=works, of="n-grams"
    )
    first = np.full(rows.n, ALONE)
    for members, ends in equal_rows(rows, left - of_found):
        sizes = np.diff(ends, prepend=0)
        first[members] = np.repeat(members[ends - sizes], sizes)
    path, n = corpus.path(SPANS, what="equal", number=number), 0
    with arrow_file(path, EQUAL) as writer:
        for batch in _going(rows, first, all_copies=step.keep == "none"):
            writer.write_batch(batch)
            n += batch.num_rows
    return Done(files=[path], facts={"ngrams": rows.n, "repeated": n})


def _going(rows: shuffle.Range, first: I64, *, all_copies: bool) -> Iterator[pa.RecordBatch]:
    """Batches of schema EQUAL, in order."""
    for start in range(0, len(first), AT_ONCE):
        here = first[start : start + AT_ONCE]
        going = here != ALONE
        if not all_copies:
            going &= here != np.arange(start, start + len(here))
        at = np.flatnonzero(going)
        if len(at):
            places = [rows.take("place", wanted) for wanted in (at + start, here[at])]
            columns = [pa.array(of.astype(np.uint64)) for of in places]
            yield pa.record_batch(columns, schema=EQUAL)


def _check_words(words: npt.NDArray[np.integer[Any]]) -> None:
    if len(words) and int(words.max()) >= 1 << WORD_BITS:
        raise ConfigError(
            f"a document has {int(words.max()):,} words, and repeated_spans can tell"
            f" {1 << WORD_BITS:,} apart; lower limits.max_document_bytes"
        )


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
    paths = span_paths(corpus, "equal", range(size.ranges))
    for batch in shuffle.rows_between(paths, "place", bounds):
        found.append(np.column_stack([batch[0], batch[1]]))
    places, of = np.concatenate(found).T
    order = np.argsort(places)
    return places[order], of[order]
