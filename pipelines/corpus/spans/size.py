"""How many works there are for the n-grams of a corpus: by its bytes of text alone.

Shards are gathered in groups of about GROUP_BYTES: text is read a group a work. N-grams are parted
in ranges by their hashes, of about RANGE_BYTES of text each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tokenmill.dedup.spans import Ngrams
from tokenmill.pipelines.corpus.spill_rows import groups_of

GROUP_BYTES = 1 << 30
RANGE_BYTES = 1 << 26
BYTES_PER_WORD = 6.0  # of English text, what stands between words included
REPEATED_FRAC = 0.3  # of n-grams, that stand twice; behind `near` there were 3 to 18 %
MOST_BITS = 12  # each work of a range looks into a file of each group, and the other way round
RUN_ROWS = 1 << 7  # of a range in each chunk that is spilled: fewer would be read by the page
LEAST_ROWS, MOST_ROWS = 1 << 17, 1 << 20


class Size(NamedTuple):
    """groups: how many.  bits: of a hash, that tell its range."""

    groups: int
    bits: int

    @property
    def ranges(self) -> int:
        return 1 << self.bits

    @property
    def chunk_rows(self) -> int:
        """Hashes that are parted at a time."""
        return min(max(self.ranges * RUN_ROWS, LEAST_ROWS), MOST_ROWS)


class Group(NamedTuple):
    """Shards of this run from the `first` to before the `last`, counted from 0."""

    number: int
    first: int
    last: int


def sized(text_bytes: Sequence[int]) -> tuple[Size, list[Group]]:
    """text_bytes: of each shard."""
    starts = np.concatenate(([0], np.cumsum(text_bytes))).astype(np.int64)
    edges = groups_of(starts, GROUP_BYTES).tolist()
    groups = [Group(n, *edges[n : n + 2]) for n in range(len(edges) - 1)]
    bits = (max(int(starts[-1]) - 1, 0) // RANGE_BYTES).bit_length()
    return Size(len(groups), min(bits, MOST_BITS)), groups


def scratch_bytes(text_bytes: float, ngrams: Ngrams) -> float:
    """About how many bytes of files there are for so much text, before any is deleted.

    A minimizer takes 8, and 12 if it is known; an n-gram of a known one 16, and 16 if it goes. Two
    in `runs + 1` places are minimizers (Schleimer et al. 2003), where a window has `runs` runs.
    """
    words, runs = text_bytes / BYTES_PER_WORD, ngrams.ngram - ngrams.run + 1
    return words * (2 / (runs + 1) * (8 + 12 * REPEATED_FRAC) + 32 * REPEATED_FRAC)
