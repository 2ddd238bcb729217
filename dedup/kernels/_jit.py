"""The only module that imports Numba. Every kernel keeps these rules.

1. Arguments are NumPy arrays and scalars; results go into arrays the caller made.
2. A kernel never raises and never allocates: its caller validates and sizes. So nothing counts
   references (`_nrt`), which helpers would do, atomically, at every call; they return no arrays.
3. Numba widens integers to 64 bits where NumPy wraps: cast wherever wrapping
   is meant, `np.uint32(a * h + b)`.
4. What kernels share is imported as `from tokenmill.… import name`, of kernel files or of modules
   of constants: `_digest` follows these lines, so that an edit there compiles anew.
5. No `prange`: kernels release the GIL and run under threads.
6. A helper is called by kernels alone: it has no entry from Python, which takes a sixth of the time
   that kernels are compiled in.
7. A helper is compiled anew for each type of a number, not for each constant: where calls differ,
   give `int(np.int64(x))`.

Numba is imported when the first kernel is called: settings are read without it, and it takes as
long as all the rest of them.
"""

import re
import sys
from collections.abc import Callable
from functools import cache, update_wrapper
from hashlib import sha256
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar

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
    """Compile `f` on first call, cache it on disk, release the GIL while it runs."""
    return _Late(f, _cached)  # type: ignore[return-value]


def inlined(f: F) -> F:
    """Compile a helper that kernels call; LLVM inlines small ones."""
    return _Late(f, _helper)  # type: ignore[return-value]


class _Late:
    """A function that Numba gets to see when it is called, or when a kernel that calls it is."""

    _lock = RLock()

    def __init__(self, f: Callable[..., Any], numba_of: Callable[[Any], Any]) -> None:
        update_wrapper(self, f)
        self._f, self._numba_of = f, numba_of
        self._dispatcher: Any = None

    def __call__(self, *args: Any) -> Any:
        if self._numba_of is _helper:
            raise TypeError(f"{self._f.__name__} is called by kernels alone")
        return (self._dispatcher or self._made())(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)

    def _made(self) -> Any:
        """Numba's dispatcher, of a copy of the function that sees those of its helpers."""
        with self._lock:
            if self._dispatcher is None:
                f, names = self._f, dict(self._f.__globals__)
                for name in f.__code__.co_names:
                    if isinstance(names.get(name), _Late):
                        names[name] = names[name]._made()
                copy = FunctionType(f.__code__, names, f.__name__, f.__defaults__, f.__closure__)
                self._dispatcher = self._numba_of(copy)
            return self._dispatcher


def _cached(f: Callable[..., Any]) -> Any:
    """A dispatcher with a cache on disk.

    Where neither the install nor the home directory is writable Numba refuses to
    cache ("no locator available"); the kernel then compiles in each process. So it
    does with a Numba whose cache cannot be told of edits in other files.
    """
    try:
        dispatcher = _njit(f, cache=True)
        index = dispatcher._cache._cache_file
        index._source_stamp = index._source_stamp, _digest(f.__module__)
        index._load_index = _none_if_unreadable(index._load_index)
    except (RuntimeError, AttributeError):
        dispatcher = _njit(f)
    return dispatcher


def _none_if_unreadable(load: Callable[[], dict[Any, Any]]) -> Callable[[], dict[Any, Any]]:
    """Numba reads an index before it compares stamps: classes it names may be gone since."""

    def loaded() -> dict[Any, Any]:
        try:
            return load()
        except (ImportError, AttributeError):
            return {}

    return loaded


def _helper(f: Callable[..., Any]) -> Any:
    """A dispatcher that is not compiled anew for each constant that a call has."""
    from numba.core.types import unliteral

    dispatcher = _njit(f, inline="never", no_cpython_wrapper=True)
    template = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: template(tuple(map(unliteral, args)), kws)
    return dispatcher


def _njit(f: Callable[..., Any], **options: Any) -> Any:
    """A dispatcher without an entry from C, which nothing here has a use for."""
    import numba  # takes 0.2 s

    njit: Any = numba.njit  # its types leave out some options
    return njit(nogil=True, no_cfunc_wrapper=True, _nrt=False, **options)(f)


@cache
def _digest(module: str) -> bytes:
    """Digest of a module's file and all it takes from tokenmill; Numba looks at the file alone."""
    source = Path(str(sys.modules[module].__file__)).read_bytes()
    imported = re.findall(rb"^from (tokenmill\.[\w.]+) import", source, re.MULTILINE)
    return sha256(source + b"".join(_digest(name.decode()) for name in imported)).digest()
