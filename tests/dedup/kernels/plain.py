"""Kernels and their helpers as plain Python: each helper can be asked alone, without compiling."""

from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from tokenmill.dedup.kernels._jit import kernel

Late: Any = type(kernel(lambda: None))


@cache
def plain(late: Any) -> Any:
    """The function that Numba is given; it calls plain ones too, and numbers wrap in silence."""
    f, names = late._f, dict(late._f.__globals__)
    for name in f.__code__.co_names:
        if isinstance(names.get(name), Late):
            names[name] = plain(names[name])
    made = FunctionType(f.__code__, names, f.__name__, f.__defaults__, f.__closure__)
    return np.errstate(all="ignore")(made)
