"""E-mail addresses, IP addresses and phone numbers in text: each found from one character of it.

An anchor is a byte that each of them must have ("@" of an e-mail address); all that is looked at
from one is bounded by the one before and the one behind, so that any text takes linear time.

All finders: `data` (n_bytes,) is UTF-8 of all documents, document d at `offsets[d:d + 2]`;
`anchors` (n,) ascend; `starts` and `ends` (n,) take what is found, which never overlaps.
"""

from tokenmill.dedup.kernels._jit import I64, U8, U16, U32, inlined, kernel
from tokenmill.dedup.kernels.utf8 import BLANK, before, decode, place
from tokenmill.dedup.text.unicode import WORD

DASH, DOT, COLON, PLUS, SLASH, SPACE = b"-.:+/ "
OPEN, CLOSE, OPEN_BRACKET, CLOSE_BRACKET = b"()[]"
ZERO, ONE, TWO, NINE = b"0129"


ATOM = 1  # kinds of a byte, as pipelines.filters.pii has them
ALNUM = 2
UNDERSCORE = 4
DIGIT = 8
HEX = 16

MOST_OF_IPV6 = 45  # characters: eight groups, two of them as IPv4


@inlined
def is_word(data: U8, first: int, i: int, pages: U16, flags: U8) -> bool:
    """Whether the character that ends before byte i is of `\\w`; none does where a text begins."""
    if i <= first:
        return False
    cp, _ = decode(data, before(data, first, i), i, BLANK)
    return bool((flags[place(pages, cp)] & WORD) != 0)


@inlined
def n_digits(data: U8, i: int, end: int, most: int, kinds: U8) -> int:
    """Digits from byte i on, no more than `most` counted."""
    n = 0
    while n < most and i + n < end and kinds[data[i + n]] & DIGIT:
        n += 1
    return n


@inlined
def octet(data: U8, i: int, n: int) -> int:
    """The number of n digits from byte i on; over 255 it is none."""
    value = 0
    for j in range(i, i + n):
        value = value * 10 + int(data[j]) - ZERO
    return value


@inlined
def last_octet(data: U8, i: int, end: int, kinds: U8) -> int:
    """How many digits from byte i on are a number up to 255: 0 to 3."""
    n = n_digits(data, i, end, 3, kinds)
    return 2 if n == 3 and octet(data, i, 3) > 255 else n


@inlined
def middle_octets(data: U8, i: int, end: int, count: int, kinds: U8) -> int:
    """The byte behind so many numbers up to 255, each with a dot behind it; -1 if they are not."""
    for _ in range(count):
        n = n_digits(data, i, end, 4, kinds)
        if n == 0 or n > 3 or octet(data, i, n) > 255:
            return -1
        i += n
        if i >= end or data[i] != DOT:
            return -1
        i += 1
    return i


@inlined
def domain_end(data: U8, i: int, end: int, kinds: U8) -> int:
    """The byte behind two labels or more from byte i on, dots between them; -1 if none are."""
    found, labels = -1, 0
    while i < end and kinds[data[i]] & ALNUM:
        j = i
        while j < end and (kinds[data[j]] & ALNUM or data[j] == DASH):
            j += 1
        k = j
        while data[k - 1] == DASH:
            k -= 1
        labels += 1
        if labels > 1:
            found = k
        if k < j or j >= end or data[j] != DOT:
            break
        i = j + 1
    return found


@inlined
def literal_end(data: U8, i: int, end: int, kinds: U8) -> int:
    """The byte behind "[1.2.3.4]" or "[1.2.3.tag:]" from byte i on; -1 if it is neither."""
    if i >= end or data[i] != OPEN_BRACKET:
        return -1
    i = middle_octets(data, i + 1, end, 3, kinds)
    if i < 0:
        return -1
    n = n_digits(data, i, end, 4, kinds)
    if 0 < n < 4 and octet(data, i, n) <= 255 and i + n < end and data[i + n] == CLOSE_BRACKET:
        return i + n + 1
    j = i
    while j < end and (kinds[data[j]] & ALNUM or data[j] == DASH):
        j += 1
    tag = j > i and data[j - 1] != DASH and j + 1 < end
    return j + 2 if tag and data[j] == COLON and data[j + 1] == CLOSE_BRACKET else -1


@kernel
def find_emails(
    data: U8, offsets: I64, anchors: I64, kinds: U8, pages: U16, flags: U8, starts: I64, ends: I64
) -> int:
    """Find e-mail addresses from their "@"; return how many.

    kinds: (256,) of bytes.  pages, flags: of `dedup.text.unicode`.
    """
    found, d, done = 0, 0, 0
    for a in range(anchors.shape[0]):
        at = anchors[a]
        while offsets[d + 1] <= at:
            d += 1
        first, end = offsets[d], offsets[d + 1]
        least = max(first, done)
        # back over atoms with single dots between them
        start = at
        while start > least:
            last = data[start - 1]
            single = last == DOT and start < at and data[start] != DOT
            if not (kinds[last] & ATOM or single):
                break
            start -= 1
        # on to the first character of an atom that stands at a word's edge
        while start < at:
            here = (kinds[data[start]] & (ALNUM | UNDERSCORE)) != 0
            if data[start] != DOT and here != is_word(data, first, start, pages, flags):
                break
            start += 1
        if start == at:
            continue
        stop = domain_end(data, at + 1, end, kinds)
        if stop < 0:
            stop = literal_end(data, at + 1, end, kinds)
        if stop >= 0:
            starts[found], ends[found] = start, stop
            found += 1
            done = stop
    return found


@kernel
def find_ipv4(
    data: U8, offsets: I64, anchors: I64, kinds: U8, values: U32, valid: U8, starts: I64, ends: I64
) -> int:
    """Find four numbers up to 255 with dots between, from their first dot; return how many.

    values: (n,) takes the address.  valid: (n,) takes 1, or 0 where a number has leading zeros.
    """
    found, d, done = 0, 0, 0
    for a in range(anchors.shape[0]):
        dot = anchors[a]
        while offsets[d + 1] <= dot:
            d += 1
        least, end = max(offsets[d], done), offsets[d + 1]
        start = dot
        while start > least and start > dot - 3 and kinds[data[start - 1]] & DIGIT:
            start -= 1
        if start + 3 == dot and octet(data, start, 3) > 255:
            start += 1
        last = middle_octets(data, dot + 1, end, 2, kinds)
        if start >= dot or last < 0:
            continue
        n = last_octet(data, last, end, kinds)
        if n == 0:
            continue
        stop, value, number, digits, good = last + n, 0, 0, 0, 1
        for i in range(start, stop + 1):
            if i == stop or data[i] == DOT:
                value = value * 256 + number
                number, digits = 0, 0
                continue
            if digits == 1 and number == 0:
                good = 0
            number = number * 10 + int(data[i]) - ZERO
            digits += 1
        starts[found], ends[found], values[found], valid[found] = start, stop, value, good
        found += 1
        done = stop
    return found


@kernel
def find_ipv6(data: U8, offsets: I64, anchors: I64, kinds: U8, starts: I64, ends: I64) -> int:
    """Find runs of hexadecimal digits, colons and dots that may be IPv6 addresses; return how many.

    They have "::" or six colons, no letter, digit or "_" at either side, and 45 characters at most.
    """
    found, d, done = 0, 0, 0
    for a in range(anchors.shape[0]):
        at = anchors[a]
        if at < done:
            continue
        while offsets[d + 1] <= at:
            d += 1
        first, end = max(offsets[d], done), offsets[d + 1]
        start = at
        while start > first and (kinds[data[start - 1]] & HEX or data[start - 1] == DOT):
            start -= 1
        stop, colons, double = at, 0, False
        while stop < end and (kinds[data[stop]] & HEX or data[stop] == DOT or data[stop] == COLON):
            if data[stop] == COLON:
                colons += 1
                double |= stop > at and data[stop - 1] == COLON
            stop += 1
        done = stop
        alone = start == offsets[d] or kinds[data[start - 1]] & (ALNUM | UNDERSCORE) == 0
        alone &= stop == end or kinds[data[stop]] & (ALNUM | UNDERSCORE) == 0
        while stop > at + 1 and (
            data[stop - 1] == DOT or (data[stop - 1] == COLON and data[stop - 2] != COLON)
        ):
            stop -= 1
        while start < at and data[start] == DOT:
            start += 1
        if alone and stop - start <= MOST_OF_IPV6 and (double or colons >= 6):
            starts[found], ends[found] = start, stop
            found += 1
    return found


LEAST_DIGITS, MOST_DIGITS = 8, 15  # country code included; the most by E.164
MOST_BETWEEN = 2  # characters between two digits, as " ("


@inlined
def is_digit(data: U8, i: int) -> bool:
    return bool(data[i] >= ZERO and data[i] <= NINE)


@inlined
def in_word(data: U8, first: int, end: int, i: int, kinds: U8) -> bool:
    """Whether byte i is there, and a letter, digit or "_" of ASCII."""
    return bool(i >= first and i < end and (kinds[data[i]] & (ALNUM | UNDERSCORE)) != 0)


@inlined
def separates(byte: int) -> bool:
    return byte == SPACE or byte == DASH or byte == DOT


@kernel
def find_international(
    data: U8, offsets: I64, anchors: I64, kinds: U8, starts: I64, ends: I64
) -> int:
    """Find numbers from their "+": 8 to 15 digits, the first not 0; return how many.

    Between two digits stand no more than two of "-./() ".
    """
    found, d, done = 0, 0, 0
    for a in range(anchors.shape[0]):
        plus = anchors[a]
        while offsets[d + 1] <= plus:
            d += 1
        first, end = offsets[d], offsets[d + 1]
        if plus < done or in_word(data, first, end, plus - 1, kinds):
            continue
        if plus + 1 == end or not is_digit(data, plus + 1) or data[plus + 1] == ZERO:
            continue
        i, stop, digits, between = plus + 1, plus + 1, 0, 0
        while i < end and digits <= MOST_DIGITS and between <= MOST_BETWEEN:
            if is_digit(data, i):
                digits, between, stop = digits + 1, 0, i + 1
            elif separates(data[i]) or data[i] == SLASH or data[i] == OPEN or data[i] == CLOSE:
                between += 1
            else:
                break
            i += 1
        enough = digits >= LEAST_DIGITS and digits <= MOST_DIGITS
        if enough and not in_word(data, first, end, stop, kinds):
            starts[found], ends[found] = plus, stop
            found += 1
            done = stop
    return found


@inlined
def begins_office(data: U8, i: int) -> bool:
    """Whether three digits of an area or an exchange are at byte i: the first from 2 to 9."""
    return data[i] >= TWO and data[i] <= NINE and is_digit(data, i + 1) and is_digit(data, i + 2)


@inlined
def stands_free(data: U8, first: int, i: int, kinds: U8) -> bool:
    """Whether before byte i is neither a letter, digit or "_" of ASCII nor one of "-.+/"."""
    if i == first:
        return True
    last = data[i - 1]
    if last == DASH or last == DOT or last == PLUS or last == SLASH:
        return False
    return bool((kinds[last] & (ALNUM | UNDERSCORE)) == 0)


@kernel
def find_north_american(
    data: U8, offsets: I64, anchors: I64, kinds: U8, starts: I64, ends: I64
) -> int:
    """Find "(NXX) NXX-XXXX" and "NXX-NXX-XXXX" from the last separator; return how many.

    N is 2 to 9, X 0 to 9; separators are "-", "." and " ", before all may stand "1" with one. None
    of "-.+/" stands before it.
    """
    found, d, done = 0, 0, 0
    for a in range(anchors.shape[0]):
        at = anchors[a]
        while offsets[d + 1] <= at:
            d += 1
        first, end = offsets[d], offsets[d + 1]
        least = max(first, done)
        if at - 7 < least or at + 5 > end or not begins_office(data, at - 3):
            continue
        line = True
        for i in range(at + 1, at + 5):
            line &= is_digit(data, i)
        if not line or in_word(data, first, end, at + 5, kinds):
            continue
        i = at - 4  # what stands between area and exchange
        if data[i] == SPACE and data[i - 1] == CLOSE:
            i -= 1
        if data[i] == CLOSE:
            start = i - 4
            if start < least or data[start] != OPEN or not begins_office(data, start + 1):
                continue
        else:
            start = i - 3
            if not separates(data[i]) or start < least or not begins_office(data, start):
                continue
        one = start - 2 >= least and separates(data[start - 1]) and data[start - 2] == ONE
        if one and stands_free(data, first, start - 2, kinds):
            start -= 2
        elif not stands_free(data, first, start, kinds):
            continue
        starts[found], ends[found] = start, at + 5
        found += 1
        done = at + 5
    return found
