"""Have a Prefect server note what a run tells of itself: its name, task runs, logs and progress.

A group of works is a task run whose states have the times of what they tell, whenever the server
gets to know of them. Prefect's own tasks do no more: their states are events, sent by a queue.
"""

import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from queue import Queue
from typing import Any
from uuid import UUID, uuid4

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import FlowRunContext, SettingsContext, get_settings_context
from prefect.logging.loggers import task_run_logger
from prefect.settings import PREFECT_API_URL
from prefect.states import Completed, Crashed, Failed, Pending, Running
from prefect.utilities.engine import emit_task_run_state_change_event

from tokenmill.flows.ended import END, Note

TAG = "tokenmill"
PATIENCE_S = 20.0  # for a server that is being started again
POLL_S = 1.0


class Noting:
    """Notes what comes, in the context of a flow run, whose thread this may be."""

    def __init__(self) -> None:
        self._groups: dict[int, TaskRun] = {}  # at work
        self._progress: dict[int, tuple[float, str]] = {}  # to be shown, by the phase's number
        self._artifacts: dict[int, UUID] = {}
        self._told: dict[str, Callable[..., None]] = {
            "run": _describe,
            "group": self._begun,
            "group ended": self._ended,
            "phase": self._phase,
        }

    def until_the_end(self, coming: "Queue[Note]") -> Note:
        """Note all that comes; returns the last, which is the caller's to note."""
        while True:
            kind, *told = note = coming.get()
            if kind in END:
                break
            with contextlib.suppress(Exception):  # a server that is gone costs what it would note
                self._told[kind](*told)
            if coming.empty():
                self._show()
        for run in self._groups.values():
            _emit(run, Crashed(message="the run ended"))
        self._show()
        return tuple(note)

    def _begun(self, key: int, phase: str, name: str, at: float) -> None:
        flow_run = _noted().flow_run
        assert flow_run is not None
        number, begun = uuid4(), datetime.fromtimestamp(at, UTC)
        run = self._groups[key] = TaskRun(
            id=number,
            name=name,
            flow_run_id=flow_run.id,
            flow_run_run_count=flow_run.run_count,
            task_key=phase,
            dynamic_key=str(number),
            start_time=begun,
            expected_start_time=begun,
        )
        _emit(run, Pending(timestamp=begun))
        _emit(run, Running(timestamp=begun))

    def _ended(self, key: int, at: float, error: str | None, log: list[tuple[str, str]]) -> None:
        run, ended = self._groups.pop(key), datetime.fromtimestamp(at, UTC)
        logger = task_run_logger(run)
        for level, line in log:
            getattr(logger, level)("%s", line)
        made = Completed if error is None else Failed
        _emit(run, made(timestamp=ended, message=error))

    def _phase(self, number: int, percent: float, line: str) -> None:
        self._progress[number] = percent, line

    def _show(self) -> None:
        """Have the UI show how phases get on; what fails is tried with the next."""
        with contextlib.suppress(Exception):
            for number, (percent, line) in list(self._progress.items()):
                there = self._artifacts.get(number)
                if there is None:
                    made = create_progress_artifact(percent, description=line)
                    assert isinstance(made, UUID)  # and no coroutine: no flow of ours is async
                    self._artifacts[number] = made
                else:
                    update_progress_artifact(there, percent, description=line)
                del self._progress[number]


def _describe(name: str, tags: list[str]) -> None:
    """Name and tag a flow run, not its tasks: each would ask for a slot of every tag's limit."""
    context = _noted()
    assert context.flow_run is not None
    given = sorted({*context.flow_run.tags, TAG, *tags})
    context.client.update_flow_run(context.flow_run.id, name=name, tags=given)


def _noted() -> FlowRunContext:
    """The flow run of which things are noted."""
    context = FlowRunContext.get()
    assert context is not None
    return context


def _emit(run: TaskRun, state: State[Any]) -> None:
    """Have the server note the next state of a task run."""
    before = run.state
    if before is not None and state.timestamp <= before.timestamp:  # the server sorts by it
        state.timestamp = before.timestamp + timedelta(microseconds=1)
    state.state_details.task_run_id, state.state_details.flow_run_id = run.id, run.flow_run_id
    if before is not None and before.is_running():
        run.end_time = state.timestamp  # type: ignore[assignment]
        run.total_run_time = state.timestamp - before.timestamp
    run.run_count += state.is_running()
    run.state, run.state_id = state, state.id
    run.state_type, run.state_name = state.type, state.name
    emit_task_run_state_change_event(run, before, state)


def without_heartbeats() -> SettingsContext:
    """The settings, for a run that nobody looks for: their thread ends a second late."""
    flows = get_settings_context().settings.flows
    return _with("flows", flows.model_copy(update={"heartbeat_frequency": None}))


def with_retries(times: int, *, asked: bool = False) -> SettingsContext:
    """The settings, with that many retries of requests; asked: though the user has set others.

    Prefect's `temporary_settings` reads all of its settings anew, for 0.03 s.
    """
    client = get_settings_context().settings.client
    if asked or "max_retries" not in client.model_fields_set:
        client = client.model_copy(update={"max_retries": times})
    return _with("client", client)


def _with(section: str, settings: Any) -> SettingsContext:
    now = get_settings_context()
    made = now.settings.model_copy(update={section: settings})
    return SettingsContext(profile=now.profile, settings=made)


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
        with with_retries(0, asked=True), opened as client:
            client.api_version()  # of all answers the least that needs the password
    except Exception as e:  # noqa: BLE001 - whatever a network can do
        response = getattr(e, "response", None)
        return f"HTTP {response.status_code}" if response is not None else type(e).__name__
    return None


def address() -> str:
    return str(PREFECT_API_URL.value())
