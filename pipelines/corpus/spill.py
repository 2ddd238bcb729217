"""Keys of documents by range: the shuffle of the key sidecars.

key sidecars of a group of shards ── spill_keys ── a file: a chunk for each column of keys
the same range of one column of all these files ── spilled ── parts ── equal keys together
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import U32, U64, Bools
from tokenmill.pipelines.corpus.rows import DOC_IDS, IDS, Corpus, range_bits
from tokenmill.pipelines.corpus.shuffle import Range, chunk_of, local_rows, row_schema, words
from tokenmill.pipelines.corpus.step import Chain, CorpusStep, Pass, Shuffled, Size, group_works
from tokenmill.pipelines.corpus.verdicts import alive_before
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases
from tokenmill.pipelines.storage.files import Batch, arrow_file

SPILL = Folder("2-spill", "{step}-{group:05d}.arrow")
ROW_BYTES = 13  # of a group: row number 4, partition 4, alive 1, and 4 on the way


class KeyedStep(CorpusStep):
    """A step whose keys are shuffled.

    `shuffled` says which columns, `spill` is the phase that sets them down, and `spilled` a range
    of one of them, in a later work.
    """

    has_keys = True

    def spill(self, chain: Chain, size: Size) -> Phases[dict[str, Receipt]]:
        """Set the keys of all documents down that no step before removes."""
        works = group_works(size.all, self.name)
        return chain.phase(f"{self.name} keys", f"keys-{self.name}", spill_keys, works)


def n_words_of(column: Shuffled) -> int:
    """64-bit words that are set down of a document."""
    return column.n_words + (column.beside is not None)


def spill_keys(run: RunFolder, part: Pass, name: str, group: int) -> Done:
    """Write the keys of a group's documents that are still there, by column and range."""
    corpus = Corpus(run, part)
    step, rows, bits = part.step(name, KeyedStep), corpus.rows(), range_bits(corpus.n)
    shards, of_group = corpus.group(group)
    n_words = n_words_of(step.shuffled[0])
    of_key = 8 * n_words
    # once more, in order of the ranges, if there are several
    per_row = ROW_BYTES + of_key + (of_key + 4 if bits else 0)
    corpus.memory_left(name, len(of_group), per_row, works=corpus.shards.n_groups)
    alive = alive_before(corpus, name, group)
    path, schema = corpus.path(SPILL, step=name, group=group), row_schema(n_words)
    paths = [path]
    if name == part.finders[0].name:  # the others need them too, and come later
        paths.append(corpus.path(IDS, group=group))
        with arrow_file(paths[-1], DOC_IDS) as writer:
            for batch in rows.walk(shards.start, shards.stop):
                writer.write_batch(pa.record_batch([batch.rows["doc_id"]], schema=DOC_IDS))
    with arrow_file(path, schema) as writer:
        for column in step.shuffled:
            batches = rows.walk(shards.start, shards.stop)
            keys, numbers = _keyed(batches, column, alive, of_group.start)
            writer.write_batch(chunk_of(schema, bits, (keys, numbers)))
    return Done(files=paths)


def spilled(corpus: Corpus, name: str, column: int, number: int) -> Range:
    """A range of one of a step's columns, of all documents that are still there.

    Its keys are those of the column; "beside" is the last word of what `Range.take` gives as "key".
    """
    step = corpus.part.step(name, KeyedStep)
    groups = range(corpus.shards.n_groups)
    return Range(
        [corpus.path(SPILL, step=name, group=group) for group in groups],
        range_bits(corpus.n),
        number,
        firsts=corpus.shards.starts[corpus.shards.groups[:-1]],
        chunk=column,
        n_words=step.shuffled[column].n_words,
    )


def _keyed(batches: Iterable[Batch], column: Shuffled, alive: Bools, first: int) -> tuple[U64, U32]:
    """The keys of documents that are there and have one, and their rows in the group."""
    numbers = np.empty(len(alive), np.uint32)
    keys = np.empty((len(alive), n_words_of(column)), np.uint64)
    at = n = 0
    for batch in batches:
        found = words(batch.values(column.keys))
        keep = alive[at : at + len(found)]
        here = np.flatnonzero(keep if column.zeros_are_a_key else keep & found.any(axis=1))
        numbers[n : n + len(here)] = local_rows(here + batch.start, first)
        keys[n : n + len(here), : column.n_words] = found[here]
        if column.beside is not None:
            keys[n : n + len(here), column.n_words] = batch.values(column.beside)[here]
        at, n = at + len(found), n + len(here)
    return (keys[:n, 0] if keys.shape[1] == 1 else keys[:n]), numbers[:n]
