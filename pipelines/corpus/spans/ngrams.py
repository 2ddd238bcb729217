"""The second half of the work: which n-grams stand more than once, and where.

text of a group ── spill_ngrams ── n-grams of known minimizers, by range ── find_equal_ngrams
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.shuffle import Range, RangeWriter, key_type
from tokenmill.pipelines.corpus.spans.minimizers import LEAST_BYTES, equal_rows, read_known
from tokenmill.pipelines.corpus.spans.settings import SPANS
from tokenmill.pipelines.corpus.spans.size import Group, Size, span_paths, step_of, texts
from tokenmill.pipelines.corpus.step import Pass
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file

WORD_BITS = 28  # a place is `row of the corpus << WORD_BITS | first word of the n-gram`
PLACED = pa.schema(
    [
        pa.field("key", key_type(1)),
        pa.field("place", pa.uint64(), nullable=False),
    ]
)
# An n-gram that stood before, and where it stood first; places ascend.
EQUAL = pa.schema(
    [
        pa.field("place", pa.uint64(), nullable=False),
        pa.field("of_place", pa.uint64(), nullable=False),
    ]
)
ALONE = np.int64(-1)
FIRST_BYTES = 8  # of an n-gram of a range: row of the first that equals it
AT_ONCE = 1 << 17  # found ones that are written at a time: many batches take time to open
FOUND_BYTES = 64  # of each: rows, places, those in order


def spill_ngrams(run: RunFolder, part: Pass, group: Group, size: Size) -> Done:
    """Write the n-grams of a group's documents that may stand twice, by range."""
    corpus = Corpus(run, part)
    known, ngrams = read_known(corpus, group, size), step_of(corpus).ngrams()
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
    step = step_of(corpus)
    rows = Range(span_paths(corpus, "ngrams", range(size.groups)), size.bits, number)
    left = corpus.memory_left(
        step.name,
        rows.n,
        FIRST_BYTES,
        least=LEAST_BYTES + AT_ONCE * FOUND_BYTES,
        at_once=corpus.at_once(size.ranges),
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


def _going(
    rows: Range, first: npt.NDArray[np.int64], *, all_copies: bool
) -> Iterator[pa.RecordBatch]:
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
