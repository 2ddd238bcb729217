"""`tokenmill export`: what it prints, and how it ends."""

import json

import pytest

from tests.pipelines.tokens.export.test_run import made
from tokenmill.flows.cli import main


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return made(tmp_path_factory.mktemp("run"))


def test_what_was_written_is_shown(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tokenmill.flows.progress.LEAST_TOLD_S", 0.0)
    out = tmp_path / "out"
    assert main(["export", str(run), "--format", "megatron", "--by-source", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("tokens for megatron")
    assert f"folder  {out}\n" in "".join(shown.out.splitlines(keepends=True)[-2:])
    assert "for a byte of ids" in shown.out
    assert "export: " in shown.err
    assert (out / "train-web.bin").exists()
    assert main(["export", str(run), "--format", "mds", "--out", str(out)]) == 2
    assert "--format is megatron there, mds here" in capsys.readouterr().err


def test_json_is_the_report(run, tmp_path, capsys):
    command = ["export", str(run), "--format", "mds", "--out", str(tmp_path / "out"), "--json"]
    assert main([*command, "--shard-bytes", "4kB"]) == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    assert (shown.err, report["format"]) == ("", "mds")
    train = report["splits"]["train"]
    assert train["files"] == len(list((tmp_path / "out" / "train").glob("*.mds"))) > 1
    assert train["bytes_per_id_byte"] == train["bytes"] / (2 * train["tokens"])
    assert report["without_tokens"] == []


def test_a_run_with_failed_shards_is_exported_with_a_warning(run, tmp_path, capsys):
    manifest = json.loads((run / "manifest.json").read_text())
    partial = tmp_path / "partial"
    partial.mkdir()
    (partial / "dataset").symlink_to(run / "dataset")
    report = {**manifest["report"], "failed_shards": [{"key": "0", "error": "x"}]}
    changed = {**manifest, "status": "partial", "report": report}
    (partial / "manifest.json").write_text(json.dumps(changed))
    out = str(tmp_path / "out")
    assert main(["export", str(partial), "--format", "parquet", "--out", out]) == 3
    assert "1 shards of the run failed, their documents are missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--shard-bytes", ""], "--shard-bytes: '' is not a quantity of bytes or bits; accepted: "),
        (["--shard-bytes", "5"], "--shard-bytes: '5' has no unit; accepted: "),
        (["--out", "s3://bucket/out"], "s3://bucket/out: only inputs and runs of prepare can be"),
        (["--text", "--format", "jsonl", "--shard-bytes", ""], "--shard-bytes is not for --text"),
        (["--by-source"], "--by-source is for megatron; in mds each row has its source in a col"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told_in_one_line(run, tmp_path, capsys, options, said):
    command = ["export", str(run), "--format", "mds", "--out", str(tmp_path / "out"), *options]
    assert main(command) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"tokenmill export: {said}")
    assert err.count("\n") == 1
