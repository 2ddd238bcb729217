"""How arrays are handed to kernels, and worked on part by part."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)


def read_only(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """View an input as a C-contiguous, read-only array; copied only if it is not contiguous.

    Numba compiles a kernel once for each combination of writable and read-only arguments:
    seen through this, a memory-mapped file and a fresh array are the same to it.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def power_of_two(least: int) -> int:
    """The least power of two that is at least `least` and 2."""
    return 1 << (max(least, 2) - 1).bit_length()


def shift_of(array: npt.NDArray[Any]) -> np.uint64:
    """By how much to shift a hash right to number the elements of a power-of-two array."""
    return np.uint64(65 - len(array).bit_length())


def parts(sizes: npt.NDArray[np.int64], most: int) -> Iterator[slice]:
    """Cut rows of such sizes into parts of about `most` in all; a row may have more by itself."""
    begun = (np.cumsum(sizes) - sizes) // most
    starts = np.flatnonzero(np.diff(begun, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, len(sizes)]):
        yield slice(start, stop)
