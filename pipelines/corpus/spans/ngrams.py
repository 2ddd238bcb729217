"""The second half of the work: which n-grams stand more than once, and where.

text of a group ── spill_ngrams ── n-grams of known minimizers, by range ── find_equal_ngrams
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.corpus.spans.documents import step_of, texts
from tokenmill.pipelines.corpus.spans.minimizers import LEAST_BYTES, read_known
from tokenmill.pipelines.corpus.spans.ranges import RangeWriter, equal_rows, range_rows
from tokenmill.pipelines.corpus.spans.size import Group, Size
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import Rows

WORD_BITS = 32  # a place is `row of the corpus << WORD_BITS | first word of the n-gram`
PLACED = pa.schema(
    [
        pa.field("hash", pa.uint64(), nullable=False),
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
ALONE = np.uint32(0xFFFF_FFFF)
FIRST_BYTES = 4  # of an n-gram of a range: row of the first that equals it
AT_ONCE = 1 << 17  # found ones that are written at a time: many batches take time to open
FOUND_BYTES = 64  # of each: rows, places, those in order


def spill_ngrams(
    job: PrepareJob, pass_index: int, steps: tuple[Step, ...], group: Group, size: Size
) -> Done:
    """Write the n-grams of a group's documents that may stand twice, by range."""
    corpus = Corpus(job, pass_index, steps)
    known, ngrams = read_known(corpus, group, size), step_of(corpus).ngrams()
    path = job.spans(pass_index, "ngrams", group.number)
    with arrow_file(path, PLACED) as writer:
        by_range = RangeWriter(writer, PLACED, size)
        for text in texts(corpus, group):
            found = ngrams.candidates(text.units, known)
            places = text.rows[found.docs].astype(np.uint64) << np.uint64(WORD_BITS)
            by_range.write(found.hashes, places | found.words.astype(np.uint64))
        by_range.flush()
    return Done(files=[path])


def find_equal_ngrams(
    job: PrepareJob, pass_index: int, steps: tuple[Step, ...], number: int, size: Size
) -> Done:
    """Write the n-grams of a range that are to go, and where each stands first."""
    corpus = Corpus(job, pass_index, steps)
    step = step_of(corpus)
    paths = [job.spans(pass_index, "ngrams", group) for group in range(size.groups)]
    rows = range_rows(paths, number, size)
    left = corpus.memory_left(
        step.name,
        rows.n,
        FIRST_BYTES,
        least=LEAST_BYTES + AT_ONCE * FOUND_BYTES,
        at_once=corpus.at_once(size.ranges),
        of="n-grams",
    )
    first = np.full(rows.n, ALONE)
    for same in equal_rows(rows, left - AT_ONCE * FOUND_BYTES):
        sizes = np.diff(same.ends, prepend=0)
        first[same.members] = np.repeat(same.members[same.ends - sizes], sizes)
    path, n = job.spans(pass_index, "equal", number), 0
    with arrow_file(path, EQUAL) as writer:
        for batch in _going(rows, first, all_copies=step.keep == "none"):
            writer.write_batch(batch)
            n += batch.num_rows
    return Done(files=[path], facts={"ngrams": rows.n, "repeated": n})


def _going(
    rows: Rows, first: npt.NDArray[np.uint32], *, all_copies: bool
) -> Iterator[pa.RecordBatch]:
    """Batches of schema EQUAL, in order."""
    for start in range(0, len(first), AT_ONCE):
        here = first[start : start + AT_ONCE]
        going = here != ALONE
        if not all_copies:
            going &= here != np.arange(start, start + len(here))
        at = np.flatnonzero(going)
        if len(at):
            wanted, where = np.unique(here[at], return_inverse=True)
            of_places = rows.take("place", wanted)[where]
            columns = [pa.array(rows.take("place", at + start)), pa.array(of_places)]
            yield pa.record_batch(columns, schema=EQUAL)
