"""Progress of long work: bars on a terminal, plain lines elsewhere, nothing with --json."""

import contextlib
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

T = TypeVar("T")

LINE_EVERY_S = 5.0


class Watcher:
    """Told how a phase gets on; this one shows nothing."""

    def start(self, phase: str, works: int) -> None: ...

    def advance(self, phase: str) -> None: ...

    def end(self, phase: str) -> None: ...

    def tell(self, line: str) -> None: ...


class Lines(Watcher):
    """A line when a phase begins, every few seconds, and when it ends; to stderr."""

    def __init__(self) -> None:
        self._done = self._works = 0
        self._started = self._told = 0.0

    def start(self, phase: str, works: int) -> None:
        self._done, self._works = 0, works
        self._started = self._told = time.monotonic()

    def advance(self, phase: str) -> None:
        self._done += 1
        if time.monotonic() - self._told >= LINE_EVERY_S:
            self._told = time.monotonic()
            self.tell(f"{phase}: {self._done} of {self._works}")

    def end(self, phase: str) -> None:
        took = time.monotonic() - self._started
        self.tell(f"{phase}: {self._done} of {self._works} in {took:.1f} s")

    def tell(self, line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


class Bars(Watcher):
    """A bar for each phase."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = None

    def start(self, phase: str, works: int) -> None:
        self._task = self._progress.add_task(phase, total=works)

    def advance(self, phase: str) -> None:
        self._progress.advance(self._task)

    def end(self, phase: str) -> None:
        self._progress.stop_task(self._task)

    def tell(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False)


NOTHING = Watcher()
watcher: ContextVar[Watcher] = ContextVar("watcher", default=NOTHING)


@contextlib.contextmanager
def holding(variable: ContextVar[T], value: T) -> Iterator[T]:
    """Have a variable of the context hold a value for the length of the block."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


@contextlib.contextmanager
def watching(*, quiet: bool) -> Iterator[None]:
    """Show progress for the length of the block, in the way that fits where stderr goes."""
    console = Console(stderr=True)
    if quiet:
        yield
        return
    with contextlib.ExitStack() as stack:
        shown: Watcher = Lines()
        if console.is_terminal:
            columns = TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn()
            bars = Progress(*columns, TimeElapsedColumn(), console=console)
            shown = Bars(stack.enter_context(bars))
        stack.enter_context(holding(watcher, shown))
        yield
