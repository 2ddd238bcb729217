"""Phone numbers in text, found from one character of each; arguments as in `kernels.pii`."""

from tokenmill.dedup.kernels._jit import I64, U8, inlined, kernel
from tokenmill.pipelines.filters.kernels.pii import ALNUM, UNDERSCORE

DASH, DOT, PLUS, SLASH, SPACE, OPEN, CLOSE = b"-.+/ ()"
ZERO, ONE, TWO, NINE = b"0129"

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
    before = data[i - 1]
    if before == DASH or before == DOT or before == PLUS or before == SLASH:
        return False
    return bool((kinds[before] & (ALNUM | UNDERSCORE)) == 0)


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
