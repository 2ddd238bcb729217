"""Gopher's quality rules: is this prose, of a sensible length?"""

from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from tokenmill.dedup.arrays import F64, text_buffers
from tokenmill.pipelines.core.config import EACH_ONCE, Count, Fraction
from tokenmill.pipelines.core.filter import REASON, Filter, Kinds
from tokenmill.pipelines.core.step import StageResult, above, below, ratio
from tokenmill.pipelines.filters.kernels import lines, words
from tokenmill.pipelines.filters.text.characters import Characters, characters
from tokenmill.pipelines.filters.text.words import (
    WordKind,
    Words,
    split,
    word_counts,
    word_versions,
    words_of,
)

MEASURED = (  # what is told of a document
    *("words", "avg_word_length", "hashes_word_ratio", "ellipses_word_ratio"),
    *("bullet_lines_ratio", "ellipsis_lines_ratio", "alpha_words_ratio", "stop_words"),
)
ENGLISH = ("the", "be", "to", "of", "and", "that", "have", "with")
NotNegative = Annotated[float, Field(ge=0.0)]


class GopherQuality(Filter):
    """Keep documents that meet Gopher's rules of quality: how many words, of what length, with how
    many symbols, bullets, ellipses and stop words. Limits are the published ones unless told, and
    included; `None` turns a rule off.

    Content words are words with a character that is neither punctuation nor a control
    character. A ratio over no words or no lines fails no rule.

    min_words, max_words: content words.
    min_avg_word_length, max_avg_word_length: mean characters of a content word.
    max_symbol_word_ratio: "#" per word, and ellipses ("..." or U+2026) per word.
    max_bullet_lines_ratio: share of lines that begin with U+2022 or "-".
    max_ellipsis_lines_ratio: share of lines that end with an ellipsis.
    min_alpha_words_ratio: share of words with a letter.
    min_stop_words: different `stop_words` that occur as words, in exactly that case. Those unless
        told are English, and nearly all text in other languages leaves: name those of the language,
        or none (`min_stop_words: null`); step `fineweb2` has those of 56 languages, and limits.
    words: what a word is: whitespace, unicode, scripts or spacy, as
        pipelines.filters.text.words has them. A word of `scripts` may
        be one character: in Chinese or Thai also min_avg_word_length: null, and stop words of it.

    Lines are those of `str.splitlines()`.
    Source: Rae et al. 2021, arXiv:2112.11446, section A1.1; read as datatrove 0.10's
    GopherQualityFilter reads it, which the field runs. Where the paper leaves room: it does not
    say that words of symbols are left out of the count and the mean, nor that "-" is a bullet,
    and its list of stop words has no stated case.
    """

    name: ClassVar[str] = "gopher_quality"
    tells: ClassVar[Kinds] = {REASON: pa.string(), **dict.fromkeys(MEASURED, pa.float64())}

    min_words: Count | None = 50
    max_words: Count | None = 100_000
    min_avg_word_length: NotNegative | None = 3.0
    max_avg_word_length: NotNegative | None = 10.0
    max_symbol_word_ratio: NotNegative | None = 0.1
    max_bullet_lines_ratio: Fraction | None = 0.9
    max_ellipsis_lines_ratio: Fraction | None = 0.3
    min_alpha_words_ratio: Fraction | None = 0.8
    min_stop_words: Count | None = 2
    stop_words: Annotated[tuple[str, ...], EACH_ONCE] = ENGLISH
    words: WordKind = "whitespace"

    @model_validator(mode="after")
    def _possible(self) -> "GopherQuality":
        for word in self.stop_words:
            if word.isascii() and word.isalpha() and not self.words.startswith("spacy"):
                continue  # one word by either rule; asking would load Numba with every recipe
            if split(word, self.words) != [word]:
                raise ValueError(f"stop word {word!r} is not one word; no word of a text equals it")
        if self.min_stop_words is not None and self.min_stop_words > len(self.stop_words):
            raise ValueError(
                f"min_stop_words {self.min_stop_words} is over the {len(self.stop_words)}"
                " stop words there are; nothing would be kept"
            )
        return self

    @property
    def speaks(self) -> str:
        return "stop words" if self.min_stop_words and self.stop_words == ENGLISH else ""

    def hint(self, reason: str) -> str:
        if reason == "too_few_words" and self.words == "whitespace":
            return f"it asks for {self.min_words} between white space; words: scripts counts others"
        told = super().hint(reason)
        return f"{told}; name others (stop_words), or none (min_stop_words: null)" if told else ""

    def versions(self) -> dict[str, str]:
        return word_versions(self.words)

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        text = characters(batch["text"])
        word = word_facts(
            words_of(text, self.words),
            self.stop_words,
            enough=len(self.stop_words) if self.annotates else self.min_stop_words or 0,
        )
        line = line_facts(text)
        n_words, n_content = word[words.N_WORDS], word[words.N_CONTENT_WORDS]
        n_lines = line[lines.N_LINES]
        length = ratio(word[words.CONTENT_CHARS], n_content)
        hashes = ratio(line[lines.N_HASHES], n_words)
        ellipses = ratio(line[lines.N_ELLIPSES], n_words)
        bullets = ratio(line[lines.N_BULLET_LINES], n_lines)
        trailing = ratio(line[lines.N_ELLIPSIS_LINES], n_lines)
        alpha = ratio(word[words.N_ALPHA_WORDS], n_words)
        rules = [
            below("too_few_words", n_content, self.min_words),
            above("too_many_words", n_content, self.max_words),
            below("words_too_short", length, self.min_avg_word_length),
            above("words_too_long", length, self.max_avg_word_length),
            above("too_many_hashes", hashes, self.max_symbol_word_ratio),
            above("too_many_ellipses", ellipses, self.max_symbol_word_ratio),
            above("too_many_bullet_lines", bullets, self.max_bullet_lines_ratio),
            above("too_many_ellipsis_lines", trailing, self.max_ellipsis_lines_ratio),
            below("too_few_alpha_words", alpha, self.min_alpha_words_ratio),
            below("too_few_stop_words", word[words.N_STOP_WORDS], self.min_stop_words),
        ]
        measured = (n_content, length, hashes, ellipses, bullets, trailing, alpha)
        found = dict(zip(MEASURED, (*measured, word[words.N_STOP_WORDS]), strict=True))
        return self.judge_by(batch, rules, found)


def word_facts(found: Words, stop_words: tuple[str, ...], *, enough: int) -> F64:
    """(N_WORD_FACTS, n_docs) float64, as `kernels.words` counts; enough: different stop words."""
    packed = text_buffers(pa.array(stop_words, pa.large_string()))
    counts = np.empty((len(found.offsets) - 1, words.N_WORD_FACTS), np.int64)
    seen = np.empty(len(stop_words), np.uint8)
    lengths = np.zeros(256, np.uint64)
    for word in stop_words:
        encoded = word.encode()
        lengths[encoded[0]] |= np.uint64(1 << min(len(encoded), 63))
    borders = np.empty(2 * int(word_counts(found).max(initial=0)) + 2, np.uint64)
    words.word_facts(
        *found, packed.data, packed.offsets[1:], lengths, enough, seen, borders, counts
    )
    return counts.T.astype(np.float64)


def line_facts(text: Characters) -> F64:
    """(N_LINE_FACTS, n_docs) float64: a row for each count of `kernels.lines`."""
    counts = np.empty((len(text.offsets) - 1, lines.N_LINE_FACTS), np.int64)
    lines.line_facts(*text, counts)
    return counts.T.astype(np.float64)
