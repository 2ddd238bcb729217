"""Buckets of documents that share a key of a band: found once, and read by what compares them.

A bucket of at most MAX_BUCKET documents is small; a larger one is crowded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U64, Bools
from tokenmill.dedup.arrays import parts as cut_parts
from tokenmill.dedup.same.lsh import MAX_BUCKET, buckets
from tokenmill.dedup.same.partition import prefix_bits
from tokenmill.pipelines.corpus.rows import Corpus, range_bits
from tokenmill.pipelines.corpus.shuffle import WORD_BITS, Range, Room, parts, turned
from tokenmill.pipelines.corpus.spill import KeyedStep, spilled
from tokenmill.pipelines.corpus.step import Pass, Size
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, values

BUCKETS = Folder("2-buckets", "{band:03d}-{number:05d}.arrow")
BUCKET = pa.schema([pa.field("key", pa.uint64()), pa.field("rows", pa.large_list(pa.int64()))])
KEYS_AT_ONCE = 1 << 20  # of bands that one work looks at, about
MEMBERS = 1 << 12  # of the buckets in a batch of a file
ROW_BYTES = 52  # row numbers and key 16, partition 4, members 8, in order 8, ends 4, keys 8, bits
LARGEST_BYTES = 36  # of a hash table at most 16, keys 8, members' places 12

Crowd: TypeAlias = tuple[int, ...]  # by band, a bit for each range whose file has crowded buckets


def works_of(bands: int, size: Size) -> list[tuple[range, int]]:
    """Bands and range of each work that looks at buckets.

    Of few documents one work takes several bands: it opens their keys once, and makes the set of
    a document once for all.

    >>> works_of(4, Size(1, 0, 1, KEYS_AT_ONCE // 3)), works_of(2, Size(1, 0, 2, 5_000_000))[1:3]
    ([(range(0, 3), 0), (range(3, 4), 0)], [(range(0, 1), 1), (range(1, 2), 0)])
    """
    at_once = _at_once(size)
    some = [range(band, min(band + at_once, bands)) for band in range(0, bands, at_once)]
    return [(of, number) for of in some for number in range(size.ranges)]


def _at_once(size: Size) -> int:
    """Bands that one work looks at."""
    return max(KEYS_AT_ONCE // max(size.docs, 1), 1)


def places(crowd: Crowd) -> list[tuple[int, int]]:
    """Band and range of the files with crowded buckets.

    >>> places((0, 0b101))
    [(1, 0), (1, 2)]
    """
    return [
        (band, n)
        for band, bits in enumerate(crowd)
        for n in range(bits.bit_length())
        if bits >> n & 1
    ]


def crowded_works(crowd: Crowd, size: Size) -> list[tuple[tuple[int, int], ...]]:
    """The files of each work that looks at crowded buckets."""
    files, most = places(crowd), _at_once(size)
    return [tuple(files[at : at + most]) for at in range(0, len(files), most)]


@dataclass(frozen=True)
class Buckets:
    """Rows (n,) that share a key, ascending in a bucket; keys, ends: (n_buckets,), of each."""

    keys: U64
    rows: I64
    ends: I64

    @property
    def sizes(self) -> I64:
        return np.diff(self.ends, prepend=0)

    def where(self, wanted: Bools) -> "Buckets":
        sizes = self.sizes
        rows = self.rows[np.repeat(wanted, sizes)]
        return Buckets(self.keys[wanted], rows, np.cumsum(sizes[wanted]))

    def __iter__(self) -> Iterator[I64]:
        return iter(np.split(self.rows, self.ends[:-1]) if len(self.ends) else ())


def find_buckets(run: RunFolder, part: Pass, name: str, bands: range, number: int) -> Done:
    """Write the buckets of a range of the keys of some bands."""
    corpus, n_bands = Corpus(run, part), part.step(name, KeyedStep).joined_columns
    left = corpus.memory_left(name, 0, 0, works=len(works_of(n_bands, corpus.size)))
    paths = [corpus.path(BUCKETS, band=band, number=number) for band in bands]
    n_crowded = []
    for band, path in zip(bands, paths, strict=True):
        keys = spilled(corpus, name, band, number)
        with arrow_file(path, BUCKET) as writer:
            n_crowded.append(sum(_write_buckets(writer, corpus, keys, left)))
    return Done(files=paths, facts={"crowded": n_crowded})


def _write_buckets(
    writer: pa.ipc.RecordBatchFileWriter, corpus: Corpus, keys: Range, left: int
) -> Iterator[int]:
    """Write the buckets of a range; yields of each part of it how many are crowded."""
    bits = range_bits(corpus.n)
    for part_ in parts(keys, Room(left, ROW_BYTES, LARGEST_BYTES)):
        if part_.all_equal:
            found = Buckets(part_.keys[:1], part_.rows, np.array([len(part_.rows)]))
        else:
            same = buckets(part_.keys, prefix_bits(keys.n))
            begins = np.concatenate(([0], same.ends[:-1]))[: len(same.ends)].astype(np.int64)
            of_buckets = part_.keys[same.members[begins]]
            found = Buckets(of_buckets, part_.rows[same.members], same.ends)
        found = replace(found, keys=turned(found.keys, (WORD_BITS - bits) % WORD_BITS))
        # of a bucket without rows of this run none leaves
        found = found.where(found.rows[found.ends - 1] >= corpus.shards.first_new_row)
        write(writer, found)
        yield int((found.sizes > MAX_BUCKET).sum())


def write(writer: pa.ipc.RecordBatchFileWriter, found: Buckets) -> None:
    starts = np.concatenate(([0], found.ends))
    for at in cut_parts(found.sizes, MEMBERS) if len(found.ends) else ():
        bounds = starts[at.start : at.stop + 1]
        rows = pa.array(found.rows[bounds[0] : bounds[-1]])
        lists = pa.LargeListArray.from_arrays(pa.array(bounds - bounds[0]), rows)
        writer.write_batch(pa.record_batch([pa.array(found.keys[at]), lists], schema=BUCKET))


def read(path: Path) -> Iterator[Buckets]:
    """The buckets of a file, some at a time."""
    for batch in open_arrow(path)[0]:
        rows = np.asarray(batch["rows"].values)
        yield Buckets(values(batch, "key"), rows, np.asarray(batch["rows"].offsets)[1:])


def small(path: Path) -> Iterator[Buckets]:
    for found in read(path):
        few = found.sizes <= MAX_BUCKET
        if few.any():
            yield found if few.all() else found.where(few)


def crowded(path: Path) -> Iterator[Buckets]:
    for found in read(path):
        many = found.sizes > MAX_BUCKET
        if many.any():
            yield found.where(many)
