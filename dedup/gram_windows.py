"""Windows of gram words, hashed, and the ways to find them: a bitmap in front of a table.

texts --> gram words --> windows --> hashes (to know them by), minimizers (to pass by others)
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import power_of_two, read_only, shift_of
from tokenmill.dedup.gram_words import blocks
from tokenmill.dedup.kernels import overlap as kernels
from tokenmill.dedup.kernels.table import mark

MAX_WORDS = 256  # of a window
GRAMS_PER_BUCKET = 2  # at most, on the average
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

    grams: npt.NDArray[np.uint64]
    minimizers: npt.NDArray[np.uint64]
    texts: npt.NDArray[np.int64]


def family_of(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Which of `FAMILIES` finds windows of each length; -1 for length 0."""
    return np.searchsorted([f.least for f in FAMILIES], lengths, "right") - 1


def scratch(n_words: int) -> kernels.Scratch:
    """Room for a block of words."""
    sums, least, partly, keys, hashes = (np.empty(n_words + 1, np.uint64) for _ in range(5))
    rows, passed, lasts, places = (np.empty(n_words + 1, np.int64) for _ in range(4))
    return kernels.Scratch(sums, least, partly, rows, keys, passed, lasts, hashes, places)


def windows_of(texts: pa.Array, lengths: npt.NDArray[np.int64]) -> Windows:
    """Hash the windows of `lengths[t]` words of each text t; 0 leaves it out.

    Of a text longer than a block some windows come twice: those of the words held.
    """
    families = np.array(FAMILIES)[family_of(lengths)]
    made = [Windows(np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64))]
    for block in blocks(texts, longest=MAX_WORDS):
        rows = slice(block.doc, block.doc + len(block.begins))
        room = len(block.hashes)
        grams, minimizers = np.empty(room, np.uint64), np.empty(room, np.uint64)
        rows_of = np.empty(room, np.int64)
        n = kernels.hash_windows(
            read_only(block.hashes),
            read_only(block.doc_words),
            read_only(lengths[rows]),
            read_only(families[rows, 0]),
            read_only(families[rows, 1]),
            scratch(room),
            grams,
            minimizers,
            rows_of,
        )
        made.append(Windows(grams[:n], minimizers[:n], rows_of[:n] + block.doc))
    return Windows(
        np.concatenate([w.grams for w in made]),
        np.concatenate([w.minimizers for w in made]),
        np.concatenate([w.texts for w in made]),
    )


def bitmap_of(minimizers: npt.NDArray[np.uint64], family: Family) -> npt.NDArray[np.uint64]:
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


def starts_of(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """Where the buckets of a `Table` begin.

    hashes: (n_grams,) distinct, ascending.
    """
    n_buckets = power_of_two(-(-len(hashes) // GRAMS_PER_BUCKET))
    buckets = hashes >> np.uint64(65 - n_buckets.bit_length())
    counts = np.bincount(buckets.astype(np.int64), minlength=n_buckets)
    return np.append(0, np.cumsum(counts[:-1])).astype(np.int32)
