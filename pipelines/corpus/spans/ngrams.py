"""Which n-grams stand more than once, and where: their minimizers, they themselves, runs of them.

text of a group ── spill_minimizers ── hashes by range ── find_known ── a file a range: those
                                                                       that stand twice, by group
text of a group ── spill_ngrams ── n-grams of known minimizers, by range ── find_equal_ngrams
a group's n-grams of every range ── find_runs ── FOUND: what is to go, a file a shard

How many works there are follows from the bytes of text alone. Shards are gathered in groups of
about GROUP_BYTES: text is read a group a work. N-grams are parted in ranges by their hashes, of
about RANGE_BYTES of text each. Text is read twice, so that no n-gram has to be kept.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U64, text_buffers
from tokenmill.dedup.overlap.ngrams import Known, Ngrams
from tokenmill.dedup.same.partition import prefix_bits
from tokenmill.dedup.text.words import Units, lines, whole_documents
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import needed
from tokenmill.pipelines.corpus import shuffle
from tokenmill.pipelines.corpus.rows import Corpus, groups_of
from tokenmill.pipelines.corpus.spans.settings import FOUND_SPANS, SPANS, SpanSettings
from tokenmill.pipelines.corpus.step import Pass
from tokenmill.pipelines.corpus.verdicts import alive_of, last_with_verdicts
from tokenmill.pipelines.runs.folder import FILTERED, RunFolder
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import Rows, arrow_file, open_arrow, open_sidecar, values
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
    """Rows that share their hash, and where each hash ends; room: bytes taken for it at most."""
    for equal in shuffle.parts(rows, shuffle.Room(room, ROW_BYTES, LARGEST_BYTES)):
        yield equal.buckets(prefix_bits(rows.n))


def read_known(corpus: Corpus, group: Group, size: Size) -> Known:
    """The group's minimizers at more than one place; ConfigError: too many for the memory."""
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
    """Join n-grams to runs (FOUND); names: all doc_ids.  places, of: (n,) of EQUAL, ascending."""
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
