"""Lines of JSON in parts: what a kernel has read of plain ones, and those that are left to orjson.

    Lines ── is it UTF-8? ── read_objects ──► Part: texts, ids, urls of plain lines; other lines

What comes of a line does not depend on which of the two has read it. Python's lock is free while
plain lines are read.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8, Bools, large_strings
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.kernels import objects as kernel
from tokenmill.pipelines.read.kernels.objects import BLANK, DOUBTFUL, NAMES, PLAIN, read_objects
from tokenmill.pipelines.read.lines import LineGroup, Lines
from tokenmill.pipelines.read.options import BATCH_DOCS
from tokenmill.pipelines.read.text import BOM, is_utf8

MOST_BYTES = 2**31  # more than an array of strings can hold
NOTHING = (pa.array([], pa.large_string()), *(pa.array([], pa.string()),) * 2)


class Part(NamedTuple):
    """Some lines. Rows are their numbers, blank ones not counted.

    places: (n_rows,) byte of the stream at which each begins.
    plain: (n_plain,) rows that were read.
    found: (n_plain,) each, texts, large_string; ids and urls, string, null where a line has none.
    rest: (n_rows - n_plain,) the others' rows.  lines: these lines.
    """

    places: I64
    plain: I64
    found: Sequence[pa.Array]
    rest: I64
    lines: list[bytes]


class Scanner:
    """Reads the lines of a shard."""

    def __init__(self, shard: SourceShard) -> None:
        named = [name for name in (shard.text, shard.id, shard.url) if name]
        is_plain = shard.join is None and not shard.columns and "." not in "".join(named)
        names = [b""] * NAMES  # without any it is only told where lines begin
        if is_plain and shard.text and len(set(named)) == len(named):
            names = [
                (name or "").encode(errors="surrogatepass")
                for name in (shard.text, shard.id, shard.url)
            ]
        self._names = np.frombuffer(b"".join(names) or b" ", np.uint8)
        self._ends = np.cumsum([len(name) for name in names])
        self._at = np.empty(NAMES, np.uint64)
        self._others = np.empty((2, 0), np.uint8)  # ids and addresses until they are copied

    def parts(self, group: Lines | LineGroup) -> Iterator[Part]:
        """All of a group, in parts of at most `BATCH_DOCS` lines."""
        if isinstance(group, LineGroup):
            pairs = group.pairs()
            while some := list(islice(pairs, BATCH_DOCS)):
                places, lines = zip(*some, strict=True)
                yield _part(np.array(places), np.full(len(some), DOUBTFUL), lines, NOTHING)
            return
        at = len(BOM) if group.offset == 0 and group.data.startswith(BOM) else 0
        known = len(group.data) < MOST_BYTES and is_utf8(group.data)
        ends = self._ends if known else np.zeros_like(self._ends)
        while at <= len(group.data):
            at, part = self._read(group, at, ends)
            yield part

    def _read(self, group: Lines, at: int, ends: I64) -> tuple[int, Part]:
        """The part from byte `at` of a group on, and where the next one begins."""
        data, size = np.frombuffer(group.data, np.uint8), len(group.data) - at + kernel.SLACK
        if self._others.shape[1] < size:
            self._others = np.empty((2, size), np.uint8)
        outs = np.frombuffer(pa.allocate_buffer(size), np.uint8), *self._others
        offsets, begin = np.zeros((NAMES, BATCH_DOCS + 1), np.int64), np.empty(BATCH_DOCS + 1, int)
        kinds, has = np.empty((2, BATCH_DOCS), np.uint8)
        n = read_objects(data, at, self._names, ends, outs, self._at, offsets, begin, kinds, has)
        kinds, starts = kinds[:n], begin.tolist()
        lines = [group.data[starts[i] : starts[i + 1] - 1] for i in _where(kinds, DOUBTFUL)]
        n_plain = np.count_nonzero(kinds == PLAIN)
        ends = offsets[:, : n_plain + 1]
        found = [_texts(outs[kernel.TEXT], ends[kernel.TEXT])]
        for name in (kernel.ID, kernel.URL):
            found.append(_strings(outs[name], ends[name], has[:n_plain] & 1 << name > 0))
        return starts[n], _part(begin[:n] + group.offset, kinds, lines, found)


def _part(places: I64, kinds: U8, lines: Sequence[bytes], found: Sequence[pa.Array]) -> Part:
    """What became of lines at some places; lines: the doubtful, maybe blank ones among them."""
    rest = [line for line in lines if line.strip()]
    if len(rest) < len(lines):
        kinds[kinds == DOUBTFUL] = [DOUBTFUL if line.strip() else BLANK for line in lines]
    there = kinds != BLANK
    kinds = kinds[there]
    return Part(places[there], _where(kinds, PLAIN), found, _where(kinds, DOUBTFUL), rest)


def _where(kinds: U8, kind: int) -> I64:
    return np.flatnonzero(kinds == kind)


def _texts(data: U8, offsets: I64) -> pa.Array:
    """Texts, in the memory that they were written to if they fill it."""
    used = data[: offsets[-1]]
    return large_strings(used if 2 * len(used) > len(data) else used.copy(), offsets.copy())


def _strings(data: U8, offsets: I64, has: Bools) -> pa.Array:
    """Strings in memory of their own, of `MOST_BYTES` at most; null where there is none."""
    valid = None if has.all() else pa.py_buffer(np.packbits(has, bitorder="little"))
    ends, used = (pa.py_buffer(of) for of in (offsets.astype(np.int32), data[: offsets[-1]].copy()))
    return pa.StringArray.from_buffers(len(has), ends, used, valid)
