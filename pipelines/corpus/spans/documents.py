"""The text of a group of shards, as n-grams are made of it: twice, so that none has to be kept."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.dedup.spans import Units, lines, whole_documents
from tokenmill.pipelines.corpus.equal import read_duplicates
from tokenmill.pipelines.corpus.passes import duplicate_finders
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.corpus.spans.size import Group
from tokenmill.pipelines.corpus.spans.step import RepeatedSpans
from tokenmill.pipelines.storage.mirror import present


class Texts(NamedTuple):
    """A batch of documents.

    shard: of the corpus.  doc_ids: (n_docs,) of all.  rows: (n_left,) int64 of the corpus, of those
    that no step before removes.  units: of these.
    """

    shard: int
    doc_ids: pa.Array
    rows: npt.NDArray[np.int64]
    units: Units


def step_of(corpus: Corpus) -> RepeatedSpans:
    step = corpus.steps[-1]
    assert isinstance(step, RepeatedSpans)
    return step


def shards_of(corpus: Corpus, group: Group) -> range:
    """Numbers of a group's shards in the corpus, where those of earlier runs come first."""
    before = corpus.shards.n_earlier
    return range(before + group.first, before + group.last)


def texts(corpus: Corpus, group: Group) -> Iterator[Texts]:
    """The documents of a group, batch by batch."""
    split = lines if step_of(corpus).of_lines else whole_documents
    names = [step.name for step in duplicate_finders(corpus.steps)]
    for shard in shards_of(corpus, group):
        key = corpus.shards.keys[shard].as_py()
        found = [read_duplicates(corpus.duplicates(name, key)) for name in names]
        at = int(corpus.shards.starts[shard])
        for batch in _batches(corpus, key):
            left = np.ones(batch.num_rows, np.bool_)
            for duplicates in found:
                left &= np.asarray(next(duplicates)["duplicate_of"].is_null())
            text = batch["text"] if left.all() else batch["text"].filter(pa.array(left))
            rows = np.flatnonzero(left) + at
            yield Texts(shard, batch["doc_id"], rows, split(text_buffers(text)))
            at += batch.num_rows


def _batches(corpus: Corpus, key: str) -> Iterator[pa.RecordBatch]:
    """A shard's documents, of which one batch is unpacked at a time."""
    path = present(corpus.job.filtered(corpus.pass_index, key))
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
