"""Deployments on a real server and worker: a schedule, forms, and what the pages of the UI show."""

import json
import subprocess
import sys
import time

import pytest

from tests.cluster import runs
from tests.cluster.browser import CHROMIUM, WHY_NOT, text_with
from tests.cluster.prefect_server import HELD_BACK_S
from tests.cluster.processes import ROOT, environment, eventually, running
from tests.cluster.test_prefect import flow_runs, rows
from tests.e2e.corpus import write_corpus

WITHIN_S = 240
INTERVAL_S = 15
PREFECT = [sys.executable, "-m", "prefect", "--no-prompt"]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WHY_NOT)


def prefect(server, *words):
    """A command of Prefect, which must succeed."""
    env = environment(**server.client_env, PREFECT_CLI_COLORS="false")
    ended = subprocess.run(
        [*PREFECT, *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=WITHIN_S
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def deployed(one_prefect_server):
    """The server with all of prefect.yaml, as its head says it; the deployments by flow."""
    server = one_prefect_server
    if not server.program.living:
        server.start()
    prefect(server, "work-pool", "create", "tokenmill", "--type", "process", "--overwrite")
    prefect(server, "work-pool", "set-concurrency-limit", "tokenmill", "1")
    prefect(server, "deploy", "--all")
    names = {flow["id"]: flow["name"] for flow in rows(server, "flows")}
    return {names[d["flow_id"]]: d for d in rows(server, "deployments") if d["name"] == "tokenmill"}


@pytest.fixture(scope="module")
def ran_twice(deployed, one_prefect_server, tmp_path_factory):
    """The flow runs of a deployment that was run by its schedule, and the run directory."""
    server, folder = one_prefect_server, tmp_path_factory.mktemp("scheduled")
    deployment = deployed["prepare-corpus"]["id"]
    path = f"/deployments/{deployment}"
    parameters = {"recipe": str(write_corpus(folder)), "out": str(folder / "run")}
    schedule = {"schedule": {"interval": INTERVAL_S}, "active": True, "parameters": parameters}
    made = json.loads(server.post(f"{path}/schedules", json.dumps([schedule]).encode()))
    command = [*PREFECT, "worker", "start", "--pool", "tokenmill", "--name", "of-test"]

    def log_of(run):
        lines = rows(server, "logs", logs={"flow_run_id": {"any_": [run["id"]]}})
        return " ".join(line["message"] for line in lines)

    def two_ended():
        made = flow_runs(server, "prepare-corpus")  # other tests' too
        found = [run for run in made if run["deployment_id"] == deployment]
        ended = [r for r in found if r["state"]["type"] in ("COMPLETED", "FAILED", "CRASHED")]
        return ended if len(ended) > 1 else []

    with running(command, log=folder / "worker.log", env=server.client_env):
        ended = eventually("two runs", two_ended, within_s=WITHIN_S, pause_s=1.0)
        server.delete(f"{path}/schedules/{made[0]['id']}")
        # it reaches the server after the state does, and not if the process is stopped before
        eventually("its log", lambda: "nothing to do" in log_of(ended[1]), within_s=WITHIN_S)
    return ended[:2], folder / "run"


def test_a_schedule_runs_it_and_then_finds_all_done(ran_twice, one_prefect_server):
    (first, second), out = ran_twice
    assert first["state"]["message"].endswith(f"tokens in {out / 'dataset'}")
    assert second["state"]["message"].startswith("finished before, nothing to do: ")
    assert {run["state"]["type"] for run in (first, second)} == {"COMPLETED"}
    assert {run["auto_scheduled"] for run in (first, second)} == {True}

    def tasks_of(run):
        return rows(one_prefect_server, "task_runs", flow_runs={"id": {"any_": [run["id"]]}})

    eventually("its task runs", lambda: tasks_of(first), within_s=WITHIN_S)
    time.sleep(2 * HELD_BACK_S)
    assert tasks_of(second) == []
    assert not runs.unbalanced(out)


def test_the_pages_of_a_run_show_it(ran_twice, one_prefect_server):
    (first, second), out = ran_twice
    ui = one_prefect_server.ui
    page = f"{ui}/runs/flow-run/{first['id']}"
    words = [f"prepare stdlib, {out}", "Completed", "threads", "pass-0 00000-of-", "documents in"]
    assert_shown(page, words)
    assert_shown(f"{ui}/runs/flow-run/{second['id']}", ["nothing to do"])
    (ledger,) = rows(
        one_prefect_server,
        "artifacts",
        artifacts={"key": {"any_": ["ledger-stdlib"]}},
        flow_runs={"id": {"any_": [first["id"]]}},
    )
    page = f"{ui}/artifacts/artifact/{ledger['id']}"
    words = ["docs in", "made by cutting", "removed", "normalize", "exact", "tokenize"]
    assert_shown(page, words)


def assert_shown(page, words):
    shown = text_with(page, words)
    for word in words:
        assert word in shown


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ("prepare-corpus", ["recipe", "str dict", "the run directory, by its whole path"]),
        ("ingest-collection", ["into", "the collection by its whole path", "that changed"]),
        ("measure-corpus", ["sample", "what goes through all steps", "RunOptions None"]),
        ("check-contamination", ["benchmarks", "Add item", "Line Breaks", "Short Threshold"]),
        ("size-cluster", ["plan", "changes", "the name of an example that ships"]),
        ("probe-storage", ["dataset", "seconds", "that this host must feed"]),
    ],
)
def test_a_deployment_has_a_form(deployed, one_prefect_server, flow, words):
    page = f"{one_prefect_server.ui}/deployments/deployment/{deployed[flow]['id']}/run"
    assert_shown(page, words)
