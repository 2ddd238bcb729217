"""Kernels that cut spans out of documents."""

from tokenmill.dedup.kernels._jit import I64, U8, inlined, kernel


@inlined
def before(data: U8, i: int, begin: int, chars: int) -> int:
    """The place `chars` code points before byte `i`, not before `begin`."""
    while chars > 0 and i > begin:
        i -= 1
        if (data[i] & 0xC0) != 0x80:
            chars -= 1
    return i


@inlined
def behind(data: U8, i: int, end: int, chars: int) -> int:
    """The place `chars` code points behind byte `i`, not behind `end`."""
    while i < end and (chars > 0 or (data[i] & 0xC0) == 0x80):
        if (data[i] & 0xC0) != 0x80:
            chars -= 1
        i += 1
    return i


@kernel
def cut_documents(
    data: U8, offsets: I64, spans: I64, window: int, most: int, pieces: I64, n_pieces: I64
) -> int:
    """Cut spans and `window` code points around each out of documents.

    spans: (n_spans, 3), document, first byte and end byte in it; sorted by these.
    pieces: (>= n_docs + n_spans, 3), out: the same of each piece that is kept.
    n_pieces: (n_docs,), out: pieces that each document falls into, kept or not.
    Returns the number of pieces kept.
    """
    kept = 0
    s = 0
    for d in range(n_pieces.shape[0]):
        begin, end = offsets[d], offsets[d + 1]
        of_doc = kept
        i = begin
        is_whole = s == spans.shape[0] or spans[s, 0] != d
        while i < end or is_whole:
            stop = end
            after = end
            if s < spans.shape[0] and spans[s, 0] == d:
                stop = before(data, begin + spans[s, 1], begin, window)
                after = behind(data, begin + spans[s, 2], end, window)
                s += 1
            if i < stop or is_whole:
                pieces[kept, 0] = d
                pieces[kept, 1] = i - begin
                pieces[kept, 2] = stop - begin
                kept += 1
            i = max(i, after)
            is_whole = False
        while s < spans.shape[0] and spans[s, 0] == d:
            s += 1
        n_pieces[d] = kept - of_doc
        if n_pieces[d] > most:
            kept = of_doc
    return kept


@kernel
def copy_to(data: U8, starts: I64, ends: I64, places: I64, out: U8) -> None:
    """Copy `data[starts[i]:ends[i]]` to `out[places[i]:]`, for (n,) starts, ends and places."""
    for i in range(starts.shape[0]):
        # two views first, so that the loop over them is vectorized: 4 times as fast as a slice
        # set to a slice
        span = data[starts[i] : ends[i]]
        to = out[places[i] : places[i] + span.shape[0]]
        for j in range(span.shape[0]):
            to[j] = span[j]
