"""Which rows of a bucket are alike, by their signatures."""

from tokenmill.dedup.kernels._jit import I64, U32, kernel
from tokenmill.dedup.kernels.cluster import root


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

    members, ends: of dedup.lsh.buckets.  bucket: the one that member `start` is in.
    signatures: (n, num_perm).  places: (n,), where in it stand first the `n_head` first
        members of that bucket, then the `n_before` members before `start`, then the members
        from `start` to `stop`.
    least: slots in which the signatures of alike rows agree, at least.
    all_pairs: rows of a bucket of which every alike pair is written; in larger ones a pair
        is neither compared nor written that others join already.
    max_bucket, n_first, n_previous: the pairs that are candidates, as in dedup.kernels.lsh.
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
