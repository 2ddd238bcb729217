"""What a run tells of itself, for a Prefect server to note: small tuples of plain data, in order.

    works ── Notes ── a queue, or a pipe ──► flows.prefect.noting ──► the server

Whoever works waits for nobody: the server may start later, be slow, or be gone.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Any

from tokenmill.flows.ended import Note
from tokenmill.flows.progress import Watcher
from tokenmill.pipelines.runs.work import Outcome, Phase

EVERY_S = 3.0


def unsent(_note: Note) -> None:
    """Where nobody notes anything."""


class Notes:
    """Takes notes. send: has one noted, some time.  check: raises where nothing can be noted."""

    def __init__(
        self, send: Callable[[Note], Any] = unsent, check: Callable[[], Any] = lambda: None
    ) -> None:
        self.send, self.check = send, check
        self._keys = count()

    def describe(self, name: str, *tags: str) -> None:
        """Give the flow run a name and tags."""
        self.send(("run", name, tags))

    @contextlib.contextmanager
    def group(self, phase: str, name: str) -> Iterator[list[tuple[str, str]]]:
        """Note a group of works to its end; yields its log, lines behind "info" or "error"."""
        key, log, error = next(self._keys), list[tuple[str, str]](), None
        self.send(("group", key, phase, name, time.time()))
        try:
            yield log
        except BaseException as e:
            error = str(e) or type(e).__name__
            raise
        finally:
            self.send(("group ended", key, time.time(), error, log))


UNNOTED = Notes()
notes: ContextVar[Notes] = ContextVar("notes", default=UNNOTED)


@dataclass
class _Phase:
    """shown: what was last said of it."""

    name: str
    works: int
    done: int
    shown: str = ""

    def told(self, words: str) -> tuple[float, str]:
        """Percent, and a line.  words: of the whole run, where this is its last phase."""
        line = f"{self.name}: {self.done:,} of {self.works:,}" + (f"; {words}" if words else "")
        return 100.0 * self.done / self.works if self.works else 100.0, line


class PhaseProgress(Watcher):
    """Passes on what a watcher is told, and notes how phases get on, every few seconds.

    One that was over before it was first looked at is not noted: a server works a tenth of a second
    for two, and a small run has fifteen.
    """

    def __init__(self, inner: Watcher, noted: Notes) -> None:
        super().__init__()
        self._inner, self._noted = inner, noted
        self._phases: list[_Phase] = []
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def start(self, phase: Phase, n_works: int | None = None) -> None:
        super().start(phase, n_works)
        now = self.standing
        self._phases.append(_Phase(now.phase, now.works, now.done))
        self._inner.start(phase, n_works)

    def advance(self, outcome: Outcome | None = None) -> None:
        with self._lock:  # lanes are threads
            super().advance(outcome)
            self._phases[-1].done += 1
            self._inner.advance(outcome)

    def end(self) -> None:
        super().end()
        self._inner.end()

    def tell(self, line: str) -> None:
        self._inner.tell(line)

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def _watch(self) -> None:
        closing = False
        while not closing:
            closing = self._closing.wait(EVERY_S)
            phases = list(self._phases)
            for number, phase in enumerate(phases):
                is_last = number + 1 == len(phases)
                percent, line = phase.told(self.standing.in_words() if is_last else "")
                if line != phase.shown and (is_last or phase.shown):
                    phase.shown = line
                    self._noted.send(("phase", number, percent, line))
