"""How many works there are for the n-grams of a corpus, by its bytes of text alone; and the text.

Shards are gathered in groups of about GROUP_BYTES: text is read a group a work. N-grams are parted
in ranges by their hashes, of about RANGE_BYTES of text each. Text is read twice, so that no n-gram
has to be kept.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, text_buffers
from tokenmill.dedup.overlap.ngrams import Ngrams
from tokenmill.dedup.text.words import Units, lines, whole_documents
from tokenmill.pipelines.corpus.rows import Corpus, groups_of
from tokenmill.pipelines.corpus.spans.settings import SPANS, SpanSettings
from tokenmill.pipelines.corpus.verdicts import alive_of, last_with_verdicts
from tokenmill.pipelines.runs.folder import FILTERED
from tokenmill.pipelines.storage.mirror import present

GROUP_BYTES = 1 << 30
RANGE_BYTES = 1 << 26
BYTES_PER_WORD = 6.0  # of English text, what stands between words included
REPEATED_FRAC = 0.3  # of n-grams, that stand twice; behind `near` there were 3 to 18 %
MOST_BITS = 12  # each work of a range looks into a file of each group, and the other way round
RUN_ROWS = 1 << 7  # of a range in each chunk that is spilled: fewer would be read by the page
LEAST_ROWS, MOST_ROWS = 1 << 17, 1 << 20


class Size(NamedTuple):
    """groups: how many.  bits: of a hash, that tell its range."""

    groups: int
    bits: int

    @property
    def ranges(self) -> int:
        return 1 << self.bits

    @property
    def chunk_rows(self) -> int:
        """Hashes that are parted at a time."""
        return min(max(self.ranges * RUN_ROWS, LEAST_ROWS), MOST_ROWS)


class Group(NamedTuple):
    """Shards of this run from the `first` to before the `last`, counted from 0."""

    number: int
    first: int
    last: int


def sized(text_bytes: Sequence[int]) -> tuple[Size, list[Group]]:
    """text_bytes: of each shard."""
    starts = np.concatenate(([0], np.cumsum(text_bytes))).astype(np.int64)
    edges = groups_of(starts, GROUP_BYTES).tolist()
    groups = [Group(n, *edges[n : n + 2]) for n in range(len(edges) - 1)]
    bits = (max(int(starts[-1]) - 1, 0) // RANGE_BYTES).bit_length()
    return Size(len(groups), min(bits, MOST_BITS)), groups


def scratch_bytes(text_bytes: float, ngrams: Ngrams) -> float:
    """About how many bytes of files there are for so much text, before any is deleted.

    A minimizer takes 8, and 12 if it is known; an n-gram of a known one 16, and 16 if it goes. Two
    in `runs + 1` places are minimizers (Schleimer et al. 2003), where a window has `runs` runs.
    """
    words, runs = text_bytes / BYTES_PER_WORD, ngrams.ngram - ngrams.run + 1
    return words * (2 / (runs + 1) * (8 + 12 * REPEATED_FRAC) + 32 * REPEATED_FRAC)


def span_paths(corpus: Corpus, what: str, numbers: range) -> list[Path]:
    """Files of the step's scratch."""
    return [corpus.path(SPANS, what=what, number=number) for number in numbers]


class Texts(NamedTuple):
    """A batch of documents.

    shard: of the corpus.  doc_ids: (n_docs,) of all.  rows: (n_left,) int64 of the corpus, of those
    that no step before removes.  units: of these.
    """

    shard: int
    doc_ids: pa.Array
    rows: I64
    units: Units


def shards_of(corpus: Corpus, group: Group) -> range:
    """Numbers of a group's shards in the corpus, where those of earlier runs come first."""
    before = corpus.shards.n_earlier
    return range(before + group.first, before + group.last)


def texts(corpus: Corpus, group: Group) -> Iterator[Texts]:
    """The documents of a group, batch by batch."""
    split = lines if corpus.last_step(SpanSettings).of_lines else whole_documents
    before = last_with_verdicts(corpus.part)
    for shard in shards_of(corpus, group):
        key = corpus.shards.keys[shard].as_py()
        alive = None if before is None else alive_of(corpus, before, key)
        at = int(corpus.shards.starts[shard])
        for batch in _batches(corpus, key):
            left = np.ones(batch.num_rows, np.bool_) if alive is None else next(alive)
            text = batch["text"] if left.all() else batch["text"].filter(pa.array(left))
            rows = np.flatnonzero(left) + at
            yield Texts(shard, batch["doc_id"], rows, split(text_buffers(text)))
            at += batch.num_rows


def _batches(corpus: Corpus, key: str) -> Iterator[pa.RecordBatch]:
    """A shard's documents, of which one batch is unpacked at a time."""
    path = present(corpus.path(FILTERED, key=key))
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
