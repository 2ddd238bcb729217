"""Serve the flows: a deployment for each, with its form in the UI, run in this process's care.

A run is a process of its own. How many there are at a time is this process's affair and no
concurrency limit of a deployment: the lease of such a limit ends a run when the server is away.

When the server goes, Prefect's runner prints tracebacks, and gives its watch for cancelled runs up
for good. So the outage is told in a line, what Prefect says of it is not, and once the server is
back and no run is at work this process begins anew, by the same command.
"""

import datetime
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, NoReturn

from prefect import Flow, serve
from prefect.automations import AutomationCore
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.deployments.runner import RunnerDeployment
from prefect.events import EventTrigger
from prefect.events.actions import ChangeFlowRunState
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY
from prefect.types.entrypoint import EntrypointType

from tokenmill.flows.contamination import contamination_flow
from tokenmill.flows.ingest import ingest_flow
from tokenmill.flows.measure import measure_flow
from tokenmill.flows.prefect.noting import TAG, address, trouble
from tokenmill.flows.prepare import prepare_flow
from tokenmill.flows.probe import probe_storage
from tokenmill.flows.size import size_cluster

FLOWS: tuple[Flow[Any, Any], ...] = (
    prepare_flow,
    ingest_flow,
    measure_flow,
    contamination_flow,
    size_cluster,
    probe_storage,
)
NAME = "served"
ZOMBIES = "tokenmill: a run without heartbeat has crashed"
HEARTBEATS = 3  # missed ones that make a run crashed
FREQUENCY_S = 180  # Prefect's default
ENDS = ("Completed", "Failed", "Cancelled", "Crashed")
POLL_S = 2.0
LEAVE_S = 5.0
MISSED = 2  # answers in a row: Prefect's loops give up after three, 10 s apart


def serve_flows(
    prepare: dict[str, Any] | None = None,
    *,
    cron: str | None = None,
    interval_s: float | None = None,
    limit: int = 1,
    quiet: bool = False,
) -> NoReturn:
    """Serve all flows until this process is told to end; schedules pause then.

    prepare: parameters of prepare-corpus, where its form begins; those of a schedule. Of
        ingest-collection, where they name what is ingested `into`.
    cron, interval_s: when it runs by itself.  limit: runs at a time.
    KeyboardInterrupt: it was told.
    """
    crash_zombies()
    with watched():
        serve(
            *deployments(prepare, cron=cron, interval_s=interval_s),
            limit=limit,
            print_starting_message=not quiet,
        )
    raise KeyboardInterrupt  # which Prefect keeps to itself, or lets through, by when it comes


def deployments(
    prepare: dict[str, Any] | None, *, cron: str | None, interval_s: float | None
) -> list[RunnerDeployment]:
    """A deployment for each flow; prepare-corpus, or ingest-collection, may have a schedule."""
    way = EntrypointType.MODULE_PATH
    of = partial(
        RunnerDeployment.from_flow, name=NAME, tags=[TAG], paused=False, entrypoint_type=way
    )
    own = partial(of, parameters=prepare, cron=cron, interval=interval_s) if prepare else of
    scheduled = ingest_flow if "into" in (prepare or ()) else prepare_flow
    return [own(flow) if flow is scheduled else of(flow) for flow in FLOWS]


def crash_zombies() -> None:
    """Have the server mark runs whose process is gone: a killed one cannot say so itself.

    Only runs of our flows, and only where no automation of this name is there: it may be changed.
    """
    frequency = PREFECT_FLOWS_HEARTBEAT_FREQUENCY.value() or FREQUENCY_S
    heartbeat = "prefect.flow-run.heartbeat"
    automation = AutomationCore(
        name=ZOMBIES,
        description="Made by tokenmill serve. Change it or switch it off, but keep its name.",
        trigger=EventTrigger(
            after={heartbeat},
            expect={heartbeat, *(f"prefect.flow-run.{end}" for end in ENDS)},
            match={"prefect.resource.id": "prefect.flow-run.*"},
            match_related={
                "prefect.resource.role": "flow",
                "prefect.resource.name": [flow.name for flow in FLOWS],
            },
            for_each={"prefect.resource.id"},
            posture="Proactive",
            threshold=1,
            within=datetime.timedelta(seconds=HEARTBEATS * frequency),
        ),
        actions=[
            ChangeFlowRunState(
                state=StateType.CRASHED,
                message=f"no heartbeat for {HEARTBEATS * frequency} s: its process is gone; run it"
                " again to continue it",
            )
        ],
    )
    with get_client(sync_client=True) as client:
        if not client.read_automations_by_name(ZOMBIES):
            client.create_automation(automation)


@contextmanager
def watched() -> Iterator[None]:
    """Watch the server for the length of the block, beside what this process does.

    An interpreter that ends while a thread asks the server takes the process down with it.
    """
    over = Event()
    thread = Thread(target=_watch, args=(over,), daemon=True, name="outages")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(LEAVE_S)


def _watch(over: Event) -> None:
    where, out = f"the Prefect server at {address()}", sys.stdout
    missed, gone, stale = 0, False, False
    while not over.wait(POLL_S):
        missed = missed + 1 if trouble() else 0
        if missed == MISSED and not gone:
            gone, sys.stdout = True, io.StringIO()
            _tell(f"{where} is gone; runs at work go on, new ones begin when it is back")
        if gone and not missed:
            gone, stale, sys.stdout = False, True, out
            _tell(f"{where} is back")
        if stale and not gone and not _children():
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _children() -> bool:
    """Whether a run is at work, each of which is a process of its own."""
    found = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children"))
    return any(_is_a_run(Path("/proc") / pid / "cmdline") for pid in found.split())


def _is_a_run(command: Path) -> bool:
    """One that has ended has no words; what multiprocessing keeps beside them is none."""
    try:
        words = command.read_bytes()
    except OSError:
        return False
    return bool(words) and b"resource_tracker" not in words
