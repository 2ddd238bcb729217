"""What `tokenmill train-quality` is asked for."""

from typing import Annotated

from pydantic import Field, field_validator, model_validator

from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models.quality_model import check_features
from tokenmill.pipelines.read.options import Limits

SIDES = ("good", "bad")


class Training(Config):
    """How a classifier of good and bad documents is trained.

    good, bad: inputs whose documents are examples of either.
    documents: of each side, at most; of more, documents are drawn by id and `seed`.
    holdout: share of them, by id and seed, that the classifier is not trained on but measured with.
    n_features: that words are hashed to, a power of two; 2**20 is the default of Spark's MLlib.
    alpha: of the Pareto rule whose effect is reported; the model does not depend on it.
    seed: of both draws.
    """

    good: tuple[Input, ...] = Field(min_length=1)
    bad: tuple[Input, ...] = Field(min_length=1)
    documents: Annotated[int, Field(ge=1)] = 100_000
    holdout: Annotated[float, Field(gt=0, lt=1)] = 0.2
    n_features: int = 1 << 20
    alpha: Annotated[float, Field(gt=0)] = 9.0
    seed: int = 0
    limits: Limits = Limits()

    @field_validator("n_features")
    @classmethod
    def _can_be_hashed_to(cls, n: int) -> int:
        check_features(n)
        return n

    @model_validator(mode="after")
    def _apart(self) -> "Training":
        both = {i.path for i in self.good} & {i.path for i in self.bad}
        if both:
            raise ValueError(f"{min(both)}: is given as good and as bad; name each path once")
        return self

    def side(self, name: str) -> tuple[Input, ...]:
        """The inputs of "good" or "bad"."""
        return self.good if name == "good" else self.bad
