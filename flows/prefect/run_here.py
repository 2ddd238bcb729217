"""Run a flow in this process, for a command; the work counts, with or without the server.

A command hands the flow what it has asked and planned before, and what comes of it does not go
through Prefect, so that a server which has died meanwhile keeps nothing back.
"""

import contextlib
import logging
import os
import queue
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext, SettingsContext, get_settings_context
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import PrefectConsoleHandler
from prefect.settings import PREFECT_API_URL

from tokenmill.flows.progress import holding, watcher

# of requests to a server that was there; Prefect's 5 make a minute for each, when it is dead
RETRIES = 2
# that tell, with tracebacks, of a server that is gone: we do so in a line
NOISY = ("prefect._internal.concurrency", "prefect.events.clients", "EventsWorker", "APILogWorker")
PATIENCE_S = 20.0  # for a server that is being started again
POLL_S = 1.0


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


def run_here(flow: Flow[Any, Any], ready: Any, **parameters: Any) -> Any:
    """Run a flow; returns its result, as `Errand` has it.

    ready: what the flow would begin with.  parameters: as the UI shows them.

    Raises:
        Exception: what the work of the flow raised.
    """
    sent = Errand(ready)
    with holding(errand, sent), _quiet(sent), _off_the_terminal(), _retries(RETRIES):
        try:
            flow(**parameters, return_state=True)
        except Exception:
            if not sent.has_ended:
                raise
            sent.unheard = sent.unheard or "no answer"
    if sent.unheard is not None:
        _forget_queued(EventsWorker)
        watcher.get().tell(
            f"the Prefect server at {address()} is gone ({sent.unheard}): how this run ended is"
            " not noted there; the work itself needs no server"
        )
    if sent.error is not None:
        raise sent.error
    return sent.result


def _retries(times: int, *, asked: bool = False) -> SettingsContext:
    """The settings, with that many retries of requests; asked: though the user has set others.

    Prefect's `temporary_settings` reads all of its settings anew, for 0.03 s.
    """
    now = get_settings_context()
    client = now.settings.client
    if asked or "max_retries" not in client.model_fields_set:
        client = client.model_copy(update={"max_retries": times})
    settings = now.settings.model_copy(update={"client": client})
    return SettingsContext(profile=now.profile, settings=settings)


@contextlib.contextmanager
def _quiet(errand: Errand) -> Iterator[None]:
    """Silence Prefect's background services, for good if the server is gone in the end."""
    loggers, raising = [logging.getLogger(name) for name in NOISY], logging.raiseExceptions
    runs = logging.getLogger("prefect.flow_runs")  # whose last word would be a traceback

    def nothing(_record: logging.LogRecord) -> bool:
        return False

    def while_heard(_record: logging.LogRecord) -> bool:
        return errand.unheard is None

    runs.addFilter(while_heard)
    for log in loggers:
        log.addFilter(nothing)
    logging.raiseExceptions = False
    try:
        yield
    finally:
        runs.removeFilter(while_heard)
        if errand.unheard is None:
            logging.raiseExceptions = raising
            for log in loggers:
                log.removeFilter(nothing)


@contextlib.contextmanager
def _off_the_terminal() -> Iterator[None]:
    """Leave Prefect's log to its server, unless the user has said what of it to show.

    Here it would stand in the bars, and tell each mistake several times.
    """
    shown = [h for h in logging.getLogger().handlers if isinstance(h, PrefectConsoleHandler)]
    levels = [handler.level for handler in shown]
    if "PREFECT_LOGGING_LEVEL" not in os.environ:
        for handler in shown:
            handler.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for handler, level in zip(shown, levels, strict=True):
            handler.setLevel(level)


def _forget_queued(worker: type[EventsWorker]) -> None:
    """Drop what is queued for a server that is gone: at exit each event is tried for 7 s."""
    for service in tuple(worker._instances.values()):
        with contextlib.suppress(queue.Empty):
            while True:
                service._queue.get_nowait()
                service._queue.task_done()


def awaited(patience_s: float = PATIENCE_S) -> str | None:
    """Wait for the server; what it answered, or how it was not there, if that was no good."""
    deadline = time.monotonic() + patience_s
    while (answer := trouble()) is not None and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return answer


def trouble() -> str | None:
    """What is wrong with the server, in some words; None if it serves us."""
    try:
        run = FlowRunContext.get()  # whose client is connected
        opened = contextlib.nullcontext(run.client) if run else get_client(sync_client=True)
        with _retries(0, asked=True), opened as client:
            client.api_version()  # of all answers the least that needs the password
    except Exception as e:  # noqa: BLE001 - whatever a network can do
        response = getattr(e, "response", None)
        return f"HTTP {response.status_code}" if response is not None else type(e).__name__
    return None


def address() -> str:
    return str(PREFECT_API_URL.value())
