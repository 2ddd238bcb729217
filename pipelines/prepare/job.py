"""The job of preparing a corpus: the run directory, and the recipe beside it."""

from dataclasses import dataclass, replace

from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.tokens.run import Tokenizing, TokenRun


@dataclass(frozen=True, kw_only=True)
class PrepareJob(TokenRun):
    """The job of a recipe."""

    recipe: Recipe

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", self.recipe.run)

    @property
    def tokenizing(self) -> Tokenizing:
        return self.recipe.tokenizing()

    def exactly(self) -> "PrepareJob":
        """The same job, every document encoded by the tokenizer's own library."""
        tokenizer = self.recipe.tokenizer.model_copy(update={"engine": "reference"})
        return replace(self, recipe=self.recipe.model_copy(update={"tokenizer": tokenizer}))
