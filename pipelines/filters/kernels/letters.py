"""Letters of documents, here all bytes that are not whitespace, and where words begin in them."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U64, kernel
from tokenmill.dedup.kernels.u64 import ONE, ZERO
from tokenmill.pipelines.filters.kernels.classes import SPACE


@kernel
def split_words(
    data: U8, classes: U8, offsets: I64, splits: int, first_words: I64, letters: U8, starts: U64,
    chars: I64,
) -> None:  # fmt: skip
    """Write the letters of each document and where its words begin.

    splits: the bit of a byte inside a run where one word ends and another begins, or 0.
    first_words: (n_docs + 1,), where in `starts` and `chars` each document has its own.
    letters: (n_bytes,), those of a document from where its bytes begin.
    starts, chars: of each word where in `letters` it begins and how many characters stand before
    it in its document; and those of the end of the last.
    Each byte writes where the next word would begin, and no branch asks whether one does: the
    branches would take three times as long as all else.
    """
    for d in range(offsets.shape[0] - 1):
        w = np.uint64(first_words[d])
        at = np.uint64(offsets[d])
        n_chars = np.int64(0)
        was_in_word = ZERO
        for i in range(at, np.uint64(offsets[d + 1])):
            c = classes[i]
            in_word = np.uint64((c & SPACE) == 0)
            letters[at] = data[i]
            starts[w] = at
            chars[w] = n_chars
            split = np.uint64(c & np.uint8(splits) != 0)
            w += in_word & ((was_in_word ^ ONE) | split)
            at += in_word
            n_chars += c & np.uint8(in_word)  # START is 1
            was_in_word = in_word
        starts[w] = at
        chars[w] = n_chars
