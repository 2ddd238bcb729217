"""Run a flow for a command, which does the works itself and tells of them: see `flows.notes`.

The work counts, with or without the server: one that has died keeps nothing back.
"""

import contextlib
import inspect
import logging
import os
import queue
from collections.abc import Iterator
from typing import Any

from prefect import State, get_run_logger
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import PrefectConsoleHandler
from prefect.states import Failed

from tokenmill.flows.ended import Note, Shown
from tokenmill.flows.prefect.noting import Noting, awaited, with_retries
from tokenmill.flows.prefect.published import flow_of, publish, state_of

# of requests to a server that was there; Prefect's 5 make a minute for each, when it is dead
RETRIES = 2
# that tell, with tracebacks, of a server that is gone: the command does so in a line
NOISY = ("prefect._internal.concurrency", "prefect.events.clients", "EventsWorker", "APILogWorker")


class _Heard:
    """trouble: what the server answered in the end, instead of noting how the run ended."""

    trouble: str | None = None


def run_here(
    coming: "queue.Queue[Note]", name: str, run_name: str, parameters: dict[str, Any]
) -> str | None:
    """Run a flow until its work has ended, by what comes; what kept the server from noting that.

    name, run_name: of the flow, and of its run at first.  parameters: as the UI shows them.
    """
    heard = _Heard()

    def body(**_parameters: Any) -> State[Any]:
        kind, *told = Noting().until_the_end(coming)
        if kind == "stopped":
            raise KeyboardInterrupt(*told)
        artifacts: list[Shown] = []
        if kind == "failed":
            message, trace = told
            if trace:
                get_run_logger().error("%s", trace)
            state: State[Any] = Failed(message=message)
        else:
            state = state_of(*told[:2])
            artifacts = [Shown(*shown) for shown in told[2]]
        heard.trouble = awaited()
        if heard.trouble is None:
            publish(artifacts)
        return state

    taken = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY) for key in parameters]
    body.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    with _quiet(heard), _off_the_terminal(), with_retries(RETRIES):
        try:
            flow_of(body, name, run_name)(**parameters, return_state=True)
        except KeyboardInterrupt:
            pass
        except Exception:  # noqa: BLE001 - whatever a network can do
            heard.trouble = heard.trouble or "no answer"
    if heard.trouble is not None:
        _forget_queued(EventsWorker)
    return heard.trouble


@contextlib.contextmanager
def _quiet(heard: _Heard) -> Iterator[None]:
    """Silence Prefect's background services, for good if the server is gone in the end."""
    loggers, raising = [logging.getLogger(name) for name in NOISY], logging.raiseExceptions
    runs = logging.getLogger("prefect.flow_runs")  # whose last word would be a traceback

    def nothing(_record: logging.LogRecord) -> bool:
        return False

    def while_heard(_record: logging.LogRecord) -> bool:
        return heard.trouble is None

    runs.addFilter(while_heard)
    for log in loggers:
        log.addFilter(nothing)
    logging.raiseExceptions = False
    try:
        yield
    finally:
        runs.removeFilter(while_heard)
        if heard.trouble is None:
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
