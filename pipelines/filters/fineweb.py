"""FineWeb's quality rules: lines that end like sentences, not like lists."""

from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from tokenmill.pipelines.core.config import Fraction
from tokenmill.pipelines.core.filter import REASON, Filter, Kinds
from tokenmill.pipelines.core.step import StageResult, above, below, ratio, without_value
from tokenmill.pipelines.filters.text.characters import char_counts, characters
from tokenmill.pipelines.filters.text.parts import newline_counts, part_facts
from tokenmill.pipelines.filters.text.words import WordKind, word_counts, word_versions, words_of

# what is told of a document
MEASURED = (
    "terminal_lines_ratio",
    "short_lines_ratio",
    "duplicate_line_chars_ratio",
    "newlines_ratio",
)


class FineWeb(Filter):
    r"""Keep documents that meet FineWeb's rules of lines: how many end a sentence, are short, or
    equal one before, and how many come to a word. Limits are the published ones unless told, and
    included; `None` turns a rule off.

    A document with no line but blank ones is removed as "empty". Other rules read lines between
    "\n" that are not blank.

    min_terminal_lines_ratio: share of lines whose last character ends a sentence in some script;
        whitespace at the end of a line is such a last character, and ends none.
    keep_no_terminal_lines: pass documents of which not one line does (datatrove's
        `line_punct_exclude_zero`), as in languages written without such marks.
    max_short_lines_ratio: share of lines of at most `short_line_chars` characters.
    max_duplicate_line_chars_ratio: characters of lines equal to one before, out of all but "\n".
    max_newlines_ratio: "\n" per word.
    words: what a word is: whitespace, unicode, scripts or spacy, as
        pipelines.filters.text.words has them.

    Source: Penedo et al. 2024, arXiv:2406.17557, section 3.6 and appendix; read as datatrove
    0.10's FineWebQualityFilter reads it. The paper gives three rules; the one for newlines is
    datatrove's alone.
    """

    name: ClassVar[str] = "fineweb"
    tells: ClassVar[Kinds] = {REASON: pa.string(), **dict.fromkeys(MEASURED, pa.float64())}

    min_terminal_lines_ratio: Fraction | None = 0.12
    keep_no_terminal_lines: bool = False
    max_short_lines_ratio: Fraction | None = 0.67
    short_line_chars: Annotated[int, Field(ge=0)] = 30
    max_duplicate_line_chars_ratio: Fraction | None = 0.01
    max_newlines_ratio: Annotated[float, Field(ge=0.0)] | None = 0.3
    words: WordKind = "whitespace"

    def versions(self) -> dict[str, str]:
        return word_versions(self.words)

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        text = characters(batch["text"])
        n_newlines = newline_counts(text)
        chars = char_counts(text)
        n_words = word_counts(words_of(text, self.words))
        lines = part_facts(text, n_newlines, skip_blank=True, short_chars=self.short_line_chars)
        terminal = ratio(lines.n_terminal, lines.n)
        if self.keep_no_terminal_lines:
            terminal[terminal == 0] = np.nan
        short, newlines = ratio(lines.n_short, lines.n), ratio(n_newlines, n_words)
        repeated = ratio(lines.repeated_chars, chars - n_newlines)
        rules = [
            without_value("empty", lines.n == 0),
            below("too_few_terminal_lines", terminal, self.min_terminal_lines_ratio),
            above("too_many_short_lines", short, self.max_short_lines_ratio),
            above("duplicate_line_chars", repeated, self.max_duplicate_line_chars_ratio),
            above("too_many_newlines", newlines, self.max_newlines_ratio),
        ]
        found = dict(zip(MEASURED, (terminal, short, repeated, newlines), strict=True))
        return self.judge_by(batch, rules, found)
