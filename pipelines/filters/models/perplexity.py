"""Documents by how well a language model of good text foretells them, as CCNet's buckets."""

import functools
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.config import BY_NAME, PinnedFile, readable
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.filter import Filter, Kinds
from tokenmill.pipelines.core.step import KEEP, StageResult
from tokenmill.pipelines.filters.models import kenlm
from tokenmill.pipelines.filters.models.ngram_model import MAGIC, LanguageModel, load_model

Kind = Literal["train-lm", "kenlm"]
Bucket = Literal["head", "middle", "tail"]
BUCKETS: tuple[Bucket, ...] = ("head", "middle", "tail")
NO_WORDS = 1  # the verdict; those of buckets follow
REASONS = ("no_words", *(f"{bucket}_perplexity" for bucket in BUCKETS))


def kind_of(path: Path) -> Kind | None:
    """Whose model a file begins as, None if none; ConfigError where it cannot be read."""
    with readable(path) as f:
        begins = f.read(4096)
    if begins.startswith(MAGIC):
        return "train-lm"
    is_kenlm = begins.startswith(kenlm.BINARY) or begins.lstrip().startswith(kenlm.ARPA)
    return "kenlm" if is_kenlm else None


class LmFile(PinnedFile):
    """What `tokenmill train-lm` made, or a model of KenLM.

    kind, cutoffs: found when the recipe is read, unless its sha256 stands there: then what is not
        said is not known. Cutoffs are the perplexities where head ends and tail begins.
    """

    way: ClassVar[str] = (
        "make it by tokenmill train-lm, or name it: --set steps.perplexity.model=FILE"
    )

    kind: Kind | None = None
    cutoffs: tuple[float, float] | None = None

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        kind = kind_of(path)
        settings |= {"kind": kind, "cutoffs": None}
        if kind == "train-lm":
            settings["cutoffs"] = load_model(path).cutoffs
        elif kind == "kenlm":
            kenlm.load_kenlm(path)
        else:
            raise ConfigError(
                f"{path}: no language model; name a file of tokenmill train-lm, or of KenLM,"
                " binary or ARPA"
            )


class PiecesFile(PinnedFile):
    """A SentencePiece model."""

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        kenlm.load_pieces(path)


class Perplexity(Filter):
    """Keep documents of some of CCNet's buckets: head, below one perplexity; tail, from another
    on. Head and middle unless told, by a model of `tokenmill train-lm`, or of KenLM
    (`pip install tokenmill[lm]`).

    model: a file that `tokenmill train-lm` made, or a model of KenLM, binary or ARPA, which is
        taken for what it says it is: trusted files only.
    keep: buckets whose documents stay; the third is "middle".
    head, tail: perplexities below which a document is head, and from which on it is tail; both,
        or neither: those that the model of `train-lm` carries.
    normalize: what comes before a KenLM model, "ccnet" unless told, or "none".
    sentencepiece: a model that cuts text into what a KenLM model calls words, as CCNet's
        en.sp.model for its en.arpa.bin; without, they part at white space.

    Perplexity is 10 ** -(log10 of the document's probability / its words, line ends among them),
    with one decimal, as in CCNet. Reasons: "head_perplexity", "middle_perplexity",
    "tail_perplexity", the value being the perplexity; and "no_words". It annotates perplexity and
    bucket.

    Source: Wenzek et al. 2019, arXiv:1911.00359, section 4.3; cc_net/perplexity.py. Its limits are
    the 30th and 60th percentile of a language: cc_net/data/cutoff.csv.
    """

    name: ClassVar[str] = "perplexity"
    tells: ClassVar[Kinds] = {"": pa.float64(), "bucket": pa.string()}

    model: Annotated[LmFile, BY_NAME]
    keep: tuple[Bucket, ...] = Field(("head", "middle"), min_length=1)
    head: Annotated[float, Field(gt=0)] | None = None
    tail: Annotated[float, Field(gt=0)] | None = None
    normalize: kenlm.Normalization | None = None
    sentencepiece: Annotated[PiecesFile, BY_NAME] | None = None

    @model_validator(mode="after")
    def _settings_that_go_together(self) -> "Perplexity":
        if (self.head is None) != (self.tail is None):
            given, other = ("head", "tail") if self.tail is None else ("tail", "head")
            raise ValueError(f"{given} is given without {other}; give both limits, or neither")
        if self.head is not None and self.tail is not None and self.head > self.tail:
            raise ValueError(f"head {self.head:g} is above tail {self.tail:g}; exchange them")
        for name in ("normalize", "sentencepiece"):
            if self.model.kind == "train-lm" and getattr(self, name) is not None:
                raise ValueError(f"{name} is of a KenLM model; that of train-lm needs none")
        self._limits()
        return self

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        model = scorer(self.model, self.normalize or "ccnet", self.sentencepiece)
        values = model.perplexities(batch["text"])
        buckets = np.searchsorted(self._limits(), values, "right")
        has_words = ~np.isnan(values)
        kept = np.isin(buckets, [BUCKETS.index(bucket) for bucket in self.keep])
        verdicts = np.where(kept, KEEP, NO_WORDS + 1 + buckets)
        verdicts = np.where(has_words, verdicts, NO_WORDS).astype(np.uint8)
        named = pa.array(BUCKETS).take(pa.array(buckets, mask=~has_words))
        found = {"": values, "bucket": named}
        result = self.judge(batch, verdicts, REASONS, values=values, found=found)
        return result._replace(notes=counted(buckets[has_words]))

    def _limits(self) -> tuple[float, float]:
        if self.head is not None and self.tail is not None:
            return self.head, self.tail
        if self.model.cutoffs is None:
            of_ccnet = "; for CCNet's models they stand in its cutoff.csv, rows 30 and 60"
            raise ValueError(
                "the model carries no limits; give them as head: 300, tail: 500"
                f"{of_ccnet if self.model.kind == 'kenlm' else ''}"
            )
        return self.model.cutoffs


@functools.cache  # once a process
def scorer(
    model: LmFile, normalization: kenlm.Normalization, pieces: PiecesFile | None
) -> kenlm.KenlmModel | LanguageModel:
    """What tells documents' perplexity; ConfigError: a file is not the one the run began with."""
    path = model.checked()
    if kind_of(path) == "train-lm":
        return load_model(path)
    cut = None if pieces is None else pieces.checked()
    return kenlm.KenlmModel(path, normalization=normalization, pieces=cut)


def counted(buckets: I64) -> dict[str, int]:
    """How many documents are in which bucket.

    >>> counted(np.array([0, 2, 2]))
    {'perplexity_head': 1, 'perplexity_tail': 2}
    """
    found = zip(*np.unique(buckets, return_counts=True), strict=True)
    return {f"perplexity_{BUCKETS[b]}": int(n) for b, n in found}
