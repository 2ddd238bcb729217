"""Progress of long work: bars on a terminal, plain lines elsewhere, nothing with --json.

For those who collect logs also as JSON, an object a line, as things happen.
"""

import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import IO, Any, TypeVar

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

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.runs.standing import Standing
from tokenmill.pipelines.runs.work import Outcome, Phase, line_of

T = TypeVar("T")

LINE_EVERY_S = 30.0
LEAST_TOLD_S = 1.0  # of a phase: a small run has some fifteen that take a tenth of a second
STDERR = "-"


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
    """A line each half minute, and when a phase ends that took a while; to stderr."""

    def __init__(self) -> None:
        super().__init__()
        self._closing = threading.Event()
        threading.Thread(target=self._each_half_minute, daemon=True).start()

    def end(self) -> None:
        super().end()
        now = self.standing
        took = time.time() - now.phase_began
        if took >= LEAST_TOLD_S:
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


class JsonLog(Watcher):
    """Passes on what a watcher is told, and writes a line of JSON of each.

    whole: with what the whole run has done so far; one that sees a part of it knows no such thing.
    """

    def __init__(self, inner: Watcher, file: IO[str], *, whole: bool = True) -> None:
        super().__init__()
        self._inner, self._file, self._whole = inner, file, whole

    def start(self, phase: Phase, n_works: int | None = None) -> None:
        super().start(phase, n_works)
        self._write("phase begins")
        self._inner.start(phase, n_works)

    def advance(self, outcome: Outcome | None = None) -> None:
        super().advance(outcome)
        if outcome is not None:
            self._write("work", **_of(outcome))
        self._inner.advance(outcome)

    def end(self) -> None:
        super().end()
        self._write("phase ends")
        self._inner.end()

    def tell(self, line: str) -> None:
        self._write("told", line=line)
        self._inner.tell(line)

    def _write(self, event: str, **more: Any) -> None:
        now = self.standing
        told = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            "phase": now.phase,
            **more,
        }
        if self._whole:
            told |= {"works_done": now.done, "works": now.works, "share": now.share}
            told |= {"docs_kept": now.kept, "docs_removed": now.removed}
            told["docs_failed"] = dict(now.failed)
        with contextlib.suppress(OSError):  # a log is worth no failed run
            self._file.write(f"{json.dumps(told, ensure_ascii=False)}\n")
            self._file.flush()


def _of(outcome: Outcome) -> dict[str, Any]:
    """Which work it was, and how it ended."""
    work = {"step": outcome.work.step, "work": outcome.work.key}
    if outcome.receipt is None:
        return {**work, "ended": "failed", "error": line_of(outcome.error)}
    seconds = outcome.receipt.seconds[0] if outcome.fresh else 0.0
    stages = [stats for _, stats in outcome.receipt.stats] or [StageStats()]
    docs = {"docs_in": stages[0].docs_in, "docs_out": stages[-1].docs_out}
    ended = "done" if outcome.fresh else "found done"
    return {**work, "ended": ended, "seconds": seconds, **docs}


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
def log_file(name: str) -> Iterator[IO[str]]:
    """The file to write to, behind what it has; "-" is stderr. ConfigError: it is unwritable."""
    if name == STDERR:
        yield sys.stderr
        return
    try:
        file = open(name, "a", encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as e:
        raise ConfigError(f"--log-json {name}: cannot write there ({e.strerror})") from e
    with file:
        yield file


@contextlib.contextmanager
def watching(*, quiet: bool, log: str | None = None) -> Iterator[None]:
    """Show progress for the length of the block, in the way that fits where stderr goes.

    log: of a file for lines of JSON besides; "-" is stderr, in place of what else is shown.
    """
    console = Console(stderr=True)
    with contextlib.ExitStack() as stack:
        shown = NOTHING
        if quiet or log == STDERR:
            pass
        elif console.is_terminal:
            shown = bars = Bars(console)
            stack.enter_context(bars.progress)
        else:
            shown = stack.enter_context(contextlib.closing(Lines()))
        if log is not None:
            shown = JsonLog(shown, stack.enter_context(log_file(log)))
        stack.enter_context(holding(watcher, shown))
        yield
