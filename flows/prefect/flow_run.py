"""What all our flows have in common: parameters, names, how they end, artifacts.

A flow run whose shards or inputs failed is Failed, though all the rest is done and reported: so
Prefect's automations, retries and notifications take notice without a rule of their own. The same
parameters try again what failed and nothing else.
"""

import contextlib
import inspect
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import PurePath
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

from prefect import Flow, State, flow, get_run_logger
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.context import FlowRunContext
from prefect.logging.loggers import flow_run_logger
from prefect.runtime import deployment
from prefect.states import Completed, Failed
from pydantic import AfterValidator, ValidationError, create_model

from tokenmill.flows.exits import exit_code_of
from tokenmill.flows.prefect.run_here import Errand, awaited, errand
from tokenmill.pipelines.core.config import Config, explain
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.core.places import file_or_name, within_roots

T = TypeVar("T")

TAG = "tokenmill"
MOST_ROWS = 1000  # of a table: a page of the UI
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


class Shown(NamedTuple):
    """An artifact: a table of rows, or a document in Markdown.

    key: lower-case letters, digits and dashes.  description: Markdown, if there is any.
    """

    key: str
    content: Sequence[dict[str, Any]] | str
    description: str | None = None


class Ended(NamedTuple):
    """How the work of a flow ended.

    told: in one sentence, for the state of the flow run.  failed: whether something of it did.
    artifacts: to be published, if the server is there.
    """

    result: Any
    told: str
    failed: bool = False
    artifacts: Iterable[Shown] = ()


def our_flow(name: str, run_name: str) -> Callable[[Callable[..., Ended]], Flow[Any, Any]]:
    """Make a function a flow: a user's mistake is its state's message, not a traceback.

    run_name: of its runs, until `describe` gives them others.
    """

    def made(function: Callable[..., Ended]) -> Flow[Any, Any]:
        @wraps(function)
        def body(*args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(function).bind(*args, **kwargs).arguments
            values = {k: str(v) if isinstance(v, PurePath) else v for k, v in given.items()}
            return _state(lambda: function(**checked(function, values, name)))

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

    return made


def _state(work: Callable[[], Ended]) -> State[Any]:
    """Do the work; the state that tells how it ended.

    Raises:
        Exception: a bug of ours, whose traceback is wanted.
    """
    sent = errand.get() or Errand(ready=None)  # nobody's, where a deployment runs the flow
    artifacts: Iterable[Shown] = ()
    try:
        ended = work()
    except Exception as e:
        sent.error, sent.has_ended = e, True
        if exit_code_of(e) is None:
            raise
        state: State[Any] = Failed(message=str(e), data=e)
    else:
        artifacts = ended.artifacts
        sent.result, sent.has_ended = ended.result, True
        if ended.failed:
            state = Failed(message=ended.told, data=ShardError(ended.told))
        else:
            state = Completed(message=ended.told, data=ended.result)
    sent.unheard = awaited()
    if sent.unheard is None:
        publish(artifacts)
    return state


def asked_by(ask: Callable[[], T]) -> T:
    """What the flow begins with: made before by the command that runs it, else by `ask`."""
    sent = errand.get()
    return ask() if sent is None else sent.ready


def describe(name: str, *labels: str) -> None:
    """Give the flow run a name and tags.

    Its tasks have none: each would ask the server for a slot of every tag's concurrency limit
    before it starts, and fail without a server.
    """
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return
    given = {*context.flow_run.tags, TAG, *labels}
    with contextlib.suppress(Exception):  # names help; they are worth no failed run
        context.client.update_flow_run(context.flow_run.id, name=name, tags=sorted(given))


def from_anywhere(path: str) -> str:
    """The path, if it does not depend on where a worker happens to be started.

    Raises:
        ConfigError: it is relative, and a deployment runs the flow.
    """
    if deployment.id and "://" not in path and not os.path.isabs(os.path.expanduser(path)):
        raise ConfigError(f"{path!r}: give the whole path; a worker runs in a folder of its own")
    return path


# what a form names that lies somewhere; or that may be the name of what ships
Named: TypeAlias = Annotated[str, AfterValidator(from_anywhere), AfterValidator(within_roots)]
FileOrName: TypeAlias = Annotated[str, AfterValidator(file_or_name)]


def say_what_stays(flow: Flow[Any, Any], flow_run: Any, state: State[Any]) -> None:
    """Log what to do about a run that failed, crashed or was cancelled."""
    log = flow_run_logger(flow_run, flow)
    log.warning("%s: %s", state.message or state.name, CONTINUES)


def checked(function: Callable[..., Any], values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The parameters of a function, made into what its annotations say.

    where: what a message begins with.

    Raises:
        ConfigError: one is missing, unknown or wrong.
    """
    taken = inspect.signature(function).parameters
    empty = inspect.Parameter.empty
    fields: dict[str, Any] = {
        name: (p.annotation, ... if p.default is empty else p.default) for name, p in taken.items()
    }
    model = create_model("Parameters", __base__=Config, **fields)
    try:
        return dict(model.model_validate(dict(values)))
    except ValidationError as e:
        raise explain(e, where, model) from e


def publish(artifacts: Iterable[Shown]) -> None:
    """Have the server keep what a run has to show; what it does not take is logged, and no more."""
    try:
        for shown in artifacts:  # some read files as they come
            _create(shown)
    except Exception as e:  # noqa: BLE001 - the run itself is done
        get_run_logger().warning("not all artifacts are published: %s", e)


def key_of(*names: str) -> str:
    """A key for an artifact of that name.

    >>> key_of("ledger", "My corpus, v2")
    'ledger-my-corpus-v2'
    """
    return "-".join(part for name in names for part in re.findall("[a-z0-9]+", name.lower()))


def _create(shown: Shown) -> None:
    if isinstance(shown.content, str):
        text = shown.content
        if len(text) > MOST_CHARACTERS:
            text = f"{text[:MOST_CHARACTERS]}\n\n… cut here; the file has the rest"
        create_markdown_artifact(text, key=shown.key, description=shown.description)
    else:
        rows = [dict(row) for row in shown.content[:MOST_ROWS]]
        create_table_artifact(table=rows, key=shown.key, description=shown.description)
