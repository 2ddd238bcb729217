"""What the kernels of containment work with."""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U32, U64


class Seeds(NamedTuple):
    """Hashes of seeds, in an open-addressing table, and the texts that have each.

    hashes: (n_seeds,) distinct.
    slots: (power of two > n_seeds,) index into `hashes`, -1 where empty.
    shift: 64 less the bits that number slots.
    offsets: (n_seeds + 1,); seed s stands in `texts[offsets[s]:offsets[s + 1]]`.
    """

    hashes: U64
    slots: I32
    shift: np.uint64
    offsets: I64
    texts: I32


class Probe(NamedTuple):
    """Which windows to look up among the seeds: those whose last words have their bits set.

    shortest, longest: words of a seed; seeds of all lengths between are found by the hash of
        their last `shortest` words.
    bitmap: (power of two,) a Bloom filter of these hashes, with both bits of one in one element.
    shift: 64 less the bits that number elements.
    """

    shortest: int
    longest: int
    bitmap: U64
    shift: np.uint64


class Texts(NamedTuple):
    """What of each text is looked for around its seeds.

    gram: words of a gram.
    words: (n_texts,).
    grams: (n_texts,) distinct grams that count; 0 of a text that is left out.
    table: the lower halves of the hashes of each text's grams, EMPTY where there is none.
    offsets: (n_texts + 1,); the open-addressing table of text t is
        `table[offsets[t]:offsets[t + 1]]`.
    """

    gram: int
    words: I64
    grams: I64
    table: U32
    offsets: I64


class Room(NamedTuple):
    """Scratch.

    lasts: (>= n_words,).
    at: (>= n_words,) where in its text's table the gram is that ends in a word, or -1.
    counts: (>= slots of the largest table of a text,) zeros.
    near: (n_texts, 4) zeros: the words now known to be near seeds of a text, from and to; the
        most grams of a stretch so far, and its last word. To is 0 where the document has no seed.
    touched: (n_texts,) texts of which the document has a seed.
    """

    lasts: I64
    at: I32
    counts: I32
    near: I64
    touched: I64


class Thresholds(NamedTuple):
    """The containment from which on a stretch counts.

    short: of texts with fewer than `grams` grams.
    full: of all others.
    """

    short: float
    full: float
    grams: int
