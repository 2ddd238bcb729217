"""Gopher's repetition rules: how much of a document says what it said before."""

from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field, field_validator

from tokenmill.dedup.arrays import F64, I64, U8, U64
from tokenmill.pipelines.core.config import Fraction
from tokenmill.pipelines.core.filter import REASON, Filter, Kinds
from tokenmill.pipelines.core.step import (
    Rule,
    StageResult,
    above,
    first_failing,
    ratio,
    without_value,
)
from tokenmill.pipelines.filters.kernels.repeated import first_frequent, first_repeated
from tokenmill.pipelines.filters.text.characters import Characters, char_counts, characters
from tokenmill.pipelines.filters.text.parts import newline_counts, part_facts
from tokenmill.pipelines.filters.text.words import (
    Letters,
    WordKind,
    letters,
    word_versions,
    words_of,
)

NGram = tuple[Annotated[int, Field(ge=1)], Annotated[float, Field(ge=0.0)]]


# what is told of a document, beside the rule that it fails and the value that did
MEASURED = (
    *("duplicate_paragraphs_ratio", "duplicate_paragraph_chars_ratio"),
    *("duplicate_lines_ratio", "duplicate_line_chars_ratio"),
)


class GopherRepetition(Filter):
    r"""Keep documents that meet Gopher's rules of repetition: equal paragraphs and lines, n-grams
    of words that are frequent or stood before. Limits are the published ones unless told, and
    included; `None` turns a rule off.

    A document of no characters is removed as "empty".

    max_duplicate_paragraphs_ratio, max_duplicate_lines_ratio: share of paragraphs or lines that
        equal one before.
    max_duplicate_paragraph_chars_ratio, max_duplicate_line_chars_ratio: characters of those, out
        of all characters of the document.
    top_ngrams: (n, limit) pairs: characters of the most frequent n-gram, spaces between its words
        included, times how often it occurs, out of all characters of the document. It may be
        over 1: n-grams overlap.
    duplicate_ngrams: (n, limit) pairs: characters of n-grams met before, each character once, out
        of all characters of the document.
    words: what a word is: whitespace, unicode, scripts or spacy, as
        pipelines.filters.text.words has them; n-grams hold nothing that stands between words.

    Paragraphs are what two or more "\n" separate in the text without the whitespace around it;
    lines what one or more "\n" separate in the whole text, so that a "\n" at its start and one at
    its end make two equal empty lines. Characters are code points.

    Source: Rae et al. 2021, arXiv:2112.11446, table A1; read as datatrove 0.10's
    GopherRepetitionFilter reads it, which the field runs. It departs from the paper, or fills it
    in: paragraphs come before lines; n-grams of `duplicate_ngrams` are compared written without
    spaces ("ab c" is "a bc"), and whoever is a duplicate hides those that begin inside it.
    """

    name: ClassVar[str] = "gopher_repetition"
    tells: ClassVar[Kinds] = {
        REASON: pa.string(),
        **dict.fromkeys(("value", *MEASURED), pa.float64()),
    }

    max_duplicate_lines_ratio: Fraction | None = 0.30
    max_duplicate_paragraphs_ratio: Fraction | None = 0.30
    max_duplicate_line_chars_ratio: Fraction | None = 0.20
    max_duplicate_paragraph_chars_ratio: Fraction | None = 0.20
    top_ngrams: tuple[NGram, ...] | None = ((2, 0.20), (3, 0.18), (4, 0.16))
    duplicate_ngrams: tuple[NGram, ...] | None = (
        (5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10),
    )  # fmt: skip
    words: WordKind = "whitespace"

    @field_validator("top_ngrams", "duplicate_ngrams")
    @classmethod
    def _each_size_once(cls, ngrams: tuple[NGram, ...] | None) -> tuple[NGram, ...] | None:
        sizes = [n for n, _ in ngrams or ()]
        twice = sorted({n for n in sizes if sizes.count(n) > 1})
        if twice:
            raise ValueError(f"n-gram size {twice[0]} stands twice; give each size one limit")
        return ngrams

    def versions(self) -> dict[str, str]:
        return word_versions(self.words)

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        text = characters(batch["text"])
        chars = char_counts(text)
        rules = self._part_rules(text, chars)
        verdicts, values = first_failing(rules, batch.num_rows)
        words = letters(words_of(text, self.words))
        self._judge_ngrams(words, chars, len(rules) + 1, verdicts, values)
        reasons = [r.reason for r in rules]
        reasons += [f"top_{n}_gram" for n, _ in self.top_ngrams or ()]
        reasons += [f"duplicate_{n}_grams" for n, _ in self.duplicate_ngrams or ()]
        found = {"value": values, **{n: r.value for n, r in zip(MEASURED, rules[1:], strict=True)}}
        return self.judge(batch, verdicts, reasons, values=values, found=found)

    def _judge_ngrams(
        self, words: Letters, chars: I64, place: int, verdicts: U8, values: F64
    ) -> None:
        """Judge documents still kept by n-grams, in place; place: of the first of these rules."""
        most = words.most_words
        slots = 1 << max(2, (2 * most - 1).bit_length())  # at least twice as many as words
        top, duplicate = self.top_ngrams or (), self.duplicate_ngrams or ()
        if top:
            hashes, keys = np.empty(most, np.uint64), np.empty(slots, np.uint64)
            counts, firsts = np.empty((2, slots), np.int32)
            suspects = np.empty(len(top), np.uint8)
            rules, out = (*sizes_and_limits(top), place), (verdicts, values)
            first_frequent(*words, chars, *rules, hashes, keys, counts, firsts, suspects, *out)
        if duplicate:
            tables, lists = np.empty((3, slots), np.uint64), np.empty((4, most), np.uint64)
            rules = (*sizes_and_limits(duplicate), place + len(top))
            first_repeated(*words, chars, *rules, tables, lists, verdicts, values)

    def _part_rules(self, text: Characters, chars: I64) -> list[Rule]:
        n_newlines = newline_counts(text)
        para = part_facts(text, n_newlines, newlines=2, trim=True)
        line = part_facts(text, n_newlines)
        paragraphs, lines = ratio(para.n_repeated, para.n), ratio(line.n_repeated, line.n)
        of_paragraphs = ratio(para.repeated_chars, chars)
        of_lines = ratio(line.repeated_chars, chars)
        return [
            without_value("empty", chars == 0),
            above("duplicate_paragraphs", paragraphs, self.max_duplicate_paragraphs_ratio),
            above(
                "duplicate_paragraph_chars", of_paragraphs, self.max_duplicate_paragraph_chars_ratio
            ),
            above("duplicate_lines", lines, self.max_duplicate_lines_ratio),
            above("duplicate_line_chars", of_lines, self.max_duplicate_line_chars_ratio),
        ]


def sizes_and_limits(ngrams: tuple[NGram, ...]) -> tuple[U64, F64]:
    """(n_rules,) words of an n-gram, and shares of all characters."""
    return np.array([n for n, _ in ngrams], np.uint64), np.array([limit for _, limit in ngrams])
