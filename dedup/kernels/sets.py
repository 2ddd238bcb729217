"""Sets of shingle hashes: made distinct and sorted, packed, and what two of them share."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tokenmill.dedup.kernels._jit import I32, I64, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import n_bits
from tokenmill.dedup.kernels.table import n_less
from tokenmill.dedup.kernels.u64 import ONE, U64_32, ZERO

MANY = 24  # hashes that begin alike are sorted by comparing each with all before, if no more
HASH_BITS = 32
LARGEST = np.uint32(0xFFFF_FFFF)
TABLE = 1 << 16  # slots of a table of a set, at most: two of them stay in the cache
MOST_IN_TABLE = TABLE // 2
AT_ONCE = np.uint64(128)  # hashes looked up before it is asked whether too many are not there
PLACE = np.uint64(31)  # of a bit in a word of 32
FIVE = np.uint64(5)
Bools = npt.NDArray[np.bool_]
Ends: TypeAlias = I64 | I32  # of lists
ALL_32 = np.uint64(0xFFFF_FFFF)


@inlined
def bits_of(n: int) -> int:
    """The bits that numbers below n take; 0 for 1."""
    bits = 0
    while (1 << bits) < n:
        bits += 1
    return bits


@kernel
def distinct(
    hashes: U32, offsets: Ends, docs: I64, counts: U32, out: U32, out_offsets: I64
) -> None:
    """Sort the hashes of some documents, each once.

    hashes: (n_hashes,).  offsets: (n + 1,) of all documents.  docs: (n_docs,) which of them.
    counts: (a power of two that is at least the most hashes of a document,), scratch.
    out: (room for theirs,) behind `out_offsets[0]`.  out_offsets: (n_docs + 1,), the first given.

    They are hashes: put down by their first bits, hardly any two are in each other's way.
    """
    n_out = np.uint64(out_offsets[0])
    for d in range(docs.shape[0]):
        start = np.uint64(offsets[docs[d]])
        stop = np.uint64(offsets[docs[d] + 1])
        first = n_out
        end = first + stop - start
        bits = max(bits_of(int(offsets[docs[d] + 1]) - int(offsets[docs[d]])), 1)
        shift = np.uint64(HASH_BITS - bits)
        counts[: 1 << bits] = 0
        for i in range(start, stop):
            counts[np.uint64(hashes[i]) >> shift] += np.uint32(1)
        at = np.uint32(0)
        most = np.uint32(0)
        for b in range(np.uint64(1 << bits)):
            count = counts[b]
            counts[b] = at
            at += count
            most = max(most, count)
        for i in range(start, stop):
            place = np.uint64(hashes[i]) >> shift
            out[first + np.uint64(counts[place])] = hashes[i]
            counts[place] += np.uint32(1)
        if most > MANY:
            sort_many(out[first:end], counts[: 1 << bits])
        for i in range(first, end):
            h = out[i]
            j = np.uint64(i)
            while j > first and out[j - ONE] > h:
                out[j] = out[j - ONE]
                j -= ONE
            out[j] = h
        last = LARGEST
        for i in range(first, end):
            h = out[i]
            out[n_out] = h
            n_out += np.uint64((h != last) | (i == first))
            last = h
        out_offsets[d + 1] = n_out


@inlined
def sort_many(out: U32, ends: U32) -> None:
    """Bring hashes that begin alike near their places, where there are more than MANY.

    By Shell (1959), the last pass left to the caller; NumPy's sort takes a second to compile.
    ends: of those that begin alike, in order.
    """
    begin = 0
    for b in range(ends.shape[0]):
        end = int(ends[b])
        gap = end - begin if end - begin > MANY else 0
        while gap > 3:
            gap = gap * 4 // 9 | 1
            for i in range(begin + gap, end):
                h = out[i]
                j = i
                while j >= begin + gap and out[j - gap] > h:
                    out[j] = out[j - gap]
                    j -= gap
                out[j] = h
        begin = end


@inlined
def low_bits(n: int) -> int:
    """Bits of each of n sorted hashes that are kept as they are."""
    return HASH_BITS - bits_of(n)


@inlined
def low_words(n: int) -> int:
    """Words of 32 bits that the low bits of n hashes take."""
    return (n * low_bits(n) + 31) >> 5


@inlined
def packed_words(n: int) -> int:
    """Words of 32 bits that n sorted hashes take: at most 3 bits more of each than its low bits."""
    if n == 0:
        return 0
    return low_words(n) + ((n + (1 << bits_of(n)) + 31) >> 5)


@kernel
def pack_sizes(counts: I64, out: I64) -> None:
    """Set `out[i + 1]` to the words that the first i + 1 sets take. counts: (n,) hashes of each."""
    out[0] = 0
    for i in range(counts.shape[0]):
        out[i + 1] = out[i] + packed_words(counts[i])


@kernel
def pack(hashes: U32, offsets: I64, out: U32, out_offsets: I64) -> None:
    """Pack sorted sets (Elias 1974, Fano 1971): low bits side by side, high ones as steps.

    hashes: (n_hashes,), ascending in each set.  offsets, out_offsets: (n_sets + 1,).
    out: (n_words,), zeros.
    """
    for d in range(offsets.shape[0] - 1):
        n = offsets[d + 1] - offsets[d]
        if n == 0:
            continue
        low = low_bits(n)
        mask = (ONE << np.uint64(low)) - ONE
        lows = out_offsets[d]
        highs = lows + low_words(n)
        for i in range(n):
            h = np.uint64(hashes[offsets[d] + i])
            if low:
                at = np.uint64(i * low)
                word = lows + np.int64(at >> FIVE)
                both = (h & mask) << (at & PLACE)
                out[word] |= np.uint32(both & ALL_32)
                if both > ALL_32:
                    out[word + 1] |= np.uint32(both >> U64_32)
            step = (h >> np.uint64(low)) + np.uint64(i)
            out[highs + np.int64(step >> FIVE)] |= np.uint32(ONE << (step & PLACE))


@kernel
def unpack(words: U32, offsets: I64, counts: I64, out: U32) -> None:
    """Write the hashes of packed sets, one set behind the other.

    words: (n_words,).  offsets: (n_sets + 1,).  counts: (n_sets,).  out: (sum of counts,).
    """
    n_out = 0
    for d in range(counts.shape[0]):
        n = counts[d]
        if n == 0:
            continue
        low = low_bits(n)
        mask = (ONE << np.uint64(low)) - ONE
        lows = offsets[d]
        highs = lows + low_words(n)
        i = 0
        word = np.int64(0)
        while i < n:
            left = np.uint64(words[highs + word])
            while left:
                place = n_bits((left & (~left + ONE)) - ONE)
                left &= left - ONE
                step = np.uint64(word << 5) + place
                at = np.uint64(i * low)
                where = lows + np.int64(at >> FIVE)
                both = np.uint64(words[where]) | (np.uint64(words[where + 1]) << U64_32)
                kept = (both >> (at & PLACE)) & mask
                high = (step - np.uint64(i)) << np.uint64(low)
                out[n_out] = np.uint32(high | kept)
                n_out += 1
                i += 1
            word += 1


@kernel
def shared(
    hashes: U32, offsets: I64, left: I64, right: I64, least: I64, out: I64, made: U32
) -> None:
    """Set `out[i]` to how many hashes two sets share; -1 where these are fewer than `least[i]`.

    hashes: (n_hashes,), ascending in each set.  offsets: (n_sets + 1,).
    left, right, least, out: (n_pairs,).  made: (3, TABLE), scratch.

    Pairs that come behind each other and have a set in common look theirs up in tables of that,
    made once; of sets of more than MOST_IN_TABLE hashes both are walked.
    """
    own = -1
    n_rest = 0
    bits = 1
    for pair in range(out.shape[0]):
        x = left[pair]
        y = right[pair]
        if x == own or (y != own and pair + 1 < out.shape[0] and left[pair + 1] == x):
            x, y = y, x
        n_x = offsets[x + 1] - offsets[x]
        n_y = offsets[y + 1] - offsets[y]
        want = least[pair]
        if n_x < want or n_y < want:
            out[pair] = -1
            continue
        theirs = hashes[offsets[x] : offsets[x + 1]]
        if n_y > MOST_IN_TABLE:
            n = walked(theirs, hashes[offsets[y] : offsets[y + 1]], want)
        else:
            if y != own:
                own = y
                bits = max(bits_of(2 * n_y), 1)
                n_rest = fill(hashes[offsets[y] : offsets[y + 1]], bits, made)
            n = looked_up(theirs, bits, made, n_rest, want)
        out[pair] = n if n >= want else -1


@inlined
def walked(x: U32, y: U32, want: int) -> int:
    """How many hashes two sets share; fewer than are wanted, if they do not share so many."""
    i = ZERO
    j = ZERO
    last_i = np.uint64(x.shape[0])
    last_j = np.uint64(y.shape[0])
    # of each set so many may be in it alone
    alone_x = x.shape[0] - want
    alone_y = y.shape[0] - want
    n = 0
    while i < last_i and j < last_j and alone_x >= 0 and alone_y >= 0:
        n += int(x[i] == y[j])
        less = x[i] < y[j]
        more = x[i] > y[j]
        i += np.uint64(not more)
        j += np.uint64(not less)
        alone_x -= int(less)
        alone_y -= int(more)
    return n


@inlined
def fill(hashes: U32, bits: int, made: U32) -> int:
    """Put a set into two tables of 2**bits slots, a hash a slot, and the rest behind each other.

    By its first bits into the first, if it is the first there; else by its last bits into the
    second; else into the third row. 0 is none, or LARGEST in slot 0, that of the second not used.
    Returns how many are in the third row.
    """
    first = made[0]
    second = made[1]
    first[: 1 << bits] = 0
    second[: 1 << bits] = 0
    first[0] = LARGEST
    second[0] = LARGEST
    shift = np.uint64(HASH_BITS - bits)
    mask = np.uint64((1 << bits) - 1)
    last = np.uint64(1 << bits)
    n = 0
    for i in range(hashes.shape[0]):
        h = hashes[i]
        slot = np.uint64(h) >> shift
        if slot != last:
            first[slot] = h
            last = slot
            continue
        slot = np.uint64(h) & mask
        if second[slot] == 0:
            second[slot] = h
        else:
            made[2, n] = h
            n += 1
    return n


@inlined
def looked_up(hashes: U32, bits: int, made: U32, n_rest: int, want: int) -> int:
    """As `walked`, of a set and that of which `fill` made tables."""
    first = made[0]
    second = made[1]
    shift = np.uint64(HASH_BITS - bits)
    mask = np.uint64((1 << bits) - 1)
    end = np.uint64(hashes.shape[0])
    most = hashes.shape[0] - want + n_rest  # that neither table has
    n = 0
    i = ZERO
    while i < end and np.int64(i) - n <= most:
        stop = min(i + AT_ONCE, end)
        while i < stop:
            h = hashes[i]
            n += int((first[np.uint64(h) >> shift] == h) | (second[np.uint64(h) & mask] == h))
            i += ONE
    if np.int64(i) - n > most:
        return -1
    for r in range(n_rest):
        at = n_less(hashes, made[2, r])
        n += int(at < hashes.shape[0] and hashes[at] == made[2, r])
    return n


@kernel
def equal_slots(signatures: U32, left: I64, right: I64, least: I64, out: I64) -> None:
    """As `shared`, of signatures: (n_docs, num_perm)."""
    for pair in range(out.shape[0]):
        x = signatures[left[pair]]
        y = signatures[right[pair]]
        n = 0
        for p in range(x.shape[0]):
            n += int(x[p] == y[p])
        out[pair] = n if n >= least[pair] else -1


@kernel
def bucket_pairs(
    ends: I64,
    bucket: int,
    old: Bools,
    keys_left: U64,
    keys: U64,
    out: I64,
    n_out: I64,
) -> int:
    """Write the pairs of members of buckets that share no key of an earlier band.

    ends: (n_buckets,).  bucket: the first looked at.
    old: (n_members,) bool, of earlier runs: no two of them are a pair; they come first in a bucket.
    keys_left, keys: (n_members, n_bands before) of the earlier member of a pair, and of the later;
        0 is none.
    out: (room, 2).  n_out: (1,), how many pairs were written.
    Returns the bucket behind the last that was looked at: those whose pairs all fit.
    """
    n = 0
    first = 0 if bucket == 0 else ends[bucket - 1]
    while bucket < ends.shape[0]:
        size = ends[bucket] - first
        if n + size * (size - 1) // 2 > out.shape[0]:
            break
        for j in range(first + 1, ends[bucket]):
            if old[j]:
                continue
            for i in range(first, j):
                met = False
                for b in range(keys.shape[1]):
                    if keys_left[i, b] == keys[j, b] and keys[j, b] != 0:
                        met = True
                        break
                if not met:
                    out[n, 0] = i
                    out[n, 1] = j
                    n += 1
        first = ends[bucket]
        bucket += 1
    n_out[0] = n
    return bucket


@kernel
def decide(
    left: I64, right: I64, shared: U32, union: U32, first_new: int, gone: U64, out: I64
) -> int:
    """Write of each row that leaves its most similar edge to an earlier row that stays.

    left, right, shared, union: (n_edges,), by right and then left; all edges of a right row.
    first_new: rows below it stay.  gone: a bit for each row from there on, set if it leaves.
    out: (n_edges,) number of the edge.  Returns how many leave.
    """
    n_out = 0
    e = 0
    while e < left.shape[0]:
        row = right[e]
        best = -1
        while e < left.shape[0] and right[e] == row:
            of = left[e] - first_new
            if of < 0 or not (gone[of >> 6] >> np.uint64(of & 63)) & ONE:
                if best < 0:
                    best = e
                else:
                    here = np.uint64(shared[e]) * np.uint64(union[best])
                    if here > np.uint64(shared[best]) * np.uint64(union[e]):
                        best = e
            e += 1
        if best >= 0:
            gone[(row - first_new) >> 6] |= ONE << np.uint64((row - first_new) & 63)
            out[n_out] = best
            n_out += 1
    return n_out
