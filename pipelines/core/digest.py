"""One digest over many strings: what identities, plans and works are compared by."""

from collections.abc import Iterable

import xxhash


def digest_of(parts: Iterable[str]) -> str:
    """Hex digest of strings in order."""
    hasher = xxhash.xxh3_128()
    for part in parts:
        hasher.update(part.encode())
        hasher.update(b"\0")
    return hasher.hexdigest()
