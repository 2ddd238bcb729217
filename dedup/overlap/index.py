"""The n-grams of benchmark items, hashed, and which items have each.

    item texts --> gram words --> windows --> hashes (to know them by)        ┐
                                              minimizers (to pass by others)  ┴ NgramIndex <--> file

Benchmarks of different N share one index: a text is cut into windows of its own N. Two n-grams
are taken as equal if their hashes are. Of D n-grams of documents and I of items, about
D * I / 2**64 match falsely: of 1e12 (some 6 TB of English) and 1e6, 0.05.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import (
    I32,
    I64,
    U64,
    Saved,
    T,
    bucket_starts,
    power_of_two,
    read_only,
    shift_of,
)
from tokenmill.dedup.kernels import overlap as kernels
from tokenmill.dedup.kernels.table import mark
from tokenmill.dedup.text.gram_words import GramWords, blocks, count_words
from tokenmill.dedup.text.unicode import UNICODE_VERSION

MAX_NGRAM = 256  # words of a window
BITS_PER_MINIMIZER = 32  # at most: a bitmap of which fewer are set is halved
LEAST_SET = 1 / 32  # of its bits


class Family(NamedTuple):
    """Window lengths that are looked for together, by the minimizer of their last words.

    least: words of the shortest; up to those of the next family, without them.
    run: words of the runs of which a minimizer is the least. Long windows have a minimizer
        in common with their neighbours, short ones are told apart better by all their words.
    """

    least: int
    run: int


FAMILIES = (Family(1, 1), Family(3, 3), Family(5, 5), Family(8, 8), Family(13, 7))


class Windows(NamedTuple):
    """Windows of texts: hash, minimizer, row of the text."""

    grams: U64
    minimizers: U64
    texts: I64


def family_of(lengths: I64) -> npt.NDArray[np.intp]:
    """Which of `FAMILIES` finds windows of each length; -1 for length 0."""
    return np.searchsorted([f.least for f in FAMILIES], lengths, "right") - 1


def scratch(n_words: int) -> kernels.Scratch:
    """Room for a block of words."""
    sums, least, keys, hashes = (np.empty(n_words + 1, np.uint64) for _ in range(4))
    rows, passed, lasts, places = (np.empty(n_words + 1, np.int64) for _ in range(4))
    return kernels.Scratch(sums, least, rows, keys, passed, lasts, hashes, places)


def window_lengths(
    texts: pa.Array, ngrams: I64, least: int | npt.NDArray[np.integer], words: GramWords = "scripts"
) -> I64:
    """(n_texts,) words of the windows that each text is cut into; 0 of one that is left out.

    ngrams, least: as of `NgramIndex.build`.
    """
    counts = count_words(texts, words)
    tested = counts >= np.minimum(ngrams, np.maximum(least, 1))
    return np.where(tested, np.minimum(counts, ngrams), 0)


def windows_of(texts: pa.Array, lengths: I64, words: GramWords = "scripts") -> Windows:
    """Hash the windows of `lengths[t]` words of each text t; 0 leaves it out.

    Of a text longer than a block some windows come twice: those of the words held.
    """
    families = np.array(FAMILIES)[family_of(lengths)]
    made = [Windows(np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64))]
    for block in blocks(texts, longest=MAX_NGRAM, words=words):
        rows, n = slice(block.doc, block.doc + len(block.begins)), len(block.hashes)
        least, runs = np.ascontiguousarray(families[rows].T)
        (grams, minimizers), rows_of = np.empty((2, n), np.uint64), np.empty(n, np.int64)
        given, room = (block.hashes, block.doc_words, lengths[rows]), scratch(n)
        n = kernels.hash_windows(*given, least, runs, room, grams, minimizers, rows_of)
        made.append(Windows(grams[:n], minimizers[:n], rows_of[:n] + block.doc))
    return Windows(*map(np.concatenate, zip(*made, strict=True)))


def bitmap_of(minimizers: U64, family: Family) -> U64:
    """Mark the minimizers of windows.

    Of all windows, 2 in `runs + 1` have another minimizer than the one before (Schleimer et al.
    2003), where a window has `runs` runs. Of windows that repeat others there are fewer.
    """
    runs = family.least - family.run + 1
    bits = len(minimizers) * 2 // (runs + 1) * BITS_PER_MINIMIZER
    bitmap = np.zeros(power_of_two(bits // 64), np.uint64)
    mark(read_only(minimizers), bitmap, shift_of(bitmap))
    n_set = int(np.bitwise_count(bitmap).sum())
    while len(bitmap) > 2 and n_set < LEAST_SET * 64 * len(bitmap):
        bitmap = bitmap[::2] | bitmap[1::2]  # what the bitmap of half the elements would be
    return bitmap


FORMAT = "8"  # of the saved index; raise it with any change of hash, gram words or layout
MIN_WORDS = 8  # shorter items are ignored, as in GPT-3's appendix C

_SPREAD = np.uint64(0xD6E8FEB86659FD93)  # of the bits of an item's number


@dataclass(frozen=True, eq=False)
class NgramIndex(Saved):
    """Hashed n-grams of benchmark items, and which items have each.

    ngrams: words in an n-gram, of all texts; distinct, ascending.
    words: what a gram word is.
    hashes: (n_grams,) uint64, distinct, ascending.
    starts: the way into `hashes`; see `Table` of the kernels.
    lengths: (n_lengths,) int64, words of the windows in the index, ascending: the `ngrams` and
        those of shorter texts, matched as a whole.
    bitmaps, bitmap_ends: uint64 bits of the `Probe` of each of `FAMILIES`, one behind the other,
        and (n_families,) int64, where they end.
    item_offsets: (n_grams + 1,) int64; `hashes[g]` stands in items
        `items[item_offsets[g]:item_offsets[g + 1]]`, ascending.
    """

    KIND: ClassVar[str] = "n-gram index"

    ngrams: tuple[int, ...]
    words: GramWords
    hashes: U64
    starts: I32
    lengths: I64
    bitmaps: U64
    bitmap_ends: I64
    item_offsets: I64
    items: I64

    @classmethod
    def build(
        cls,
        texts: pa.Array,
        item_ids: npt.NDArray[np.integer],
        *,
        ngram: int | npt.NDArray[np.integer] = 13,
        least: int | npt.NDArray[np.integer] = MIN_WORDS,
        words: GramWords = "scripts",
    ) -> "NgramIndex":
        """Index the n-grams of benchmark items.

        texts: (n_texts,) string column, no nulls; an item may have several texts.
        item_ids: (n_texts,) int32 or int64, the item of each.
        ngram: words in an n-gram, 1 to 256; of all texts, or (n_texts,) of each.
        least: a text of fewer words than an n-gram, but `least` of them, is matched as a whole; of
            all texts, or (n_texts,) of each.
        words: what a gram word is.
        ValueError: an `ngram` is out of range, or there is not one id for each text.
        """
        ngrams = np.broadcast_to(np.asarray(ngram, np.int64), len(texts))
        _check(texts, item_ids, np.append(ngrams, ngram))
        ids = np.asarray(item_ids, np.int64)
        lengths = window_lengths(texts, ngrams, least, words)
        windows = windows_of(texts, lengths, words)
        _, hashes, item_offsets, items = postings(windows.grams, ids[windows.texts])
        bitmaps = [
            bitmap_of(windows.minimizers[family_of(lengths)[windows.texts] == number], family)
            for number, family in enumerate(FAMILIES)
        ]
        return cls(
            ngrams=tuple(np.unique(ngram).tolist()),
            words=words,
            hashes=hashes,
            starts=bucket_starts(hashes)[:-1],
            lengths=np.unique(lengths[lengths > 0]),
            bitmaps=np.concatenate(bitmaps),
            bitmap_ends=np.cumsum([len(bitmap) for bitmap in bitmaps]),
            item_offsets=item_offsets,
            items=items,
        )

    @classmethod
    def parameters(cls, **settings: Any) -> dict[str, str]:
        return {
            "format": FORMAT,
            "ngram": ",".join(map(str, settings["ngrams"])),
            "words": settings["words"],
            "unicode": UNICODE_VERSION,
        }

    def items_of(self, grams: I64) -> tuple[I64, I64]:
        """Every item of each of some n-grams: places in `grams`, ascending, and the items."""
        starts = self.item_offsets[grams]
        sizes = self.n_items_of(grams)
        at = np.repeat(np.arange(len(grams)), sizes)
        within = np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return at, self.items[starts[at] + within]

    def alike(self, grams: I64) -> I64:
        """Of each n-gram the first of them that just the same items have.

        A passage that many items share has many n-grams and few such: what is the same for all
        of its n-grams need be done once. Sets of items are told apart by 64-bit sums of hashes.
        """
        distinct, which = np.unique(grams, return_inverse=True)
        if len(distinct) == 0:
            return grams
        sizes, (_, items) = self.n_items_of(distinct), self.items_of(distinct)
        hashes = (items.astype(np.uint64) + np.uint64(1)) * _SPREAD
        hashes = (hashes ^ (hashes >> np.uint64(29))) * _SPREAD
        sums = np.add.reduceat(hashes ^ (hashes >> np.uint64(32)), np.cumsum(sizes) - sizes)
        _, first, of = np.unique(sums, return_index=True, return_inverse=True)
        representatives: I64 = distinct[first[of[which]]]
        return representatives

    def n_items_of(self, grams: I64) -> I64:
        return self.item_offsets[grams + 1] - self.item_offsets[grams]

    def table(self) -> kernels.Table:
        return kernels.Table(read_only(self.hashes), read_only(self.starts), shift_of(self.starts))

    def probes(self) -> list[kernels.Probe]:
        """How to find the windows of each family that the index has."""
        families = family_of(self.lengths)
        bitmaps = np.split(self.bitmaps, self.bitmap_ends[:-1])
        return [
            kernels.Probe(
                read_only(self.lengths[families == family]),
                *FAMILIES[family],
                read_only(bitmaps[family]),
                shift_of(bitmaps[family]),
            )
            for family in np.unique(families)
        ]


def _check(texts: pa.Array, item_ids: npt.NDArray[np.integer], ngrams: I64) -> None:
    wrong = ngrams[(ngrams < 1) | (ngrams > MAX_NGRAM)]
    if len(wrong):
        raise ValueError(f"ngram must be 1 to {MAX_NGRAM} words, got {wrong[0]}")
    if len(item_ids) != len(texts):
        raise ValueError(f"{len(item_ids)} item ids for {len(texts)} item texts")


def postings(grams: U64, items: npt.NDArray[T]) -> tuple[I64, U64, I64, npt.NDArray[T]]:
    """Distinct hashes, ascending, and the distinct items of each: places, hashes, offsets, items.

    places: one at which each of the hashes stands in `grams`.
    """
    order = np.argsort(grams)
    grams, items = grams[order], items[order]
    new_gram = np.ones(len(grams), bool)
    new_gram[1:] = grams[1:] != grams[:-1]
    often = np.flatnonzero(~(new_gram & np.append(new_gram[1:], True)))  # few: of several items
    items[often] = items[often[np.lexsort((items[often], grams[often]))]]
    new_pair = new_gram.copy()
    new_pair[1:] |= items[1:] != items[:-1]
    starts = np.flatnonzero(new_gram[new_pair])
    offsets = np.append(starts, np.count_nonzero(new_pair)).astype(np.int64)
    return order[new_gram], grams[new_gram], offsets, items[new_pair]
