"""From word hashes to one 32-bit hash per window of words, rolling."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.u64 import U64_32, ZERO

SHINGLE_BASE = np.uint64(0xD1342543DE82EF95)
SHINGLE_FINAL = np.uint64(0xBF58476D1CE4E5B9)


@inlined
def spread(s: np.uint64) -> np.uint32:
    """The high half of the 64-bit n-gram hash of dedup.shingle."""
    return np.uint32(((s ^ (s >> U64_32)) * SHINGLE_FINAL) >> U64_32)


@kernel
def shingle_hashes(
    words: U64, ends: I64, n: int, leaving: np.uint64, out: U32, out_ends: I64
) -> None:
    """Hash every window of `n` consecutive words; fewer words than `n` are one window.

    words: (n_words,) word hashes.  ends: (n_docs + 1,), where each document's words end.
    leaving: SHINGLE_BASE ** (n - 1) mod 2**64, the weight of the word that leaves a window.
    out: (n_words,).  out_ends: (n_docs + 1,), where in `out` each document ends.
    """
    n_out = 0
    out_ends[0] = 0
    for d in range(ends.shape[0] - 1):
        start = ends[d]
        end = ends[d + 1]
        full = min(start + n, end)
        s = ZERO
        for i in range(start, full):
            s = s * SHINGLE_BASE + words[i]
        if full > start:
            out[n_out] = spread(s)
            n_out += 1
        for i in range(full, end):
            s = (s - words[i - n] * leaving) * SHINGLE_BASE + words[i]
            out[n_out] = spread(s)
            n_out += 1
        out_ends[d + 1] = n_out
