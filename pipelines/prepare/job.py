"""The job of preparing a corpus: the run directory, and the recipe beside it.

What a run is: all that decides its output, told so that two runs can be compared.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import tokenizers

from tokenmill.dedup.overlap import index as ngram_index
from tokenmill.dedup.text.fold_tables import FOLD_VERSION
from tokenmill.pipelines.core.schema import SCHEMA_VERSION
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.corpus.passes import TOKENIZE, corpus_steps, stage_names
from tokenmill.pipelines.corpus.step import Pass
from tokenmill.pipelines.filters.normalize import NORMALIZE_VERSION
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.runs.manifest import open_run
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.tokens.run import Tokenizing, TokenRun


@dataclass(frozen=True, kw_only=True)
class PrepareJob(TokenRun):
    recipe: Recipe

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", self.recipe.run)

    @property
    def tokenizing(self) -> Tokenizing:
        return self.recipe.tokenizing()

    def stage_names(self, part: Pass) -> list[str]:
        """What a shard goes through in a pass, in order; nothing is encoded without a tokenizer."""
        names = stage_names(part)
        return [n for n in names if n != TOKENIZE] if self.recipe.tokenizer is None else names

    def exactly(self) -> "PrepareJob":
        """The same job, every document encoded by the tokenizer's own library."""
        tokenizer = self.recipe.tokenizer and self.recipe.tokenizer.model_copy(
            update={"engine": "reference"}
        )
        return replace(self, recipe=self.recipe.model_copy(update={"tokenizer": tokenizer}))


OUTPUT_VERSION = "17"  # raise it when the same recipe and input make other output bytes


def run_identity(recipe: Recipe, plan: Plan) -> dict[str, Any]:
    """All that decides the output: recipe, inputs, tokenizer, versions. JSON."""
    settings = recipe.tokenizing()
    return {
        "recipe": recipe.identity(),
        **plan.identity(),
        "tokenizer": None if settings.tokenizer is None else settings.engine().digest,
        "benchmarks": {
            file.path: [file.bytes, str(file.version)]
            for step in corpus_steps(recipe.steps)
            for file in step.files()
        },
        "versions": {
            "output": OUTPUT_VERSION,
            "schema": SCHEMA_VERSION,
            "normalize": str(NORMALIZE_VERSION),
            "fold": FOLD_VERSION,
            "index": ngram_index.FORMAT,
            "tokenizers": tokenizers.__version__,
            "pyarrow": pa.__version__,  # normalizes text
            **recipe.versions(),
        },
    }


def open_job(out: Path, recipe: Recipe, plan: Plan) -> PrepareJob:
    """Begin a run in `out`, or continue the one that is there; ConfigError: see `open_run`."""
    out = out.absolute()
    digest = open_run(out, run_identity(recipe, plan))
    remote = mirror.remote_of(out)
    return PrepareJob(out=out, remote=remote, recipe=recipe, identity=digest, against=plan.against)
