"""FineWeb 2's rules: those of Gopher and FineWeb, with limits and stop words of each language.

batch ── by its language ──► de ── repetition ── lines ── quality ──┐
                         ├─► th ── …                                ├─► verdicts, in order
                         └─► no limits are known: other_language ───┘
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml
from pydantic import Field, field_validator, model_validator

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.config import Fraction
from tokenmill.pipelines.core.filter import REASON, Filter, Kinds
from tokenmill.pipelines.core.step import KEEP, StageResult
from tokenmill.pipelines.filters.fineweb import FineWeb
from tokenmill.pipelines.filters.gopher_quality import GopherQuality
from tokenmill.pipelines.filters.gopher_repetition import GopherRepetition, NGram
from tokenmill.pipelines.filters.models.language_models import code_of
from tokenmill.pipelines.filters.text.words import WordKind, spacy_if_wanted, split, word_versions

PUBLISHED = "d0defb2"
TABLE = Path(__file__).with_suffix(".yaml")
CLUSTERS = {"ja": 1, "th": 3, "zh": 1}  # without spaces: how many of an n-gram stand for a word
TOP, DUPLICATE = (2, 3, 4), (5, 6, 7, 8, 9, 10)  # words of n-grams
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
OTHER, UNCERTAIN = "other_language", "uncertain_language"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a language is judged by, in turn.  score: the least that GlotLID gave."""

    score: float
    filters: tuple[GopherRepetition | FineWeb | GopherQuality, ...]


class FineWeb2(Filter):
    """Keep documents that meet FineWeb 2's rules for their language: Gopher's of repetition and of
    quality and FineWeb's of lines, with limits and stop words for each of 56 languages.

    language: the annotation that names each document's language, as `language: {action: annotate}`
        adds it; with "_score" behind it that of the probability, where `least` asks for one.
    keep: codes of languages, as [de, th]; those of the table unless told. Documents of others leave
        as "other_language".
    least: probability of the language; below it a document leaves as "uncertain_language".
        "published" is each language's own, which was chosen for GlotLID's; None asks for none.
    words: what a word is, as pipelines.filters.text.words has it, in all languages; None is what
        the table says of each: spaCy's rules of it (`pip install tokenmill[spacy]`), characters and
        clusters (scripts) where no spaces are set; "published" is what datatrove counts, which asks
        jieba, sudachi, pythainlp, pyvi and indicnlp too, each of languages of `keep` or of all.

    The other reasons are those of gopher_repetition, fineweb and gopher_quality. Where a script
    sets no spaces words may be of any length, stop words of several characters are left out, and
    where none is left, so is the rule; n-grams of Thai have three times as many clusters as words.

    Source: Penedo et al. 2025, arXiv:2506.20920; configs/ and fineweb-2-pipeline.py of
    huggingface/fineweb-2, commit d0defb2, read as datatrove 0.10 reads them. Departures: what words
    are in Japanese, Thai, Vietnamese, Chinese, in Belarusian, Galician, Georgian, Kazakh and in
    languages of India, of which datatrove asks other libraries. Korean, of whose words there are no
    rules here, is not in the table.
    """

    name: ClassVar[str] = "fineweb2"
    tells: ClassVar[Kinds] = {REASON: pa.string()}

    language: Annotated[str, Field(min_length=1)] = "language"
    keep: tuple[str, ...] | None = Field(None, min_length=1)
    least: Literal["published"] | Fraction | None = None
    words: WordKind | Literal["published"] | None = None

    @field_validator("keep")
    @classmethod
    def _are_known(cls, keep: tuple[str, ...] | None) -> tuple[str, ...] | None:
        codes = None if keep is None else tuple(dict.fromkeys(map(code_of, keep)))
        unknown = sorted(set(codes or ()) - table().keys())
        if unknown:
            raise ValueError(
                f"no limits of language {unknown[0]!r} are known; there are"
                f" {', '.join(sorted(table()))}"
            )
        return codes

    @model_validator(mode="after")
    def _words_can_be_found(self) -> "FineWeb2":
        for kind in self._kinds():
            spacy_if_wanted(kind)
        return self

    def _kinds(self) -> tuple[str, ...]:
        """The kinds of words of all languages that it may keep."""
        kinds = (words_of_language(code, self.words) for code in self.keep or table())
        return tuple(dict.fromkeys(kinds))

    def versions(self) -> dict[str, str]:
        """Of the published limits, and of the libraries that split words."""
        split_by = {name: v for kind in self._kinds() for name, v in word_versions(kind).items()}
        return {"fineweb-2": PUBLISHED, **split_by}

    def check_columns(self, documents: pa.Schema) -> None:
        asked = {self.language: pa.types.is_string}
        if self.least is not None:
            asked[f"{self.language}_score"] = pa.types.is_floating
        for column, fits in asked.items():
            index = documents.get_field_index(column)
            if index < 0 or not fits(documents.field(index).type):
                raise ValueError(
                    f"fineweb2 needs a column {column!r} of each document's language; put"
                    " language: {action: annotate} before it"
                )

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        codes = batch[self.language].cast(pa.string())
        reasons: dict[str, int] = {}  # from its name to its verdict
        verdicts = np.full(batch.num_rows, KEEP, np.uint8)
        values = np.full(batch.num_rows, np.nan)
        for code in pc.unique(codes).to_pylist():
            is_one = pc.is_null(codes) if code is None else pc.equal(codes, code)
            rows = np.flatnonzero(np.asarray(pc.fill_null(is_one, False), np.bool_))
            for row, reason, value in self._leaving(batch, rows, code):
                verdicts[row] = reasons.setdefault(reason, len(reasons) + 1)
                values[row] = np.nan if value is None else value
        return self.judge(batch, verdicts, tuple(reasons), found={}, values=values, details=codes)

    def _leaving(
        self, batch: pa.RecordBatch, rows: I64, code: str | None
    ) -> list[tuple[int, str, float | None]]:
        """Rows of one language that leave, why, and the value that decided.  rows: (n,) of it."""
        if code not in table() or code not in (self.keep or table()):
            return [(row, OTHER, None) for row in rows.tolist()]
        rules = rules_of(code, self.words)
        found: list[tuple[int, str, float | None]] = []
        least = rules.score if self.least == "published" else self.least
        if least is not None:
            scores = np.asarray(batch[f"{self.language}_score"])[rows]
            unsure = ~(scores >= least)
            found += [
                (row, UNCERTAIN, score)
                for row, score in zip(rows[unsure].tolist(), scores[unsure].tolist(), strict=True)
            ]
            rows = rows[~unsure]
        places = dict(
            zip(batch["doc_id"].take(pa.array(rows)).to_pylist(), rows.tolist(), strict=True)
        )
        left = batch.take(pa.array(rows))
        for judge in rules.filters:
            result = judge(left)
            gone = result.removed.select(["doc_id", "reason", "value"]).to_pylist()
            found += [(places[row["doc_id"]], row["reason"], row["value"]) for row in gone]
            left = result.kept
        return found


@cache
def table() -> dict[str, dict[str, Any]]:
    """The published limits, by language."""
    with TABLE.open(encoding="utf-8") as f:
        found: dict[str, dict[str, Any]] = yaml.load(f, Loader=LOADER)
    return found


@cache
def words_of_language(code: str, kind: str | None) -> str:
    """The kind of words of a language of the table."""
    one: dict[str, str] = table()[code]
    return one.get("library", one["words"]) if kind == "published" else kind or one["words"]


@cache
def rules_of(code: str, kind: str | None) -> Rules:
    """The rules of a language of the table, in the order in which they were applied."""
    one, words = table()[code], words_of_language(code, kind)
    shortest, longest = one["length"]
    stops = tuple(word for word in one["stop_words"] if split(word, words) == [word])
    characters = words == "scripts" and code in CLUSTERS
    times = CLUSTERS[code] if characters else 1
    return Rules(
        score=one["score"],
        filters=(
            GopherRepetition(
                max_duplicate_lines_ratio=one["lines"],
                max_duplicate_paragraphs_ratio=None,
                max_duplicate_line_chars_ratio=None,
                max_duplicate_paragraph_chars_ratio=None,
                top_ngrams=_of_words(TOP, times, one["top"]),
                duplicate_ngrams=_of_words(DUPLICATE, times, one["duplicate"]),
                words=words,
            ),
            FineWeb(
                min_terminal_lines_ratio=one["terminal"],
                max_short_lines_ratio=None,
                max_duplicate_line_chars_ratio=0.1,
                max_newlines_ratio=one["newlines"],
                words=words,
            ),
            GopherQuality(
                min_avg_word_length=None if characters else shortest,
                max_avg_word_length=None if characters else longest,
                min_alpha_words_ratio=one["alpha"],
                min_stop_words=min(2, len(stops)) or None,
                stop_words=stops,
                words=words,
            ),
        ),
    )


def _of_words(sizes: tuple[int, ...], times: int, limits: list[float]) -> tuple[NGram, ...]:
    """Sizes of n-grams and their limits.  times: words counted where one is meant."""
    return tuple((size * times, limit) for size, limit in zip(sizes, limits, strict=True))
