"""A kernel is compiled by one process of the tests while the others wait, and load what it made."""

import fcntl
from functools import wraps
from pathlib import Path
from typing import Any

from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

LOCKS = Path(__file__).parent.parent / ".pytest_cache" / "kernels"


def compile_once() -> None:
    """Numba's own lock is taken first: of the threads here only the one that has it waits.

    No kernel calls one that calls it, so that no two processes wait for each other.
    """
    compile_ = Dispatcher.compile

    @wraps(compile_)
    def compiled(self: Any, signature: Any) -> Any:
        if isinstance(self._cache, NullCache):
            return compile_(self, signature)
        LOCKS.mkdir(parents=True, exist_ok=True)
        path = LOCKS / f"{self.__module__}.{self.__name__}"
        with global_compiler_lock, path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return compile_(self, signature)

    Dispatcher.compile = compiled
