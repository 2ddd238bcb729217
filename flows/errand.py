"""A flow that the command line runs: what is known before it, and what comes of it.

What comes of it does not go through Prefect, so that a server which has died meanwhile keeps
nothing back.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass
class Errand:
    """One run of a flow in this process.

    ready: what the flow would begin with, made already, so that nothing is planned twice.
    result, error: how it ended.  has_ended: whether it has.
    unheard: what the server answered in the end, instead of noting how the run ended.
    """

    ready: Any
    result: Any = None
    error: Exception | None = None
    has_ended: bool = False
    unheard: str | None = None


errand: ContextVar[Errand | None] = ContextVar("errand", default=None)


@contextlib.contextmanager
def sent(ready: Any) -> Iterator[Errand]:
    """An errand for the flow that is called in the block."""
    made = Errand(ready)
    token = errand.set(made)
    try:
        yield made
    finally:
        errand.reset(token)
