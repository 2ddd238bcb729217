"""Run a flow in this process, for a command; the work counts, with or without the server."""

import contextlib
import logging
import os
import queue
from collections.abc import Iterator
from typing import Any

from prefect import Flow
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import PrefectConsoleHandler
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from tokenmill.flows.errand import Errand, sent
from tokenmill.flows.progress import watcher
from tokenmill.flows.reach import address

# of requests to a server that was there; Prefect's 5 make a minute for each, when it is dead
RETRIES = 2
# that tell, with tracebacks, of a server that is gone: we do so in a line
NOISY = ("prefect._internal.concurrency", "prefect.events.clients", "EventsWorker", "APILogWorker")


def run_here(flow: Flow[Any, Any], ready: Any, **parameters: Any) -> Any:
    """Run a flow; returns its result, as `errand` has it.

    ready: what the flow would begin with.  parameters: as the UI shows them.

    Raises:
        Exception: what the work of the flow raised.
    """
    retries = temporary_settings(set_defaults={PREFECT_CLIENT_MAX_RETRIES: RETRIES})
    with sent(ready) as errand, _quiet(errand), _off_the_terminal(), retries:
        try:
            flow(**parameters, return_state=True)
        except Exception:
            if not errand.has_ended:
                raise
            errand.unheard = errand.unheard or "no answer"
    if errand.unheard is not None:
        _forget_queued()
        watcher.get().tell(
            f"the Prefect server at {address()} is gone ({errand.unheard}): how this run ended is"
            " not noted there; the work itself needs no server"
        )
    if errand.error is not None:
        raise errand.error
    return errand.result


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


def _forget_queued() -> None:
    """Drop what is queued for a server that is gone: at exit each event is tried for 7 s."""
    for service in tuple(EventsWorker._instances.values()):
        with contextlib.suppress(queue.Empty):
            while True:
                service._queue.get_nowait()
                service._queue.task_done()
