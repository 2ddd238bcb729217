"""Keys of many rows in parts that fit into memory: a range of keys at a time.

Files of keys are mapped, and read once for each part: with the budget of a usual machine
a few times over, where keys written anew by part would be written once and read twice.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tokenmill.dedup.partition import MAX_BITS, prefix_bits, ranges_within
from tokenmill.pipelines.storage.sidecar import Rows

WORD_BITS = 64


class Part(NamedTuple):
    """The rows whose keys are within a range; equal keys are never in two parts.

    rows: (n,) uint32, ascending.
    keys: (n,) uint64 keys, or (n, 2) digests; only the first of them if all are equal, and
        more of them than fit into memory.
    """

    rows: npt.NDArray[np.uint32]
    keys: npt.NDArray[np.uint64]

    @property
    def all_equal(self) -> bool:
        return len(self.keys) < len(self.rows)


class Room(NamedTuple):
    """Bytes that a part may take, and how many it does: see `ranges_within`."""

    budget: int
    per_row: int
    per_largest: int


class Within(NamedTuple):
    """Keys whose first `n_bits` bits are those of `key`; 64 bits of each word of a key."""

    n_bits: int
    key: npt.NDArray[np.uint64]

    def holds(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """(n,) of (n, n_words) keys."""
        whole, rest = divmod(self.n_bits, WORD_BITS)
        found: npt.NDArray[np.bool_] = np.all(keys[:, :whole] == self.key[:whole], axis=1)
        if rest:
            shift = np.uint64(WORD_BITS - rest)
            found &= (keys[:, whole] >> shift) == (self.key[whole] >> shift)
        return found

    def next_bits(self, keys: npt.NDArray[np.uint64], n: int) -> npt.NDArray[np.int64]:
        """(n_keys,) the `n` bits behind those, which do not end beyond their word."""
        word, at = divmod(self.n_bits, WORD_BITS)
        shifted = (keys[:, word] << np.uint64(at)) >> np.uint64(WORD_BITS - n)
        return shifted.astype(np.int64)


class Keys(Protocol):
    """Keys of rows, to be gone through more than once.

    n: no fewer than there are.  shape: of a key: () or (2,).
    """

    n: int
    shape: tuple[int, ...]

    def batches(self) -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]]:
        """(n,) rows, ascending over all batches, and (n, n_words) keys."""


class KeyColumn:
    """A column of keys of all rows, those that are `wanted`."""

    def __init__(
        self,
        rows: Rows,
        name: str,
        wanted: Callable[[int, npt.NDArray[Any]], npt.NDArray[np.bool_]],
        shape: tuple[int, ...],
    ) -> None:
        """wanted: of a batch's first row and its keys, which are wanted."""
        self._rows, self._name, self._wanted = rows, name, wanted
        self.n, self.shape = rows.n, shape

    def batches(self) -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]]:
        for batch in self._rows.walk():
            keys = batch.values(self._name)
            here = np.flatnonzero(self._wanted(batch.start, keys))
            yield (here + batch.start).astype(np.uint32), words(keys[here])


def words(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """(n, n_words) of (n,) keys, or of those already."""
    return keys[:, None] if keys.ndim == 1 else keys


def parts(column: Keys, room: Room) -> Iterator[Part]:
    """The rows of a key column a range of keys at a time, in order of the keys' prefixes.

    A prefix that many rows share is told apart further, until it is a single key.
    """
    n_words = column.shape[0] if column.shape else 1
    whole = Within(0, np.zeros(n_words, np.uint64))
    yield from _parts(column, room, whole, prefix_bits(column.n))


def _parts(column: Keys, room: Room, within: Within, bits: int) -> Iterator[Part]:
    counts = _counts(column, within, bits)
    cut = ranges_within(counts, room.budget, per_row=room.per_row, per_largest=room.per_largest)
    for lo, hi in cut:
        n = int(counts[lo:hi].sum())
        if n * (room.per_row + room.per_largest) <= room.budget or counts[lo:hi].max() < n:
            yield _read(column, within, bits, lo, hi, n)
            continue
        only = int(counts[lo:hi].argmax()) + lo
        deeper = _deeper(within, bits, only)
        if deeper.n_bits == WORD_BITS * len(within.key):
            yield _read(column, within, bits, only, only + 1, n, all_equal=True)
            continue
        left_in_word = WORD_BITS - deeper.n_bits % WORD_BITS
        yield from _parts(column, room, deeper, min(MAX_BITS, left_in_word))


def _deeper(within: Within, bits: int, prefix: int) -> Within:
    word, at = divmod(within.n_bits, WORD_BITS)
    key = within.key.copy()
    key[word] |= np.uint64(prefix) << np.uint64(WORD_BITS - at - bits)
    return Within(within.n_bits + bits, key)


def _counts(column: Keys, within: Within, bits: int) -> npt.NDArray[np.int64]:
    """(2**bits,) rows of each prefix."""
    counts = np.zeros(1 << bits, np.int64)
    for _, keys in column.batches():
        prefix = within.next_bits(keys, bits)[within.holds(keys)]
        counts += np.bincount(prefix, minlength=len(counts))
    return counts


def _read(
    column: Keys,
    within: Within,
    bits: int,
    lo: int,
    hi: int,
    n: int,
    *,
    all_equal: bool = False,
) -> Part:
    """The `n` rows whose prefixes are from `lo` to `hi`."""
    rows = np.empty(n, np.uint32)
    found = np.empty((1 if all_equal else n, len(within.key)), np.uint64)
    at = 0
    for numbers, keys in column.batches():
        prefix = within.next_bits(keys, bits)
        here = np.flatnonzero(within.holds(keys) & (prefix >= lo) & (prefix < hi))
        rows[at : at + len(here)] = numbers[here]
        if all_equal:
            found[: len(here)] = keys[here[:1]]
        else:
            found[at : at + len(here)] = keys[here]
        at += len(here)
    return Part(rows, found.reshape(len(found), *column.shape))
