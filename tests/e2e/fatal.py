"""Death at a chosen place in the real code, which is wrapped from outside and knows of nothing."""

import os
import signal
from types import ModuleType


def anything(*_):
    return True


def named(part):
    """Of functions of a path: when it has this in it."""
    return lambda path, *_: part in str(path)


def arm(module: ModuleType, name: str, number: int, *, when=anything, after: bool = False) -> None:
    """Kill this process with SIGKILL when a function is called the `number`-th time.

    when: whether a call counts, by its arguments.  after: the call is done first.
    """
    function, left = getattr(module, name), [number]

    def wrapped(*args, **kwargs):
        if not when(*args):
            return function(*args, **kwargs)
        left[0] -= 1
        if left[0] > 0:
            return function(*args, **kwargs)
        if after:
            function(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    setattr(module, name, wrapped)
