"""What repeats in a document: lines, paragraphs, and word n-grams, with the rules about these."""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.arrays import F64, I64, U8, U64
from tokenmill.pipelines.filters.kernels import parts
from tokenmill.pipelines.filters.kernels.repeated import first_frequent, first_repeated
from tokenmill.pipelines.filters.kernels.words import count_bits
from tokenmill.pipelines.filters.text.characters import Characters
from tokenmill.pipelines.filters.text.words import Letters


class NGramRules(NamedTuple):
    """sizes: (n_rules,) uint64, words.  limits: (n_rules,) float64, shares of all characters.

    first_place: of these rules among all of their filter; verdicts count from it.
    """

    sizes: U64
    limits: F64
    first_place: int


def ngram_rules(pairs: tuple[tuple[int, float], ...] | None, first_place: int) -> NGramRules:
    """Rules of (n, limit) pairs; `None` and () are none."""
    sizes = np.array([n for n, _ in pairs or ()], np.uint64)
    return NGramRules(sizes, np.array([limit for _, limit in pairs or ()]), first_place)


def judge_ngrams(
    words: Letters,
    doc_chars: I64,
    top: NGramRules,
    duplicate: NGramRules,
    verdicts: U8,
    values: F64,
) -> None:
    """Remove documents too many of whose `doc_chars` are of repeated n-grams; in place.

    top: for the most frequent n-gram alone; these rules come first.
    duplicate: for all n-grams that were met before.
    verdicts, values: (n_docs,); documents already removed are left alone.
    """
    slots = 1 << max(2, (2 * words.most_words - 1).bit_length())  # at least twice as many as words
    if len(top.sizes):
        first_frequent(
            *words,
            doc_chars,
            *top,
            np.empty(words.most_words, np.uint64),  # words
            np.empty(slots, np.uint64),  # keys
            np.empty(slots, np.int32),  # counts
            np.empty(slots, np.int32),  # firsts
            np.empty(len(top.sizes), np.uint8),  # suspects
            verdicts,
            values,
        )
    if len(duplicate.sizes):
        tables, lists = np.empty((3, slots), np.uint64), np.empty((4, words.most_words), np.uint64)
        first_repeated(*words, doc_chars, *duplicate, tables, lists, verdicts, values)


class PartFacts(NamedTuple):
    """Of each document, (n_docs,) float64.

    n: its parts.  n_repeated: those equal to one before.  repeated_chars: characters of those.
    n_terminal: those whose last character ends a sentence.  n_short: those that are short.
    """

    n: F64
    n_repeated: F64
    repeated_chars: F64
    n_terminal: F64
    n_short: F64


def newline_counts(text: Characters) -> I64:
    r"""(n_docs,) int64, how many "\n" each document has."""
    counts = np.empty(len(text.offsets) - 1, np.int64)
    count_bits(text.data, text.offsets, 0xFF, parts.LF, counts)
    return counts


def part_facts(
    text: Characters,
    n_newlines: I64,
    *,
    newlines: int = 1,
    trim: bool = False,
    skip_blank: bool = False,
    short_chars: int = 0,
) -> PartFacts:
    r"""Split each document at runs of at least `newlines` "\n" and count the parts.

    n_newlines: (n_docs,), in each document.
    trim: split `text.strip()`.  skip_blank: leave out parts of nothing but whitespace.
    short_chars: characters that a short part has at most.
    """
    n_docs = len(text.offsets) - 1
    most_parts = int(n_newlines.max(initial=0)) + 1
    table = np.empty(1 << (2 * most_parts - 1).bit_length(), np.uint64)
    out = np.empty((n_docs, parts.N_PART_FACTS), np.int64)
    parts.part_facts(*text, n_newlines, newlines, trim, skip_blank, short_chars, table, out)
    return PartFacts(*out.T.astype(np.float64))
