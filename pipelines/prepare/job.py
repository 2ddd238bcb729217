"""The job of preparing a corpus: the run directory, and the recipe beside it."""

from dataclasses import dataclass, replace
from pathlib import Path

from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.runs.folder import SPOOL, RunFolder


@dataclass(frozen=True, kw_only=True)
class PrepareJob(RunFolder):
    """The job of a recipe."""

    recipe: Recipe

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", self.recipe.run)

    def exactly(self) -> "PrepareJob":
        """The same job, every document encoded by the tokenizer's own library."""
        tokenizer = self.recipe.tokenizer.model_copy(update={"engine": "reference"})
        return replace(self, recipe=self.recipe.model_copy(update={"tokenizer": tokenizer}))

    def tokens(self, split: str, key: str) -> Path:
        return self.out / "90-tokens" / split / f"part-{key}.arrow"

    def bucket_counts(self, split: str, group: int) -> Path:
        return self.out / "91-mix" / split / f"counts-{group:05d}.arrow"

    def buckets(self, split: str, group: int, block: int) -> Path:
        return self.out / "91-mix" / split / f"group-{group:05d}-{block:05d}.arrow"

    def sampled_out(self, key: str) -> Path:
        return self.out / "removed" / f"part-{key}.mix.parquet"

    def webdataset(self, split: str, key: str) -> Path:
        folder = self.out / "webdataset"
        parted = self.recipe.output.validation_frac > 0.0
        return (folder / split if parted else folder) / f"part-{key}.tar"

    def spool(self, key: str) -> Path:
        return self.path(SPOOL, key=key)

    @property
    def dataset(self) -> Path:
        return self.out / "dataset"
