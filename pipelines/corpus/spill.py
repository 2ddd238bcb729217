"""Keys of a corpus by range: what a shuffle is elsewhere, by files.

    key sidecars of a group of shards ── spill ── a file: column by column, range by range
    the same range of one column of all these files ── Spilled ── parts ── equal keys together

A range is all keys of the same first bits, so that equal keys are in one range. There are as many
ranges as make each of about RANGE_ROWS rows of the corpus. Keys are set down with those bits
turned to their end: else the hash tables, which go by the first bits, would be of few parts.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.partition import partition
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.steps import SAME
from tokenmill.pipelines.corpus.keys import DATE, band_column, is_dated
from tokenmill.pipelines.corpus.parts import words
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.corpus.spill_rows import range_bits
from tokenmill.pipelines.corpus.steps import NearDedup
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import Batch, open_batch, values

ROW_BYTES = 13  # of a group: row number 4, partition 4, a range of it 4 at most, gone before 1
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying
AT_ONCE = 1 << 15  # rows at a time: what is made of them on the way then stays in the cache
WORD_BITS = 64
KEY_WORDS = 2  # of a digest, a URL, a set of images

Bools = npt.NDArray[np.bool_]


def key_columns(step: Step) -> tuple[str, ...]:
    """The columns of keys by which a step finds equal documents."""
    if isinstance(step, NearDedup):
        return tuple(band_column(band) for band in range(step.lsh().bands))
    return (step.name,) if isinstance(step, SAME) else ("digest",)


def n_words_of(step: Step) -> int:
    """64-bit words that are set down of a document: of its key, and its date if that decides."""
    return 1 if isinstance(step, NearDedup) else KEY_WORDS + is_dated(step)


def spill_keys(
    job: PrepareJob, pass_index: int, steps: tuple[Step, ...], name: str, group: int
) -> Done:
    """Write the keys of a group's documents that are still there, by column and range.

    A document that has no key (of zeros) is left out; but every document has a digest.
    """
    corpus = Corpus(job, pass_index, steps)
    step, rows, bits = corpus.step(name), corpus.rows(), range_bits(corpus.n)
    shards, of_group = corpus.group(group)
    n_words = n_words_of(step)
    per_row, at_once = ROW_BYTES + 8 * n_words, corpus.at_once(corpus.shards.n_groups)
    corpus.memory_left(name, len(of_group), per_row, least=LEAST_BYTES, at_once=at_once)
    there = ~corpus.gone_before(name, group)
    path, schema = job.spill(pass_index, name, group), spill_schema(n_words)
    with arrow_file(path, schema) as writer:
        for column in key_columns(step):
            batches = rows.walk(shards.start, shards.stop)
            keyed = _keyed(batches, column, there, step)
            for of_range in by_range(keyed, bits):
                writer.write_batch(spilled_batch(of_range))
    return Done(files=[path])


def spill_schema(n_words: int) -> pa.Schema:
    """A batch for each range of each column, rows ascending; keys of so many words."""
    key = pa.uint64() if n_words == 1 else pa.list_(pa.uint64(), n_words)
    return pa.schema([pa.field("row", pa.uint32()), pa.field("key", key)])


class Keyed(NamedTuple):
    """Rows of the corpus and their keys: (n,) uint32, ascending, and (n, n_words) uint64."""

    rows: npt.NDArray[np.uint32]
    keys: npt.NDArray[np.uint64]


class Spilled:
    """A range of a column of keys, of all documents that are still there: of all spilled files."""

    def __init__(self, corpus: Corpus, name: str, column: int, number: int) -> None:
        """column: which of the step's.  number: of the range."""
        self._corpus, self._name = corpus, name
        self._batch = (column << range_bits(corpus.n)) + number
        self._groups = range(corpus.shards.n_groups)
        self.n = sum(len(batch) for batch in self._batches())
        self.shape: tuple[int, ...] = (2,)
        if isinstance(corpus.step(name), NearDedup):
            self.shape = ()

    def dates(self, rows: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
        """(n,) the dates of rows of this range, which ascend; of a step that sets them down."""
        found = np.empty(len(rows), np.uint64)
        for batch in self._batches():
            here = values(batch, "row")
            lo, hi = np.searchsorted(rows, here[:1]), np.searchsorted(rows, here[-1:], "right")
            for at in (slice(*edges) for edges in zip(lo.tolist(), hi.tolist(), strict=True)):
                found[at] = values(batch, "key")[np.searchsorted(here, rows[at]), KEY_WORDS]
        return found

    def batches(self) -> Iterator[Keyed]:
        """Rows and keys in order, some at a time."""
        for batch in self._batches():
            rows, keys = values(batch, "row"), words(values(batch, "key"))[:, :KEY_WORDS]
            for at in range(0, len(rows), AT_ONCE):
                yield Keyed(rows[at : at + AT_ONCE], keys[at : at + AT_ONCE])

    def _batches(self) -> Iterator[pa.RecordBatch]:
        corpus = self._corpus
        for group in self._groups:
            path = corpus.job.spill(corpus.pass_index, self._name, group)
            yield open_batch(path, self._batch)


def _keyed(batches: Iterable[Batch], column: str, there: Bools, step: Step) -> Keyed:
    """The documents of a group that are there and have a key; only a digest may be of zeros."""
    rows = np.empty(len(there), np.uint32)
    keys = np.empty((len(there), n_words_of(step)), np.uint64)
    at = n = 0
    for batch in batches:
        found = words(batch.values(column))
        keep = there[at : at + len(found)]
        here = np.flatnonzero(keep if column == "digest" else keep & found.any(axis=1))
        rows[n : n + len(here)] = here + batch.start
        keys[n : n + len(here), : found.shape[1]] = found[here]
        if is_dated(step):
            keys[n : n + len(here), KEY_WORDS] = batch.values(DATE)[here]
        at, n = at + len(found), n + len(here)
    return Keyed(rows[:n], keys[:n])


def by_range(keyed: Keyed, bits: int) -> Iterator[Keyed]:
    """Cut into ranges, the bits that tell them turned to the end of the keys."""
    rows, keys = keyed
    if not bits:
        yield keyed
        return
    first = np.ascontiguousarray(keys[:, 0])
    starts, members = partition(first, bits)
    for lo, hi in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        here = members[lo:hi]
        turned = keys[here]
        turned[:, 0] = (turned[:, 0] << np.uint64(bits)) | (
            turned[:, 0] >> np.uint64(WORD_BITS - bits)
        )
        yield Keyed(rows[here], turned)


def spilled_batch(keyed: Keyed) -> pa.RecordBatch:
    """A batch of `spill_schema`."""
    n_words, keys = keyed.keys.shape[1], pa.array(keyed.keys.reshape(-1))
    if n_words > 1:
        keys = pa.FixedSizeListArray.from_arrays(keys, n_words)
    return pa.record_batch([pa.array(keyed.rows), keys], schema=spill_schema(n_words))
