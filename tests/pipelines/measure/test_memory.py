"""How much memory the corpus-wide steps of a run take, by how many documents come to them."""

from pathlib import Path

import pytest

from tokenmill.pipelines.corpus import equal, near
from tokenmill.pipelines.measure.drawn import exact
from tokenmill.pipelines.measure.job import MeasureJob, Measuring
from tokenmill.pipelines.measure.scratch import clustering_memory_bytes
from tokenmill.pipelines.prepare.recipe import make_recipe

KEYS, PAIRS = equal.DOC_BYTES + equal.ROW_BYTES, near.ROW_BYTES  # of a document, one work at a time


def needed(docs, *steps, cores=1, **run):
    data = {"inputs": ["x.jsonl"], "tokenizer": None, "output": {"text": "parquet"}, "run": run}
    recipe = make_recipe({**data, "steps": list(steps)}, where="test")
    measuring = Measuring(recipe=recipe, cores=cores)
    job = MeasureJob(out=Path(), recipe=recipe, identity="", measuring=measuring)
    found = clustering_memory_bytes(job, exact(docs))
    return found and found.value


@pytest.mark.parametrize(
    ("steps", "per_doc"),
    [(("exact",), KEYS), (("near",), PAIRS), (("near", "exact"), KEYS), (("same_url",), KEYS)],
)
def test_a_step_of_keys_and_one_of_pairs_take_what_they_say_of_each_document(steps, per_doc):
    assert needed(10_000, *steps) == 10_000 * per_doc
    assert needed(10_000, *steps, memory_budget=100_000) == 100_000  # then it is read in parts
    assert needed(0, *steps) == 0


def test_works_beside_one_another_take_as_much_each():
    one, two = (needed(10**9, "exact", cores=n, memory_budget="1TB") for n in (1, 2))
    assert two == 2 * one
    assert needed(10, "c4") is None
