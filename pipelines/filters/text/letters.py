"""The letters of a text column, here all bytes of words, and its words in them.

"to be"  -->  letters  t o b e
              starts   0   2   4     the last is where the letters end
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.filters.kernels.letters import split_words
from tokenmill.pipelines.filters.text.words import Words, word_counts

PADDING = 32  # bytes, of any value, that kernels may read behind the last letter


class Letters(NamedTuple):
    """Word `w` of document `i` is `data[starts[k]:starts[k + 1]]` with k = `first_words[i] + w`.

    data: (n_bytes + PADDING,) uint8.  starts: (n_words + n_docs,) uint64.
    chars: (n_words + n_docs,) int64, characters of the words before in the same document.
    first_words: (n_docs + 1,) int64; each document has an entry more than words.
    """

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.uint64]
    chars: npt.NDArray[np.int64]
    first_words: npt.NDArray[np.int64]

    @property
    def most_words(self) -> int:
        """Of any document."""
        return int(np.diff(self.first_words).max(initial=1)) - 1


def letters(words: Words) -> Letters:
    """Leave out all that is in no word."""
    first_words = np.zeros(len(words.offsets), np.int64)
    np.cumsum(word_counts(words) + 1, out=first_words[1:])
    data = np.empty(len(words.data) + PADDING, np.uint8)
    starts = np.empty(first_words[-1], np.uint64)
    chars = np.empty(first_words[-1], np.int64)
    split_words(*words, first_words, data, starts, chars)
    return Letters(data, starts, chars, first_words)
