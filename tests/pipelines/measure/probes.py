"""What is probed of key sidecars that were written by hand, and what a run keeps of the same."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from tests.pipelines.keyed import find, found, job_of
from tokenmill.pipelines.measure.copies import Probed, count_copies, read_copies
from tokenmill.pipelines.measure.scan import ENDS


def probe(folder, steps, keys, *, probes, read_frac=1.0) -> Probed:
    """What is found of documents drawn, all of them if there are as many probes."""
    job = SimpleNamespace(
        path=lambda of, key: folder / of.named(0) / f"part-{key}.arrow",
        out=folder,
        dedup=steps,
        predicted=steps,
        filters=(),
        image_step=None,
        recipe=SimpleNamespace(images=None),
        measuring=SimpleNamespace(probes=probes, seed=3),
    )
    return read_copies(job, count_copies(job, keys, read_frac=read_frac).facts)


def ends_of(text_bytes) -> pa.RecordBatch:
    """Rows of ENDS of documents that were all chosen and stay as they are."""
    sizes = pa.array(text_bytes, pa.int64())
    columns = [sizes, pa.array(np.zeros(len(sizes), np.int64)), sizes, sizes]
    return pa.record_batch([*columns, pa.array(np.ones(len(sizes)))], schema=ENDS)


def kept_by_run(folder, steps, sizes):
    """(n,) documents that a run keeps."""
    job, kept = job_of(folder, steps), np.ones(sum(sizes), np.bool_)
    find(job, steps, sizes)
    for step in steps:
        kept[list(found(job, step, sizes))] = False
    return kept
