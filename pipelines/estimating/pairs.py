"""What a run writes of pairs of near duplicates, told by what the probes are like.

    probes ── documents like each ── pairs ── times the bands in which a pair meets ── bytes

In how many bands a pair meets hangs on how alike the two are; probes do not tell, so the interval
runs from one band to all.
"""

import numpy as np
import pyarrow as pa

from tokenmill.dedup.verify import ALL_PAIRS
from tokenmill.pipelines.dedup_steps import NearDedup
from tokenmill.pipelines.edges import EDGES
from tokenmill.pipelines.estimate.drawn import Drawn
from tokenmill.pipelines.estimating.blocks import between
from tokenmill.pipelines.estimating.copies import Probed
from tokenmill.pipelines.forest import PAIRS_AT_ONCE
from tokenmill.pipelines.spill_rows import range_bits

EDGE_BYTES = 4 + 4
# bands that a pair meets in where it is only just taken for alike: 14 * 0.7^8 of 14, and 1 at least
FEWEST_BANDS = 1.4
UNSEEN = 3.7  # pairs that there may be at 97.5 % where none was seen (Poisson)


def edge_bytes(step: NearDedup, probed: Probed, docs: Drawn) -> Drawn:
    """Of the folder of edges.

    docs: that duplicates are looked for among.
    """
    least, usual, most = _pairs_per_doc(probed)
    bands = step.lsh().bands
    value = usual * (FEWEST_BANDS * bands) ** 0.5
    most = max(most, usual) + UNSEEN / len(probed.doc_id)
    per_doc = between(max(least, 1e-12), most * bands, order=3, value=value)
    head, batch = _head_bytes(0), _head_bytes(1) - _head_bytes(0)
    edges = docs * per_doc
    files = bands << range_bits(int(docs.value))
    return edges * (EDGE_BYTES + batch / PAIRS_AT_ONCE) + float(files * head)


def _pairs_per_doc(probed: Probed) -> tuple[float, float, float]:
    """At least, as is likely, and at most.

    Of equal documents only one is compared; how many of those like a probe are equal to one
    another is not known: as many as to the probe is likely. In large buckets a tree of pairs is
    all that is written.
    """
    steps = list(probed.steps.values())
    alike = steps[-1].alike
    equal = steps[0].copies if len(steps) > 1 else np.ones_like(alike)
    weight = probed.scale / equal
    others = [
        alike > equal,  # one of a tree
        np.minimum(alike / equal - 1, ALL_PAIRS - 1),
        np.minimum(alike - equal, ALL_PAIRS - 1),
    ]
    total = float(probed.scale.sum())
    least, usual, most = (float((weight * np.maximum(o, 0)).sum()) / 2 / total for o in others)
    return least, usual, most


def _head_bytes(n_batches: int) -> int:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, EDGES) as writer:
        for _ in range(n_batches):
            writer.write_batch(pa.RecordBatch.from_pylist([], schema=EDGES))
    return int(sink.tell())
