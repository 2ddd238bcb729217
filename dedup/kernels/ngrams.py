"""Windows of words, hashed: shingles; and minimizers, by which most are seen to be unique."""

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.u64 import ONE, U64_32, ZERO

NGRAM_BASE = np.uint64(0xD1342543DE82EF95)
NGRAM_FINAL = np.uint64(0xBF58476D1CE4E5B9)
SPREAD = np.uint64(0x94D049BB133111EB)
FIVE = 5  # words of a window, if no other number is asked for


@inlined
def summed(words: U64, first: int, stop: int) -> np.uint64:
    """The sum of word * NGRAM_BASE ** (words after it) over `words[first:stop]`, mod 2**64."""
    s = ZERO
    for i in range(first, stop):
        s = s * NGRAM_BASE + words[i]
    return s


@inlined
def slid(words: U64, s: np.uint64, last: int, n: int, leaving: np.uint64) -> np.uint64:
    """The sum of the `n` words up to `last`, from that of those up to the word before."""
    return np.uint64((s - words[last - n] * leaving) * NGRAM_BASE + words[last])


@inlined
def mixed(s: np.uint64) -> np.uint64:
    """The 64-bit n-gram hash of dedup.text.shingle; never 0, which stands for no key."""
    h = (s ^ (s >> U64_32)) * NGRAM_FINAL
    return (h ^ (h >> U64_32)) | np.uint64(h == ZERO)


@kernel
def shingle_hashes(
    words: U64, ends: I64, n: int, leaving: np.uint64, out: U32, out_ends: I64
) -> None:
    """Hash every window of `n` consecutive words; fewer words than `n` are one window.

    words: (n_words,) word hashes.  ends: (n_docs + 1,), where each document's words end.
    leaving: NGRAM_BASE ** (n - 1) mod 2**64, the weight of the word that leaves a window.
    out: (n_words,), the high half of the n-gram hash.  out_ends: (n_docs + 1,), where in `out`
        each document ends.

    Windows of FIVE are summed side by side, each anew: a fifth of the time of one after the other.
    """
    n_out = 0
    out_ends[0] = 0
    for d in range(ends.shape[0] - 1):
        start = ends[d]
        end = ends[d + 1]
        full = min(start + n, end)
        s = summed(words, start, full)
        if full > start:
            out[n_out] = np.uint32(mixed(s) >> U64_32)
            n_out += 1
        if n == FIVE:
            n_more = end - full
            w0, w1, w2 = words[start + 1 :], words[start + 2 :], words[start + 3 :]
            w3, w4, found = words[start + 4 :], words[start + 5 :], out[n_out : n_out + n_more]
            for i in range(n_more):
                s = ((w0[i] * NGRAM_BASE + w1[i]) * NGRAM_BASE + w2[i]) * NGRAM_BASE
                s = (s + w3[i]) * NGRAM_BASE + w4[i]
                found[i] = np.uint32(mixed(s) >> U64_32)
            n_out += n_more
        else:
            for i in range(full, end):
                s = slid(words, s, i, n, leaving)
                out[n_out] = np.uint32(mixed(s) >> U64_32)
                n_out += 1
        out_ends[d + 1] = n_out


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
        s = summed(words, start, start + run)
        least = start
        told = start - 1
        for j in range(start, end - run + 1):
            if j > start:
                s = slid(words, s, j + run - 1, run, leaving)
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
        s = summed(words, start, start + run)
        w = summed(words, start, start + ngram)
        least = start
        told = start - 1
        is_known = False
        for j in range(start, end - run + 1):
            if j > start:
                s = slid(words, s, j + run - 1, run, leaving_run)
            keys[j] = mixed(s)
            if keys[j] <= keys[least]:
                least = j
            elif least <= j - runs:
                least = least_of(keys, j - runs + 1, j)
            i = j - runs + 1
            if i < start:
                continue
            if i > start:
                w = slid(words, w, i + ngram - 1, ngram, leaving)
            if least != told:
                is_known = holds(known, starts, shift, spread(keys[least]))
                told = least
            if is_known:
                out[n] = mixed(w)
                places[n] = i
                n += 1
    return n
