"""How a page's tags nest, read once from its bytes, before anything builds a tree of them."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U64, inlined, kernel

# what pipelines.read.web.extract knows of each element
LOOSE, FORMATTING, SPECIAL, BARRIER, RAW, FOREIGN, OPTION, HEADING = 1, 2, 4, 8, 16, 32, 64, 128
PARAGRAPH, CLOSES_P, ROW, TABLE = 256, 512, 2048, 4096
LEAVES_FOREIGN, INTEGRATION, REOPENS_NONE, MARKER = 8192, 16384, 32768, 65536
OF_TABLES, TEMPLATE, LI, DD, LIST, PASSED = 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22
FORM = 1 << 23
TAGS, ATTRIBUTES, DEPTH, NODES, OPTIONS = range(5)

LT, GT, SLASH, BANG, DASH, EQUALS, QUESTION, DOUBLE, SINGLE = b"<>/!-=?\"'"
NOAHS_ARK = 3  # of formatting elements that are alike, the parser opens no more anew
NAME, KIND, ALIKE = range(3)  # rows of the stack; ALIKE: the hash of a whole tag
BLOCK = 64  # bytes that are looked at together
FNV_START, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
HEADINGS = np.uint64(1)  # all six close one another


@inlined
def is_letter(b: int) -> bool:
    return 0x41 <= b <= 0x5A or 0x61 <= b <= 0x7A


@inlined
def is_blank(b: int) -> bool:
    return b == 0x20 or 0x09 <= b <= 0x0D


@inlined
def has(data: U8, i: int, wanted: int) -> bool:
    """Whether a byte stands in the block from i; in 8 bits throughout, so on vectors of bytes."""
    these, found = data[i : i + BLOCK], np.uint8(0)
    for k in range(BLOCK):
        found = np.uint8(found | np.uint8(these[k] == np.uint8(wanted)))
    return bool(found != 0)


@inlined
def find(data: U8, i: int, wanted: int) -> int:
    """The place of the next byte `wanted`, or the end."""
    n = len(data)
    while i + BLOCK <= n and not has(data, i, wanted):
        i += BLOCK
    while i < n and data[i] != wanted:
        i += 1
    return i


@inlined
def after(data: U8, i: int, wanted: int) -> int:
    """The place behind the next byte `wanted`, or the end."""
    return min(find(data, i, wanted) + 1, len(data))


@inlined
def after_comment(data: U8, i: int) -> int:
    """The place behind a comment whose text begins at i."""
    n = len(data)
    if i < n and data[i] == GT:
        return i + 1
    if i + 1 < n and data[i] == DASH and data[i + 1] == GT:
        return i + 2
    while i + 2 < n:
        if data[i] == DASH and data[i + 1] == DASH:
            if data[i + 2] == GT:
                return i + 3
            if data[i + 2] == BANG and i + 3 < n and data[i + 3] == GT:
                return i + 4
        i += 1
    return n


@inlined
def name_end(data: U8, i: int) -> int:
    n = len(data)
    while i < n and not is_blank(data[i]) and data[i] != SLASH and data[i] != GT:
        i += 1
    return i


@inlined
def name_hash(data: U8, i: int, end: int) -> np.uint64:
    h = FNV_START
    for j in range(i, end):
        b = data[j]
        if 0x41 <= b <= 0x5A:
            b += 0x20
        h = np.uint64((h ^ np.uint64(b)) * FNV_PRIME)
    return h


@inlined
def tag_end(data: U8, i: int) -> tuple[int, int, bool]:
    """The place behind a tag, from behind its name; its attributes; whether it closes itself."""
    n, count = len(data), 0
    while i < n:
        b = data[i]
        if b == GT:
            return i + 1, count, data[i - 1] == SLASH
        if is_blank(b) or b == SLASH:
            i += 1
            continue
        count += 1
        i += 1
        while i < n and data[i] != EQUALS and data[i] != GT and data[i] != SLASH:
            if is_blank(data[i]):
                break
            i += 1
        while i < n and is_blank(data[i]):
            i += 1
        if i < n and data[i] == EQUALS:
            i += 1
            while i < n and is_blank(data[i]):
                i += 1
            if i < n and (data[i] == DOUBLE or data[i] == SINGLE):
                i = after(data, i + 1, int(np.int64(data[i])))
            else:
                while i < n and not is_blank(data[i]) and data[i] != GT:
                    i += 1
    return n, count, False


@inlined
def raw_end(data: U8, i: int, name: int, size: int) -> int:
    """Where the end tag begins of an element without tags in it, whose name is at `name`."""
    n = len(data)
    while True:
        i = find(data, i, LT)
        if i + 2 + size > n:
            return n
        if data[i + 1] == SLASH:
            j = 0
            while j < size and (data[i + 2 + j] | 0x20) == (data[name + j] | 0x20):
                j += 1
            at = i + 2 + size
            if j == size and (at == n or is_blank(data[at]) or data[at] in (SLASH, GT)):
                return i
        i += 1


@inlined
def kind_of(h: np.uint64, names: U64, kinds: I64) -> int:
    k = h & np.uint64(len(names) - 1)
    while names[k] != 0 and names[k] != h:
        k = (k + np.uint64(1)) & np.uint64(len(names) - 1)
    return int(kinds[k])


@inlined
def copy(a: U64, i: int, b: U64, j: int) -> None:
    for row in range(3):
        b[row, j] = a[row, i]


@inlined
def nearest(stack: U64, depth: int, wanted: int, bounds: int) -> int:
    """The innermost element of a wanted kind in the stack, if no bound is within it; else -1."""
    for j in range(depth - 1, -1, -1):
        if stack[KIND, j] & np.uint64(wanted):
            return j
        if stack[KIND, j] & np.uint64(bounds):
            return -1
    return -1


@inlined
def matching(stack: U64, depth: int, h: np.uint64, kind: int) -> int:
    """The place in the stack of the element that an end tag ends; -1 if it is ignored."""
    bounds = BARRIER if kind & (SPECIAL | FORMATTING) else BARRIER | SPECIAL
    if kind & LI:
        bounds |= LIST
    elif kind & (TABLE | OF_TABLES) and not kind & TEMPLATE:
        bounds = TABLE  # it ends all that was left open in its cells
    for j in range(depth - 1, -1, -1):
        if stack[NAME, j] == h:
            return j
        if stack[KIND, j] & np.uint64(bounds):
            return -1
    return -1


@inlined
def item_before(stack: U64, depth: int, wanted: int) -> int:
    """The item of a list that the next one ends, with what was left open in it; -1 if none."""
    for j in range(depth - 1, -1, -1):
        if stack[KIND, j] & np.uint64(wanted):
            return j
        passed = stack[KIND, j] & np.uint64(PASSED)
        if stack[KIND, j] & np.uint64(SPECIAL | BARRIER) and not passed:
            return -1
    return -1


@inlined
def closed(stack: U64, depth: int, j: int, waiting: U64, n_waiting: int) -> int:
    """Take elements from j on off the stack; return how many formatting elements wait then.

    Those taken off wait to be opened anew, but not where they stood in a cell, say, that ends.
    """
    for k in range(j, depth):
        if stack[KIND, k] & np.uint64(MARKER):
            return min(n_waiting, int(np.int64(stack[ALIKE, k])))
    for k in range(j, depth):
        if not stack[KIND, k] & np.uint64(FORMATTING) or n_waiting == waiting.shape[1]:
            continue
        alike = 0
        for w in range(n_waiting):
            if waiting[ALIKE, w] == stack[ALIKE, k]:
                alike += 1
        if alike < NOAHS_ARK:
            copy(stack, k, waiting, n_waiting)
            n_waiting += 1
    return n_waiting


@inlined
def foreign_from(stack: U64, j: int, depth: int) -> int:
    """How many elements on the stack from j on begin foreign content."""
    count = 0
    for k in range(j, depth):
        if stack[KIND, k] & np.uint64(FOREIGN):
            count += 1
    return count


@kernel
def outline(
    data: U8, names: U64, kinds: I64, limits: I64, stack: U64, waiting: U64, found: I64
) -> None:
    """Count in `found` what a parser would have to do, at most: up to a count over its limit.

    data: (n_bytes,) of the page.  names, kinds: (2**k,) hashes of elements' names, each in the
    first free place from its lowest bits on, and what they are.
    limits, found: (5,) TAGS, …, OPTIONS.
    stack, waiting: (3, limits[DEPTH] + 1), open elements, and formatting elements that were open
    where something else ended and are opened anew by the next text or tag but those of blocks.

    Nesting is told too high rather than too low. NODES are elements and their attributes.
    """
    n, i, depth, foreign, n_waiting, base, in_form = len(data), 0, 0, 0, 0, 0, False
    while i < n:
        text = data[i] != LT
        if text and (n_waiting == base or foreign):  # nothing is opened anew in foreign content
            i = find(data, i + 1, LT)
            continue
        closing, at, end, h, kind, count, alone, begin = False, i, i, HEADINGS, 0, 0, False, i
        if not text:
            if i + 1 >= n:
                break
            b = data[i + 1]
            if b == BANG and i + 3 < n and data[i + 2] == DASH and data[i + 3] == DASH:
                i = after_comment(data, i + 4)
                continue
            if b == BANG or b == QUESTION:
                i = after(data, i + 2, GT)
                continue
            closing = b == SLASH
            at = i + 2 if closing else i + 1
            if at >= n or not is_letter(data[at]):
                i = after(data, at, GT) if closing else i + 1
                continue
            end = name_end(data, at)
            h = name_hash(data, at, end)
            kind = kind_of(h, names, kinds)
            if kind & HEADING:
                h = HEADINGS
            i, count, alone = tag_end(data, end)
            found[TAGS] += 1
            found[ATTRIBUTES] = max(found[ATTRIBUTES], count)
            if found[TAGS] > limits[TAGS] or count > limits[ATTRIBUTES]:
                return
            if foreign and kind & LEAVES_FOREIGN and not (closing and not kind & PARAGRAPH):
                j = nearest(stack, depth, FOREIGN, INTEGRATION)
                if j >= 0:
                    n_waiting = closed(stack, depth, j, waiting, n_waiting)
                    foreign, depth = foreign - foreign_from(stack, j, depth), j
            if kind & FORM and not foreign:
                if not closing and in_form and nearest(stack, depth, TEMPLATE, 0) < 0:
                    continue  # no form is in another
                in_form = not closing
            if closing:
                j = -1 if kind & LOOSE and not foreign else matching(stack, depth, h, kind)
                if j < 0:
                    for w in range(n_waiting - 1, base - 1, -1):
                        if waiting[NAME, w] == h:
                            for k in range(w, n_waiting - 1):
                                copy(waiting, k + 1, waiting, k)
                            n_waiting -= 1
                            break
                elif kind & (FORMATTING | FORM):  # what is open in it stays so
                    for k in range(j, depth - 1):
                        copy(stack, k + 1, stack, k)
                    depth -= 1
                else:
                    n_waiting = closed(stack, depth, j, waiting, n_waiting)
                    foreign, depth = foreign - foreign_from(stack, j, depth), j
                    marker = nearest(stack, depth, MARKER, 0)
                    base = int(np.int64(stack[ALIKE, marker])) if marker >= 0 else 0
                continue
            if kind & OF_TABLES and not foreign:
                j = nearest(stack, depth, TABLE, 0)
                if j < 0 or stack[KIND, j] & np.uint64(TEMPLATE):
                    continue  # outside of a table there is no such element
            if kind & OPTION:
                found[OPTIONS] += 1
            found[NODES] += 1 + count
            if not foreign and kind & (CLOSES_P | OF_TABLES | ROW):
                j = item_before(stack, depth, kind & (LI | DD))
                if j < 0 and kind & CLOSES_P:
                    j = nearest(stack, depth, PARAGRAPH, BARRIER)
                elif not kind & CLOSES_P:
                    j = nearest(stack, depth, OF_TABLES, TABLE)
                if j >= 0:
                    n_waiting = closed(stack, depth, j, waiting, n_waiting)
                    depth = j
                    marker = nearest(stack, depth, MARKER, 0)
                    base = int(np.int64(stack[ALIKE, marker])) if marker >= 0 else 0
        if not foreign and not kind & REOPENS_NONE:
            found[NODES] += n_waiting - base
            if depth + n_waiting - base > limits[DEPTH]:
                found[DEPTH] = limits[DEPTH] + 1
                return
            for w in range(base, n_waiting):
                copy(waiting, w, stack, depth)
                depth += 1
            n_waiting = base
            found[DEPTH] = max(found[DEPTH], depth)
        if found[NODES] > limits[NODES] or found[OPTIONS] > limits[OPTIONS]:
            return
        if text or (kind & LOOSE and not foreign) or (alone and foreign):
            continue
        if kind & RAW and not foreign:
            i = raw_end(data, i, at, end - at)
            continue
        if depth == limits[DEPTH]:
            found[DEPTH] = limits[DEPTH] + 1
            return
        stack[NAME, depth], stack[KIND, depth] = h, np.uint64(kind)
        stack[ALIKE, depth] = name_hash(data, begin, i) if kind & FORMATTING else np.uint64(0)
        if kind & MARKER and not foreign:
            stack[ALIKE, depth], base = np.uint64(n_waiting), n_waiting
        foreign += 1 if kind & FOREIGN else 0
        depth += 1
        found[DEPTH] = max(found[DEPTH], depth)
