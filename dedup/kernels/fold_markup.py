"""Kernels that find HTML tags and LaTeX commands within a text.

text --> documents that have any --> edits
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, inlined, kernel
from tokenmill.dedup.kernels.edits import Edits, Found, note
from tokenmill.dedup.kernels.fold_entities import BLOCK, is_alnum
from tokenmill.dedup.kernels.table import n_less

LONGEST_NAME = 10  # letters and digits of a tag's: as a number of base 37 it fits 53 bits
LONGEST_REST = 256  # bytes of attributes, with the ">"
BASE = 37
NONE, INLINE, BREAK = 0, 1, 2  # what stands somewhere; a BREAK parts words


class Tags(NamedTuple):
    """Names as numbers of base 37 (`digit_of`), ascending; kinds: of tags, INLINE or BREAK."""

    names: I64
    kinds: U8
    commands: I64


@inlined
def digit_of(byte: np.int64) -> np.int64:
    """1 to 36, of an ASCII digit or letter of either case."""
    return byte - 47 if byte < 58 else (byte | 0x20) - 86


@inlined
def is_space(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@inlined
def read_name(data: U8, i: int, stop: int) -> tuple[int, np.int64]:
    """End and number of the name at `i`, of its first LONGEST_NAME letters and digits."""
    first, name = i, np.int64(0)
    while i < stop and is_alnum(data[i]) and i - first < LONGEST_NAME:
        name = name * BASE + digit_of(np.int64(data[i]))
        i += 1
    return i, name


@inlined
def tag_end(data: U8, i: int, stop: int, tags: Tags) -> tuple[int, int]:
    """End and kind of the tag whose "<" is at `i`; NONE if there is none."""
    i += 1
    if i < stop and data[i] == 47:
        i += 1
    i, name = read_name(data, i, stop)
    at = n_less(tags.names, name)
    if i == stop or at == tags.names.shape[0] or tags.names[at] != name:
        return i, NONE
    kind = int(tags.kinds[at])
    last = min(stop, i + LONGEST_REST)
    first = i
    while i < last and is_space(data[i]):
        i += 1
    if i + 1 < last and data[i] == 47:
        i += 1
    elif i > first and i < last and data[i] != 62:  # attributes: a name and "=" come first
        while i < last and (is_alnum(data[i]) or data[i] == 45):
            i += 1
        if i == last or data[i] != 61:
            return i, NONE
        while i < last and data[i] != 62 and data[i] != 60:
            i += 1
    return i + 1, kind if i < last and data[i] == 62 else NONE


@inlined
def command_end(data: U8, i: int, stop: int, tags: Tags) -> tuple[int, int]:
    """End of the name of the command whose backslash is at `i`, if "{" follows; its kind."""
    i, name = read_name(data, i + 1, stop)
    at = n_less(tags.commands, name)
    if i == stop or data[i] != 123 or at == tags.commands.shape[0]:
        return i, NONE
    return i, INLINE if tags.commands[at] == name else NONE


@inlined
def markup_end(data: U8, i: int, stop: int, tags: Tags) -> tuple[int, int]:
    """End and kind of what begins at `i`."""
    if data[i] == 60:
        return tag_end(data, i, stop, tags)
    if data[i] == 92:
        return command_end(data, i, stop, tags)
    return i, NONE


@inlined
def has_markup(data: U8, start: int) -> bool:
    """Whether BLOCK bytes from `start` hold "<", a backslash or "|"; see `fold_entities`."""
    these = data[start : start + BLOCK]
    found = np.uint8(0)
    for k in range(BLOCK):
        found = np.uint8(found | np.uint8(np.uint8(these[k] | np.uint8(0x60)) == np.uint8(0x7C)))
    return bool(found != 0)


@inlined
def next_markup(data: U8, i: int, stop: int, tags: Tags) -> tuple[int, int, int]:
    """Start, end and kind of the first tag or command from `i` on; `stop` if there is none."""
    while i < stop:
        while i + BLOCK < stop and not has_markup(data, i):
            i += BLOCK
        block = min(i + BLOCK, stop)
        while i < block:
            if data[i] == 60 or data[i] == 92:
                end, what = markup_end(data, i, stop, tags)
                if what != NONE:
                    return i, end, what
            i += 1
    return stop, stop, NONE


@kernel
def mark_markup(data: U8, offsets: I64, tags: Tags, mark: int, marks: U8) -> None:
    """Add `mark` to `marks[d]` for documents that have a tag or command."""
    for d in range(marks.shape[0]):
        i, stop = offsets[d], offsets[d + 1]
        if marks[d] & mark == 0 and next_markup(data, i, stop, tags)[0] < stop:
            marks[d] |= mark


@kernel
def find_markup(data: U8, offsets: I64, wanted: U8, tags: Tags, kind: int, edits: Edits) -> Found:
    """Delete tags and the names of commands; of a tag that parts words a space stays.

    wanted: (n_docs,) not 0 for documents to look at.  kind: of the edits.
    """
    n, fresh = 0, 0
    for d in range(wanted.shape[0]):
        stop = offsets[d + 1]
        i = offsets[d] if wanted[d] else stop
        while i < stop:
            i, end, what = next_markup(data, i, stop, tags)
            if what == BREAK:
                if fresh < edits.fresh.shape[0]:
                    edits.fresh[fresh] = 32
                fresh += 1
            if what != NONE:
                n = note(edits.spots, n, i, end, fresh, kind)
            i = end
        edits.doc_ends[d] = n
    return Found(n, fresh)
