"""Which n-grams stand more than once, and where: first their minimizers, then they themselves.

text of a group ── spill_minimizers ── hashes by range ── find_known ── a file a range: those
                                                                       that stand twice, by group
text of a group ── spill_ngrams ── n-grams of known minimizers, by range ── find_equal_ngrams
"""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64
from tokenmill.dedup.overlap.ngrams import Known
from tokenmill.dedup.same.partition import prefix_bits
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import needed
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.shuffle import WORD_BITS as KEY_BITS
from tokenmill.pipelines.corpus.shuffle import (
    Range,
    RangeWriter,
    Room,
    key_type,
    parts,
    rows_between,
    turned,
)
from tokenmill.pipelines.corpus.spans.settings import SPANS, SpanSettings
from tokenmill.pipelines.corpus.spans.size import Group, Size, span_paths, texts
from tokenmill.pipelines.corpus.step import Pass
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file, values

HASHES = pa.schema([pa.field("key", key_type(1))])
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
    with arrow_file(paths[0], HASHES) as writer:
        by_range = RangeWriter(writer, HASHES, size.bits, size.chunk_rows)
        for shard, of_shard in groupby(texts(corpus, group), key=attrgetter("shard")):
            paths.append(corpus.path(SPANS, what="names", number=shard))
            with arrow_file(paths[-1], NAMES) as names:
                for text in of_shard:
                    names.write_batch(pa.record_batch([text.doc_ids], schema=NAMES))
                    by_range.write(ngrams.minimizers(text.units))
        by_range.flush()
    return Done(files=paths)


def find_known(run: RunFolder, part: Pass, number: int, size: Size) -> Done:
    """Write the minimizers of a range that stand at more than one place, for each group its own."""
    corpus = Corpus(run, part)
    rows = Range(span_paths(corpus, "minimizers", range(size.groups)), size.bits, number)
    left = corpus.memory_left(
        SpanSettings.name, rows.n, 1, least=LEAST_BYTES, works=size.ranges, of="minimizers"
    )
    twice = np.zeros(rows.n, np.bool_)
    for members, _ in equal_rows(rows, left):
        twice[members] = True
    path = corpus.path(SPANS, what="known", number=number)
    with arrow_file(path, KNOWN) as writer:
        known, at = RangeWriter(writer, KNOWN, 0, KNOWN_AT_ONCE), 0
        for group, batch in rows.groups():
            hashes = values(batch, "key")
            there = np.unique(hashes[twice[at : at + len(hashes)]])
            at += len(hashes)
            known.write(np.full(len(there), group, np.uint32), there)
        known.flush()
    return Done(files=[path], facts={"minimizers": rows.n, "known": int(twice.sum())})


def equal_rows(rows: Range, room: int) -> Iterator[tuple[I64, I64]]:
    """Rows of a range that share their hash with others, and where each of the hashes ends.

    room: bytes that are taken for it at most.
    """
    for equal in parts(rows, Room(room, ROW_BYTES, LARGEST_BYTES)):
        yield equal.buckets(prefix_bits(rows.n))


def read_known(corpus: Corpus, group: Group, size: Size) -> Known:
    """The minimizers of a group that stand at more than one place in the corpus.

    Raises:
        ConfigError: they do not fit into memory.
    """
    paths = span_paths(corpus, "known", range(size.ranges))
    mine = rows_between(paths, "group", [group.number, group.number + 1])
    # copies, so that no file stays mapped
    found = [np.empty(0, np.uint64), *(values(batch, "hash").copy() for batch in mine)]
    n = sum(map(len, found))
    corpus.memory_left(
        SpanSettings.name,
        n,
        KNOWN_BYTES,
        least=size.chunk_rows * 2 * CHUNK_BYTES,
        works=size.groups,
        of="minimizers",
    )
    return Known.of(turned(np.concatenate(found), KEY_BITS - size.bits if size.bits else 0))


WORD_BITS = 28  # a place is `row of the corpus << WORD_BITS | first word of the n-gram`
PLACED = pa.schema([pa.field("key", key_type(1)), pa.field("place", pa.uint64(), nullable=False)])
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
    with arrow_file(path, PLACED) as writer:
        by_range = RangeWriter(writer, PLACED, size.bits, size.chunk_rows)
        for text in texts(corpus, group):
            found = ngrams.candidates(text.units, known)
            _check_words(found.words)
            places = text.rows[found.docs].astype(np.uint64) << np.uint64(WORD_BITS)
            by_range.write(found.hashes, places | found.words.astype(np.uint64))
        by_range.flush()
    return Done(files=[path])


def find_equal_ngrams(run: RunFolder, part: Pass, number: int, size: Size) -> Done:
    """Write the n-grams of a range that are to go, and where each stands first."""
    corpus = Corpus(run, part)
    step = corpus.last_step(SpanSettings)
    rows = Range(span_paths(corpus, "ngrams", range(size.groups)), size.bits, number)
    left = corpus.memory_left(
        step.name,
        rows.n,
        FIRST_BYTES,
        least=LEAST_BYTES + AT_ONCE * FOUND_BYTES,
        works=size.ranges,
        of="n-grams",
    )
    first = np.full(rows.n, ALONE)
    for members, ends in equal_rows(rows, left - AT_ONCE * FOUND_BYTES):
        sizes = np.diff(ends, prepend=0)
        first[members] = np.repeat(members[ends - sizes], sizes)
    path, n = corpus.path(SPANS, what="equal", number=number), 0
    with arrow_file(path, EQUAL) as writer:
        for batch in _going(rows, first, all_copies=step.keep == "none"):
            writer.write_batch(batch)
            n += batch.num_rows
    return Done(files=[path], facts={"ngrams": rows.n, "repeated": n})


def _going(rows: Range, first: I64, *, all_copies: bool) -> Iterator[pa.RecordBatch]:
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
