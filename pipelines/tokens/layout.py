"""Ids of documents laid end to end, each with its start and end."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tokenmill.dedup.kernels._jit import I64, U32, kernel


def with_ends(
    lengths: npt.NDArray[np.int64], dtype: np.dtype[np.generic], ends: tuple[int, int]
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.int64]]:
    """Room for documents of some lengths, and their offsets. ends: ids before and behind each."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths + sum(ends), out=offsets[1:])
    return np.empty(int(offsets[-1]), dtype), offsets


@kernel
def place(
    ids: U32, starts: I64, stops: I64, wanted: I64, bos: int, eos: int, out: Any, offsets: I64
) -> None:
    """Write documents, `ids[starts[i]:stops[i]]` each, to the places of `wanted`.

    out: any integer type wide enough.  offsets: of all documents in `out`.
    bos, eos: an id, or -1 for none.
    """
    for i in range(wanted.shape[0]):
        k = offsets[wanted[i]]
        if bos >= 0:
            out[k] = bos
            k += 1
        for j in range(starts[i], stops[i]):
            out[k] = ids[j]
            k += 1
        if eos >= 0:
            out[k] = eos
