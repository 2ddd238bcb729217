"""Flows on a real Prefect server: behind a password, dead, missing, and by the command line."""

import json
import os
import signal
import subprocess

import pytest

from tests.cluster import runs
from tests.cluster.processes import ROOT, Program, environment, free_port
from tests.e2e.corpus import write_corpus

WITHIN_S = 180


@pytest.fixture
def expected(undisturbed):
    return runs.contents(undisturbed.out)


def rows(server, of, **filters):
    return json.loads(server.post(f"/{of}/filter", json.dumps(filters).encode()))


def flow_runs(server, name):
    found = rows(server, "flow_runs", flows={"name": {"any_": [name]}})
    return sorted(found, key=lambda run: run["start_time"] or "")


def begun(recipe, out, server, log):
    """A run of which some works are done, held still."""
    command = [str(runs.TOKENMILL), "prepare", str(recipe), "--out", str(out), "--workers", "2"]
    program = Program(command, log=log, env=server.client_env)
    program.wait_until(lambda: runs.n_done(out) > 3, within_s=WITHIN_S)
    os.kill(program.pid, signal.SIGSTOP)
    return program


def test_the_work_goes_on_when_the_server_dies(recipe, expected, prefect_server, tmp_path):
    program = begun(recipe, tmp_path / "run", prefect_server, tmp_path / "log")
    prefect_server.kill()
    os.kill(program.pid, signal.SIGCONT)
    assert program.process.wait(WITHIN_S) == 0, program.tail()
    said = (tmp_path / "log").read_text()
    assert f"the Prefect server at {prefect_server.url} is gone (ConnectError)" in said
    assert "Traceback" not in said
    assert runs.contents(tmp_path / "run") == expected


def test_a_server_that_comes_back_is_told_the_end(recipe, expected, prefect_server, tmp_path):
    program = begun(recipe, tmp_path / "run", prefect_server, tmp_path / "log")
    prefect_server.kill()
    os.kill(program.pid, signal.SIGCONT)
    prefect_server.start()
    assert program.process.wait(WITHIN_S) == 0, program.tail()
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert runs.contents(tmp_path / "run") == expected
    last = flow_runs(prefect_server, "prepare-corpus")[-1]
    assert last["state"]["type"] == "COMPLETED"
    assert last["state"]["message"].endswith(f"tokens in {tmp_path / 'run' / 'dataset'}")
    assert last["tags"] == ["stdlib", "threads", "tokenmill"]
    artifacts = rows(prefect_server, "artifacts", flow_runs={"id": {"any_": [last["id"]]}})
    kinds = {a["key"].partition("-")[0] for a in artifacts if a["key"]}
    assert {"report", "ledger", "removals", "clusters"} <= kinds
    assert "progress" in {a["type"] for a in artifacts}


def test_a_failed_input_fails_the_flow_run_and_the_rest_is_there(prefect_server, tmp_path):
    recipe = write_corpus(tmp_path)
    (tmp_path / "broken.jsonl").write_text("no json at all\n")
    text = recipe.read_text().replace("inputs:\n", f"inputs:\n- {tmp_path / 'broken.jsonl'}\n")
    recipe.write_text(text)
    ended = runs.prepare(recipe, tmp_path / "run", env=prefect_server.client_env)
    assert ended.code == 3
    last = flow_runs(prefect_server, "prepare-corpus")[-1]
    assert last["state"]["type"] == last["state"]["name"].upper() == "FAILED"
    assert last["state"]["message"].startswith("1 input failed (failed input: ")
    assert "; the rest is complete: " in last["state"]["message"]
    assert ended.report["dataset"]["splits"]["train"]["docs"] > 0


def test_a_server_behind_a_password(locked_prefect_server, recipe, expected, tmp_path):
    env = locked_prefect_server.client_env
    runs.prepared(recipe, tmp_path / "run", "--workers", "2", env=env)
    assert runs.contents(tmp_path / "run") == expected
    (last,) = flow_runs(locked_prefect_server, "prepare-corpus")
    assert last["state"]["type"] == "COMPLETED"
    ended = runs.prepare(
        recipe, tmp_path / "other", env={**env, "PREFECT_API_AUTH_STRING": "clerk:guess"}
    )
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "refuses us (HTTP 401); set PREFECT_API_AUTH_STRING=USER:PASSWORD" in ended.err


def test_a_server_that_is_not_there_is_one_line(recipe, tmp_path):
    url = f"http://127.0.0.1:{free_port()}/api"
    env = {"PREFECT_API_URL": url, "PREFECT_HOME": str(tmp_path / "home")}
    ended = runs.prepare(recipe, tmp_path / "run", env=env)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert f"the Prefect server at {url} does not answer (ConnectError); start it" in ended.err
    served = subprocess.run(
        [str(runs.TOKENMILL), "serve"],
        cwd=ROOT,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )
    assert served.returncode == 2
    assert served.stderr.count("\n") == 1
