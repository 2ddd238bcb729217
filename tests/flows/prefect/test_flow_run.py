"""How a flow run ends: its state tells the truth, and so does what the caller gets."""

import json
import time
import urllib.request

import pytest
import yaml

from tests.e2e.corpus import write_corpus
from tokenmill.flows.asked import read_recipe
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.places import VARIABLE

WITHIN_S = 1000.0


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), shard_bytes="200kB")


@pytest.fixture
def prepare_flow(server):
    from tokenmill.flows.prepare import prepare_flow  # once the server's address is set

    return prepare_flow


def newest(server, of):
    """The newest row of an endpoint of the API."""
    return rows(server, of, limit=1, sort="START_TIME_DESC")[0]


def rows(server, of, **filters):
    body = json.dumps(filters).encode()
    request = urllib.request.Request(
        f"{server}/{of}/filter", data=body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def phases(server, ran):
    """How the newest task run of each phase stands."""
    return {row["name"].split()[0]: row["state_type"] for row in rows(server, "task_runs", **ran)}


def test_a_flow_without_a_command_prepares_and_finds_all_done(
    prepare_flow, recipe, tmp_path, server
):
    report = prepare_flow(recipe, tmp_path / "run", run={"workers": 2})  # paths will do
    assert report["measurement"]["total"]["docs"] > 0
    ran = {"flow_runs": {"id": {"any_": [newest(server, "flow_runs")["id"]]}}}
    deadline = time.monotonic() + WITHIN_S  # the server notes several states at a time
    while not (ended := phases(server, ran)) or ended.pop("dataset", None) != "COMPLETED":
        assert time.monotonic() < deadline, ended
        time.sleep(0.1)
    assert set(ended.values()) == {"COMPLETED"}
    assert {"pass-0", "pass-1"} < ended.keys()
    state = prepare_flow(str(recipe), str(tmp_path / "run"), return_state=True)
    assert state.is_completed()
    assert state.message.startswith("finished before, nothing to do: ")
    assert state.result() == report


@pytest.mark.parametrize("every_s", [0.01, 1000.0])
def test_phases_that_are_over_at_the_first_look_are_not_shown(
    prepare_flow, recipe, tmp_path, server, monkeypatch, every_s
):
    monkeypatch.setattr("tokenmill.flows.notes.EVERY_S", every_s)
    prepare_flow(recipe, tmp_path / "run")
    of = {"flow_runs": {"id": {"any_": [newest(server, "flow_runs")["id"]]}}}
    shown = rows(server, "artifacts", **of, artifacts={"type": {"any_": ["progress"]}})
    assert {row["data"] for row in shown} == {100.0}
    assert sum("; 100% of the run" in row["description"] for row in shown) == 1
    assert len(shown) == 1 or every_s < 1


def test_a_recipe_may_be_given_whole(prepare_flow, recipe, tmp_path):
    data = yaml.safe_load(recipe.read_text())
    report = prepare_flow(data, str(tmp_path / "run"))
    assert report["name"] == "stdlib"
    assert read_recipe(data, run=RunOptions(workers=2)).run == RunOptions(
        workers=2, keep_intermediates=False
    )
    with pytest.raises(ConfigError, match="settings: 'output.seq_len' is for a recipe file; put"):
        read_recipe(data, {"output.seq_len": 64})


def test_a_mistake_is_the_states_message(prepare_flow, tmp_path, server):
    state = prepare_flow("nothing", str(tmp_path / "run"), return_state=True)
    assert state.is_failed()
    assert state.message.startswith("no recipe file 'nothing', and none of that name ships")
    assert newest(server, "flow_runs")["state"]["message"] == state.message
    with pytest.raises(ConfigError, match="no recipe file 'nothing'"):
        prepare_flow("nothing", str(tmp_path / "run"))


def test_a_failed_input_fails_the_run_whose_report_is_complete(prepare_flow, tmp_path, server):
    recipe = write_corpus(tmp_path, shard_bytes="200kB")
    (tmp_path / "broken.jsonl").write_text("no json at all\n")
    data = yaml.safe_load(recipe.read_text())
    data["inputs"].append(str(tmp_path / "broken.jsonl"))
    state = prepare_flow(data, str(tmp_path / "run"), return_state=True)
    assert (state.type.value, state.name) == ("FAILED", "Failed")
    assert state.message.startswith("1 input failed (failed input: ")
    assert json.loads((tmp_path / "run" / "report.json").read_text())["name"] == "stdlib"
    ran = newest(server, "flow_runs")
    assert ran["name"] == f"prepare stdlib, {tmp_path / 'run'}"
    assert ran["tags"] == ["stdlib", "threads", "tokenmill"]
    with pytest.raises(ShardError, match="the rest is complete"):
        prepare_flow(data, str(tmp_path / "run"))


def test_a_flow_keeps_to_the_roots(prepare_flow, server, recipe, tmp_path, monkeypatch):
    from tokenmill.flows.contamination import contamination_flow
    from tokenmill.flows.measure import measure_flow
    from tokenmill.flows.probe import probe_storage
    from tokenmill.flows.size import size_cluster

    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "plan.yaml").write_text("corpus: {path: ../estimate.json}\n")
    (tmp_path / "plan.yaml").write_text("model: {params: 8B}\n")
    monkeypatch.setenv(VARIABLE, f"{inside}:{recipe.parent}")
    out, other = str(inside / "run"), str(tmp_path / "run")
    for flow, parameters in (
        (prepare_flow, {"recipe": "/etc/passwd.yaml", "out": out}),
        (prepare_flow, {"recipe": str(recipe), "out": other}),
        (prepare_flow, {"recipe": str(recipe), "out": out, "settings": {"inputs": "/etc"}}),
        (measure_flow, {"recipe": str(recipe), "out": f"{other}.json"}),
        (contamination_flow, {"corpus": ["/etc"], "benchmarks": ["b=/etc/b"], "out": out}),
        (contamination_flow, {"corpus": [out], "benchmarks": ["b=/etc/b"], "out": out}),
        (size_cluster, {"plan": str(tmp_path / "plan.yaml")}),
        (size_cluster, {"plan": str(inside / "plan.yaml")}),
        (size_cluster, {"corpus": "/etc/passwd"}),
        (size_cluster, {"changes": {"corpus.path": "/etc/passwd"}}),
        (size_cluster, {"out": other}),
        (probe_storage, {"dataset": "/etc"}),
        (probe_storage, {"dataset": out, "checkpoint": other}),
        (probe_storage, {"dataset": out, "out": other}),
    ):
        state = flow.fn(**parameters)  # all that a run of the flow does, without the server
        assert state.is_failed()
        assert f"lies outside of {VARIABLE} ({inside}:{recipe.parent})" in state.message, parameters
    assert VARIABLE in prepare_flow("/etc/passwd.yaml", out, return_state=True).message
    assert not (tmp_path / "run").exists()
