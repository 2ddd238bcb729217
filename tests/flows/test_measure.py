"""The command as a user types it, and the flow's artifact, against the tests' own server."""

import json
import re
import shutil
import urllib.request
from types import SimpleNamespace

import pytest
import yaml

from tests.e2e.corpus import write_corpus
from tokenmill.flows.cli import main
from tokenmill.pipelines.prepare.recipe import load_recipe


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), shard_bytes="200kB")


@pytest.fixture(scope="module")
def measured(recipe, tmp_path_factory, server):
    """An estimate, and what the command printed."""
    out = tmp_path_factory.mktemp("measured") / "estimate.json"
    command = ["measure", str(recipe), "--out", str(out), "--probes", "200", "--sample", "40%"]
    with pytest.MonkeyPatch.context() as patch:
        lines = []
        patch.setattr("sys.stdout.write", lines.append)
        assert main([*command, "--cores", "8", "--workers", "2"]) == 0
    return out, "".join(lines)


def test_the_table_says_what_each_figure_rests_on(measured):
    _, shown = measured
    rows = {line[:30].strip(): line for line in shown.splitlines()}
    assert "counted" in rows["documents in"]
    assert " to " in rows["tokens"]
    assert rows["tokens"].rstrip().endswith("counted, probes, sampled documents")
    for name in ("CPU time", "wall time, 8 cores"):  # most of such a short run is starting up
        assert "not known" in rows[name]
        assert rows[name].rstrip().endswith("seconds on this machine: too few")
    assert "200 of" in shown
    assert re.search(r"probed, [0-9.]+ % of the bytes tokenized", " ".join(shown.split()))
    assert rows["stored in removed"].rstrip().endswith("assumed")
    assert max(map(len, shown.splitlines())) <= 110


def test_what_is_stored_is_told_of_folders_that_stay_alone(measured):
    out, shown = measured
    told = set(re.findall(r"^stored in (\S+)", shown, re.MULTILINE))
    assert told == {"inputs", "removed", "dataset"}
    assert told < json.loads(out.read_text())["corpus"]["stored_bytes"].keys()
    assert f"{out}, in which scratch of the run is told by folder too" in " ".join(shown.split())


def test_quick_reads_so_many_bytes_and_tells_wider_intervals(
    recipe, tmp_path, capsys, server, monkeypatch
):
    monkeypatch.setattr("tokenmill.pipelines.measure.job.QUICK_BYTES", 60_000.0)
    out = tmp_path / "e.json"
    assert main(["measure", str(recipe), "--out", str(out), "--quick"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "% of the bytes read" in shown.replace(" %", "%")
    assert json.loads(out.read_text())["unique_by"] == "bounds"
    monkeypatch.undo()
    assert main(["measure", str(recipe), "--out", str(out), "--quick", "--budget", "9%"]) == 2
    assert "--budget 9%: is the budget of --quick" in capsys.readouterr().err


def test_a_dry_run_tells_the_disk_of_the_estimate_and_agrees_with_it(
    recipe, tmp_path, capsys, measured, monkeypatch
):
    out = measured[0]
    assert "prepare … --dry-run" in measured[1]
    command = ["prepare", str(recipe), "--out", str(tmp_path / "run"), "--dry-run"]
    assert main(command) == 0
    assert "supposed; tokenmill measure predicts it" in capsys.readouterr().out
    command += ["--estimate", str(out)]
    assert main(command) == 0
    assert f"as {out} predicts" in " ".join(capsys.readouterr().out.split())
    assert main([*command, "--json"]) == 0
    planned, estimate = json.loads(capsys.readouterr().out), json.loads(out.read_text())
    told, peak = planned["predicted"], list(estimate["disk_bytes"].values())[-1]
    assert told["bytes"] == round(peak["value"]) < told["most"]
    files = estimate["corpus"]["files"]
    assert len(planned["files"]) == files["inputs"]
    assert planned["shards"] == files["10-filtered"]
    assert sum(f["bytes"] for f in planned["files"]) == estimate["corpus"]["stored_bytes"]["inputs"]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=told["most"] - 1))
    assert main(command) == 1
    assert "NOT ENOUGH" in capsys.readouterr().out


def test_a_part_of_the_inputs_gives_bounds_and_says_so(recipe, tmp_path, capsys, server):
    command = ["measure", str(recipe), "--out", str(tmp_path / "e.json"), "--budget", "30%"]
    assert main([*command, "--grow-to", "1.2x"]) == 0
    shown = capsys.readouterr().out
    rows = {line[:30].strip(): line for line in shown.splitlines()}
    assert rows["unique, of what filters leave"].rstrip().endswith(" bounds")
    assert " to " in rows["documents in"]
    assert "parts read" in rows["documents in"]
    assert "kept by exact" in rows
    assert not {"kept by read", "kept by normalize"} & rows.keys()
    assert "no sample of documents tells how many" in " ".join(shown.split())
    assert json.loads((tmp_path / "e.json").read_text())["unique_by"] == "bounds"


def test_growth_is_a_row_of_the_table(recipe, tmp_path, capsys, server):
    command = ["measure", str(recipe), "--out", str(tmp_path / "e.json"), "--grow-to", "1.5x"]
    assert main([*command, "--set", "shard_bytes=20kB"]) == 0
    rows = {line[:30].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert "* N^" in rows["unique documents grow as"]
    (grown,) = [line for name, line in rows.items() if name.startswith("unique of ")]
    assert grown.rstrip().endswith("model of growth")


def test_nothing_but_the_estimate_stays(measured):
    out, _ = measured
    assert [path.name for path in out.parent.iterdir()] == ["estimate.json"]


def test_the_estimate_is_a_corpus_of_tokenmill_size(measured, capsys):
    out, _ = measured
    assert main(["size", "--corpus", str(out), "--json"]) == 0
    sheet = json.loads(capsys.readouterr().out)
    assert "estimated: corpus stdlib, from 200 of" in json.dumps(sheet)


def test_json_is_the_estimate_and_all_of_stdout(recipe, tmp_path, capsys, server):
    out = tmp_path / "estimate.json"
    assert main(["measure", str(recipe), "--out", str(out), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == json.loads(out.read_text())
    assert captured.err == ""


def test_the_figures_are_published_as_a_table(measured, server):
    with urllib.request.urlopen(f"{server}/artifacts/estimate-stdlib/latest") as answer:
        table = json.loads(json.load(answer)["data"])
    assert {"figure", "value", "95 % interval", "rests on"} == set(table[0])
    assert "tokens" in [row["figure"] for row in table]


def test_what_could_not_be_read_is_told_by_the_exit_code(recipe, tmp_path, capsys, server):
    (tmp_path / "broken.jsonl").write_text("no json at all\n")
    data = yaml.safe_load(recipe.read_text())
    data["inputs"].append({"path": str(tmp_path / "broken.jsonl")})
    data["steps"] = [{"length": {"min_chars": 1}}, "exact"]
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(data))
    command = ["measure", str(tmp_path / "recipe.yaml"), "--out", str(tmp_path / "e.json")]
    assert main(command) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert "no line is a JSON object" in shown
    assert shown.index("no line is a JSON object") < shown.index("that filters leave were probed")


def test_prepare_holds_a_prediction_against_the_run(measured, recipe, tmp_path, capsys, server):
    out, _ = measured
    command = ["prepare", str(recipe), "--out", str(tmp_path / "run"), "--estimate", str(out)]
    assert main(command) == 0
    shown = capsys.readouterr().out.partition("predicted and actual")[2]
    (tokens,) = [line for line in shown.splitlines() if line.startswith("tokens ")]
    assert " to " in tokens
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["predicted"]
    (tokens,) = [row for row in rows if row["figure"] == "tokens"]
    assert tokens["held"] == (tokens["low"] <= tokens["actual"] <= tokens["high"])
    assert main([*command, "--set", "output.seq_len=64"]) == 2
    assert "made for another recipe" in capsys.readouterr().err


def test_a_prediction_may_lie_in_the_run_directory_before_the_run(
    measured, recipe, tmp_path, capsys, server
):
    (tmp_path / "run").mkdir()
    shutil.copy(measured[0], tmp_path / "run" / "estimate.json")
    assert main(["prepare", str(recipe), "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert f"predicted in  {tmp_path / 'run' / 'estimate.json'}" in shown
    cores = load_recipe(recipe).run.n_workers
    told = f"the prediction is for 8 cores, the run has {cores}: wall time is not compared"
    assert (told in shown) == (cores != 8)


def test_prepare_finds_the_prediction_that_lies_beside_the_run(
    measured, recipe, tmp_path, capsys, server
):
    out, _ = measured
    shutil.copy(out, tmp_path / "estimate.json")
    command = ["prepare", str(recipe), "--out", str(tmp_path / "run")]
    assert main(command) == 0
    assert f"predicted in  {tmp_path / 'estimate.json'}" in capsys.readouterr().out
    assert main([*command[:-1], str(tmp_path / "r2"), "--set", "output.seq_len=64"]) == 0
    assert "predicted and actual" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--budget", "some", "--budget 'some': write a share of the bytes (20%), or bytes (5GB)"),
        ("--sample", "0", "--sample '0': write a share"),
        ("--budget", "120%", "--budget '120%': write a share"),
        ("--budget", "0%", "--budget '0%': write a share"),
        ("--grow-to", "3x", "--grow-to '3x': write times as many documents (1.5x), 2x at most"),
        ("--grow-to", "1.5", "--grow-to '1.5': write times as many documents (1.5x), 2x at most"),
        ("--grow-to", "more", "--grow-to 'more': write times as many documents (1.5x)"),
        ("--probes", "0", "--probes 0: must be 1 at least"),
        ("--cores", "0", "--cores 0: must be 1 at least"),
        ("--seed", "-1", "--seed -1: must be 0 at least"),
        ("--set", "steps", "--set 'steps': write KEY=VALUE"),
        ("--out", ".", "is a folder; name the file, as --out estimate.json"),
    ],
)
def test_mistakes_are_one_line(recipe, tmp_path, capsys, option, value, said):
    command = ["measure", str(recipe), "--out", str(tmp_path / "estimate.json"), option, value]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_recipe_without_a_tokenizer_is_refused_before_anything_starts(recipe, tmp_path, capsys):
    settings = ["--set", "tokenizer=null", "--set", "output.text=parquet"]
    assert main(["measure", str(recipe), "--out", str(tmp_path / "e.json"), *settings]) == 2
    error = capsys.readouterr().err
    assert "tokenizer: null makes no tokens, which measure predicts" in error
    assert error.count("\n") == 1
