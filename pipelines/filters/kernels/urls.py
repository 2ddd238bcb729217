"""Parts of URLs looked up in tables of hashes: hosts and their parents, whole URLs, words.

A hash is of bytes from the last to the first, so that one walk over a host gives those of all its
parents. It is FNV-1a of 64 bits, mixed at the end as SplitMix64 does. A table is (2**k,) uint64,
at most half full; 0 is an empty slot, and no hash.
"""

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U8, U64, inlined, kernel
from tokenmill.dedup.kernels.table import finalized, probed

BASIS = 0xCBF29CE484222325
PRIME = 0x100000001B3

SLASH, COLON, DOT, AT, STAR, HASH = b"/:.@*#"
QUESTION, SPACE, PLUS, DASH, ZERO = b"? +-0"
OPEN_BRACKET, CLOSE_BRACKET = b"[]"

# verdicts, in order of reasons of pipelines.filters.url_filter
KEEP, DOMAIN, URL, WORD, SOFT_WORDS, SUBWORD = range(6)

SYMBOLS = 36  # letters and digits
GOOD, EMPTY, ODD = range(3)  # lines of a list


@inlined
def lower(byte: int) -> int:
    return byte + 0x20 if 0x41 <= byte <= 0x5A else byte


@inlined
def is_alnum(byte: int) -> bool:
    low = lower(byte)
    return (0x61 <= low <= 0x7A) or (0x30 <= low <= 0x39)


@inlined
def add(h: np.uint64, byte: int) -> np.uint64:
    return np.uint64((h ^ np.uint64(byte)) * np.uint64(PRIME))


@inlined
def hash_of(data: U8, start: int, end: int, fold: bool) -> np.uint64:
    h = np.uint64(BASIS)
    for i in range(end - 1, start - 1, -1):
        h = add(h, lower(data[i]) if fold else data[i])
    return finalized(h)


@inlined
def slot_of(table: U64, key: np.uint64) -> int:
    """Where the table has the key; -1 if it has not."""
    mask = np.uint64(table.shape[0] - 1)
    at = probed(table, mask, key & mask, key)
    return int(np.int64(at)) if table[at] != 0 else -1


@kernel
def fill(keys: U64, table: U64) -> None:
    """Put hashes into a table that has room for them."""
    mask = np.uint64(table.shape[0] - 1)
    for key in keys:
        table[probed(table, mask, key & mask, key)] = key


@kernel
def hash_lines(data: U8, starts: I64, ends: I64, hosts: bool, keys: U64, found: U8) -> None:
    """Hash the lines of a list, without the whitespace around them.

    starts, ends: (n,).  hosts: lines are of hosts: lower-cased, without "*." and dots at the ends.
    keys: (n,).  found: (n,) takes GOOD; EMPTY for an empty line and one that begins with "#"; or
    ODD for a host with a space or "/" in it.
    """
    for line in range(starts.shape[0]):
        start, end = starts[line], ends[line]
        while end > start and data[end - 1] <= SPACE:
            end -= 1
        while start < end and data[start] <= SPACE:
            start += 1
        found[line] = GOOD
        if start == end or data[start] == HASH:
            found[line] = EMPTY
            continue
        if hosts:
            while start < end and (data[start] == STAR or data[start] == DOT):
                start += 1
            while end > start and data[end - 1] == DOT:
                end -= 1
            for i in range(start, end):
                if data[i] <= SPACE or data[i] == SLASH:
                    found[line] = ODD
            if start == end:
                found[line] = ODD
        keys[line] = hash_of(data, start, end, hosts)


@inlined
def behind_scheme(data: U8, start: int, end: int) -> int:
    """The byte behind "scheme://" or "//"; `start` if there is neither."""
    for i in range(start, end - 1):
        byte = data[i]
        if byte == SLASH:
            return i + 2 if i == start and data[i + 1] == SLASH else start
        if byte == COLON:
            slashes = i > start and i + 2 < end and data[i + 1] == SLASH and data[i + 2] == SLASH
            return i + 3 if slashes else start
        if not (is_alnum(byte) or byte == PLUS or byte == DASH or byte == DOT):
            return start
    return start


@inlined
def host_of(data: U8, start: int, end: int) -> tuple[int, int]:
    """The bytes of the host, `start` being behind the scheme: no user, port, or dots at its end."""
    stop = start
    while stop < end and not (data[stop] == SLASH or data[stop] == QUESTION or data[stop] == HASH):
        stop += 1
    for i in range(start, stop):
        if data[i] == AT:
            start = i + 1
    i = start
    if i < stop and data[i] == OPEN_BRACKET:
        while i < stop and data[i] != CLOSE_BRACKET:
            i += 1
    while i < stop and data[i] != COLON:
        i += 1
    while i > start and (data[i - 1] == DOT or data[i - 1] <= SPACE):
        i -= 1
    return start, i


@inlined
def look_for_domain(data: U8, start: int, end: int, domains: U64, span: I64) -> bool:
    """Whether a host or one of its parents is listed; the span is that, the shortest."""
    h = np.uint64(BASIS)
    for i in range(end - 1, start - 1, -1):
        h = add(h, lower(data[i]))
        if (i == start or data[i - 1] == DOT) and slot_of(domains, finalized(h)) >= 0:
            span[0], span[1] = i, end
            return True
    return False


@inlined
def look_for_url(data: U8, start: int, behind: int, end: int, urls: U64, span: I64) -> bool:
    """Whether a URL is listed, with its scheme or without it."""
    h = np.uint64(BASIS)
    for i in range(end - 1, start - 1, -1):
        h = add(h, data[i])
        if (i == behind or i == start) and slot_of(urls, finalized(h)) >= 0:
            span[0], span[1] = start, end
            return True
    return False


@inlined
def look_for_words(
    data: U8, start: int, end: int, fold: bool, words: U64, soft: U64, seen: I64, doc: int,
    span: I64,
) -> int:  # fmt: skip
    """How many different soft words a URL has; -1: a listed one. seen: last document, by slot."""
    n, i = 0, start
    while i < end:
        if not is_alnum(data[i]):
            i += 1
            continue
        word = i
        while i < end and is_alnum(data[i]):
            i += 1
        key = hash_of(data, word, i, fold)
        if slot_of(words, key) >= 0:
            span[0], span[1] = word, i
            return -1
        slot = slot_of(soft, key)
        if slot >= 0:
            if n == 0:
                span[0] = word
            span[1] = i
            if seen[slot] != doc:
                seen[slot] = doc
                n += 1
    return n


@inlined
def look_for_subword(data: U8, start: int, end: int, goto: I32, found: I32, span: I64) -> bool:
    """Whether letters and digits of a URL, in lower case, have a listed subword in them."""
    state = 0
    for i in range(start, end):
        if not is_alnum(data[i]):
            continue
        low = lower(data[i])
        state = goto[state, low - 0x61 if low >= 0x61 else 26 + low - ZERO]
        if found[state]:
            left, first = found[state], i + 1
            while left:
                first -= 1
                left -= is_alnum(data[first])
            span[0], span[1] = first, i + 1
            return True
    return False


@kernel
def judge(
    data: U8, offsets: I64, domains: U64, urls: U64, words: U64, soft: U64, seen: I64,
    least_soft: int, fold: bool, goto: I32, found: I32, verdicts: U8, spans: I64, counts: I64,
) -> None:  # fmt: skip
    """Say of each URL what of it is listed, if anything.

    domains, urls, words, soft: tables.  seen: (len(soft),), -1.  fold: words of URLs are
    lower-cased.  goto: (n_states, SYMBOLS) of the subwords' automaton.  found: (n_states,) bytes
    of the shortest subword that ends there, or 0.
    verdicts: (n,).  spans: (n, 2) takes the bytes listed.  counts: (n,) takes soft words.
    """
    for d in range(offsets.shape[0] - 1):
        start, end, span = offsets[d], offsets[d + 1], spans[d]
        span[0], span[1] = start, start
        verdicts[d], counts[d] = KEEP, 0
        behind = behind_scheme(data, start, end)
        host, host_end = host_of(data, behind, end)
        if look_for_domain(data, host, host_end, domains, span):
            verdicts[d] = DOMAIN
            continue
        if look_for_url(data, start, behind, end, urls, span):
            verdicts[d] = URL
            continue
        n = look_for_words(data, start, end, fold, words, soft, seen, d, span)
        if n < 0:
            verdicts[d] = WORD
        elif n >= least_soft:
            verdicts[d], counts[d] = SOFT_WORDS, n
        elif look_for_subword(data, start, end, goto, found, span):
            verdicts[d] = SUBWORD
