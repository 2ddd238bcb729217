"""Exports of whole runs: refused, made, continued after a kill, and the same bytes each time."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml
from datasets import load_dataset, load_from_disk

from tests.pipelines.conftest import train
from tests.pipelines.read.images.shards import sample_tar
from tests.reference.exports import read_mds, read_megatron
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import load_recipe, make_recipe
from tokenmill.pipelines.tokens.export import parquet
from tokenmill.pipelines.tokens.export.exported import FORMATS, asked
from tokenmill.pipelines.tokens.export.run import export

SETTINGS = {"shard_bytes": "6kB", "validation_frac": 0.2}


def made(folder, **output):
    """A run with several files to a split, two sources and a document without tokens."""
    for source, n in (("web", 150), ("my books", 60)):
        docs = [{"id": f"{source}/{i}", "text": f"{source} {i} " * (i % 40 * 4)} for i in range(n)]
        lines = "".join(json.dumps(doc) + "\n" for doc in docs)
        (folder / f"{source}.jsonl").write_text(lines)
    sources = [{"path": str(folder / f"{s}.jsonl"), "source": s} for s in ("web", "my books")]
    recipe = {
        "inputs": sources,
        "shard_bytes": "20kB",
        "steps": ["normalize"],
        "tokenizer": {"path": str(train(folder)), "eos": False},
        "output": {**SETTINGS, **output},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    prepare(load_recipe(folder / "recipe.yaml"), folder / "run", one_by_one)
    return folder / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return made(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return made(tmp_path_factory.mktemp("packed"), seq_len=32)


def told(done, total):
    pass


def rows_of(run):
    """(ids, source) of each split, as `datasets` reads the run."""
    splits = load_from_disk(str(run / "dataset"))
    return {s: [(row["input_ids"], row["source"]) for row in splits[s]] for s in splits}


def files_of(out):
    """Bytes of every file but the lock."""
    paths = (p for p in out.rglob("*") if p.is_file() and p.name != ".lock")
    return {str(p.relative_to(out)): p.read_bytes() for p in paths}


@pytest.mark.parametrize("format", FORMATS)
def test_all_splits_are_exported_and_read_back(run, tmp_path, format):
    report = export(run, tmp_path / "out", asked(format), told)
    wanted = rows_of(run)
    assert any(not ids for ids, _ in wanted["train"])
    for split, rows in wanted.items():
        ids = [ids for ids, _ in rows]
        if format == "megatron":
            assert read_megatron(tmp_path / "out" / split) == ids
        elif format == "mds":
            found = read_mds(tmp_path / "out" / split)
            assert [(row["tokens"], row["source"]) for row in found] == rows
        told_of = report["splits"][split]
        assert (told_of["rows"], told_of["tokens"]) == (len(rows), sum(map(len, ids)))
        of_split = [len(b) for n, b in files_of(tmp_path / "out").items() if is_data(n, split)]
        assert (told_of["files"], told_of["bytes"]) == (len(of_split), sum(of_split))


def is_data(name, split):
    return name.startswith(split) and not name.endswith(".json")


def test_parquet_opens_as_a_dataset_of_the_same_splits(run, tmp_path):
    export(run, tmp_path / "out", asked("parquet", shard_bytes=1000), told)
    found = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    ours = load_from_disk(str(run / "dataset"))
    for split in ours:
        assert found[split].features == ours[split].features
        assert found[split].to_list() == ours[split].to_list()
    assert set(found) == set(ours)


@pytest.mark.parametrize("format", FORMATS)
def test_packed_sequences_are_exported_as_they_are(packed, tmp_path, format):
    export(packed, tmp_path / "out", asked(format), told)
    wanted = load_from_disk(str(packed / "dataset"))["train"].to_list()
    ids = [row["input_ids"] for row in wanted]
    if format == "megatron":
        assert read_megatron(tmp_path / "out" / "train") == ids
    elif format == "mds":
        found = read_mds(tmp_path / "out" / "train")
        assert [row["tokens"] for row in found] == ids
        assert [row["doc_offset"] for row in found] == [row["doc_offset"] for row in wanted]
    else:
        found = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))["train"]
        assert found.to_list() == wanted


@pytest.mark.parametrize("format", ["parquet", "mds"])
def test_tokens_alone_are_exported(run, illustrated, tmp_path, format):
    export(run, tmp_path / "out", asked(format, tokens_only=True), told)
    wanted = [ids for ids, _ in rows_of(run)["train"]]
    if format == "mds":
        assert read_mds(tmp_path / "out" / "train") == [{"tokens": ids} for ids in wanted]
        export(illustrated, tmp_path / "ids", asked(format, tokens_only=True), told)
    else:
        found = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))["train"]
        assert found.to_list() == [{"input_ids": ids} for ids in wanted]


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_stopped_goes_on_and_gives_the_same_bytes(run, tmp_path, format, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1000)
    what = asked(format) if format == "megatron" else asked(format, shard_bytes=3000)

    def stop(done, total):
        if done == total - 1:
            raise StoppedError

    export(run, tmp_path / "whole", what, told)
    with pytest.raises(StoppedError):
        export(run, tmp_path / "out", what, stop)
    journal = (tmp_path / "out" / "parts.jsonl").read_text().splitlines()
    assert journal
    before = {
        f[0]: os.stat(tmp_path / "out" / f[0]).st_mtime_ns
        for line in journal
        for f in json.loads(line)["files"]
    }
    assert "index.json" not in {name.rpartition("/")[2] for name in files_of(tmp_path / "out")}
    (tmp_path / "out" / "parts.jsonl").write_text("\n".join(journal) + '\n{"split": "tr')
    export(run, tmp_path / "out", what, told)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "whole")
    after = {name: os.stat(tmp_path / "out" / name).st_mtime_ns for name in before}
    assert after == before


def test_a_killed_export_is_continued(run, tmp_path):
    out, again = tmp_path / "out", tmp_path / "again"
    command = ["export", str(run), "--format", "mds", "--shard-bytes", "3kB", "--out"]
    code = "import sys; from tokenmill.flows.cli import main; sys.exit(main(sys.argv[1:]))"
    with subprocess.Popen([sys.executable, "-c", code, *command, str(out)]) as process:
        deadline = time.monotonic() + 1000
        while time.monotonic() < deadline and process.poll() is None:
            journal = out / "parts.jsonl"
            if journal.exists() and journal.read_text().count("\n") > 3:
                break
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    assert not (out / "train" / "index.json").exists()
    assert main([*command, str(out)]) == 0
    assert main([*command, str(again)]) == 0
    assert files_of(out) == files_of(again)


def test_a_finished_export_is_not_made_again_unless_a_file_is_gone(run, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1000)
    out, what = tmp_path / "out", asked("parquet", shard_bytes=2000)
    calls = []
    first = export(run, out, what, told)
    whole = files_of(out)
    assert export(run, out, what, lambda *a: calls.append(a)) == first
    assert calls == []
    (out / "train-00001.parquet").unlink()
    assert export(run, out, what, lambda *a: calls.append(a)) == first
    assert calls
    assert files_of(out) == whole


def test_a_folder_that_holds_something_else_is_refused(run, packed, tmp_path):
    out = tmp_path / "out"
    export(run, out, asked("mds"), told)
    with pytest.raises(ConfigError, match="--format is mds there, parquet here; --shard-bytes is"):
        export(run, out, asked("parquet"), told)
    with pytest.raises(ConfigError, match="made by another run: dataset.train is"):
        export(packed, out, asked("mds"), told)
    with pytest.raises(ConfigError, match="it was made by another command"):
        export(run, packed, asked("mds"), told)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    with pytest.raises(ConfigError, match="not a run directory, but holds notes.txt"):
        export(run, tmp_path / "full", asked("mds"), told)
    with pytest.raises(ConfigError, match="out: lies inside the run .*; choose another --out"):
        export(run, run / "dataset" / "out", asked("mds"), told)


def test_a_run_that_has_not_finished_is_refused(run, tmp_path):
    manifest = json.loads((run / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}))
    with pytest.raises(ConfigError, match="has not finished; run prepare again to continue it"):
        export(tmp_path, tmp_path.parent / "out", asked("mds"), told)
    with pytest.raises(ConfigError, match="no run here"):
        export(tmp_path / "nowhere", tmp_path.parent / "out", asked("mds"), told)


def test_a_dataset_made_anew_meanwhile_is_not_called_exported(run, tmp_path):
    copied = shutil.copytree(run, tmp_path / "run")
    state = copied / "dataset" / "train" / "state.json"

    def made_anew(done, total):
        state.write_text(state.read_text().replace('"_fingerprint": "', '"_fingerprint": "f'))

    with pytest.raises(ConfigError, match="its dataset was made anew while it was exported; dele"):
        export(copied, tmp_path / "out", asked("mds"), made_anew)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["status"] == "running"


def test_sources_of_packed_sequences_cannot_be_told_apart(packed, tmp_path):
    with pytest.raises(ConfigError, match="--by-source: .*dataset has packed sequences, of sev"):
        export(packed, tmp_path / "out", asked("megatron", by_source=True), told)
    assert not (tmp_path / "out").exists()


def test_a_run_on_s3_is_exported_to_a_folder_here(run, tmp_path, reached_s3):
    reached_s3.upload(run, "exports", "run/")
    export("s3://exports/run", tmp_path / "out", asked("mds"), told)
    export(run, tmp_path / "here", asked("mds"), told)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "here")


@pytest.fixture(scope="module")
def illustrated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("illustrated")
    recipe = {
        "inputs": [str(sample_tar(folder / "a.tar", 5))],
        "images": {"verify": True},
        "tokenizer": {"path": str(train(folder))},
    }
    prepare(make_recipe(recipe, where="test"), folder / "run", one_by_one)
    return folder / "run"


def test_parquet_keeps_images(illustrated, tmp_path):
    export(illustrated, tmp_path / "out", asked("parquet"), told)
    found = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))["train"]
    ours = load_from_disk(str(illustrated / "dataset"))
    assert found.features == ours.features
    assert [[i.tobytes() for i in row["images"]] for row in found] == [
        [i.tobytes() for i in row["images"]] for row in ours
    ]


@pytest.mark.parametrize("format", ["megatron", "mds"])
def test_images_are_refused_by_formats_of_ids_alone(illustrated, tmp_path, format):
    with pytest.raises(ConfigError) as e:
        export(illustrated, tmp_path / "out", asked(format), told)
    assert str(e.value) == (
        f"{illustrated}/dataset has images, which {format} files of ids cannot hold; --format"
        " parquet keeps them"
    )


@pytest.mark.parametrize(
    ("format", "settings", "said"),
    [
        ("mds", {"by_source": True}, "--by-source is for megatron; in mds each row has its"),
        ("megatron", {"shard_bytes": 5}, "--shard-bytes is not for megatron, which reads one"),
        ("mds", {"shard_bytes": 2**32}, "--shard-bytes 4,294,967,296: a file of mds has 1 to"),
        ("megatron", {"tokens_only": True}, "--tokens-only: files for megatron hold nothing"),
        ("parquet", {"shard_bytes": 0}, "--shard-bytes 0: a file of parquet has 1 to"),
    ],
)
def test_settings_of_another_format_are_refused(format, settings, said):
    with pytest.raises(ConfigError) as e:
        asked(format, **settings)
    assert str(e.value).startswith(said)
