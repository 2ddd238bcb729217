"""The only module that imports Numba. Every kernel keeps these rules.

1. Arguments are NumPy arrays and scalars; results go into arrays the caller made.
2. A kernel never raises and never allocates: its caller validates and sizes.
3. Numba widens integers to 64 bits where NumPy wraps: cast wherever wrapping
   is meant, `np.uint32(a * h + b)`.
4. A kernel, its helpers and its constants live in one file: Numba's disk cache
   does not notice an edit in another module.
5. No `prange`: kernels release the GIL and run under threads.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(f: F) -> F:
    """Compile `f` on first call, cache it on disk, release the GIL while it runs.

    Where neither the install nor the home directory is writable Numba refuses to
    cache ("no locator available"); the kernel then compiles in each process.
    """
    try:
        return numba.njit(cache=True, nogil=True)(f)  # type: ignore[return-value]
    except RuntimeError:
        return numba.njit(nogil=True)(f)  # type: ignore[return-value]


def inlined(f: F) -> F:
    """Compile a helper that kernels of the same file call; LLVM inlines small ones."""
    return numba.njit(nogil=True, inline="never")(f)  # type: ignore[return-value]
