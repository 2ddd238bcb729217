"""Windows of words, hashed, and the minimizers by which most of them are seen to be unique."""

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U64, inlined, kernel
from tokenmill.dedup.kernels.u64 import ONE, U64_32, ZERO

NGRAM_BASE = np.uint64(0xD1342543DE82EF95)
NGRAM_FINAL = np.uint64(0xBF58476D1CE4E5B9)
SPREAD = np.uint64(0x94D049BB133111EB)


@inlined
def mixed(s: np.uint64) -> np.uint64:
    """The 64-bit n-gram hash of dedup.shingle; never 0, which stands for no key."""
    h = (s ^ (s >> U64_32)) * NGRAM_FINAL
    return (h ^ (h >> U64_32)) | np.uint64(h == ZERO)


@inlined
def spread(least: np.uint64) -> np.uint64:
    """A number for a minimizer: those are small, being the least, and would all be of one range."""
    h = least * SPREAD
    return h ^ (h >> U64_32)


@inlined
def least_of(keys: U64, first: int, last: int) -> int:
    """Where the least of `keys[first:last + 1]` is, the last of several."""
    least = first
    for i in range(first + 1, last + 1):
        if keys[i] <= keys[least]:
            least = i
    return least


@inlined
def holds(known: U64, starts: I32, shift: np.uint64, key: np.uint64) -> bool:
    bucket = key >> shift
    for i in range(starts[bucket], starts[bucket + ONE]):
        if known[i] == key:
            return True
    return False


@kernel
def minimizers(
    words: U64, ends: I64, ngram: int, run: int, leaving: np.uint64, keys: U64, out: U64
) -> int:
    """Hash the runs of words that are the least of any window.

    words: (n_words,) word hashes.  ends: (n_units + 1,), where each unit's words end.
    ngram: words of a window.  run: words of a run in it.
    leaving: NGRAM_BASE ** (run - 1) mod 2**64, the weight of the word that leaves a run.
    keys: (n_words,), scratch.  out: (n_words,), a hash for each place that is a minimizer.
    Returns how many there are.
    """
    n = 0
    runs = ngram - run + 1
    for u in range(ends.shape[0] - 1):
        start = ends[u]
        end = ends[u + 1]
        if end - start < ngram:
            continue
        s = ZERO
        for i in range(start, start + run - 1):
            s = s * NGRAM_BASE + words[i]
        least = start
        told = start - 1
        for j in range(start, end - run + 1):
            if j == start:
                s = s * NGRAM_BASE + words[j + run - 1]
            else:
                s = (s - words[j - 1] * leaving) * NGRAM_BASE + words[j + run - 1]
            keys[j] = mixed(s)
            if keys[j] <= keys[least]:
                least = j
            elif least <= j - runs:
                least = least_of(keys, j - runs + 1, j)
            if j - start >= runs - 1 and least != told:
                out[n] = spread(keys[least])
                n += 1
                told = least
    return n


@kernel
def candidates(
    words: U64,
    ends: I64,
    ngram: int,
    run: int,
    leaving: np.uint64,
    leaving_run: np.uint64,
    known: U64,
    starts: I32,
    shift: np.uint64,
    keys: U64,
    out: U64,
    places: I64,
) -> int:
    """Hash the windows whose minimizer is known.

    leaving, leaving_run: NGRAM_BASE ** (n - 1) mod 2**64 of a window's words, of a run's.
    known: (n_known,) ascending.  starts, shift: buckets of `known` by its first bits.
    out: (n_words,), hashes of the windows.  places: (n_words,), the first word of each.
    Returns how many there are.  All else as of `minimizers`.
    """
    n = 0
    runs = ngram - run + 1
    for u in range(ends.shape[0] - 1):
        start = ends[u]
        end = ends[u + 1]
        if end - start < ngram:
            continue
        s = ZERO
        for i in range(start, start + run - 1):
            s = s * NGRAM_BASE + words[i]
        w = ZERO
        for i in range(start, start + ngram - 1):
            w = w * NGRAM_BASE + words[i]
        least = start
        told = start - 1
        is_known = False
        for j in range(start, end - run + 1):
            if j == start:
                s = s * NGRAM_BASE + words[j + run - 1]
            else:
                s = (s - words[j - 1] * leaving_run) * NGRAM_BASE + words[j + run - 1]
            keys[j] = mixed(s)
            if keys[j] <= keys[least]:
                least = j
            elif least <= j - runs:
                least = least_of(keys, j - runs + 1, j)
            i = j - runs + 1
            if i < start:
                continue
            if i == start:
                w = w * NGRAM_BASE + words[i + ngram - 1]
            else:
                w = (w - words[i - 1] * leaving) * NGRAM_BASE + words[i + ngram - 1]
            if least != told:
                is_known = holds(known, starts, shift, spread(keys[least]))
                told = least
            if is_known:
                out[n] = mixed(w)
                places[n] = i
                n += 1
    return n
