"""Kernel that joins hits to spans."""

from tokenmill.dedup.kernels._jit import I64, kernel


@kernel
def merge_spans(hits: I64, spans: I64) -> int:
    """Join hits of one document and item that have a word in common.

    hits: (n, 4): document, item, first byte, byte after the last; sorted by these.
    spans: (>= n, 5), out: the same of each maximal span, and how many hits it joins.
    Returns the number of spans.
    """
    n = 0
    for i in range(hits.shape[0]):
        doc, item, start, end = hits[i, 0], hits[i, 1], hits[i, 2], hits[i, 3]
        p = n - 1
        if n > 0 and spans[p, 0] == doc and spans[p, 1] == item and start < spans[p, 3]:
            spans[p, 3] = max(spans[p, 3], end)
            spans[p, 4] += 1
        else:
            spans[n, 0] = doc
            spans[n, 1] = item
            spans[n, 2] = start
            spans[n, 3] = end
            spans[n, 4] = 1
            n += 1
    return n
