"""The words that benchmark overlap compares.

The *gram words* of a text are those of GPT-3's overlap analysis (Brown et al. 2020,
arXiv:2005.14165, appendix C): lower case, without punctuation, delimited by whitespace.
Exactly:
- a word is a maximal run of characters at which `str.split()` does not split;
- punctuation is Unicode's general category P* and all of ASCII's `string.punctuation`
  (so `$+<=>^`|~` too); it is deleted, not replaced: "well-known" is the word "wellknown",
  and a word of punctuation alone vanishes;
- each code point is lower-cased by itself: a final sigma like any other, U+0130 to "i".
Documents and items are treated alike, from the frozen tables of `dedup.unicode`.
"""

from functools import cache
from string import punctuation

import numpy as np
import numpy.typing as npt

from dedup.arrays import read_only
from dedup.kernels import overlap as kernels
from dedup.unicode import PUNCT, SPACE, tables


@cache
def chars() -> kernels.Chars:
    """What becomes of each character, as the kernels read it."""
    t = tables()
    kinds = np.full(t.flags.shape, kernels.KEEP, np.uint8)
    kinds[(t.flags & PUNCT) != 0] = kernels.DELETE
    kinds[(t.flags & SPACE) != 0] = kernels.SPACE
    code_points = np.arange(128, dtype=np.uint32)
    slots = t.pages[0].astype(np.int64) * 256 + code_points
    kinds[slots[[ord(c) for c in punctuation]]] = kernels.DELETE
    lower = code_points + t.lower_delta[slots] + kernels.KEEP
    ascii_kinds = np.where(kinds[slots] == kernels.KEEP, lower, kinds[slots]).astype(np.uint32)
    return kernels.Chars(*map(read_only, (ascii_kinds, t.pages, kinds, t.lower_delta)))


def word_buffer(n_words: int) -> kernels.Words:
    return kernels.Words(
        np.empty(n_words, np.uint64),
        np.empty(n_words, np.int64),
        np.empty(n_words, np.int64),
        np.empty(n_words, np.int64),
        np.empty(n_words, np.uint64),
    )


def most_words(text_bytes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A bound on the words of each text: a word takes a byte and, but for the last, a space."""
    return (text_bytes + 1) // 2
