"""Band keys with Python's integers; candidate pairs bucket by bucket with a dictionary."""

from collections import defaultdict
from itertools import combinations

MASK = (1 << 64) - 1


def band_key(band, rows):
    """The key of one band, of the document's slots `rows` in it."""
    h = band * 0x9E3779B97F4A7C15 + 1 & MASK
    for slot in rows:
        h = (h ^ slot) * 0xD6E8FEB86659FD93 & MASK
        h ^= h >> 32
    return h or 1


def candidate_pairs(keys, ids, max_bucket, previous_rows):
    buckets = defaultdict(list)
    for row, key in sorted(zip(ids, keys, strict=True)):
        if key != 0:
            buckets[key].append(row)
    pairs = set()
    for rows in buckets.values():
        if len(rows) <= max_bucket:
            pairs.update(combinations(rows, 2))
            continue
        for i, row in enumerate(rows):
            pairs.update((other, row) for other in rows[: min(i, max_bucket // 2)])
            pairs.update((other, row) for other in rows[max(0, i - previous_rows) : i])
    return sorted(pairs)
