"""Documents, or their paragraphs, by the language that a model tells.

Where paragraphs or lines are judged, a document is put together again of those that stay.
"""

from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from tokenmill.dedup.arrays import U8, Bools
from tokenmill.pipelines.core.config import BY_NAME
from tokenmill.pipelines.core.filter import Filter, Kinds
from tokenmill.pipelines.core.step import KEEP, StageResult, with_text
from tokenmill.pipelines.filters.models import language_models as models
from tokenmill.pipelines.filters.text.parts import Parts, split_at

BREAKS = {"paragraph": "\n\n", "line": "\n"}
OTHER, UNCERTAIN, NO_TEXT = 1, 2, 3
REASONS = ("other_language", "uncertain_language", "no_text_left")


class Language(Filter):
    r"""Keep documents, or paragraphs or lines of them, in some languages, English unless told, by
    py3langid (`pip install tokenmill[language]`), eldc (`[eldc]`) or a fastText model of yours.

    library: what tells the language.
        "py3langid": 140 languages, its naive Bayes model walked by a kernel of ours;
        "eldc": 60 languages, better at short texts in one of them, but what it does not know it
        takes for the nearest that it does;
        "fasttext": the model file that `model` names.
    model: a fastText model (.bin, .ftz) with a label for each language: FineWeb and CCNet take
        lid.176.bin. It implies its library.
    keep: codes of ISO 639-1, as [en, de], and of 639-3 for languages that have no other.
    least: probability of the most probable language; below it a document leaves as of none. Each
        library's are its own: unless told 0.65, of eldc 0.5.
    unit: "document"; "paragraph" and "line" take out paragraphs (between blank lines, "\n\n") or
        lines ("\n") that are in another language by `least` or more. Those that are uncertain, and
        those of fewer than `min_chars` characters, stay or go as the whole document would.
    min_chars: of a paragraph or line for a verdict of its own.
    first_chars: how many characters of a document or paragraph are looked at; None for all.

    Reasons: "other_language", "uncertain_language", "no_text_left" (every paragraph left); the
    value is the document's probability, the detail its language. A text without a letter has no
    language, and is uncertain. It annotates language and probability, of whatever language and
    however uncertain. Paragraphs that left are counted by language.

    Sources: FineWeb (arXiv:2406.17557) keeps English of 0.65 or more, CCNet (arXiv:1911.00359) a
    language of 0.5 or more, both of whole documents: library fasttext, lid.176.bin and
    first_chars null are theirs. tests/bench/language.py compares the libraries.
    """

    name: ClassVar[str] = "language"
    tells: ClassVar[Kinds] = {"": pa.string(), "score": pa.float64()}

    library: models.Library = "py3langid"
    model: Annotated[models.LanguageFile, BY_NAME] | None = None
    keep: tuple[str, ...] = Field(("en",), min_length=1)
    least: Annotated[float, Field(ge=0.0, le=1.0)] = models.LEAST["py3langid"]
    unit: Literal["document", "paragraph", "line"] = "document"
    min_chars: Annotated[int, Field(ge=0)] = 40
    first_chars: Annotated[int, Field(ge=1)] | None = 10_000

    @model_validator(mode="before")
    @classmethod
    def _what_the_library_decides(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        implied = "fasttext" if data.get("model") is not None else "py3langid"
        library = data.get("library", implied)
        return {"library": library, "least": models.LEAST.get(str(library), 0.0), **data}

    @field_validator("keep", mode="after")
    @classmethod
    def _as_codes(cls, keep: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(models.code_of, keep))

    @model_validator(mode="after")
    def _can_be_told(self) -> "Language":
        models.check_library(self.library)
        if (self.model is None) == (self.library == "fasttext"):
            raise ValueError(
                "library: fasttext needs a model file, as model: lid.176.bin"
                if self.model is None
                else f"a model file is of library: fasttext; the library is {self.library}"
            )
        if self.annotates and self.unit != "document":
            raise ValueError(f"unit {self.unit!r} takes out parts; annotate whole documents")
        known = models.known_languages(self.library, self.model)
        unknown = sorted(set(self.keep) - known)
        if known and unknown:  # a finished run is looked at without its model
            there = ", ".join(sorted(known))
            raise ValueError(f"no language {unknown[0]!r} is known; there are {there}")
        return self

    @property
    def cuts_text(self) -> bool:
        """Whether parts of documents leave, and the places of images with them."""
        return self.unit != "document"

    @property
    def languages(self) -> tuple[str, ...]:
        return () if self.annotates else self.keep

    def versions(self) -> dict[str, str]:
        """Of the library that decides what is kept; of fastText the model's bytes alone do."""
        return {} if self.library == "fasttext" else {self.library: version(self.library)}

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        told = self._tell(batch["text"])
        verdicts = self._verdicts(told)
        if self.unit == "document":
            return self._result(batch, verdicts, told)
        parts = split_at(batch["text"], BREAKS[self.unit])
        leaves, notes = self._leaving(parts, verdicts)
        text = parts.joined(~leaves)
        blank = np.asarray(pc.equal(pc.utf8_trim_whitespace(text), ""), np.bool_)
        without = np.where(verdicts == KEEP, NO_TEXT, verdicts)
        after = np.where(blank, without, KEEP)
        result = self._result(batch, after.astype(np.uint8), told)
        edited = with_text(result, text.filter(pa.array(after == KEEP)))
        return edited._replace(notes=notes)

    def _result(self, batch: pa.RecordBatch, verdicts: U8, told: models.Detected) -> StageResult:
        found = {"": told.codes, "score": told.probabilities}
        of = {"values": told.probabilities, "details": told.codes}
        return self.judge(batch, verdicts, REASONS, found=found, **of)

    def _leaving(self, parts: Parts, verdicts: U8) -> tuple[Bools, dict[str, int]]:
        """(n_parts,) whether each leaves; and how many did, by language."""
        own = np.full(len(parts.text), UNCERTAIN, np.uint8)
        codes = pa.nulls(len(parts.text), pa.string())
        long = np.asarray(pc.utf8_length(parts.text)) >= self.min_chars
        if long.any():
            told = self._tell(parts.text.filter(pa.array(long)))
            own[long] = self._verdicts(told)
            codes = pc.replace_with_mask(codes, pa.array(long), told.codes)
        as_document = np.repeat(verdicts, np.diff(parts.starts)) != KEEP
        leaves = np.where(own == UNCERTAIN, as_document, own == OTHER)
        counts = pc.value_counts(codes.filter(pa.array(own == OTHER))).to_pylist()
        notes = {f"{self.unit}s_removed_as_{c['values']}": c["counts"] for c in counts}
        with_document = int(np.count_nonzero(leaves & (own == UNCERTAIN)))
        notes |= {f"{self.unit}s_removed_with_document": with_document} if with_document else {}
        return leaves, dict(sorted(notes.items()))

    def _tell(self, text: pa.Array) -> models.Detected:
        """The language of each text; none for a text without a letter."""
        if self.first_chars is not None:
            text = pc.utf8_slice_codeunits(text, 0, self.first_chars)
        told = models.language_model(self.library, self.model).tell(text)
        letters = pc.match_substring_regex(text, r"\p{L}")
        codes = pc.if_else(letters, told.codes, None)
        known = np.asarray(codes.is_valid(), np.bool_)
        return models.Detected(codes, np.where(known, told.probabilities, 0.0))

    def _verdicts(self, told: models.Detected) -> U8:
        wanted = np.asarray(pc.is_in(told.codes, pa.array(self.keep, pa.string())), np.bool_)
        certain = np.asarray(told.codes.is_valid(), np.bool_) & (told.probabilities >= self.least)
        return np.where(certain, np.where(wanted, KEEP, OTHER), UNCERTAIN).astype(np.uint8)
