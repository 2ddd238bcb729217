"""The account of a shard: what many batches add up to is what one loop over all of them counts."""

import contextlib
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.keyed import against, job_of
from tests.strategies import document_batch
from tokenmill.pipelines.core.schema import ROW_BITS
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.core.step import keep_where
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.corpus.step import Applied
from tokenmill.pipelines.prepare.shard import Tally

SHARD = SourceShard(
    key="00000", ordinal=2, input=0, source="docs", format="jsonl", paths=(), names=()
)
EARLIER = 2  # shards of earlier runs
FIRST = EARLIER << ROW_BITS  # the first document of this run
BATCHES = [  # step, notes, duplicate_of of those that leave, paragraphs and their bytes
    ("exact", {"a": 1}, [FIRST - 1, FIRST, None], (0, 0)),
    ("repeated_paragraphs", {"a": 2, "b": 3}, [0], (2, 30)),
    ("exact", None, [], (0, 0)),
    ("exact", {"b": 1}, [FIRST + 1], (0, 0)),
    ("exact", {"c": 5}, [0, 1], (0, 0)),
    ("repeated_paragraphs", None, [FIRST], (1, 4)),
]


def removing(duplicate_of):
    """A batch of a document that stays behind those that leave, and what is said of these."""
    batch = document_batch(["text"] * (len(duplicate_of) + 1))
    verdicts = np.array([1] * len(duplicate_of) + [0], np.uint8)
    result = keep_where("s", batch, verdicts, ["equal"])
    of = pa.array(duplicate_of, pa.uint64())
    at = result.removed.schema.get_field_index("duplicate_of")
    field = result.removed.schema.field(at)
    return batch, result._replace(removed=result.removed.set_column(at, field, of))


@pytest.mark.parametrize("earlier", [0, EARLIER])
def test_notes_counts_and_what_earlier_runs_have_add_up_over_batches(tmp_path, earlier):
    steps = ["exact", "repeated_paragraphs"]
    job = against(job_of(tmp_path, steps), earlier)
    part = passes(job.recipe.steps)[1]
    of_earlier, noted, gone, seen = Counter(), Counter(), Counter(), Counter()
    with contextlib.ExitStack() as files:
        tally = Tally(job, part, SHARD, files)
        for name, notes, duplicate_of, (removed, n_bytes) in BATCHES:
            batch, result = removing(duplicate_of)
            counts = {"paragraphs": {"removed": removed, "bytes": n_bytes}}
            tally.applied(name, batch, Applied(result._replace(notes=notes), counts=counts))
            of_earlier[name] += sum(of is not None and of < FIRST for of in duplicate_of)
            noted.update(notes or {})
            gone[name] += len(duplicate_of)
            seen[name] += batch.num_rows
    assert tally.facts["notes"] == noted
    assert tally.facts["paragraphs"] == {"removed": 3, "bytes": 34}
    assert tally.facts.get("of_earlier") == (of_earlier if earlier else None)
    for name in steps:
        assert tally.stats[name].docs_in == seen[name]
        assert tally.stats[name].removed == {"equal": gone[name]}
