"""`tokenmill probe` as a user types it, and the flow with its artifacts."""

import json
import urllib.request

import pytest
import yaml

from tests.pipelines.probe.corpora import SEQ_LEN, packed
from tokenmill.flows.cli import main

pytestmark = pytest.mark.usefixtures("disk_waited_for")
PLAN = {
    "model": {"params": "8B", "seq_len": SEQ_LEN},
    "cluster": {"count": 1},
    "training": {"batch_tokens": 400},  # a step of 0.05 s
}
QUICK = ["--seconds", "0.3", "--processes", "1"]


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(PLAN))
    return str(path)


@pytest.fixture
def dataset(tmp_path):
    return str(packed(tmp_path / "d"))


def test_the_exit_code_is_the_verdict(plan, dataset, tmp_path, capsys):
    out = tmp_path / "out"
    code = main(["probe", dataset, "--plan", plan, *QUICK, "--json", "--out", str(out)])
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    assert captured.err == ""
    assert code == (0 if data["verdict"]["outcome"] == "PASS" else 1)
    assert json.loads((out / "probe.json").read_text()) == data
    assert (out / "probe.md").read_text().startswith("# Storage probe")
    assert (out / "probe.html").read_text().startswith("<!DOCTYPE html>")


def test_a_filled_folder_is_probed_and_removed(plan, tmp_path, capsys):
    folder = tmp_path / "fill"
    command = ["probe", str(folder), "--plan", plan, *QUICK, "--fill", "1MB", "--remove"]
    assert main(
        [
            *command,
            "--order",
            "random",
            "--checkpoint",
            str(tmp_path / "ck"),
            "--checkpoint-bytes",
            "100kB",
        ]
    ) in (0, 1)
    shown = " ".join(capsys.readouterr().out.split())  # lines end where figures let them
    for word in ("accelerators fed", "checkpoint writes", "order random"):
        assert word in shown
    # on a machine that is busy with something else not even one accelerator may be fed
    assert ("read amplification" in shown) == ("needed: 0 keep" not in shown)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["{empty}"], "not a dataset: no state.json and no .arrow files"),
        (["{none}"], "no such folder"),
        (["{dataset}", "--split", "test"], "has no splits; leave --split out"),
        (["{dataset}", "--seconds", "0"], "--seconds 0.0: must be over 0"),
        (["{dataset}", "--accelerators", "-1"], "--accelerators -1: must be over 0"),
        (["{dataset}", "--remove"], "--remove deletes what --fill wrote; give both"),
        (["{dataset}", "--fill", "1GB"], "something is there; --fill needs a new or an empty"),
        (["{empty}", "--fill", "1 GX"], "--fill: '1 GX'"),
        (["{empty}", "--fill", "-1GB"], "--fill: '-1GB' is negative"),
        (["{empty}", "--fill", "0B"], "--fill 0B: must be over 0"),
        (
            ["{dataset}", "--checkpoint", "{empty}", "--checkpoint-bytes", "0B"],
            "--checkpoint-bytes 0B: must be over 0",
        ),
        (["{dataset}", "--checkpoint", "{file}"], "checkpoints cannot be written there"),
        (["{dataset}", "--plan", "{none}"], "no such plan file"),
        (["{file}"], "a file, not a folder"),
        (["{dataset}", "--seconds", "inf"], "--seconds inf: must be over 0, and a number"),
        (["{dataset}", "--checkpoint-bytes", "1GB"], "is of --checkpoint FOLDER; give both"),
        (["{dataset}", "--out", "{file}"], "cannot write there (File exists); choose another"),
    ],
)
def test_a_mistake_is_one_line(arguments, told, dataset, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    places = {"dataset": dataset, **{n: str(tmp_path / n) for n in ("empty", "none", "file")}}
    assert main(["probe", *(a.format(**places) for a in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert captured.err.count("\n") == 1


def test_the_flow_publishes_a_table_and_a_document(plan, dataset, server, tmp_path):
    from tokenmill.flows.probe import probe_storage  # once the server's address is set

    folder = tmp_path / "probed"
    state = probe_storage(dataset, plan, seconds=0.3, out=str(folder), return_state=True)
    data = json.loads((folder / "probe.json").read_text())
    passed = data["verdict"]["outcome"] == "PASS"
    assert (state.is_completed(), state.is_failed()) == (passed, not passed)
    assert state.message.startswith(data["verdict"]["outcome"])

    def artifact(key):
        with urllib.request.urlopen(f"{server}/artifacts/{key}/latest") as answer:
            return json.load(answer)["data"]

    rows = json.loads(artifact("storage-probe"))
    assert [row["verdict"] for row in rows] == [v["outcome"] for v in data["verdicts"]]
    assert [list(row) for row in rows] == [["what", "verdict", "why"]] * len(rows)
    assert artifact("storage-probe-report").startswith("# Storage probe")
