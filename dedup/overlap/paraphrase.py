"""Benchmark items in other words: most of what a text says, in one place of a document, any order.

    item texts --> stems --> terms and their weights, anchors --> ParaphraseIndex
    documents --> stems --> anchors near one another --> windows around them --> Paraphrases

- The *stem* of a gram word is its first 6 characters, of a Korean one 2, of a number all; of one in
  ASCII without -s, -ing, -ed and -e first. In scripts without spaces it is a character or cluster
  with the one before it. Numbers in English words, up to twelve and by tens, are those in digits,
  and so are twice, thrice, dozen.
- A *term* is a stem of a text, once. It weighs the less the more common it is: -ln p, where p is
  the greatest of the share of English windows of 100 words that have it (`common_words.json`:
  1,000 of C4, WikiText-2 and Django's documentation), of the share of all items, and of the
  share of the other items of the benchmark, so that the wording of a template weighs little; .001
  at least.
- The *window* of a document is at most half as long again as the text, and the one with most weight
  of the text's terms. It is looked for where three of the text's eight heaviest terms, common
  words apart (LEAST_ANCHOR), stand within one.
- Its *score* is (share + .3 (agreement - 1/2)) sqrt(weight): the share by weight of the words,
  numbers apart, that the window has; the share of the numbers, 1/2 where there are none; the weight
  of all that it has. What a window has by chance is little of a long text and light: neither the
  share nor the weight tells it alone.
Texts of fewer than 6 terms are left out. That window and item agree says that they may be a
paraphrase, or siblings of one template: where fewer than half of the numbers agree, a *sibling*.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import (
    F64,
    I32,
    I64,
    U8,
    U64,
    Bools,
    Saved,
    power_of_two,
    read_only,
    shift_of,
    text_buffers,
)
from tokenmill.dedup.kernels import paraphrase as kernels
from tokenmill.dedup.kernels.paraphrase import MOST_ANCHORS, Posts, Room, Terms, Texts
from tokenmill.dedup.text.gram_words import GramWords, blocks, count_words
from tokenmill.dedup.text.unicode import UNICODE_VERSION

SCORE = 3.4  # from which on a window counts; see tests/bench/paraphrases.py
BONUS = 0.3  # of the score, for numbers that agree
MIN_TERMS = 6
LEAST_ANCHOR = 2.0  # weight; what is more common is no anchor
MOST_POSTS = 512  # texts of an anchor; of more it is none
PRIOR_ITEMS = 200  # as if there were so many more: of few items shares say little
RAREST = 0.001
UNITS = 1000  # of a weight, in the index
FIRST_HITS = 1 << 10
FORMAT = "2"  # of the saved index; raise it with any change of words, stems, weights or layout
COMMON = Path(kernels.__file__).parents[1] / "text" / "common_words.json"

_ONES = "zero one two three four five six seven eight nine ten eleven twelve"
_TENS = "ten twenty thirty forty fifty sixty"  # seventy and seventeen have one stem
NUMBERS = (
    {word: str(n) for n, word in enumerate(_ONES.split())}
    | {word: str(10 * n) for n, word in enumerate(_TENS.split(), 1)}
    | {"eighty": "80", "ninety": "90", "hundred": "100", "thousand": "1000"}
    | {"twice": "2", "thrice": "3", "dozen": "12"}
)


class Paraphrases(NamedTuple):
    """Item texts that documents may have in other words, in order of doc, item, text.

    docs, items, texts: (n_found,) int64, rows of the text column, ids of items, rows of the texts
        that the index was built from.
    starts, ends: (n_found,) int64, UTF-8 bytes of the document: the window.
    shares: (n_found,) float64, share by weight of the text's terms that the window has.
    scores: (n_found,) float64.
    numbers, agreeing: (n_found,) int64, different numbers of the text, and those of the window.
    """

    docs: I64
    items: I64
    texts: I64
    starts: I64
    ends: I64
    shares: F64
    scores: F64
    numbers: I64
    agreeing: I64


def stems_of(texts: pa.Array, words: GramWords = "scripts") -> tuple[U64, I64]:
    """The hashes of the stems of texts, one after the other, and the text of each."""
    parts = [(np.empty(0, np.uint64), np.empty(0, np.int64))]
    for block in blocks(texts, longest=None, words=words, stems=True):
        counts = np.diff(block.doc_words)
        parts.append((block.hashes.copy(), block.doc + np.repeat(np.arange(len(counts)), counts)))
    hashes, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
    return hashes, rows


def canonical(hashes: U64) -> U64:
    """Hashes of stems, those of number words as of the number."""
    words, numbers = _number_words()
    at = np.searchsorted(words, hashes) % len(words)
    return np.where(words[at] == hashes, numbers[at], hashes)


@cache
def _number_words() -> tuple[U64, U64]:
    words, numbers = (_hashes(side) for side in (NUMBERS, NUMBERS.values()))
    order = np.argsort(words)
    return words[order], numbers[order]


def _hashes(words: Iterable[str]) -> U64:
    return stems_of(pa.array(list(words), pa.large_string()))[0]


@cache
def _common() -> tuple[U64, F64]:
    """The stems of common_words.json, ascending, and the share of windows that have each."""
    by_share = sorted((float(p), words) for p, words in json.loads(COMMON.read_bytes()).items())
    shares = np.array([p for p, words in by_share for _ in words.split()])
    hashes = canonical(_hashes(word for _, words in by_share for word in words.split()))
    # of two numbers that are one, as 2 and two, the more common
    stems, first = np.unique(hashes[::-1], return_index=True)
    return stems, shares[::-1][first]


class _Counted(NamedTuple):
    """Each term of each text, by text and term.

    stems: (n_terms,) hashes, ascending.
    rows, terms, weights: (n,).
    """

    stems: U64
    rows: I64
    terms: I64
    weights: I64


def _count(hashes: U64, rows: I64, items: I64, starts: I64) -> _Counted:
    """Weigh the terms of texts.

    hashes, rows: of `stems_of`, of the texts that are looked for.
    items: (n_texts,).  starts: (n_benchmarks + 1,) first item of each, and where the last ends.
    """
    stems, terms = np.unique(canonical(hashes), return_inverse=True)
    n_items, n_benchmarks = int(starts[-1]), len(starts) - 1
    which, of_item = np.divmod(np.unique(terms * n_items + items[rows]), n_items)
    shares = np.bincount(which, minlength=len(stems)) / (n_items + PRIOR_ITEMS)
    common, often = _common()
    at = np.searchsorted(common, stems) % len(common)
    shares = np.maximum(shares, np.where(common[at] == stems, often[at], RAREST))
    own = which * n_benchmarks + np.searchsorted(starts, of_item, "right") - 1
    own, others = np.unique(own, return_counts=True)
    of_others = (others - 1) / np.diff(starts)[own % n_benchmarks]
    weights = -np.log(np.maximum(shares[own // n_benchmarks], of_others))
    pairs = np.unique(rows * len(stems) + terms)
    rows, terms = np.divmod(pairs, len(stems))
    at = np.searchsorted(
        own, terms * n_benchmarks + np.searchsorted(starts, items[rows], "right") - 1
    )
    return _Counted(stems, rows, terms, np.round(UNITS * weights[at]).astype(np.int64))


def least_weights(words: F64, numbers: Bools, score: float) -> F64:
    """(n_texts,) the weight from which on a window may have the score, at the best.

    words: (n_texts,) weight of each text's words.  numbers: whether it has any.
    """
    low, high = np.zeros(len(words)), np.full(len(words), 1e6)
    bonus = np.where(numbers, BONUS / 2, 0.0)
    for _ in range(50):  # bisection: the bound grows with the weight
        middle = (low + high) / 2
        enough = (np.minimum(middle / np.maximum(words, 1e-9), 1) + bonus) * np.sqrt(
            middle
        ) >= score
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return low


@dataclass(frozen=True, eq=False)
class ParaphraseIndex(Saved):
    """Terms of item texts, in the layout of `kernels.paraphrase`.

    gram_words: what a gram word is.
    hashes, terms: of `Terms`.
    words, offsets, text_terms, weights, numbers: of `Texts`.
    post_offsets, post_texts, post_slots, post_reach: of `Posts`.
    items: (n_texts,) int64, the item of each text.
    """

    KIND: ClassVar[str] = "paraphrase index"

    gram_words: GramWords
    hashes: U64
    terms: I32
    words: I64
    offsets: I64
    text_terms: I32
    weights: I64
    numbers: U8
    post_offsets: I64
    post_texts: I32
    post_slots: I32
    post_reach: I32
    items: I64

    @classmethod
    def build(
        cls,
        texts: pa.Array,
        items: I64,
        *,
        wanted: Bools,
        benchmark_starts: I64,
        n_items: int,
        gram_words: GramWords = "scripts",
    ) -> "ParaphraseIndex":
        """Index the texts of benchmark items.

        texts: (n_texts,) string column, no nulls.
        items: (n_texts,) the item of each, from 0 to n_items - 1.
        wanted: (n_texts,) texts to look for.
        benchmark_starts: (n_benchmarks,) first item of each benchmark, ascending from 0.
        """
        hashes, rows = stems_of(texts, gram_words)
        wanted = wanted & (np.bincount(rows, minlength=len(texts)) >= MIN_TERMS)
        hashes, rows = hashes[wanted[rows]], rows[wanted[rows]]
        counted = _count(hashes, rows, items, np.append(benchmark_starts, n_items))
        rare = counted.weights >= LEAST_ANCHOR * UNITS
        enough = np.bincount(counted.rows[rare], minlength=len(texts)) >= MIN_TERMS
        kept = enough[counted.rows] & (counted.weights > 0)
        rows, terms, weights = counted.rows[kept], counted.terms[kept], counted.weights[kept]
        order = np.lexsort((terms, -weights, rows))
        rows, terms, weights = rows[order], terms[order], weights[order]
        counts = np.bincount(rows, minlength=len(texts))
        offsets = np.append(0, np.cumsum(counts))
        words = count_words(texts, gram_words)
        slots = np.arange(len(rows)) - offsets[rows]
        slots[weights < LEAST_ANCHOR * UNITS] = MOST_ANCHORS
        posts = _posts(rows, terms, slots, words, len(counted.stems))
        table, of_table = _table(counted.stems)
        return cls(
            gram_words=gram_words,
            hashes=table,
            terms=of_table,
            words=words,
            offsets=offsets,
            text_terms=terms.astype(np.int32),
            weights=weights,
            numbers=((counted.stems[terms] & kernels.NUMBER) != 0).astype(np.uint8),
            post_offsets=posts.offsets,
            post_texts=posts.texts,
            post_slots=posts.slots,
            post_reach=posts.reach,
            items=np.asarray(items, np.int64),
        )

    @classmethod
    def parameters(cls, **settings: Any) -> dict[str, str]:
        return {
            "format": FORMAT,
            "terms": f"{MIN_TERMS}, {PRIOR_ITEMS}, {RAREST}",
            "anchors": f"{MOST_ANCHORS}, {LEAST_ANCHOR}, {MOST_POSTS}",
            "words": settings["gram_words"],
            "unicode": UNICODE_VERSION,
        }

    def sums(self, of: npt.NDArray[np.integer]) -> I64:
        """(n_texts,) of what each text's terms have, the sum."""
        return np.diff(np.append(0, np.cumsum(of, dtype=np.int64))[self.offsets])


def _posts(rows: I64, terms: I64, slots: I64, words: I64, n_terms: int) -> Posts:
    anchors = np.flatnonzero(slots < MOST_ANCHORS)
    few = np.bincount(terms[anchors], minlength=n_terms) <= MOST_POSTS
    anchors = anchors[few[terms[anchors]]]
    anchors = anchors[np.argsort(terms[anchors], kind="stable")]
    counts = np.bincount(terms[anchors], minlength=n_terms)
    texts = rows[anchors]
    reach = words + words // 2 + 4
    return Posts(
        np.append(0, np.cumsum(counts)),
        texts.astype(np.int32),
        slots[anchors].astype(np.int32),
        reach[texts].astype(np.int32),
    )


def _table(stems: U64) -> tuple[U64, I32]:
    """The open-addressing table of terms, by their stems and by number words."""
    words, numbers = _number_words()
    met = np.isin(numbers, stems)
    hashes = np.concatenate((stems, words[met]))
    at = np.searchsorted(stems, numbers[met])
    of_hashes = np.concatenate((np.arange(len(stems)), at)).astype(np.int32)
    table = np.zeros(power_of_two(2 * len(hashes) + 1), np.uint64)
    terms = np.full(len(table), -1, np.int32)
    kernels.enter_terms(read_only(hashes), read_only(of_hashes), table, terms, shift_of(table))
    return table, terms


def paraphrased(text: pa.Array, index: ParaphraseIndex, *, score: float = SCORE) -> Paraphrases:
    """Find the item texts that documents may have in other words.

    text: (n_docs,) string column, no nulls.
    score: from which on a window counts.
    ValueError: the score is not above 0.
    """
    if not score > 0:
        raise ValueError(f"a score must be above 0, got {score}")
    total, n_numbers = index.sums(index.weights), index.sums(index.numbers)
    of_words = total - index.sums(index.weights * index.numbers)
    least = np.ceil(UNITS * least_weights(of_words / UNITS, n_numbers > 0, score)).astype(np.int64)
    least[total == 0] = 1
    texts = Texts(index.words, index.offsets, index.text_terms, index.weights, index.numbers, least)
    texts = Texts._make(read_only(array) for array in texts)
    data, found = text_buffers(text).data, [np.empty((0, 9), np.int64)]
    room, hits = _room(index), np.empty((FIRST_HITS, 7), np.int64)
    posted = index.post_offsets, index.post_texts, index.post_slots, index.post_reach
    posts = Posts._make(read_only(array) for array in posted)
    known = Terms(read_only(index.hashes), read_only(index.terms), shift_of(index.hashes))
    for block in blocks(text, longest=None, words=index.gram_words, stems=True):
        if len(block.hashes) > len(room.terms):
            room = room._replace(terms=np.empty(len(block.hashes), np.int32))
        kernels.look_up(block.hashes, known, room.terms)
        n = kernels.find_windows(block.doc_words, texts, posts, room, hits)
        if n > len(hits):  # they have been counted, now there is room
            hits = np.empty((n, 7), np.int64)
            kernels.find_windows(block.doc_words, texts, posts, room, hits)
        places = block.places(data, np.ascontiguousarray(hits[:n, :4]))
        found.append(np.column_stack((places, hits[:n, 4:])))
    docs, rows, _, _, starts, ends, weights, of_numbers, agreeing = np.concatenate(found).T
    words = (weights - of_numbers) / np.maximum(of_words[rows], 1)
    agreement = np.where(n_numbers[rows] > 0, agreeing / np.maximum(n_numbers[rows], 1), 0.5)
    scores = (words + BONUS * (agreement - 0.5)) * np.sqrt(weights / UNITS)
    order = np.lexsort((rows, index.items[rows], docs))
    order = order[scores[order] >= score]
    shares = weights / np.maximum(total[rows], 1)
    spans = docs, index.items[rows], rows, starts, ends
    columns = *spans, shares, scores, n_numbers[rows], agreeing
    return Paraphrases(*(column[order] for column in columns))


def _room(index: ParaphraseIndex) -> Room:
    n_texts, n_terms = len(index.words), int(index.terms.max(initial=0)) + 1
    return Room(
        np.empty(0, np.int32),
        np.empty((n_texts, 3), np.int64),
        np.zeros((n_texts, 4), np.int64),
        np.empty(n_texts, np.int64),
        np.zeros(n_terms, np.int32),
        np.zeros(int(np.diff(index.offsets).max(initial=0)), np.int64),
    )
