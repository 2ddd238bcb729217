"""How arrays are handed to kernels."""

from typing import TypeVar

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
