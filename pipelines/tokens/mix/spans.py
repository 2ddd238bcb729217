"""Copying spans of bytes to where they belong."""

from tokenmill.dedup.kernels._jit import I64, U8, kernel


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
