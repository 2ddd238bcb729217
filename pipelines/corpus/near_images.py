"""The corpus-wide work of `near_images`: which images look like one before them."""

import numpy as np
import numpy.typing as npt

from tokenmill.dedup.images import BYTES_PER_HASH, first_near
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.finding import RUN, Runs, run_of, write_shard
from tokenmill.pipelines.corpus.counted.keys import has_key
from tokenmill.pipelines.corpus.counted.steps import NearImages
from tokenmill.pipelines.corpus.counted.units import gone_before, unit_name, unit_rows
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import Rows

ROW_BYTES = BYTES_PER_HASH + 32  # the hash twice, its row, that of the first near one
AT_ONCE = 1 << 16  # images that leave in a batch of the file; it takes no more than hashes did
LEAST_BYTES = 1 << 18  # besides


def find_near_images(job: PrepareJob, pass_index: int, steps: tuple[Step, ...]) -> Done:
    """Write which images of each shard look like another; steps: behind the pass, this last."""
    corpus, step = Corpus(job, pass_index, steps), steps[-1]
    assert isinstance(step, NearImages)
    rows = unit_rows(corpus, step)
    corpus.memory_left(step.name, rows.n, ROW_BYTES, least=LEAST_BYTES, of=unit_name(step))
    gone = gone_before(corpus, rows)
    there, hashes = _hashes(rows, step.hash, gone)
    first = first_near(hashes, step.distance)
    leaving = np.flatnonzero(first != np.arange(len(first)))
    path = job.runs(pass_index)
    with arrow_file(path, RUN) as writer:
        for start in range(0, len(leaving), AT_ONCE):
            at = leaving[start : start + AT_ONCE]
            bits = np.bitwise_count(hashes[at] ^ hashes[first[at]])
            writer.write_batch(run_of(rows, there[at], there[first[at]], bits))
    files, runs = [], Runs([path])
    for shard, key in enumerate(corpus.shard_keys()):
        first, end = rows.starts[shard : shard + 2].tolist()
        found = runs.between(first, end)
        files.append(job.repeated(pass_index, key))
        local = found._replace(rows=found.rows - np.uint32(first))
        write_shard(files[-1], rows.shard(shard), local)
    path.unlink()
    n = rows.n - (0 if gone is None else int(gone.sum()))
    facts = {"images": n, "without_hash": n - len(hashes), "near": len(leaving)}
    return Done(files=files, facts=facts)


def _hashes(
    rows: Rows, column: str, gone: npt.NDArray[np.bool_] | None
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    """(n,) rows of images that have a hash, and their hashes."""
    there, hashes = [np.empty(0, np.uint32)], [np.empty(0, np.uint64)]
    for batch in rows.walk():
        keys = batch.values(column)
        here = has_key(keys)
        if gone is not None:
            here &= ~gone[batch.start : batch.start + len(keys)]
        there.append((np.flatnonzero(here) + batch.start).astype(np.uint32))
        hashes.append(keys[here, 0])
    return np.concatenate(there), np.concatenate(hashes)
