"""Documents by the score of a classifier of good and bad text, as GPT-3 chose from Common Crawl."""

import functools
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from tokenmill.dedup.arrays import F64
from tokenmill.pipelines.core.config import BY_NAME, PinnedFile
from tokenmill.pipelines.core.filter import Filter, Kinds
from tokenmill.pipelines.core.step import StageResult
from tokenmill.pipelines.filters.models import fasttext, quality_model

BINS = 10  # of scores, counted for the report


class ModelFile(PinnedFile):
    """What `tokenmill train-quality` made, or a supervised model of fastText."""

    way: ClassVar[str] = (
        "make it by tokenmill train-quality, or name it: --set steps.quality.model=FILE"
    )

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        if fasttext.is_fasttext(path):
            fasttext.check_fasttext(path)
        else:
            quality_model.load_model(path)


class Quality(Filter):
    """Keep documents that a classifier takes for good ones, all that are and some of the others,
    as GPT-3 did: one of `tokenmill train-quality`, or a fastText model.

    model: a file that `tokenmill train-quality` made, or a model of fastText (.bin, .ftz).
    rule: "pareto" keeps a document if a draw from a Pareto distribution exceeds 1 - score, as
        `np.random.pareto(alpha) > 1 - score`; "threshold" if its score is `threshold` or more.
    alpha: of the distribution; a document of score s stays with probability (2 - s) ** -alpha:
        at 9 all of score 1, 2.6 % of 0.5, 0.2 % of 0.
    threshold: of the other rule.
    seed: of the draws. They depend on it and a document's id, and on nothing else.
    label: of fastText's labels that of good documents.

    Reason: "low_quality"; the value is the score. It annotates the score.

    Source: Brown et al. 2020, arXiv:2005.14165, appendix A, where 9 is to take mostly documents
    of high scores, but some that are unlike the good ones too. Its classifier is that of
    `tokenmill train-quality`; `pipelines.filters.models.quality_model` tells where ours departs.
    """

    name: ClassVar[str] = "quality"
    tells: ClassVar[Kinds] = {"": pa.float64()}

    model: Annotated[ModelFile, BY_NAME]
    rule: Literal["pareto", "threshold"] = "pareto"
    alpha: Annotated[float, Field(gt=0)] = 9.0
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    seed: int = 0
    label: str | None = None

    @model_validator(mode="after")
    def _settings_that_go_together(self) -> "Quality":
        if (self.threshold is None) == (self.rule == "threshold"):
            raise ValueError(
                "rule: threshold needs one, as threshold: 0.5"
                if self.threshold is None
                else f"threshold {self.threshold} is of rule: threshold; the rule is {self.rule}"
            )
        path = Path(self.model.file)
        if not path.exists():  # a finished run is looked at without it; one that goes on says so
            return self
        if fasttext.is_fasttext(path):
            fasttext.full_label(path, self.label)
        elif self.label is not None:
            raise ValueError(f"label {self.label!r} is of a fastText model, and this is none")
        return self

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        scores = scorer(self.model, self.label).scores(batch["text"])
        if self.threshold is not None:
            keeps = scores >= self.threshold
        else:
            draws = quality_model.uniform(batch["id"], "quality", self.seed)
            keeps = draws < quality_model.kept_share(scores, self.alpha)
        verdicts, found = (~keeps).astype(np.uint8), {"": scores}
        result = self.judge(batch, verdicts, ("low_quality",), values=scores, found=found)
        return result._replace(notes=counted(scores))


@functools.cache  # once a process
def scorer(
    model: ModelFile, label: str | None
) -> fasttext.FastTextScores | quality_model.LinearModel:
    """What scores documents by a model; ConfigError where the file changed since the run began."""
    path = model.checked()
    if not fasttext.is_fasttext(path):
        return quality_model.load_model(path)
    return fasttext.FastTextScores(fasttext.FastTextModel(path), fasttext.full_label(path, label))


def counted(scores: F64) -> dict[str, int]:
    """How many documents have which score, by tenths.

    >>> counted(np.array([0.0, 0.04, 1.0]))
    {'quality_score_0.0_to_0.1': 2, 'quality_score_0.9_to_1.0': 1}
    """
    bins = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    found = zip(*np.unique(bins, return_counts=True), strict=True)
    return {f"quality_score_{b / BINS}_to_{(b + 1) / BINS}": int(n) for b, n in found}
