"""Lines of JSON: of plain objects the strings that are wanted, of all others where they stand.

A line is plain where orjson would read it and each wanted value is a string, but for an id that may
be a whole number, and an id or address that may be null or not there. What is rare is in doubt: a
wanted key twice, letters of keys that are escaped, numbers with large exponents, deep nesting.

Bytes are taken for UTF-8: the caller has looked.
"""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import LOW_BITS, bytes_below, eight
from tokenmill.dedup.kernels.u64 import EIGHT, FOUR, ONE, THREE, TWO, ZERO
from tokenmill.dedup.kernels.utf8 import encode

PLAIN, BLANK, DOUBTFUL = range(3)  # what a line is
TEXT, ID, URL, NAMES = range(4)
KNOWN = (1 << NAMES) - 1  # bits
MOST_DEPTH = np.uint64(60)  # its kinds are bits of one number
MOST_NUMBER = np.uint64(200)  # bytes; no number of so few without exponent is infinite
MOST_WHOLE = np.uint64(18)  # digits that are in 64 bits whatever they are
MOST_EXPONENT = np.uint64(2)  # digits

LF, CR, TAB, SPACE, QUOTE, BACKSLASH, COLON, COMMA = (np.uint8(b) for b in b'\n\r\t "\\:,')
OPEN, CLOSE, BEGIN, END = (np.uint8(b) for b in b"[]{}")
ZERO_DIGIT, NINE_DIGIT, MINUS, PLUS, DOT = (np.uint8(b) for b in b"09-+.")
LOWER = np.uint8(0x20)  # a letter with this bit is a small one
LETTER_E, LETTER_U = (np.uint8(b) for b in b"eu")
CONTROLS = np.uint8(0x20)
ESCAPES = np.zeros(256, np.uint8)  # what stands behind a backslash, and what it means
for _of, _means in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    ESCAPES[_of] = _means
NULL = np.uint8(ord("n"))
DIGITS = np.full(256, 1 << 16, np.uint32)  # what hexadecimal digits stand for, others too much
for _digits_of in (b"0123456789abcdef", b"0123456789ABCDEF"):
    DIGITS[list(_digits_of)] = range(16)
WORDS = np.frombuffer(b"true false null ", np.uint8)

HIGH_BITS = LOW_BITS << np.uint64(7)
SEVEN_BITS = ~HIGH_BITS
SLACK = 8  # bytes, since strings are written by so many
ENDS_OF_LINES = LOW_BITS * np.uint64(LF)
QUOTES, BACKSLASHES = LOW_BITS * np.uint64(QUOTE), LOW_BITS * np.uint64(BACKSLASH)
NOT_CONTROLS = LOW_BITS * np.uint64(0xE0)
SURROGATE, LOW_SURROGATE, BEHIND, BEYOND = map(np.uint32, (0xD800, 0xDC00, 0xE000, 0x10000))
THREE_BYTES = np.uint32(0x800)
SIX = np.uint64(6)  # bytes of an escape by its number
NONE = np.uint64(2**63)  # beyond any place: what was to be read is in doubt


@inlined
def _not_zero(x: np.uint64) -> np.uint64:
    """The high bit of each byte that is not 0."""
    return (((x & SEVEN_BITS) + SEVEN_BITS) | x) & HIGH_BITS


@inlined
def _hex(data: U8, i: np.uint64) -> np.uint32:
    """The number that four digits stand for, over 0xFFFF where they are none."""
    high = DIGITS[data[i]] << np.uint32(4) | DIGITS[data[i + ONE]]
    low = DIGITS[data[i + TWO]] << np.uint32(4) | DIGITS[data[i + THREE]]
    return np.uint32(high << np.uint32(8) | low)


@inlined
def _escape(
    data: U8, i: np.uint64, stop: np.uint64, out: U8, k: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Write what the escape at i means; where it ends, and where the next byte is to go."""
    if i + TWO > stop:
        return NONE, k
    letter = data[i + ONE]
    if letter != LETTER_U:
        out[k] = ESCAPES[letter]
        return (i + TWO if ESCAPES[letter] else NONE), k + ONE
    if i + SIX > stop:
        return NONE, k
    cp = _hex(data, i + TWO)
    i += SIX
    if SURROGATE <= cp < BEHIND:
        if cp >= LOW_SURROGATE or i + SIX > stop:
            return NONE, k
        if data[i] != BACKSLASH or data[i + ONE] != LETTER_U:
            return NONE, k
        low = _hex(data, i + TWO)
        if not LOW_SURROGATE <= low < BEHIND:
            return NONE, k
        cp = BEYOND + ((cp - SURROGATE) << np.uint32(10)) + (low - LOW_SURROGATE)
        return i + SIX, encode(cp, out, k)
    if THREE_BYTES <= cp < BEYOND:
        out[k] = np.uint32(0xE0) | cp >> np.uint32(12)
        out[k + ONE] = np.uint32(0x80) | (cp >> np.uint32(6) & np.uint32(0x3F))
        out[k + TWO] = np.uint32(0x80) | (cp & np.uint32(0x3F))
        return i, k + THREE
    return (i, encode(cp, out, k)) if cp < BEYOND else (NONE, k)


@inlined
def _string(
    data: U8, i: np.uint64, stop: np.uint64, out: U8, k: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Write the letters of the string whose quote stands before i; where it ends, and they do."""
    while True:
        while i + EIGHT <= stop:
            chunk = eight(data, i)
            for j in range(8):
                out[k + np.uint64(j)] = data[i + np.uint64(j)]
            plain = _not_zero(chunk ^ QUOTES) & _not_zero(chunk ^ BACKSLASHES)
            odd = ~(plain & _not_zero(chunk & NOT_CONTROLS)) & HIGH_BITS
            if odd:
                n = bytes_below(odd)
                i += n
                k += n
                break
            i += EIGHT
            k += EIGHT
        while i < stop and data[i] != QUOTE and data[i] != BACKSLASH and data[i] >= CONTROLS:
            out[k] = data[i]
            i += ONE
            k += ONE
        if i >= stop or data[i] < CONTROLS:
            return NONE, k
        if data[i] == QUOTE:
            return i + ONE, k
        while i < stop and data[i] == BACKSLASH:
            i, k = _escape(data, i, stop, out, k)


@inlined
def _blanks(data: U8, i: np.uint64, stop: np.uint64) -> np.uint64:
    """i, moved over blanks of a line."""
    while i < stop and (data[i] == SPACE or data[i] == TAB or data[i] == CR):
        i += ONE
    return i


@inlined
def _digits(data: U8, i: np.uint64, stop: np.uint64) -> np.uint64:
    while i < stop and ZERO_DIGIT <= data[i] <= NINE_DIGIT:
        i += ONE
    return i


@inlined
def _number(data: U8, i: np.uint64, stop: np.uint64) -> tuple[np.uint64, bool]:
    """Where the number at i ends, and whether it is a whole one that is written as it is kept."""
    start = i
    i += np.uint64(data[i] == MINUS)
    first = i
    i = _digits(data, i, stop)
    if i == first or (data[first] == ZERO_DIGIT and i > first + ONE):
        return NONE, False
    whole = bool(first == start and i - first <= MOST_WHOLE)
    if i < stop and data[i] == DOT:
        fraction = i + ONE
        i = _digits(data, fraction, stop)
        whole = False
        if i == fraction:
            return NONE, False
    if i < stop and data[i] | LOWER == LETTER_E:
        i += ONE
        whole = False
        i += np.uint64(i < stop and (data[i] == PLUS or data[i] == MINUS))
        exponent = i
        i = _digits(data, i, stop)
        if i == exponent or i - exponent > MOST_EXPONENT:
            return NONE, False
    return (i if i - start <= MOST_NUMBER else NONE), whole


@inlined
def _word(data: U8, i: np.uint64, stop: np.uint64) -> np.uint64:
    """Where the word at i ends: true, false or null."""
    at, size = ZERO, FOUR
    if data[i] == WORDS[5]:
        at, size = np.uint64(5), np.uint64(5)
    elif data[i] == NULL:
        at = np.uint64(11)
    if i + size > stop:
        return NONE
    for j in range(size):
        if data[i + j] != WORDS[at + j]:
            return NONE
    return i + size


@inlined
def _which(data: U8, start: np.uint64, stop: np.uint64, names: U8, ends: I64) -> int:
    """The number of the name that is written there; `NAMES` if it is none."""
    first = ZERO
    for n in range(NAMES):
        last = np.uint64(ends[n])
        if last > first and last - first == stop - start:
            j = ZERO
            while j < stop - start and data[start + j] == names[first + j]:
                j += ONE
            if j == stop - start:
                return n
        first = last
    return NAMES


@inlined
def _key(
    data: U8, i: np.uint64, stop: np.uint64, names: U8, ends: I64, outer: bool, scratch: U8,
    k: np.uint64,
) -> tuple[np.uint64, int]:  # fmt: skip
    """Where the value of the key at i begins, and which of the names the key is.

    outer: whether the key is of the object that is the line; others are none of them.
    """
    if i >= stop or data[i] != QUOTE:
        return NONE, NAMES
    start = i + ONE
    i, written = _string(data, start, stop, scratch, k)
    if i == NONE:
        return NONE, NAMES
    stopped = i - ONE
    i = _blanks(data, i, stop)
    if i >= stop or data[i] != COLON:
        return NONE, NAMES
    i = _blanks(data, i + ONE, stop)
    if i >= stop or (outer and written - k != stopped - start):  # escaped, it may be a name
        return NONE, NAMES
    return i, (_which(data, start, stopped, names, ends) if outer else NAMES)


@inlined
def _value(
    data: U8, i: np.uint64, stop: np.uint64, name: int, out: U8, k: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Where the value at i ends, no object and no array, and what is written of it does."""
    if data[i] == QUOTE:
        return _string(data, i + ONE, stop, out, k)
    if data[i] != MINUS and not ZERO_DIGIT <= data[i] <= NINE_DIGIT:
        kept = name == TEXT or (name == ID and data[i] != NULL)
        return (NONE if kept else _word(data, i, stop)), k
    start = i
    i, whole = _number(data, i, stop)
    if name == TEXT or (name == ID and not whole):
        return NONE, k
    if name == ID:
        for j in range(start, i):
            out[k] = data[j]
            k += ONE
    return i, k


@inlined
def _behind(
    data: U8, i: np.uint64, stop: np.uint64, kinds: np.uint64, depth: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """i, moved over the ends of what ends there, and over a comma; what is open then."""
    while depth:
        i = _blanks(data, i, stop)
        if i >= stop:
            return NONE, kinds, depth
        if data[i] == COMMA:
            return i + ONE, kinds, depth
        if data[i] != (END if kinds & ONE else CLOSE):
            return NONE, kinds, depth
        i += ONE
        kinds >>= ONE
        depth -= ONE
    return i, kinds, depth


@inlined
def _object(
    data: U8, i: np.uint64, stop: np.uint64, names: U8, ends: I64, outs: tuple[U8, U8, U8], at: U64
) -> tuple[np.uint64, int]:
    """Read the object at i, if it is plain; where it ends, and which names it has, as bits.

    at: (3,) where the values of names go in `outs`; set to where they end.
    """
    kinds = depth = ONE  # of what is open, the last bit first: whether it is an object
    seen, has, fresh = 0, 0, True
    i += ONE
    while depth:
        i = _blanks(data, i, stop)
        if not (fresh and i < stop and data[i] == (END if kinds & ONE else CLOSE)):
            name = NAMES
            if kinds & ONE:
                outer = depth == ONE
                i, name = _key(data, i, stop, names, ends, outer, outs[TEXT], at[TEXT])
            if i >= stop or seen >> name & 1:
                return NONE, has
            seen |= 1 << name & KNOWN
            if data[i] == BEGIN or data[i] == OPEN:
                if name < URL or depth == MOST_DEPTH:
                    return NONE, has
                kinds = kinds << ONE | np.uint64(data[i] == BEGIN)
                depth += ONE
                i += ONE
                fresh = True
                continue
            target = name % NAMES  # what is not wanted is written where the text is to go
            there = name < NAMES and (data[i] == QUOTE or (name == ID and data[i] != NULL))
            i, written = _value(data, i, stop, name, outs[target], at[target])
            if there:
                has |= 1 << name
                at[name] = written
        i, kinds, depth = _behind(data, i, stop, kinds, depth)
        fresh = False
    return i, has


@inlined
def _line_end(data: U8, i: np.uint64, stop: np.uint64) -> np.uint64:
    """Where the line ends in which byte i is."""
    while i + EIGHT <= stop:
        ends = ~_not_zero(eight(data, i) ^ ENDS_OF_LINES) & HIGH_BITS
        if ends:
            return i + bytes_below(ends)
        i += EIGHT
    while i < stop and data[i] != LF:
        i += ONE
    return i


@kernel
def read_objects(
    data: U8, begin: int, names: U8, ends: I64, outs: tuple[U8, U8, U8], at: U64, offsets: I64,
    lines: I64, kinds: U8, has: U8,
) -> int:  # fmt: skip
    """Read lines from byte `begin` on; how many there are, at most as many as fit.

    data: lines with an end between each two.  names: of text, id and address, one behind the
        other; ends: (3,) where each ends there.  An empty one is not wanted, without text none is.
    outs: for values of each, as long as what is read, and `SLACK`.  at: (3,) to work with.
    offsets: (3, n + 1) of what plain lines have of each, 0 at first.
    lines: (n + 1,) where lines begin; behind the last where the next one would.
    kinds: (n,) of each line.  has: (n,) of plain ones which names they have, as bits.
    """
    size, i = np.uint64(len(data)), np.uint64(begin)
    n = plain = 0
    while n < len(kinds) and i <= size:
        lines[n] = i
        start = _blanks(data, i, size)
        stop, kinds[n] = start, DOUBTFUL
        if start == size or data[start] == LF:
            kinds[n] = BLANK
        elif data[start] == BEGIN and ends[TEXT]:
            for name in range(NAMES):
                at[name] = np.uint64(offsets[name, plain])
            j, found = _object(data, start, size, names, ends, outs, at)
            j = _blanks(data, j, size)
            if found & 1 and (j == size or (j < size and data[j] == LF)):
                stop, kinds[n], has[plain] = j, PLAIN, found
                plain += 1
                for name in range(NAMES):
                    offsets[name, plain] = at[name]
        i = _line_end(data, stop, size) + ONE
        n += 1
    lines[n] = i
    return n
