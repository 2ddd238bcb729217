"""MinHash with Python's integers: one document, one permutation, one shingle at a time."""

EMPTY = 0xFFFF_FFFF
MASK = 0xFFFF_FFFF


def premix(h):
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def signature(hashes, a, b):
    """Slot p is the least of a[p] * h + b[p] over the premixed hashes."""
    mixed = [premix(h) for h in hashes]
    maps = zip(map(int, a), map(int, b), strict=True)
    return [min([x * h + y & MASK for h in mixed], default=EMPTY) for x, y in maps]
