"""Digests of content, for exact duplicates."""

import hashlib
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import xxhash

from tokenmill.dedup.arrays import I64, U8, U64, read_only, text_buffers
from tokenmill.dedup.kernels import equal as kernels
from tokenmill.dedup.same.partition import partition

Method = Literal["md5", "xxh3"]


def digests(text: pa.Array, method: Method) -> U64:
    """(n_docs, 2) uint64, the bytes of each digest.

    `digests(...)[i].tobytes().hex()` is what md5sum prints, or xxh128sum.

    text: (n_docs,) string or large_string, no nulls.
    method: "md5", or "xxh3" (its 128 bits), many times faster, safe against chance but not against
        an adversary.
    ValueError: `method` is unknown, or `text` has nulls.  TypeError: `text` is not text.
    """
    if method not in get_args(Method):
        raise ValueError(f"digest method must be 'md5' or 'xxh3', got {method!r}")
    return span_digests(*text_buffers(text), method)


def span_digests(data: U8, offsets: I64, method: Method) -> U64:
    """(n, 2) digests of `data[offsets[i]:offsets[i + 1]]`, bytes of whatever kind."""
    digest = _md5 if method == "md5" else xxhash.xxh3_128_digest
    joined = b"".join(digest(data.data[s:e]) for s, e in pairwise(offsets.tolist()))
    return np.frombuffer(joined, np.uint64).reshape(-1, 2)


def _md5(data: memoryview) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def first_occurrence(digests: U64, bits: int | None = None) -> I64:
    """(n_docs,) int64 `first`, the lowest row with a row's digest.

    `first == np.arange(n_docs)` tells who is the first of equals.
    digests: (n_docs, 2).  bits: of the prefix to partition by; None: as many as suit n_docs.
    Memory besides: 4 bytes a row, and 48 for each row of the largest partition.
    """
    parts = partition(digests[:, 0], bits)
    out = np.empty(len(digests), np.int64)
    table, met = np.empty(parts.table_size, np.int32), np.empty((parts.largest, 2), np.uint64)
    kernels.first_occurrence(read_only(digests), *parts, table, met, out)
    return out


def newest_occurrence(digests: U64, dates: U64, bits: int | None = None) -> I64:
    """As `first_occurrence`, the row of the greatest date, of equal ones the highest row number.

    dates: (n_docs,).  Memory besides: 16 bytes more for each row.
    """
    first = first_occurrence(digests, bits)
    newest = np.arange(len(digests))
    kernels.newest(read_only(first), read_only(dates), newest)
    return newest[first]


def last_occurrence(digests: U64, bits: int | None = None) -> I64:
    """As `first_occurrence`, the highest row number; memory besides: 24 bytes more for each row."""
    backward = first_occurrence(np.ascontiguousarray(digests[::-1]), bits)
    return len(digests) - 1 - backward[::-1]


def sha1_prefixes(text: pa.Array) -> U64:
    """(n,) the first 8 bytes, as they lie, of the SHA-1 of each string's UTF-8.

    text: (n,) string or large_string, no nulls.

    What CCNet tells lines apart by; among 10 billion of them 3 pairs are expected to meet.
    """
    data, offsets = text_buffers(text)
    spans = (data.data[start:end] for start, end in pairwise(offsets.tolist()))
    joined = b"".join(hashlib.sha1(span, usedforsecurity=False).digest()[:8] for span in spans)
    return np.frombuffer(joined, np.uint64)
