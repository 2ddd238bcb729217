"""The only module that imports Numba. Every kernel keeps these rules.

1. Arguments are NumPy arrays and scalars; results go into arrays the caller made.
2. A kernel never raises and never allocates: its caller validates and sizes.
3. Numba widens integers to 64 bits where NumPy wraps: cast wherever wrapping
   is meant, `np.uint32(a * h + b)`.
4. What kernels share is imported as `from tokenmill.… import name`, of kernel files or of modules
   of constants: `_digest` follows these lines, so that an edit there compiles anew.
5. No `prange`: kernels release the GIL and run under threads.
"""

import re
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
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
    cache ("no locator available"); the kernel then compiles in each process. So it
    does with a Numba whose cache cannot be told of edits in other files.
    """
    try:
        compiled: Any = numba.njit(cache=True, nogil=True)(f)
        index = compiled._cache._cache_file
        index._source_stamp = index._source_stamp, _digest(f.__module__)
    except (RuntimeError, AttributeError):
        compiled = numba.njit(nogil=True)(f)
    return compiled  # type: ignore[no-any-return]


def inlined(f: F) -> F:
    """Compile a helper that kernels call; LLVM inlines small ones."""
    return numba.njit(nogil=True, inline="never")(f)  # type: ignore[return-value]


@cache
def _digest(module: str) -> bytes:
    """Digest of a module's file and, through its imports, of all that it takes from tokenmill.

    Numba asks the kernel's own file alone whether it was edited.
    """
    source = Path(str(sys.modules[module].__file__)).read_bytes()
    imported = re.findall(rb"^from (tokenmill\.[\w.]+) import", source, re.MULTILINE)
    return sha256(source + b"".join(_digest(name.decode()) for name in imported)).digest()
