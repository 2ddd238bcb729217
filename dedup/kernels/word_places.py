"""Where the words of text are, and what of it goes with some of them."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U16, inlined, kernel
from tokenmill.dedup.kernels.utf8 import BLANK, COMBINING_DOT_ABOVE, decode, place
from tokenmill.dedup.unicode import CAPITAL_I_WITH_DOT

LINE_FEED = 10


@inlined
def has_flag(cp: np.uint32, table: U8, pages: U16, flags: U8) -> bool:
    """What a table of 256 by flags says of a code point."""
    return bool(table[flags[place(pages, cp)]])


@kernel
def word_places(
    data: U8,
    offsets: I64,
    is_word: U8,
    pages: U16,
    flags: U8,
    starts: I64,
    ends: I64,
    doc_words: I64,
) -> None:
    """Find the words that `split_words` of dedup.kernels.words finds.

    is_word: (256,) by flags, not 0 if a character that has them is of a word.
    pages, flags: the tables of dedup.unicode.
    starts, ends: (>= n_words,), bytes from the beginning of the document.
    doc_words: (n_docs + 1,), where in them each document's words end; `doc_words[0]` is 0.
    """
    n = 0
    doc_words[0] = 0
    dot_is_word = has_flag(COMBINING_DOT_ABOVE, is_word, pages, flags)
    for d in range(offsets.shape[0] - 1):
        begin, end = offsets[d], offsets[d + 1]
        in_word = False
        i = begin
        while i < end:
            cp, size = decode(data, i, end, BLANK)
            if has_flag(cp, is_word, pages, flags):
                if not in_word:
                    starts[n] = i - begin
                    in_word = True
                if cp == CAPITAL_I_WITH_DOT and not dot_is_word:  # its lower case has two
                    ends[n] = i + size - begin
                    n += 1
                    in_word = False
            elif in_word:
                ends[n] = i - begin
                n += 1
                in_word = False
            i += size
        if in_word:
            ends[n] = end - begin
            n += 1
        doc_words[d + 1] = n


@inlined
def spaces(data: U8, i: int, end: int, is_space: U8, pages: U16, flags: U8) -> tuple[int, int, int]:
    """The first white space from byte `i` on: its beginning, its end, its line feeds.

    Where there is none before `end`, that and that.
    """
    begin, feeds = end, 0
    while i < end:
        cp, size = decode(data, i, end, BLANK)
        if has_flag(cp, is_space, pages, flags):
            if begin == end:
                begin = i
            feeds += int(cp == LINE_FEED)
        elif begin < end:
            return begin, i, feeds
        i += size
    return begin, end, feeds


@kernel
def cut_places(
    data: U8,
    offsets: I64,
    starts: I64,
    ends: I64,
    doc_words: I64,
    spans: I64,
    is_space: U8,
    pages: U16,
    flags: U8,
    out: I64,
) -> None:
    """Tell which bytes go with each span of words.

    Marks between the span and white space go too; of the white space before and behind that with
    fewer line feeds, or that behind. With the first or last word of a document all goes that is
    before or behind it.

    offsets, starts, ends, doc_words: as of `word_places`.
    spans: (n_spans, 3), document, first word and last word in it; a word at least stands between
        two of a document.
    out: (n_spans, 2), first byte and byte behind the last, from the beginning of the document.
    """
    for r in range(spans.shape[0]):
        d = spans[r, 0]
        begin, end = offsets[d], offsets[d + 1]
        first, last = doc_words[d] + spans[r, 1], doc_words[d] + spans[r, 2]
        is_first, is_last = first == doc_words[d], last == doc_words[d + 1] - 1
        # before: the last white space between the word before and the span
        stop = begin + starts[first]
        before, start, feeds_before = stop, stop, 0
        i = stop if is_first else begin + ends[first - 1]
        while i < stop:
            space, after, feeds = spaces(data, i, stop, is_space, pages, flags)
            if space < stop:
                before, start, feeds_before = space, after, feeds
            i = after
        # behind: the first white space between the span and the word behind
        gap = end if is_last else begin + starts[last + 1]
        behind, after, feeds = spaces(data, begin + ends[last], gap, is_space, pages, flags)
        if is_first:
            out[r, 0], out[r, 1] = 0, after - begin
        elif feeds > feeds_before:
            out[r, 0], out[r, 1] = before - begin, behind - begin
        else:
            out[r, 0], out[r, 1] = start - begin, after - begin
        if is_last:
            out[r, 0], out[r, 1] = out[r, 0] if is_first else before - begin, end - begin
