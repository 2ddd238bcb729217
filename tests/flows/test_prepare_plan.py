"""What storage it takes to train on a run's dataset is told with a plan, and with none is not."""

import json

import pytest
import yaml

from tests.e2e.corpus import write_corpus
from tokenmill.flows.cli import main
from tokenmill.sizing.report.data import sheet_json
from tokenmill.sizing.requirements import size

SMALL, LARGE = "gpt2-124m-8-h100", "llama-8b-1024-h100"
NAMED = ("scratch, filtered documents", "scratch, token shards", "dataset")
FILES = {"requirements.md", "requirements.html", "requirements.json"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, server):
    """A recipe and its run with a plan."""
    folder = tmp_path_factory.mktemp("planned")
    recipe, out = write_corpus(folder, shard_bytes="200kB"), folder / "run"
    assert main(["prepare", str(recipe), "--out", str(out), "--plan", SMALL, "--json"]) == 0
    return recipe, out


def sheet_of(out):
    return json.loads((out / "requirements.json").read_text())


def test_a_plan_gives_the_sheet_that_size_gives_of_the_run(finished):
    _, out = finished
    assert sheet_of(out) == json.loads(json.dumps(sheet_json(size(SMALL, corpus=out))))
    assert {p.name for p in out.iterdir()} >= FILES


def test_another_plan_for_a_finished_run(finished, capsys):
    recipe, out = finished
    before = sheet_of(out)
    command = ["prepare", str(recipe), "--out", str(out)]
    assert main([*command, "--plan", LARGE]) == 0
    shown = capsys.readouterr().out
    for words in ("by 1,024 H100 SXM", "read bandwidth, whole job", "requirements.html"):
        assert words in shown
    assert sheet_of(out)["headline"] == before["headline"]
    assert sheet_of(out)["sections"] != before["sections"]
    assert main([*command, "--plan", SMALL, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["requirements"] == before == sheet_of(out)


def test_the_wait_that_nobody_stated_is_told_with_what_a_short_one_takes(finished, capsys):
    recipe, out = finished
    plan = out.parent / "plan.yaml"
    for stated in ("{}", "{stall_frac: 2%}"):
        plan.write_text(f"corpus: {{tokens: 1T}}\ncheckpoints: {stated}")
        assert main(["prepare", str(recipe), "--out", str(out), "--plan", str(plan)]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        told = (
            "checkpoint write bandwidth: training waits 5 % of the time (our choice: checkpoints."
        )
        assert (told in shown) == (stated == "{}")


def test_without_a_plan_one_line_tells_how_to_learn_it(finished, capsys):
    recipe, out = finished
    assert main(["prepare", str(recipe), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    told = f"tokenmill size PLAN --corpus {out}"
    (line,) = [line for line in shown.splitlines() if told in line]
    assert line.startswith("storage  ")
    assert "H100" not in shown + (out / "report.md").read_text()


def test_a_run_that_keeps_nothing_asks_for_no_storage_and_is_shown(
    finished, tmp_path, server, capsys
):
    data = yaml.safe_load(finished[0].read_text()) | {"steps": [{"length": {"min_chars": 10**8}}]}
    (tmp_path / "none.yaml").write_text(yaml.safe_dump(data))
    out = tmp_path / "run"
    command = ["prepare", str(tmp_path / "none.yaml"), "--out", str(out), "--plan", SMALL]
    for _ in range(2):  # made now, and found finished
        assert main(command) == 3  # nothing is left
        assert "too_short" in capsys.readouterr().out
    assert not FILES & {p.name for p in out.iterdir()}


def test_stages_have_names_that_a_reader_knows(finished):
    stored = [
        row["name"]
        for s in sheet_of(finished[1])["sections"]
        for row in s["rows"]
        if row["name"].startswith("stored: ")
    ]
    assert {f"stored: {name}" for name in NAMED} <= set(stored)
    assert not [name for name in stored if any(c.isdigit() for c in name.split(", pass")[0])]


@pytest.mark.parametrize("plan", ["no-such-plan", "model: {param: 1B}"])
def test_a_mistake_in_the_plan_is_told_before_anything_is_written(finished, tmp_path, plan, capsys):
    if ":" in plan:
        (tmp_path / "plan.yaml").write_text(plan)
        plan = str(tmp_path / "plan.yaml")
    out = tmp_path / "run"
    assert main(["prepare", str(finished[0]), "--out", str(out), "--plan", plan]) == 2
    assert "plan" in capsys.readouterr().err
    assert not out.exists()
