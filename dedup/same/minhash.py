"""MinHash signatures (Broder 1997) of documents, as datasketch 2 computes them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F32, I64, U32, read_only, text_buffers
from tokenmill.dedup.kernels import minhash as kernels
from tokenmill.dedup.text.shingle import Shingles, shingles_of
from tokenmill.dedup.text.words import Words, blocks

EMPTY = np.uint32(0xFFFF_FFFF)  # every slot of a document without shingles


@dataclass(frozen=True, kw_only=True)
class MinHash:
    """How signatures are made; two signatures compare only if these are equal.

    num_perm: permutations, and so uint32 slots per signature. The estimate of
        Jaccard similarity J has standard error sqrt(J * (1 - J) / num_perm).
    seed: draws the permutations; the same on every worker.
    ngram: consecutive words in a shingle.
    words: what a word is, see `dedup.text.shingle`.
    """

    num_perm: int = 70
    seed: int = 1
    ngram: int = 5
    words: Words = "scripts"

    def __post_init__(self) -> None:
        if self.num_perm < 1:
            raise ValueError(f"num_perm must be at least 1, got {self.num_perm}")
        if not 0 <= self.seed < 1 << 32:
            raise ValueError(f"seed must be from 0 to 2**32 - 1, got {self.seed}")
        if self.ngram < 1:
            raise ValueError(f"ngram must be at least 1 word, got {self.ngram}")
        if self.words not in get_args(Words):
            known = " or ".join(map(repr, get_args(Words)))
            raise ValueError(f"words must be {known}, got {self.words!r}")


def signatures(text: pa.Array, config: MinHash) -> U32:
    """Sign every document.

    text: (n_docs,) string or large_string, no nulls.

    Returns:
        (n_docs, num_perm) uint32; slot p is the least value of `a[p] * h + b[p]`
        mod 2**32 over the document's premixed shingle hashes h. `EMPTY` in every
        slot means the document has no shingles.

    TypeError: `text` is not text.
    ValueError: `text` has nulls.

    Source: "affine32" of datasketch 2.0, bit for bit (tests/peers/test_datasketch.py).
    """
    out = np.full((len(text), config.num_perm), EMPTY)
    for _ in _signed(text, config, out):
        pass
    return out


def signed_shingles(text: pa.Array, config: MinHash) -> tuple[U32, Shingles]:
    """As `signatures`, and the shingles of each document, as often as they occur."""
    out = np.full((len(text), config.num_perm), EMPTY)
    hashes, counts = [np.empty(0, np.uint32)], np.zeros(len(text), np.int64)
    for rows, found in _signed(text, config, out):
        hashes.append(found.hashes)
        counts[rows] += np.diff(found.offsets)
    return out, Shingles(np.concatenate(hashes), np.append(0, np.cumsum(counts)))


def _signed(text: pa.Array, config: MinHash, out: U32) -> Iterator[tuple[slice, Shingles]]:
    """Sign documents into (n_docs, num_perm), filled with EMPTY; rows, and their shingles."""
    n_lanes = -(-config.num_perm // kernels.LANES) * kernels.LANES
    a, b = (np.pad(drawn, (0, n_lanes - config.num_perm)) for drawn in permutations(config))
    least = np.empty(n_lanes, np.uint32)
    for rows, block in blocks(text_buffers(text)):
        for found in shingles_of(block, ngram=config.ngram, words=config.words):
            kernels.sign(found.hashes, found.offsets, a, b, least, out[rows])
            yield rows, found


def permutations(config: MinHash) -> tuple[U32, U32]:
    """Draw the (num_perm,) `a` and `b` of the affine maps; odd `a` makes each a bijection.

    The order of the draws is that of datasketch 2.0 (MIT), without which signatures would differ.
    """
    rng = np.random.RandomState(config.seed)
    a = rng.randint(0, 1 << 31, config.num_perm, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    b = rng.randint(0, 1 << 32, config.num_perm, dtype=np.uint32)
    return a, b


def pair_similarity(signatures: U32, left: I64, right: I64) -> F32:
    """(n_pairs,) float32, shares of equal slots, which estimate the Jaccard similarity of pairs.

    Two documents without shingles come out at 1.0, as datasketch has it.
    signatures: (n_docs, num_perm).  left, right: (n_pairs,) rows.
    ValueError: these differ in length.  IndexError: one is not a row of `signatures`.
    """
    if len(left) != len(right):
        raise ValueError(f"left has {len(left)} rows and right {len(right)}; they are pairs")
    for side in (left, right):
        if len(side) and not 0 <= int(side.min()) <= int(side.max()) < len(signatures):
            raise IndexError(
                f"pairs name rows {side.min()} to {side.max()}, there are {len(signatures)} rows"
            )
    out = np.empty(len(left), np.float32)
    x, y = (read_only(side.astype(np.int64, copy=False)) for side in (left, right))
    kernels.pair_similarity(read_only(signatures), x, y, out)
    return out
