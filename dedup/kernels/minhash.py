"""Signing documents, and comparing their signatures."""

import numpy as np

from tokenmill.dedup.kernels._jit import F32, I64, U32, inlined, kernel

MIX_1 = np.uint32(0x85EBCA6B)
MIX_2 = np.uint32(0xC2B2AE35)
BY_16 = np.uint32(16)
BY_13 = np.uint32(13)
LANES = 16  # numbers of 32 bits that processors of today take at a time


@inlined
def premix(h: np.uint32) -> np.uint32:
    """MurmurHash3's 32-bit finalizer: spreads structured hashes before permuting."""
    h = np.uint32((h ^ (h >> BY_16)) * MIX_1)
    h = np.uint32((h ^ (h >> BY_13)) * MIX_2)
    return h ^ (h >> BY_16)


@kernel
def sign(hashes: U32, offsets: I64, a: U32, b: U32, least: U32, out: U32) -> None:
    """Lower `out[d, p]` to the least `a[p] * h + b[p]` mod 2**32 over document d's hashes h.

    hashes: (n_shingles,), premixed here.  offsets: (n_docs + 1,).
    a, b: (n_lanes,), a odd; zeros behind num_perm of them.  least: (n_lanes,), scratch.
    out: (n_docs, num_perm), filled with EMPTY by the caller.
    n_lanes: num_perm or a little more, a multiple of LANES: the loop over them leaves no rest.

    Eight hashes at a time, the last one repeated (a set does not mind): each slot is loaded
    and stored an eighth as often.
    """
    num_perm = out.shape[1]
    for d in range(out.shape[0]):
        last = offsets[d + 1] - 1
        for p in range(num_perm):
            least[p] = out[d, p]
        for i in range(offsets[d], last + 1, 8):
            h0 = premix(hashes[i])
            h1 = premix(hashes[min(i + 1, last)])
            h2 = premix(hashes[min(i + 2, last)])
            h3 = premix(hashes[min(i + 3, last)])
            h4 = premix(hashes[min(i + 4, last)])
            h5 = premix(hashes[min(i + 5, last)])
            h6 = premix(hashes[min(i + 6, last)])
            h7 = premix(hashes[min(i + 7, last)])
            for p in range(least.shape[0]):
                v01 = min(np.uint32(a[p] * h0 + b[p]), np.uint32(a[p] * h1 + b[p]))
                v23 = min(np.uint32(a[p] * h2 + b[p]), np.uint32(a[p] * h3 + b[p]))
                v45 = min(np.uint32(a[p] * h4 + b[p]), np.uint32(a[p] * h5 + b[p]))
                v67 = min(np.uint32(a[p] * h6 + b[p]), np.uint32(a[p] * h7 + b[p]))
                least[p] = min(least[p], min(min(v01, v23), min(v45, v67)))
        for p in range(num_perm):
            out[d, p] = least[p]


@kernel
def pair_similarity(signatures: U32, left: I64, right: I64, out: F32) -> None:
    """Set `out` (n_pairs,) to the share of slots in which signatures left[i] and right[i] agree.

    signatures: (n_docs, num_perm).
    """
    num_perm = signatures.shape[1]
    for i in range(out.shape[0]):
        x = signatures[left[i]]
        y = signatures[right[i]]
        equal = 0
        for p in range(num_perm):
            equal += int(x[p] == y[p])
        out[i] = np.float32(equal / num_perm)
