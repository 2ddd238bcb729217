"""Ids and bytes copied to where they belong."""

from typing import Any

from tokenmill.dedup.arrays import I64, U8, U32
from tokenmill.dedup.kernels._jit import kernel


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


@kernel
def copy_to(data: U8, starts: I64, ends: I64, places: I64, out: U8) -> None:
    """Copy `data[starts[i]:ends[i]]` to `out[places[i]:]`.

    starts, ends, places: (n,).
    """
    for i in range(starts.shape[0]):
        # two views first, so that the loop over them is vectorized: 4 times as fast as a slice
        # set to a slice
        span = data[starts[i] : ends[i]]
        to = out[places[i] : places[i] + span.shape[0]]
        for j in range(span.shape[0]):
            to[j] = span[j]
