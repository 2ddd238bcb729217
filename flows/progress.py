"""Progress of long work: bars on a terminal, plain lines elsewhere, nothing with --json."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Coming, Outcome, Phase

T = TypeVar("T")

LINE_EVERY_S = 30.0
LEAST_SHARE, LEAST_S = 0.02, 5.0  # of a run, before the time it still takes is guessed at
MOST_COMING = 4  # stages named


@dataclass
class Standing:
    """How far a run is, from what is told of its phases.

    phase: of which `done` of `works` are done.  cost, behind: as of `Phase`.
    passed: cost of the phases that have ended.  fresh: cost of works that were not found done.
    kept, gone: documents so far.  n_bytes: of text that entered works of this phase.
    """

    phase: str = ""
    works: int = 0
    done: int = 0
    cost: float = 0.0
    behind: tuple[Coming, ...] = ()
    passed: float = 0.0
    fresh: float = 0.0
    kept: int = 0
    gone: int = 0
    n_bytes: int = 0
    began: float = field(default_factory=time.monotonic)
    phase_began: float = field(default_factory=time.monotonic)

    def start(self, phase: Phase, n_works: int) -> None:
        self.phase, self.works, self.done = phase.name, n_works, len(phase.done)
        self.cost, self.behind = phase.cost, phase.behind
        self.n_bytes, self.phase_began = 0, time.monotonic()
        for receipt in phase.done:
            self._count(receipt)

    def advance(self, outcome: Outcome | None = None) -> None:
        self.done += 1
        if outcome is None or outcome.receipt is None:
            return
        self._count(outcome.receipt)
        if outcome.fresh:
            self.fresh += self.cost / self.works
            self.n_bytes += outcome.receipt.stats[0][1].bytes_in if outcome.receipt.stats else 0

    def end(self) -> None:
        self.passed += self.cost
        self.cost, self.done = 0.0, self.works

    def _count(self, receipt: Receipt) -> None:
        for name, stats in receipt.stats:
            left = sum(stats.removed.values()) + sum(stats.failed.values())
            self.kept += stats.docs_created - left + (stats.docs_in if name == "read" else 0)
            self.gone += left

    @property
    def share(self) -> float | None:
        """Of the whole run, by cost; None where nothing is known of it."""
        whole = self.passed + self.cost + sum(stage.cost for stage in self.behind)
        return self._made() / whole if whole else None

    def _made(self) -> float:
        return self.passed + (self.cost * self.done / self.works if self.works else 0.0)

    def seconds_left(self) -> float | None:
        """That the run still takes, about; None while too little is done to tell."""
        share, took = self.share, time.monotonic() - self.began
        if not share or not self.fresh or not LEAST_SHARE <= share < 1 or took < LEAST_S:
            return None
        return self._made() * (1 / share - 1) * took / self.fresh

    def in_words(self) -> str:
        """Share, speed, documents and the time left, as far as they are known, and what comes."""
        told, share, left = [], self.share, self.seconds_left()
        if share is not None:
            told.append(f"{share:.0%} of the run")
        took = time.monotonic() - self.phase_began
        if self.n_bytes and took:
            told.append(f"{self.n_bytes / took / 1e6:,.0f} MB/s")
        if self.kept or self.gone:
            told.append(f"{self.kept:,} documents kept, {self.gone:,} removed")
        if left is not None:
            told.append(f"about {_in_words(left)} left")
        coming = [stage.name for stage in self.behind]
        more = [f"{len(coming) - MOST_COMING} more"] if len(coming) > MOST_COMING + 1 else []
        named = [*(coming[:MOST_COMING] if more else coming), *more]
        return "; ".join([", ".join(told), *([f"to come: {', '.join(named)}"] if named else [])])


def _in_words(seconds: float) -> str:
    """A time that is roughly known.

    >>> _in_words(8), _in_words(130), _in_words(5000)
    ('10 s', '2 min', '1.4 h')
    """
    if seconds < 90:
        return f"{max(round(seconds, -1), 10):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 * 0.9 else f"{seconds / 3600:.1f} h"


class Watcher:
    """Told how a run gets on; this one shows nothing."""

    def __init__(self) -> None:
        self.standing = Standing()

    def start(self, phase: Phase, n_works: int | None = None) -> None:
        """n_works: of the phase, those that are done included."""
        self.standing.start(
            phase, len(phase.done) + len(phase.works) if n_works is None else n_works
        )

    def advance(self, outcome: Outcome | None = None) -> None:
        self.standing.advance(outcome)

    def end(self) -> None:
        self.standing.end()

    def tell(self, line: str) -> None: ...


class Lines(Watcher):
    """A line each half minute, and when a phase ends; to stderr."""

    def __init__(self) -> None:
        super().__init__()
        self._closing = threading.Event()
        threading.Thread(target=self._each_half_minute, daemon=True).start()

    def end(self) -> None:
        super().end()
        now = self.standing
        took = time.monotonic() - now.phase_began
        self.tell(f"{now.phase}: {now.done:,} of {now.works:,} in {took:.1f} s")

    def tell(self, line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        self._closing.set()

    def _each_half_minute(self) -> None:
        while not self._closing.wait(LINE_EVERY_S):
            now = self.standing
            if now.done < now.works:
                self.tell(f"{now.phase}: {now.done:,} of {now.works:,}; {now.in_words()}")


class Bars(Watcher):
    """A bar for each phase, and a line of the whole run below them."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._task = TaskID(0)
        self.progress = _Progress(self, console)

    def start(self, phase: Phase, n_works: int | None = None) -> None:
        super().start(phase, n_works)
        now = self.standing
        self._task = self.progress.add_task(now.phase, total=now.works, completed=now.done)

    def advance(self, outcome: Outcome | None = None) -> None:
        super().advance(outcome)
        self.progress.advance(self._task)

    def end(self) -> None:
        super().end()
        self.progress.stop_task(self._task)

    def tell(self, line: str) -> None:
        self.progress.console.print(line, markup=False, highlight=False)


class _Progress(Progress):
    def __init__(self, of: Bars, console: Console) -> None:
        self._of = of
        columns = TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn()
        super().__init__(*columns, TimeElapsedColumn(), console=console)

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        if self._of.standing.works:
            yield Text(self._of.standing.in_words())


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
        shown: Watcher
        if console.is_terminal:
            shown = Bars(console)
            stack.enter_context(shown.progress)
        else:
            shown = stack.enter_context(contextlib.closing(Lines()))
        stack.enter_context(holding(watcher, shown))
        yield
