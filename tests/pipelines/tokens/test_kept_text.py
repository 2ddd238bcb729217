"""Kept text: what went to the tokenizer, in the dataset's order and splits, whatever its layout."""

import hashlib
import json
import random
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
import zstandard
from datasets import DatasetDict, load_dataset, load_from_disk

from tests.apart import apart
from tests.e2e.corpus import write_corpus
from tests.e2e.killed import after
from tests.receipts import receipts
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main, parser
from tokenmill.flows.commands.contamination import parse_check
from tokenmill.pipelines.contamination.check import check_contamination
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.prepare.prepare import plan_run
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.tokens.text import kept_rows
from tokenmill.pipelines.train.sample import Sample, read_documents
from tokenmill.sizing.units import format_bytes

STEPS = ["normalize", "exact", {"gopher_quality": {"min_words": 60}}]


@pytest.fixture(scope="module")
def recipe_path(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), shard_bytes="200kB")


def recipe_of(recipe_path, folder, **settings):
    data = {**yaml.safe_load(recipe_path.read_text()), "steps": STEPS, **settings}
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(data))
    return load_recipe(path)


def run(recipe_path, folder, execute=one_by_one, **settings):
    return prepare(recipe_of(recipe_path, folder, **settings), folder / "run", execute)


def kept(folder):
    """Rows of kept text by split, in order of the files."""
    rows = {}
    for path in sorted((folder / "run" / "text").rglob("data-*")):
        split = path.parent.name if path.parent.name != "text" else "train"
        rows.setdefault(split, []).extend(rows_of(path))
    return rows


def rows_of(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    with path.open("rb") as f:
        lines = zstandard.ZstdDecompressor().stream_reader(f).read().decode().splitlines()
    return [json.loads(line) for line in lines]


def dataset(folder):
    loaded = load_from_disk(str(folder / "run" / "dataset"))
    return loaded if isinstance(loaded, DatasetDict) else {"train": loaded}


def digests(folder, *names):
    files = (path for name in names for path in (folder / "run" / name).rglob("*"))
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_file()
    }


@pytest.mark.long_but("shuffled-parquet", "in order-jsonl.zst")  # each value once
@pytest.mark.parametrize("form", ["parquet", "jsonl.zst"])
@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_kept_text_is_row_by_row_what_the_ids_were_made_of(recipe_path, tmp_path, form, shuffle):
    output = {"shard_bytes": "64kB", "validation_frac": 0.1, "text": form, "shuffle": shuffle}
    output |= {"epochs": 2} if shuffle else {}
    report = run(recipe_path, tmp_path, output=output)
    texts, rows = kept(tmp_path), dataset(tmp_path)
    engine = recipe_of(recipe_path, tmp_path, output=output).tokenizing().engine()
    assert set(texts) == set(rows) == {"train", "validation"}
    for split, documents in texts.items():
        made = engine.encode(pa.array([d["text"] for d in documents], pa.large_string()))
        ids = [made.ids[a:b].tolist() for a, b in zip(made.offsets, made.offsets[1:], strict=False)]
        assert ids == rows[split]["input_ids"]
        for name in ("doc_id", "id", "source"):
            assert [d[name] for d in documents] == rows[split][name]
        one = documents[-1]["doc_id"]
        found = [(of, row["text"]) for of, row in kept_rows(tmp_path / "run", doc_id=one)]
        assert found == [(split, d["text"]) for d in documents if d["doc_id"] == one]
        if shuffle:
            copies = {d["doc_id"]: d["copies"] for d in documents}
            assert set(copies.values()) == {2 if split == "train" else 1}
    docs = sum(map(len, texts.values()))
    assert report["text"]["docs"] == docs == sum(map(len, rows.values()))
    assert report["text"]["bytes"] == sum(report["text"]["files"].values()) > 0
    assert report["text"]["zstd_level"] == 3
    assert len(report["text"]["files"]) == len(report["dataset"]["files"]) - 5  # without its state


def test_of_a_packed_dataset_the_documents_in_no_sequence_are_not_kept(recipe_path, tmp_path):
    output = {"seq_len": 4096, "text": "parquet", "shard_bytes": "64kB"}
    report = run(recipe_path, tmp_path, output=output)
    (rows,) = kept(tmp_path).values()
    assert [r["doc_id"] for r in rows] == sorted(r["doc_id"] for r in rows)
    packed = report["ledger"][-1]
    assert packed["stage"] == "pack"
    assert packed["removed"]["pack_tail"] > 0
    assert len(rows) == packed["docs_out"]
    assert {d for (d,) in zip(dataset(tmp_path)["train"]["doc_id"], strict=True)} <= {
        r["doc_id"] for r in rows
    }


def test_text_is_kept_at_no_cost_to_the_dataset_and_datasets_opens_it(recipe_path, tmp_path):
    (plain := tmp_path / "plain").mkdir()
    (with_text := tmp_path / "with").mkdir()
    output = {"shard_bytes": "64kB", "shuffle": True, "validation_frac": 0.2}
    run(recipe_path, plain, output=output)
    run(recipe_path, with_text, output={**output, "text": "parquet"})
    one, other = digests(plain, "dataset"), digests(with_text, "dataset")
    assert {n: d for n, d in one.items() if n.endswith(".arrow")} == {
        n: d for n, d in other.items() if n.endswith(".arrow")
    }
    assert not (plain / "run" / "text").exists()
    loaded = load_dataset(str(with_text / "run" / "text"), cache_dir=str(tmp_path / "cache"))
    assert {s: len(rows) for s, rows in loaded.items()} == {
        s: len(rows) for s, rows in dataset(with_text).items()
    }
    names = ["id", "text", "source", "url", "date", "copies_exact", "doc_id", "copies"]
    assert loaded["train"].column_names == names


class StopError(Exception):
    """As a kill would."""


def test_a_run_stopped_between_files_of_text_ends_with_the_same_bytes(recipe_path, tmp_path):
    (whole := tmp_path / "whole").mkdir()
    (stopped := tmp_path / "stopped").mkdir()
    output = {"shard_bytes": "64kB", "text": "jsonl.zst", "shuffle": True}
    run(recipe_path, whole, output=output)

    def stops(job, phase):
        if phase.name != "dataset":
            return one_by_one(job, phase)
        for work in phase.works[:2]:
            one_by_one(job, type(phase)(name=phase.name, works=(work,)))
        raise StopError

    with pytest.raises(StopError):
        run(recipe_path, stopped, stops, output=output)
    assert 0 < len(digests(stopped, "text")) < len(digests(whole, "text"))
    (lost,) = list((stopped / "run" / "text").iterdir())[:1]
    lost.unlink()
    run(recipe_path, stopped, output=output)
    assert digests(stopped, "text", "dataset") == digests(whole, "text", "dataset")
    lost.unlink()  # of a run that has finished
    run(recipe_path, stopped, output=output)
    assert digests(stopped, "text", "dataset") == digests(whole, "text", "dataset")


@pytest.mark.long_but("here-jsonl.zst-True", "here-parquet-False")  # stores by runs/test_packs
@pytest.mark.parametrize(("form", "ids"), [("parquet", False), ("jsonl.zst", True)])
@pytest.mark.parametrize("where", ["here", "s3"])
def test_killed_at_random_it_ends_with_the_same_bytes(
    recipe_path, tmp_path, where, ids, form, request
):
    (whole := tmp_path / "whole").mkdir()
    (killed := tmp_path / "killed").mkdir()
    settings = {
        "steps": [{"length": {"action": "annotate"}}, *STEPS],
        "output": {"shard_bytes": "64kB", "text": form, "shuffle": ids},
        **({} if ids else {"tokenizer": None}),
    }
    run(recipe_path, whole, **settings)
    out = str(killed / "run")
    if where == "s3":
        store = request.getfixturevalue("reached_s3")
        store.client().create_bucket(Bucket=f"killed-{form[:5]}")
        out = f"s3://killed-{form[:5]}/run"
    rng, life_s, kills = random.Random(form), 0.1 if where == "here" else 0.4, 0
    recipe = str(whole / "recipe.yaml")
    while (ended := apart(after, recipe, out, str(rng.uniform(0.01, life_s)))).returncode != 0:
        assert ended.returncode == -signal.SIGALRM, ended.stderr
        life_s, kills = life_s * 1.5, kills + 1
    assert kills
    if where == "s3":
        store.download(f"killed-{form[:5]}", "run/", killed / "run")
    assert digests(killed, "text", "dataset", "removed") == digests(
        whole, "text", "dataset", "removed"
    )
    assert receipts(killed / "run").keys() == receipts(whole / "run").keys()
    assert not list((killed / "run").rglob("*.partial-*"))


def test_without_a_tokenizer_a_run_ends_with_text_and_says_what_it_cannot_know(
    recipe_path, tmp_path
):
    (with_ids := tmp_path / "ids").mkdir()
    (alone := tmp_path / "alone").mkdir()
    output = {"shard_bytes": "64kB", "validation_frac": 0.1, "text": "jsonl.zst"}
    run(recipe_path, with_ids, output=output)
    phases = []

    def told(job, phase):
        phases.append(phase.name)
        return one_by_one(job, phase)

    report = run(recipe_path, alone, told, output=output, tokenizer=None)
    texts = kept(alone)
    assert texts == kept(with_ids)
    assert not (alone / "run" / "dataset").exists()
    assert "dataset" not in report
    assert "tokenizer" not in report
    total = report["measurement"]["total"]
    assert total["tokens"] is None
    assert total["text_bytes_per_token"] is None
    assert total["stored_bytes"] == pytest.approx(report["text"]["bytes"])
    assert total["docs"] == report["text"]["docs"] == sum(map(len, texts.values()))
    assert [row["stage"] for row in report["ledger"]][-1] == "gopher_quality"
    written = (alone / "run" / "report.md").read_text()
    assert "The run has no tokenizer: tokens, and bytes of one, are not known." in written
    assert "0 tokens" not in written
    page = (alone / "run" / "report.html").read_text()
    for told in (written, page):
        assert "that are kept as text" in told
        assert "reached the tokenizer" not in told
    assert f">{format_bytes(report['ledger'][-1]['bytes_out'])}" in page
    steps = {step["step"]: step["works"] for step in report["steps"]}
    assert steps["text"] == len(report["text"]["files"])
    assert "dataset" not in steps
    assert phases[-3:] == ["filter", "text", "state"]
    assert run(recipe_path, alone, output=output, tokenizer=None) == report  # found done


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({}, "leaves nothing to write; add output.text"),
        ({"text": "parquet", "seq_len": 128}, "output.seq_len asks for tokens"),
        ({"text": "parquet", "shuffle": True}, "output.shuffle asks for tokens"),
    ],
)
def test_what_takes_tokens_is_refused_without_a_tokenizer(recipe_path, tmp_path, output, said):
    with pytest.raises(ConfigError, match=said):
        recipe_of(recipe_path, tmp_path, output=output, tokenizer=None)


@pytest.mark.parametrize("output", [{}, {"text": "parquet"}])
def test_images_without_a_tokenizer_are_told_what_they_need(recipe_path, tmp_path, output):
    with pytest.raises(ConfigError, match=r"images stand in a dataset of tokens.*name any tokeniz"):
        recipe_of(recipe_path, tmp_path, output=output, tokenizer=None, images={})


@pytest.mark.long  # by mix/test_elsewhere, with ids
def test_on_an_object_store_text_is_the_same_bytes(recipe_path, tmp_path, reached_s3):
    (here := tmp_path / "here").mkdir()
    output = {"shard_bytes": "64kB", "text": "parquet"}
    run(recipe_path, here, output=output, tokenizer=None)
    reached_s3.client().create_bucket(Bucket="texts")
    recipe = recipe_of(recipe_path, tmp_path, output=output, tokenizer=None)
    prepare(recipe, "s3://texts/run", one_by_one)
    reached_s3.download("texts", "run/", tmp_path / "there" / "run")
    assert digests(tmp_path / "there", "text") == digests(here, "text")


def test_contamination_of_a_run_searches_the_text_that_it_kept(recipe_path, tmp_path):
    output = {"text": "jsonl.zst", "validation_frac": 0.1}
    run(recipe_path, tmp_path, output=output, tokenizer=None)
    texts = [row for rows in kept(tmp_path).values() for row in rows]
    asked = [{"question": row["text"][:120], "id": row["id"]} for row in texts[::50]]
    items = tmp_path / "quiz.jsonl"
    items.write_text("".join(json.dumps(one) + "\n" for one in asked))
    words = ["contamination", str(tmp_path / "run"), "--benchmark", f"quiz={items}:question"]
    check = parse_check(parser().parse_args([*words, "--out", str(tmp_path / "check")]))
    report = check_contamination(check, tmp_path / "check", one_by_one)
    assert report.documents.read == len(texts)
    assert report.total("found_items") > 0
    again = recipe_of(recipe_path, tmp_path, inputs=[str(tmp_path / "run")])
    with pytest.raises(ConfigError, match="from: run}"):
        plan_run(again)


def test_a_model_is_trained_on_the_text_that_a_run_kept(recipe_path, tmp_path):
    run(recipe_path, tmp_path, output={"text": "jsonl.zst"}, tokenizer=None)
    texts = {row["text"] for rows in kept(tmp_path).values() for row in rows}

    def one_word_each(texts):
        return np.zeros(len(texts), np.int64), np.ones(len(texts), np.int64)

    sample = Sample(one_word_each, most=10**6, unit="documents", holdout=0.0, seed=0)
    inputs = [Input(path=str(tmp_path / "run"))]
    documents, _, trouble = read_documents(inputs, sample, option="--good", limits=Limits())
    assert (len(documents.draws), trouble) == (len(texts), "")


@pytest.mark.parametrize("form", ["parquet", "jsonl.zst"])
def test_inspect_shows_a_document_as_it_was_kept(recipe_path, tmp_path, capsys, form):
    output = {"text": form, "validation_frac": 0.1}
    run(recipe_path, tmp_path, output=output, tokenizer=None)
    texts = kept(tmp_path)
    row, of_run = texts["validation"][-1], str(tmp_path / "run")
    assert main(["inspect", of_run, "--doc", str(row["doc_id"]), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["kept"]
    assert shown == {**row, "date": None}
    assert main(["inspect", of_run, "--documents", "--limit", "2", "--json"]) == 0
    listed = [(r["split"], r["doc_id"]) for r in json.loads(capsys.readouterr().out)]
    assert listed == [(s, r["doc_id"]) for s in ("train", "validation") for r in texts[s][:2]]
    assert main(["inspect", of_run]) == 0
    assert (
        f"{sum(map(len, texts.values())):,} documents are kept as text" in capsys.readouterr().out
    )
    words = ["export", of_run, "--format", "parquet", "--out", str(tmp_path / "out")]
    assert main(words) == 2
    assert "the run made no tokens" in capsys.readouterr().err
