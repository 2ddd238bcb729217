"""Shingles as the documentation says them, one document at a time."""

import re


def words_of(text, words="unicode"):
    lowered = text.lower()
    return re.findall(r"\w+", lowered) if words == "unicode" else lowered.split()


def shingles(text, ngram=5, words="unicode"):
    """The document's shingles as bytes, one per window."""
    found = words_of(text, words)
    if not found:
        return []
    n_windows = max(1, len(found) - ngram + 1)
    return [" ".join(found[i : i + ngram]).encode() for i in range(n_windows)]
