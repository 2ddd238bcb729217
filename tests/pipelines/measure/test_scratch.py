"""Bytes, files and memory that are told of runs: of a few recipes and sizes, figure by figure.

`python -m tests.pipelines.measure.test_scratch` writes the figures anew.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.golden import test_defaults
from tokenmill.pipelines.core.shard import InputFile, Plan, SourceShard
from tokenmill.pipelines.measure import image_scratch, scratch
from tokenmill.pipelines.measure.copies import Copies, Probed
from tokenmill.pipelines.measure.drawn import between, exact
from tokenmill.pipelines.measure.job import MeasureJob, Measuring
from tokenmill.pipelines.measure.pictures import PredictedImages
from tokenmill.pipelines.measure.predict import left_for, unknown
from tokenmill.pipelines.prepare.recipe import make_recipe

GOLDEN = Path(test_defaults.__file__).with_name("scratch.json")
BANDS = {"similarity": "estimate", "cluster": "components", "num_perm": 112, "bands": 14, "rows": 8}
STORED = {"store": "bytes", "webdataset": True}
CUT = {"decontaminate": {"benchmarks": [{"name": "b", "path": "b.jsonl"}]}}
RECIPES = {
    "nothing": {},
    "equal": {"steps": ["exact"], "output": {"seq_len": 512, "validation_frac": 0.1}},
    "estimated": {"steps": ["exact", {"near": BANDS}], "output": {"shard_bytes": "1MB"}},
    "joined": {"steps": [{"near": {**BANDS, "similarity": "exact"}}, "gopher_quality"]},
    "in order": {"steps": ["gopher_quality", "near", "fineweb"]},
    "not predicted": {"steps": ["same_url", "repeated_spans"]},
    "cut by a step that is not predicted": {"steps": ["exact", CUT, "fineweb"]},
    "images": {"steps": ["repeated_images", "exact", "image_once"], "images": STORED},
    "images, one pass": {"steps": ["image_once"], "images": STORED},
}
SIZES = {0: 3, 2_000: 3, 2_200_000: 40, 200_000_000: 2_500}  # documents, and shards of them


def job_of(name):
    data = {"inputs": ["x.jsonl"], "tokenizer": {"path": "tokenizer.json"}}
    run = {"memory_budget": "1000TB"}  # what is needed is told, not what is given
    recipe = make_recipe({**data, "run": run, **RECIPES[name]}, where="test")
    measuring = Measuring(recipe=recipe, cores=3)
    return MeasureJob(out=Path("nowhere"), recipe=recipe, identity="", measuring=measuring)


def plan_of(n_shards):
    shards = tuple(
        SourceShard(
            key=f"{n:05d}", ordinal=n, input=0, source="x", format="jsonl", paths=("x",),
            names=("x",), bytes=40_000_000,
        )
        for n in range(n_shards)
    )  # fmt: skip
    return Plan(shards=shards, files=(InputFile("x", "x", n_shards * 40_000_000, 1),))


def some(share, docs, order):
    """Of documents, known within a tenth."""
    return docs * between(share / 1.1, share * 1.1, order=100 + order)


def probed_of(job):
    """Three documents: one alone, one of a pair that is known to its end, one of many"""
    copies, alike = np.array([1.0, 2.0, 50.0]), np.array([1.0, 2.0, 30.0])
    whole, ids = np.array([True, True, False]), np.arange(3, dtype=np.uint64)
    found = Copies(copies, {}, alike, whole, copies * 2, np.ones(3, np.int64))
    steps = {step.name: found for step in job.predicted if step.has_keys}
    return Probed(60, ids, np.array([0.5, 0.1, 0.01]), ids, {}, steps, None)


def pictures_of(docs):
    images = docs * 2.0
    of_format = {"images": images * 0.5, "bytes": images * 9_000.0}
    return PredictedImages(
        images_in=images, bytes_in=images * 10_000.0, before=images * 0.9,
        bytes_before=images * 9_500.0, formats={"JPEG": of_format, "PNG": of_format},
        kept_frac={"repeated_images": exact(0.8)}, receipts=some(0.1, docs, 0), cut=exact(0.0),
        unique_frac={}, repeated_frac={}, more_than=10,
    )  # fmt: skip


def figures(name):
    """All of a recipe, by size and name: value and interval."""
    job = job_of(name)
    return {f"{docs:,}": dict(_figures(job, docs, n)) for docs, n in SIZES.items()}


def _figures(job, n_docs, n_shards):
    plan, docs = plan_of(n_shards), exact(n_docs)
    blocks, probed = scratch.blocks_of(plan, 0.0), probed_of(job)
    left = {step.name: some(0.8 - 0.1 * n, docs, n) for n, step in enumerate(job.predicted)}
    tokens = some(200.0, docs, 3)
    pictures = pictures_of(docs) if job.recipe.images else None
    written = scratch.Written(
        docs=docs,
        text_bytes=docs * 1_000.0,
        compressed_frac=some(0.5, exact(1.0), 4) if job.first_pass.after else None,
        docs_left=some(0.6, docs, 2),
        tokens=tokens,
        row_bytes=docs * 40.0,
        edges=scratch.edge_bytes(14, probed, docs) if probed.steps else None,
        removed=scratch.removed_bytes(job, blocks, rows=docs * 0.4, row_bytes=(30.0, 50.0)),
        width=2,
        blocks=blocks,
        reach={1: exact(0.7)},
        left=left,
        of_images=image_scratch.image_folders(job, blocks, pictures, docs) if pictures else {},
        keys={"exact": docs * 20.0} if len(job.dedup) > 1 else {},
        left_for=left_for(probed),
        made_ready={"00-built": exact(7)},
        unknown=unknown(probed),
    )
    by_kind = {
        "bytes": scratch.stored_of(job, plan, written),
        "files": scratch.files_of(job, plan, tokens, 2),
        "removed": {"unmeasured": scratch.removed_bytes(job, blocks, rows=docs, row_bytes=None)},
        "memory": {"": scratch.clustering_memory_bytes(job, docs)},
        "shown": {"": pictures and image_scratch.shown(job, blocks, pictures)},
    }
    for kind, of in by_kind.items():
        for folder, drawn in of.items():
            if drawn is not None:
                ends = drawn.limits() if np.ptp(drawn.draws) else ()
                told = " ".join(f"{x:.9g}" for x in (drawn.value, *ends))
                yield f"{kind} {folder}".strip(), told


@pytest.mark.parametrize("name", RECIPES)
def test_figures_of_a_run_are_what_they_were(name):
    wanted = json.loads(GOLDEN.read_text())[name]
    found = figures(name)
    assert found.keys() == wanted.keys()
    for size, of in found.items():
        assert list(of) == list(wanted[size])
        for what, told in of.items():
            before = [float(number) for number in wanted[size][what].split()]
            assert [float(n) for n in told.split()] == pytest.approx(before, rel=1e-7), (size, what)


def test_what_is_drawn_apart_has_a_number_of_its_own():
    sources = [path.read_text() for path in Path(scratch.__file__).parent.glob("*.py")]
    orders = [int(n) for text in sources for n in re.findall(r"order=(\d+)", text)]
    assert sorted(orders) == [*range(len(orders))]


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: figures(name) for name in RECIPES}, indent=1) + "\n")
