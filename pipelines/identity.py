"""What a run is: all that decides its output, told so that two runs can be compared."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import tokenizers

from pipelines.benchmark.hub import is_hub
from pipelines.decontaminate import Decontaminate
from pipelines.manifest import open_run
from pipelines.normalize import NORMALIZE_VERSION
from pipelines.prepare_job import PrepareJob
from pipelines.receipt import digest_of
from pipelines.recipe import Recipe
from pipelines.schema import SCHEMA_VERSION
from pipelines.shard import Plan
from pipelines.store import InputFile, expand
from pipelines.tokenize import load_engine

OUTPUT_VERSION = "1"  # raise it when the same recipe and input make other output bytes


def run_identity(recipe: Recipe, plan: Plan) -> dict[str, Any]:
    """All that decides the output: recipe, inputs, tokenizer, versions. JSON."""
    engine = load_engine(recipe.tokenizer, recipe.output.dtype)
    return {
        "recipe": recipe.identity(),
        "inputs": {f.path: [f.bytes, str(f.version)] for f in plan.files},
        "tokenizer": engine.digest,
        "benchmarks": {f.path: [f.bytes, str(f.version)] for f in _benchmark_files(recipe)},
        "failed_inputs": {f.path: f.cause for f in plan.failed},
        "shards": digest_of(json.dumps(s.to_json(), sort_keys=True) for s in plan.shards),
        "versions": {
            "output": OUTPUT_VERSION,
            "schema": SCHEMA_VERSION,
            "normalize": str(NORMALIZE_VERSION),
            "tokenizers": tokenizers.__version__,
            "pyarrow": pa.__version__,  # normalizes text
        },
    }


def _benchmark_files(recipe: Recipe) -> Iterator[InputFile]:
    for step in recipe.steps:
        if isinstance(step, Decontaminate):
            for benchmark in step.benchmarks:
                if not is_hub(benchmark.path):  # the index keeps the digest of its items
                    yield from expand(benchmark.path)


def open_job(out: Path, recipe: Recipe, plan: Plan) -> PrepareJob:
    """Begin a run in `out`, or continue the one that is there.

    Raises:
        ConfigError: see `open_run`.
    """
    out = out.absolute()
    digest = open_run(out, run_identity(recipe, plan))
    return PrepareJob(out=out, recipe=recipe, identity=digest)
