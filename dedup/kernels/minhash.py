"""Signing documents, and comparing their signatures."""

import numpy as np

from tokenmill.dedup.kernels._jit import F32, I64, U32, inlined, kernel

MIX_1 = np.uint32(0x85EBCA6B)
MIX_2 = np.uint32(0xC2B2AE35)
BY_16 = np.uint32(16)
BY_13 = np.uint32(13)


@inlined
def premix(h: np.uint32) -> np.uint32:
    """MurmurHash3's 32-bit finalizer: spreads structured hashes before permuting."""
    h = np.uint32((h ^ (h >> BY_16)) * MIX_1)
    h = np.uint32((h ^ (h >> BY_13)) * MIX_2)
    return h ^ (h >> BY_16)


@kernel
def sign(hashes: U32, offsets: I64, a: U32, b: U32, out: U32) -> None:
    """Lower `out[d, p]` to the least `a[p] * h + b[p]` mod 2**32 over document d's hashes h.

    hashes: (n_shingles,), premixed here.  offsets: (n_docs + 1,).  a, b: (num_perm,), a odd.
    out: (n_docs, num_perm), filled with EMPTY by the caller.

    Four hashes at a time, the last one repeated (a set does not mind): each slot is loaded
    and stored a quarter as often, 2.5 times faster than one by one.
    """
    for d in range(out.shape[0]):
        row = out[d]
        last = offsets[d + 1] - 1
        for i in range(offsets[d], last + 1, 4):
            h0 = premix(hashes[i])
            h1 = premix(hashes[min(i + 1, last)])
            h2 = premix(hashes[min(i + 2, last)])
            h3 = premix(hashes[min(i + 3, last)])
            for p in range(row.shape[0]):
                v01 = min(np.uint32(a[p] * h0 + b[p]), np.uint32(a[p] * h1 + b[p]))
                v23 = min(np.uint32(a[p] * h2 + b[p]), np.uint32(a[p] * h3 + b[p]))
                row[p] = min(row[p], min(v01, v23))


@kernel
def pair_similarity(signatures: U32, left: I64, right: I64, out: F32) -> None:
    """Set `out[i]` to the share of slots in which rows left[i] and right[i] agree.

    signatures: (n_docs, num_perm).  left, right, out: (n_pairs,).
    """
    num_perm = signatures.shape[1]
    for i in range(out.shape[0]):
        x = signatures[left[i]]
        y = signatures[right[i]]
        equal = 0
        for p in range(num_perm):
            equal += int(x[p] == y[p])
        out[i] = np.float32(equal / num_perm)
