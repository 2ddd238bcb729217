"""Pieces of text that spaCy may split otherwise together than each alone."""

from tokenmill.dedup.kernels._jit import I64, U8, kernel
from tokenmill.pipelines.filters.kernels.classes import SPACE
from tokenmill.pipelines.filters.kernels.spacy_words import joins


@kernel
def find_runs(
    data: U8, classes: U8, offsets: I64, bridges: U8, longest: int, touching: I64, runs: I64
) -> int:
    """Write the longest runs of pieces that join, each around one of `touching`; how many.

    touching: as `mark_words` has them, in order of text.  runs: (n, 2), out: start and stop.
    A piece of more than `longest` bytes joins none.
    """
    n = 0
    for k in range(touching.shape[0]):
        d, start, stop = int(touching[k, 0]), int(touching[k, 1]), int(touching[k, 2])
        if n and start < runs[n - 1, 1]:
            continue
        first, end = int(offsets[d]), int(offsets[d + 1])
        while joins(data, classes, start - 1, first, end, bridges):
            i = start - 2
            while i > first and not classes[i - 1] & SPACE and start - i <= longest + 1:
                i -= 1
            if start - 1 - i > longest:
                break
            start = i
        while joins(data, classes, stop, first, end, bridges):
            i = stop + 2
            while i < end and not classes[i] & SPACE and i - stop <= longest + 1:
                i += 1
            if i - stop - 1 > longest:
                break
            stop = i
        runs[n, 0], runs[n, 1] = start, stop
        n += 1
    return n
