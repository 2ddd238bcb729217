"""Words of documents, numbered in the order in which they are first met."""

import re
from collections.abc import Sequence


def numbered(texts: Sequence[bytes], space: bytes) -> tuple[list[list[int]], list[bytes]]:
    """The numbers of each document's words, and the words. space: the bytes that part them."""
    white = re.escape(space)
    word = re.compile(b"[%s]*[^%s]+|[%s]+" % (white, white, white))
    known: dict[bytes, int] = {}
    found = [[known.setdefault(w, len(known)) for w in word.findall(text)] for text in texts]
    return found, list(known)
