"""The commands as a user types them: in this process, against the tests' own server."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from datasets import load_from_disk

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one
from tokenmill.flows.cli import main, parser
from tokenmill.flows.commands.prepare_tables import show_report
from tokenmill.flows.doing.prepare import in_short
from tokenmill.flows.exits import exit_code_of
from tokenmill.flows.troubles import MOST_FAILURES, bounded, ended_as, exit_code, failures
from tokenmill.pipelines.core.errors import ConfigError, InputError, LedgerError, ShardError
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.runs.finished import DamagedShard, FailedSource, Failures, UnreadInput
from tokenmill.pipelines.runs.work import FailedShard, Outcome
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.units import UnitError

ROOT = Path(__file__).parent.parent.parent
COMMANDS = sorted(next(a for a in parser()._actions if a.dest == "command").choices)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), shard_bytes="200kB")


@pytest.fixture(scope="module")
def finished(recipe, tmp_path_factory, server):
    out = tmp_path_factory.mktemp("finished") / "run"
    assert main(["prepare", str(recipe), "--out", str(out), "--workers", "2", "--json"]) == 0
    return out


def changed(recipe, folder, **settings):
    path = folder / "changed.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(recipe.read_text()), **settings}))
    return path


def test_what_a_command_does_not_take_is_told_in_its_own_name(capsys):
    assert main(["prepare", "plain", "--set", "inputs=a", "b", "--out", "run"]) == 2
    assert capsys.readouterr().err == (
        "tokenmill prepare: b: is none of its options, nor asked for; tokenmill prepare --help"
        " lists them\n"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_stands_in_the_readme(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out
    assert f"tokenmill {command}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("command", [["--help"], ["size", "--help"]])
def test_help_starts_without_the_heavy_packages(command):
    code = (
        "import sys; from tokenmill.flows.cli import main\n"
        f"try: main({command!r})\n"
        "except SystemExit: pass\n"
        "print({'prefect', 'datasets', 'numba', 'pyarrow', 'numpy'} & set(sys.modules),"
        " file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ended.stderr.strip() == "set()"


def test_prepare_shows_where_documents_went(recipe, finished, capsys):
    assert main(["prepare", str(recipe), "--out", str(finished)]) == 0
    shown, told = capsys.readouterr()
    for word in ("near_duplicate", "exact_duplicate", "A token stands for", "report.html"):
        assert word in " ".join(shown.split())
    captions = ["Documents by stage", "Bytes of text by stage", "Documents that left, by reason"]
    assert [line for line in map(str.rstrip, shown.splitlines()) if line in captions] == captions
    assert told == (
        f"{finished}: this run has finished, so it is not made again. To make it anew, give another"
        " --out or delete this one\n"
    )
    assert main(["prepare", str(recipe), "--out", str(finished), "--dry-run"]) == 0
    assert capsys.readouterr().err == told


def test_json_is_all_of_stdout(recipe, finished, capsys):
    assert main(["prepare", str(recipe), "--out", str(finished), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["name"] == "stdlib"
    assert captured.err == ""


def test_one_worker_and_two_make_the_same_bytes(recipe, finished, tmp_path, server):
    out = tmp_path / "run"
    assert main(["prepare", str(recipe), "--out", str(out), "--workers", "1", "--json"]) == 0
    files = sorted(p.relative_to(out) for p in (out / "dataset").rglob("*") if p.is_file())
    assert len(files) > 4
    for name in files:
        assert (out / name).read_bytes() == (finished / name).read_bytes(), name


def test_a_dry_run_writes_nothing(recipe, tmp_path, capsys):
    assert main(["prepare", str(recipe), "--out", str(tmp_path / "run"), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "read → normalize → exact → near → tokenize" in shown
    assert "free: enough" in shown
    assert "slurm" not in shown
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("runner", ["slurm", "array"])
def test_a_dry_run_shows_the_jobs_that_slurm_would_be_asked_for(recipe, tmp_path, capsys, runner):
    command = ["prepare", str(recipe), "--out", str(tmp_path / "run"), "--dry-run"]
    command += ["--runner", runner]
    assert main(command) == 0
    shown, told = capsys.readouterr()
    assert (
        "1 job at a time (run.slurm.maximum), each 1 core, 4.29 GB, 04:00:00; 1 shard of" in shown
    )
    assert "partition by default, account by default; logs in" in shown
    assert told == "warning: run.slurm.maximum is not stated: one job at a time does all works\n"
    slurm = "{maximum: 20, cores: 8, memory: 64GB, walltime: '08:00:00', queue: cpu, account: lab}"
    assert main([*command, "--set", f"run.slurm={slurm}", "--set", "shard_bytes=60kB"]) == 0
    shown, told = capsys.readouterr()
    assert "20 jobs at a time (run.slurm.maximum), each 8 cores, 64 GB, 08:00:00;" in shown
    assert "partition cpu, account lab" in shown
    whole = " ".join(shown.split())  # the path may break the line
    assert (
        f"jobs run {sys.executable} in the environment that sbatch hands on, no prologue" in whole
    )
    assert told == ""
    assert main([*command, "--json", "--set", f"run.slurm={slurm}"]) == 0
    asked = json.loads(capsys.readouterr().out)["slurm"]
    assert (asked["maximum"], asked["workers"], asked["queue"]) == (20, 8, "cpu")


def test_a_dry_run_for_which_there_is_no_room_answers_no(recipe, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    assert main(["prepare", str(recipe), "--out", str(tmp_path / "run"), "--dry-run"]) == 1
    assert "10 B free: NOT ENOUGH" in capsys.readouterr().out


def test_a_dry_run_ends_as_the_run_would_of_inputs_that_cannot_be_read(recipe, tmp_path, capsys):
    for n in range(30):
        (tmp_path / f"b{n:02}.jsonl").write_text('{"text": "words"}\n')
    (tmp_path / "c.jsonl").write_text('{"body": "words"}\n')
    bad = f"inputs=[{{path: {tmp_path}/b00.jsonl}}, {{path: {tmp_path}/*.jsonl, text: nope}}]"
    command = ["prepare", str(recipe), "--out", str(tmp_path / "run"), "--set", bad]
    assert main([*command, "--dry-run"]) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("cannot be read: ") == 2
    assert "as {path: …, text: NAME} (29 more files likewise) cannot be read: " in shown


def test_a_mistake_is_one_line_and_exit_code_2(recipe, tmp_path, capsys):
    path = changed(recipe, tmp_path, step=[])
    assert main(["prepare", str(path), "--out", str(tmp_path / "run")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"tokenmill prepare: {path}: unknown key 'step'; did you mean 'steps'?\n"
    )


def test_a_pattern_that_wants_quotes_is_told_so(tmp_path, capsys):
    (tmp_path / "part-1.txt").write_text("words")
    command = ["prepare", "plain", "--out", str(tmp_path / "run"), "--dry-run", "--set"]
    assert main([*command, f"inputs={{path: {tmp_path}/part-?.txt}}"]) == 2
    told = "the value is not YAML; within {} put what has ? [ ] { } : or , between quotes, as"
    assert f"{told} {{path: 'part-?.jsonl'}}\n" in capsys.readouterr().err
    assert main([*command, f"inputs={{path: '{tmp_path}/part-?.txt'}}"]) == 0


def test_a_damaged_input_is_exit_code_3_and_named(recipe, tmp_path, capsys, server):
    data = yaml.safe_load(recipe.read_text())
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and then nothing")
    data["inputs"].append({"path": str(tmp_path / "cut.parquet")})
    path = changed(recipe, tmp_path, inputs=data["inputs"])
    assert main(["prepare", str(path), "--out", str(tmp_path / "run")]) == 3
    assert "cut.parquet" in capsys.readouterr().out
    assert len(load_from_disk(str(tmp_path / "run" / "dataset"))) > 0


FAILED = {
    "failed_inputs": UnreadInput(path="a", cause="not_found", message="a: gone", bytes=1),
    "failed_shards": FailedShard(step="pass-0", key="00001", error="told"),
    "damaged_shards": DamagedShard(key="00002", message="ends early"),
    "failed_sources": FailedSource(source="web", message="2 of its 4 documents failed"),
}


def failed(*kinds):
    return Failures(**{k: [FAILED[k]] if k in kinds else [] for k in Failures.model_fields})


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("failed_inputs", "1 input failed (failed input: a: gone)"),
        ("failed_shards", "1 shard failed (failed shard 00001 (pass-0): told)"),
        ("damaged_shards", "1 shard damaged (damaged shard 00002: ends early)"),
        ("failed_sources", "1 source failed (source web: 2 of its 4 documents failed)"),
    ],
)
def test_whatever_failed_alone_is_exit_code_3_and_told(kind, told):
    assert exit_code(failed(kind)) == 3
    assert ended_as(failed(kind), "9 documents") == f"{told}; the rest is complete: 9 documents"


def test_a_run_of_which_all_failed_offers_nothing(tmp_path, capsys):
    recipe = load_recipe(write_corpus(tmp_path, steps=["exact"]), {"output.text": "parquet"})

    def failing(job, phase):
        of_inputs = phase.works and phase.works[0].step == "pass-0"
        error = ShardError("no such luck")
        made = [Outcome(work=work, error=error) for work in phase.works]
        return made if of_inputs else one_by_one(job, phase)

    report = run_recipe(recipe, tmp_path / "run", failing)
    assert report.failed_shards
    assert ended_as(report, in_short(report)).endswith("); nothing was made")
    show_report(report, tmp_path / "run")
    shown = capsys.readouterr().out
    assert "nothing was made" in shown
    assert "missing too" not in shown
    for told in (shown, (tmp_path / "run" / "report.md").read_text().partition("## Where")[0]):
        assert "run/dataset" not in told
        assert "run/text" not in told


def test_all_that_failed_is_counted_and_no_more_is_listed_than_is_read():
    assert set(FAILED) == set(Failures.model_fields)
    assert (exit_code(failed()), failures(failed())) == (0, [])
    assert ended_as(failed(), "9 documents") == "9 documents"
    every = failures(failed(*FAILED))
    assert every == [line for kind in FAILED for line in failures(failed(kind))]
    for n in (MOST_FAILURES - 1, MOST_FAILURES):
        assert bounded(["x"] * n, "report.json") == ["x"] * n
    more = bounded(["x"] * (MOST_FAILURES + 1), "report.json")
    assert more == ["x"] * MOST_FAILURES + ["… and 1 more, see report.json"]


class OurError(ConfigError):
    """One of a subclass, as a contributed step may raise."""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (OurError("x"), 2),
        (InputError("x", cause="not_found"), 2),
        (PlanError("x"), 2),
        (UnitError("x"), 2),
        (ShardError("x"), 3),
        (LedgerError("x"), 3),
        (ValueError("x"), None),
        (OSError("x"), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_error_has_its_exit_code(error, code):
    assert exit_code_of(error) == code


def test_set_overrides_the_recipe(recipe, tmp_path, server):
    out = str(tmp_path / "run")
    settings = ["--set", "output.seq_len=128", "--set", "output.validation_frac=0.2"]
    assert main(["prepare", str(recipe), "--out", out, "--json", *settings]) == 0
    dataset = load_from_disk(out + "/dataset")
    assert set(dataset) == {"train", "validation"}
    assert {len(row["input_ids"]) for row in dataset["train"]} == {128}


def test_inspect_lists_reasons_and_documents(finished, capsys):
    assert main(["inspect", str(finished)]) == 0
    assert "near_duplicate" in capsys.readouterr().out
    assert main(["inspect", str(finished), "--documents", "--limit", "3", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 3


def test_inspect_shows_a_duplicate_beside_what_was_kept(finished, capsys):
    assert main(["inspect", str(finished), "--reason", "near_duplicate", "--json"]) == 0
    receipt = json.loads(capsys.readouterr().out)[0]
    assert receipt["similarity"] >= 0.5
    assert main(["inspect", str(finished), "--doc", str(receipt["doc_id"]), "--json"]) == 0
    pair = json.loads(capsys.readouterr().out)
    assert pair["removed"]["doc_id"] == receipt["doc_id"]
    assert pair["kept"]["doc_id"] == pair["chain"][-1]
    assert pair["removed"]["text"] != pair["kept"]["text"]
    assert main(["inspect", str(finished), "--doc", str(receipt["doc_id"])]) == 0
    shown = capsys.readouterr().out
    assert "removed:" in shown
    assert "kept:" in shown


@pytest.mark.parametrize("arguments", [["--doc", "99999999999999"], ["--doc", "12345678"]])
def test_inspect_of_a_document_that_is_not_there(finished, arguments, capsys):
    assert main(["inspect", str(finished), *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_inspect_of_no_run(tmp_path, capsys):
    assert main(["inspect", str(tmp_path)]) == 2
    assert "no run here" in capsys.readouterr().err


def test_a_bug_is_a_traceback_and_never_the_answer_no(tmp_path, capsys, monkeypatch):
    def broken(_):
        raise KeyError("ours")

    monkeypatch.setattr("tokenmill.flows.commands.inspect.run", broken)
    assert main(["inspect", str(tmp_path)]) == 70
    assert capsys.readouterr().err.endswith("KeyError: 'ours'\n")


def test_two_runs_in_one_directory_at_once_are_refused(recipe, tmp_path, capsys, server):
    from tokenmill.pipelines.runs.manifest import locked

    out = tmp_path / "run"
    with locked(out):
        assert main(["prepare", str(recipe), "--out", str(out)]) == 2
    assert "another run is at work" in capsys.readouterr().err


def test_a_run_over_relative_paths_can_be_looked_at_from_elsewhere(
    recipe, tmp_path, server, monkeypatch, capsys
):
    data = yaml.safe_load(recipe.read_text())
    monkeypatch.chdir(recipe.parent)
    data["inputs"], data["tokenizer"] = [{"path": "docs.jsonl"}], {"path": "tokenizer.json"}
    (tmp_path / "relative.yaml").write_text(yaml.safe_dump(data))
    out = str(tmp_path / "run")
    assert main(["prepare", str(tmp_path / "relative.yaml"), "--out", out, "--json"]) == 0
    monkeypatch.chdir("/")
    capsys.readouterr()
    assert main(["inspect", out, "--doc", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kept"]["id"] == "doc-0"
    assert main(["inspect", out, "--documents", "--json"]) == 0
