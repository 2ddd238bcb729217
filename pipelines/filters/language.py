"""The language of a document, told by py3langid, whose model of 140 languages comes with it.

Its model is data (arrays, never pickled), 4 MB, from no network. Reference: Lui and Baldwin,
langid.py: an off-the-shelf language identification tool, ACL 2012.
"""

import functools
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from pipelines.config import Config
from pipelines.stage import KEEP, StageResult, keep_where

LIBRARY = "py3langid"
LONGEST = 10_000  # characters looked at: more tell no more


class Language(Config):
    """Keep documents in one of some languages.

    keep: codes of ISO 639, as [en, de].
    least: probability of the most probable language; below it a document leaves as of none.

    Reasons: "other_language" and "uncertain_language"; the value is that probability, the detail
    the language. The first 10,000 characters are looked at. A document without a letter has no
    language, and leaves as uncertain.

    Defaults: English, as of the published English corpora, at 0.65, FineWeb's threshold for another
    model (arXiv:2406.17557): the probabilities of this one are its own.
    """

    name: ClassVar[str] = "language"

    keep: tuple[str, ...] = Field(("en",), min_length=1)
    least: Annotated[float, Field(ge=0.0, le=1.0)] = 0.65

    @model_validator(mode="after")
    def _can_be_told(self) -> "Language":
        if find_spec(LIBRARY) is None:
            raise ValueError(f"needs the {LIBRARY} library; pip install 'tokenmill[language]'")
        unknown = sorted(set(self.keep) - set(identifier().labels))
        if unknown:
            known = ", ".join(sorted(identifier().labels))
            raise ValueError(f"no language {unknown[0]!r} is known; there are {known}")
        return self

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        found = [language_of(text) for text in batch["text"].to_pylist()]
        verdicts = [self._verdict(*one) for one in found]
        return keep_where(
            self.name,
            batch,
            np.array(verdicts, np.uint8),
            ("other_language", "uncertain_language"),
            values=np.array([p for _, p in found], np.float64),
            details=pa.array([code for code, _ in found], pa.string()),
        )

    def _verdict(self, code: str | None, probability: float) -> int:
        if code is None or probability < self.least:
            return 2
        return KEEP if code in self.keep else 1


def language_of(text: str) -> tuple[str | None, float]:
    """The most probable language and its probability; none for a text without a letter.

    >>> language_of("123 ...")
    (None, 0.0)
    """
    head = text[:LONGEST]
    if not any(map(str.isalpha, head)):
        return None, 0.0
    code, probability = identifier().classify(head)
    return code, float(probability)


@functools.cache
def identifier() -> Any:
    """The model, loaded once a process."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # optional

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
