"""Progress of phases in Prefect's UI: an artifact a phase, brought up to date every few seconds.

By a thread of its own, since a server that is slow or gone may hold up whoever talks to it.
"""

import contextlib
import threading
from collections.abc import Iterator
from contextvars import copy_context
from dataclasses import dataclass
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

from tokenmill.flows.progress import Watcher, watcher

EVERY_S = 3.0
LEAVE_S = 5.0  # for the last state of all phases


@dataclass
class _Phase:
    """artifact: where it is shown, once it is.  shown: what was last said there."""

    name: str
    works: int
    done: int = 0
    artifact: UUID | None = None
    shown: str = ""

    def show(self) -> None:
        told = f"{self.name}: {self.done:,} of {self.works:,}"
        if told == self.shown:
            return
        percent = 100.0 * self.done / self.works if self.works else 100.0
        if self.artifact is None:
            self.artifact = create_progress_artifact(percent, description=told)
        else:
            update_progress_artifact(self.artifact, percent, description=told)
        self.shown = told


class PhaseProgress:
    """Passes on what a watcher is told, and shows phases in the UI."""

    def __init__(self, inner: Watcher) -> None:
        self._inner = inner
        self._phases: list[_Phase] = []
        self._lock, self._closing = threading.Lock(), threading.Event()
        run = copy_context().run  # artifacts belong to the flow run of the context
        self._thread = threading.Thread(target=run, args=(self._show,), daemon=True)
        self._thread.start()

    def start(self, phase: str, works: int) -> None:
        self._phases.append(_Phase(phase, works))
        self._inner.start(phase, works)

    def advance(self, phase: str) -> None:
        with self._lock:  # lanes are threads
            self._phases[-1].done += 1
            self._inner.advance(phase)

    def end(self, phase: str) -> None:
        self._inner.end(phase)

    def tell(self, line: str) -> None:
        self._inner.tell(line)

    def close(self) -> None:
        self._closing.set()
        self._thread.join(LEAVE_S)

    def _show(self) -> None:
        closing = False
        while not closing:
            closing = self._closing.wait(EVERY_S)
            with contextlib.suppress(Exception):  # the next round tries again
                for phase in list(self._phases):
                    phase.show()


@contextlib.contextmanager
def progress_shown() -> Iterator[None]:
    """Show the phases of the block in the UI too."""
    shown = PhaseProgress(watcher.get())
    token = watcher.set(shown)
    try:
        yield
    finally:
        watcher.reset(token)
        shown.close()
