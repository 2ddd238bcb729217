"""Kernels that find HTML character references, as the HTML standard and `html.unescape` read them.

text --> documents that have any --> edits
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U8, inlined, kernel
from tokenmill.dedup.kernels.edits import Edits, Found, note
from tokenmill.dedup.kernels.utf8 import encode

BLOCK = 128  # bytes that are looked at together
LONGEST_NAME = 32  # bytes, with its semicolon
LONGEST_LEGACY_NAME = 6  # of those that need none
TOO_LARGE = np.int64(0x110000)
REPLACEMENT = np.int64(0xFFFD)
NONE = np.int64(-1)


class Entities(NamedTuple):
    """HTML character references.

    names, name_ends: ASCII of the names without "&", with their ";", in order of bytes.
    chars: (n_names, 2) code points of each, -1 where there is none.
    low: (160,) what `&#n;` means, -1 for nothing.
    """

    names: U8
    name_ends: I64
    chars: I32
    low: I32


@inlined
def put(fresh: U8, at: int, cp: np.int64) -> int:
    """Append the UTF-8 of a code point to the `at` bytes there if there is room; their number."""
    width = 1 + int(cp >= 0x80) + int(cp >= 0x800) + int(cp >= 0x10000)
    if at + width <= fresh.shape[0]:
        encode(np.uint32(cp), fresh, at)
    return at + width


@inlined
def has_ampersand(data: U8, start: int) -> bool:
    """Whether BLOCK bytes from `start` hold "&"; in 8 bits throughout, so on vectors of bytes."""
    these = data[start : start + BLOCK]
    found = np.uint8(0)
    for k in range(BLOCK):
        found = np.uint8(found | np.uint8(these[k] == np.uint8(38)))
    return bool(found != 0)


@inlined
def is_alnum(byte: int) -> bool:
    return 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122


@inlined
def name_index(data: U8, start: int, end: int, entities: Entities) -> int:
    """The index of the name `data[start:end]`, -1 if there is no such name."""
    low, high = 0, entities.name_ends.shape[0]
    while low < high:
        middle = (low + high) >> 1
        at = entities.name_ends[middle - 1] if middle else 0
        length = entities.name_ends[middle] - at
        k = 0
        while k < length and k < end - start and entities.names[at + k] == data[start + k]:
            k += 1
        if k == length and k == end - start:
            return int(middle)
        if k < end - start and (k == length or entities.names[at + k] < data[start + k]):
            low = middle + 1
        else:
            high = middle
    return -1


@inlined
def number_end(data: U8, i: int, stop: int, entities: Entities) -> tuple[int, np.int64, np.int64]:
    """As `reference_end`, of the reference whose "#" is at `i`."""
    i += 1
    base = 10
    if i < stop and (data[i] | 0x20) == 120:
        base = 16
        i += 1
    first, number = i, np.int64(0)
    while i < stop:
        digit = np.int64(data[i]) - 48
        if digit > 9 and base == 16:  # a letter of either case, from ten on
            letter = (np.int64(data[i]) | 0x20) - 97
            digit = letter + 10 if letter >= 0 else NONE
        if digit < 0 or digit >= base:
            break
        number = min(number * base + digit, TOO_LARGE)
        i += 1
    if i == first:
        return -1, NONE, NONE
    if i < stop and data[i] == 59:
        i += 1
    if number < entities.low.shape[0]:
        return i, np.int64(entities.low[number]), NONE
    if number == TOO_LARGE or 0xD800 <= number <= 0xDFFF:
        return i, REPLACEMENT, NONE
    if 0xFDD0 <= number <= 0xFDEF or number & 0xFFFE == 0xFFFE:
        return i, NONE, NONE
    return i, number, NONE


@inlined
def reference_end(
    data: U8, i: int, stop: int, entities: Entities
) -> tuple[int, np.int64, np.int64]:
    """End and code points of the reference whose "&" is before `i`; each is -1 if there is none."""
    if i < stop and data[i] == 35:
        return number_end(data, i, stop, entities)
    end = i
    while end < stop and end - i < LONGEST_NAME - 1 and is_alnum(data[end]):
        end += 1
    found = -1
    if end < stop and data[end] == 59:
        found = name_index(data, i, end + 1, entities)
        if found >= 0:
            end += 1
    if found < 0:
        end = min(end, i + LONGEST_LEGACY_NAME)
        while end - i >= 2 and found < 0:
            found = name_index(data, i, end, entities)
            end -= found < 0
    if found < 0:
        return -1, NONE, NONE
    return end, np.int64(entities.chars[found, 0]), np.int64(entities.chars[found, 1])


@kernel
def mark_documents(data: U8, offsets: I64, entities: Entities, mark: int, marks: U8) -> None:
    """Set `marks[d]` to `mark` for documents that have a character reference."""
    for d in range(marks.shape[0]):
        i, stop = offsets[d], offsets[d + 1]
        while i < stop:
            while i + BLOCK < stop and not has_ampersand(data, i):
                i += BLOCK
            block = min(i + BLOCK, stop)
            while i < block:
                if data[i] == 38 and reference_end(data, i + 1, stop, entities)[0] >= 0:
                    marks[d] = mark
                    i = stop
                i += 1


@kernel
def find_entities(
    data: U8, offsets: I64, wanted: U8, entities: Entities, kind: int, edits: Edits
) -> Found:
    """Unescape character references; "&amp;" and the like again with what follows.

    wanted: (n_docs,) not 0 for documents to look at.  kind: of the edits.
    """
    spots = edits.spots
    n, fresh = 0, 0
    for d in range(wanted.shape[0]):
        stop = offsets[d + 1]
        i = offsets[d] if wanted[d] else stop
        while i < stop:
            if data[i] != 38:
                i += 1
                continue
            end, first, second = reference_end(data, i + 1, stop, entities)
            again = end
            while again >= 0 and first == 38:
                again, once_more, other = reference_end(data, end, stop, entities)
                if again >= 0:
                    end, first, second = again, once_more, other
            if end < 0:
                i += 1
                continue
            if first >= 0:
                fresh = put(edits.fresh, fresh, first)
            if second >= 0:
                fresh = put(edits.fresh, fresh, second)
            n = note(spots, n, i, end, fresh, kind)
            i = end
        edits.doc_ends[d] = n
    return Found(n, fresh)
