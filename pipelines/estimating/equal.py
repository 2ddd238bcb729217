"""How many rows of the corpus have the key of each row drawn: one walk over a key column."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.sidecar import Rows

I64 = npt.NDArray[np.int64]


def equal_keys(
    rows: Rows, drawn: I64, units: I64, *, column: str, keep: str = "first"
) -> tuple[I64, I64, I64]:
    """Of each row drawn: how many rows have its key, the one that is kept, units they are in.

    units: (n_shards,) what each shard is of, ascending.  column: of keys, pairs of uint64.
    keep: the "first" of them, or the "last".
    """
    if not len(drawn):
        return drawn, drawn, drawn
    digests = rows.take(column, drawn)
    halves = np.unique(digests[:, 0])  # comparing numbers first is ten times faster than pairs
    wanted, place = np.unique(_as_pairs(digests), return_inverse=True)
    counts = np.zeros(len(wanted), np.int64)
    kept = np.full(len(wanted), rows.n if keep == "first" else -1, np.int64)
    settle = np.minimum if keep == "first" else np.maximum
    spans, latest = counts.copy(), np.full(len(wanted), -1)
    for batch in rows.walk():
        here = batch.values(column)
        near = np.minimum(np.searchsorted(halves, here[:, 0]), len(halves) - 1)
        maybe = np.flatnonzero(halves[near] == here[:, 0])
        pairs = _as_pairs(here[maybe])
        at = np.minimum(np.searchsorted(wanted, pairs), len(wanted) - 1)
        same = wanted[at] == pairs
        np.add.at(counts, at[same], 1)
        settle.at(kept, at[same], batch.start + maybe[same])
        new = np.unique(at[same])
        new = new[latest[new] != units[batch.shard]]
        spans[new] += 1
        latest[new] = units[batch.shard]
    return counts[place], kept[place], spans[place]


def _as_pairs(pairs: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    """(n,) one sortable value for each (n, 2) key."""
    return np.ascontiguousarray(pairs).view([("a", np.uint64), ("b", np.uint64)]).reshape(-1)
