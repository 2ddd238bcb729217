"""Flows that do their works themselves, as deployments and other programs run them: parameters,
and how they end.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from functools import wraps
from pathlib import PurePath
from queue import Queue
from threading import Thread
from typing import Annotated, Any, TypeAlias

from prefect import Flow, State
from prefect.runtime import deployment
from prefect.states import Failed
from pydantic import AfterValidator, ValidationError, create_model

from tokenmill.flows.ended import Ended, Note, Shown
from tokenmill.flows.exits import exit_code_of
from tokenmill.flows.notes import Notes, notes
from tokenmill.flows.prefect.noting import Noting, awaited
from tokenmill.flows.prefect.published import flow_of, publish, state_of
from tokenmill.flows.progress import holding
from tokenmill.pipelines.core.config import Config, explain
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import file_or_name, within_roots

LEAVE_S = 5.0  # for what is noted last, while the server is slow


def our_flow(name: str, run_name: str) -> Callable[[Callable[..., Ended]], Flow[Any, Any]]:
    """Make a function a flow: a user's mistake is its state's message, not a traceback.

    run_name: of its runs, until they are given others.
    """

    def made(function: Callable[..., Ended]) -> Flow[Any, Any]:
        @wraps(function)
        def body(*args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(function).bind(*args, **kwargs).arguments
            values = {k: str(v) if isinstance(v, PurePath) else v for k, v in given.items()}
            return _state(lambda: function(**checked(function, values, name)))

        return flow_of(body, name, run_name)

    return made


def _state(work: Callable[[], Ended]) -> State[Any]:
    """Do the work; the state that tells how it ended."""
    coming: Queue[Note] = Queue()
    noting = Thread(target=copy_context().run, args=(Noting().until_the_end, coming), daemon=True)
    noting.start()
    artifacts: Iterable[Shown] = ()
    try:
        with holding(notes, Notes(coming.put)):
            ended = work()
    except Exception as e:
        if exit_code_of(e) is None:
            raise
        state: State[Any] = Failed(message=str(e), data=e)
    else:
        artifacts = ended.artifacts
        state = state_of(ended.told, ended.failed, ended.result)
    finally:
        coming.put(("stopped", ""))
        noting.join(LEAVE_S)
    if awaited() is None:
        publish(artifacts)
    return state


def from_anywhere(path: str) -> str:
    """The path; ConfigError where it is relative in a deployment, whose worker may be anywhere."""
    if deployment.id and "://" not in path and not os.path.isabs(os.path.expanduser(path)):
        raise ConfigError(f"{path!r}: give the whole path; a worker runs in a folder of its own")
    return path


# what a form names that lies somewhere; or that may be the name of what ships
Named: TypeAlias = Annotated[str, AfterValidator(from_anywhere), AfterValidator(within_roots)]
FileOrName: TypeAlias = Annotated[str, AfterValidator(file_or_name)]


def checked(function: Callable[..., Any], values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The parameters of a function, as annotated; ConfigError, behind `where`: one is wrong."""
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
