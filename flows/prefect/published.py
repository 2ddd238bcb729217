"""What all our flows have in common: settings, how they end, artifacts.

A flow run whose shards or inputs failed is Failed, though all the rest is done and reported: so
Prefect's automations, retries and notifications take notice without a rule of their own. The same
parameters try again what failed and nothing else.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from prefect import Flow, State, flow, get_run_logger
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging.loggers import flow_run_logger
from prefect.states import Completed, Failed

from tokenmill.flows.ended import MOST_ROWS, Shown
from tokenmill.flows.exits import exit_code_of
from tokenmill.pipelines.core.errors import ShardError

MOST_CHARACTERS = 200_000  # of a document
CONTINUES = (
    "what is finished stays: a run with the same parameters continues it, here or by the command"
    " line, under any runner"
)


def _in_a_line(record: logging.LogRecord) -> bool:
    """Take the traceback off an error whose message is all that the user needs."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if isinstance(error, Exception) and exit_code_of(error) is not None:
        record.msg, record.args = str(error), ()
        record.exc_info = record.exc_text = None
    return True


def _not_of_an_outage(record: logging.LogRecord) -> bool:
    """Keep back the tracebacks of Prefect's watches for a server that is gone."""
    return "Observer" not in f"{record.name} {record.msg}"


for _name in ("prefect.flow_runs", "prefect.task_runs"):
    logging.getLogger(_name).addFilter(_in_a_line)
for _name in ("prefect.FlowRunCancellingObserver", "prefect.FlowRunSuspendingObserver", "asyncio"):
    logging.getLogger(_name).addFilter(_not_of_an_outage)


def flow_of(body: Callable[..., Any], name: str, run_name: str) -> Flow[Any, Any]:
    """A flow by our settings."""
    return flow(
        name=name,
        flow_run_name=run_name,
        validate_parameters=False,  # by `checked`, whose messages are ours
        persist_result=False,
        result_serializer="json",
        on_failure=[say_what_stays],
        on_crashed=[say_what_stays],
        on_cancellation=[say_what_stays],
    )(body)


def state_of(told: str, failed: bool, result: Any = None) -> State[Any]:
    """The state of a flow run whose work is done. told, failed, result: as of `Ended`."""
    if failed:
        return Failed(message=told, data=ShardError(told))
    return Completed(message=told, data=result)


def say_what_stays(flow: Flow[Any, Any], flow_run: Any, state: State[Any]) -> None:
    """Log what to do about a run that failed, crashed or was cancelled."""
    log = flow_run_logger(flow_run, flow)
    log.warning("%s: %s", state.message or state.name, CONTINUES)


def publish(artifacts: Iterable[Shown]) -> None:
    """Have the server keep what a run has to show; what it does not take is logged, and no more."""
    try:
        for shown in artifacts:  # some read files as they come
            _create(shown)
    except Exception as e:  # noqa: BLE001 - the run itself is done
        get_run_logger().warning("not all artifacts are published: %s", e)


def _create(shown: Shown) -> None:
    if isinstance(shown.content, str):
        text = shown.content
        if len(text) > MOST_CHARACTERS:
            text = f"{text[:MOST_CHARACTERS]}\n\n… cut here; the file has the rest"
        create_markdown_artifact(text, key=shown.key, description=shown.description)
    else:
        rows = [dict(row) for row in shown.content[:MOST_ROWS]]
        create_table_artifact(table=rows, key=shown.key, description=shown.description)
