"""Which rows of a bucket are alike, and union-find over such edges."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import n_bits
from tokenmill.dedup.kernels.u64 import ONE


@inlined
def root(parents: U32, row: int) -> int:
    """The row at the top of `row`'s tree; halves the path to it on the way."""
    while parents[row] != row:
        parents[row] = parents[parents[row]]
        row = parents[row]
    return row


@kernel
def flatten(parents: U32) -> None:
    """Make the parent of each row, (n_marked,) of `unite_marked`, its tree's root, the lowest."""
    for row in range(parents.shape[0]):  # parents are lower, and so flat already
        parents[row] = parents[parents[row]]


@kernel
def lead(weights: I64, n_fixed: int, best: U32, parents: U32) -> None:
    """Make the heaviest row of each tree the parent of its rows, the lowest of equals.

    weights: (n_marked,).  n_fixed: of the first rows each stays the parent of its tree.
    best: (n_marked,) each row itself at first.  parents: (n_marked,), flat.
    """
    for row in range(n_fixed, parents.shape[0]):
        top = parents[row]
        if top >= n_fixed and weights[row] > weights[best[top]]:
            best[top] = row
    for row in range(parents.shape[0]):
        parents[row] = best[parents[row]]


@inlined
def place(bits: U64, before: U32, row: int) -> int:
    """The number of a marked row among those marked."""
    word = row >> 6
    below = (ONE << np.uint64(row & 63)) - ONE
    return int(before[word] + n_bits(bits[word] & below))


@kernel
def mark(rows: I64, first: int, bits: U64) -> None:
    """Set the bit of each row, which count from `first`. bits: (n_docs // 64 + 1,)."""
    for i in range(rows.shape[0]):
        row = rows[i] - first
        bits[row >> 6] |= ONE << np.uint64(row & 63)


@kernel
def marked(bits: U64, first: int, rows: I64) -> None:
    """Write the rows whose bit is set, ascending. rows: (n_marked,)."""
    n = 0
    for word in range(bits.shape[0]):
        left = bits[word]
        row = first + (word << 6)
        while left:
            if left & ONE:
                rows[n] = row
                n += 1
            left >>= ONE
            row += 1


@kernel
def unite_marked(left: I64, right: I64, first: int, bits: U64, before: U32, parents: U32) -> None:
    """Join the trees of each edge between marked rows under the lower of their roots.

    left, right: (n_edges,) rows, which count from `first`.  bits: as of `mark`.
    before: (n_words,) bits set in the words before each.
    parents: (n_marked,) places of rows among those marked, each its own at first.
    """
    for e in range(left.shape[0]):
        x = root(parents, place(bits, before, left[e] - first))
        y = root(parents, place(bits, before, right[e] - first))
        if x < y:
            parents[y] = x
        else:
            parents[x] = y


@kernel
def alike(
    members: I64,
    ends: I64,
    bucket: int,
    start: int,
    stop: int,
    signatures: U32,
    places: I64,
    n_head: int,
    n_before: int,
    least: int,
    all_pairs: int,
    max_bucket: int,
    n_first: int,
    n_previous: int,
    parents: U32,
    out: I64,
) -> int:
    """Write the pairs of alike rows, of which the higher is a member from `start` to `stop`.

    members, ends: of dedup.same.lsh.buckets.  bucket: the one that member `start` is in.
    signatures: (n, num_perm).  places: (n,), where in it stand first the `n_head` first
        members of that bucket, then the `n_before` members before `start`, then the members
        from `start` to `stop`.
    least: slots in which the signatures of alike rows agree, at least.
    all_pairs: rows of a bucket of which every alike pair is written; in larger ones a pair
        is neither compared nor written that others join already.
    max_bucket, n_first, n_previous: the pairs that are candidates, as in dedup.kernels.equal.
    parents: (n_members,), scratch kept from call to call: each member its own at first.
    out: (n_pairs, 2), room for all of them.
    Returns the number of pairs.
    """
    n_out = 0
    num_perm = signatures.shape[1]
    begin = ends[bucket - 1] if bucket > 0 else 0
    base = start - n_before - n_head  # of a member's place, but for the head's
    j = start
    while j < stop:
        end = ends[bucket]
        size = end - begin
        while j < min(end, stop):
            from_first = j
            from_previous = j
            if size > max_bucket:
                from_first = min(j, begin + n_first)
                from_previous = max(from_first, j - n_previous)
            y = signatures[places[j - base]]
            n_candidates = from_first - begin + j - from_previous
            for c in range(n_candidates):
                i = begin + c
                if i >= from_first:
                    i += from_previous - from_first
                if size > all_pairs and root(parents, i) == root(parents, j):
                    continue
                place = i - base if i >= start - n_before else i - begin
                x = signatures[places[place]]
                equal = 0
                for p in range(num_perm):
                    equal += int(x[p] == y[p])
                if equal < least:
                    continue
                out[n_out, 0] = members[i]
                out[n_out, 1] = members[j]
                n_out += 1
                if size > all_pairs:
                    first = root(parents, i)
                    second = root(parents, j)
                    parents[max(first, second)] = min(first, second)
            j += 1
        if j == end:
            begin = end
            bucket += 1
    return n_out
