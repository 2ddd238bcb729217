"""The text of a finished run, as it was kept or decoded from ids, and what is told of it."""

import json
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from datasets import load_dataset
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers

from tests.e2e.corpus import write_corpus
from tests.pipelines.tokens.test_kept_text import kept, recipe_of, rows_of, run
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.tokens import options
from tokenmill.pipelines.tokens.export.text import decoded, export_text, is_lossless
from tokenmill.pipelines.tokens.tokenize import load_engine

ANNOTATED = ["normalize", {"length": {"action": "annotate"}}]
OUTPUT = {"validation_frac": 0.2, "shard_bytes": "64kB"}


@pytest.fixture(scope="module")
def recipe_path(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), shard_bytes="200kB")


def exported(run_folder, out, form):
    report = export_text(run_folder, out, form, lambda *_: None)
    rows = {}
    for path in sorted(out.glob("*-0*")):
        rows.setdefault(path.name.partition("-")[0], []).extend(rows_of(path))
    return report, rows


@pytest.mark.long_but("parquet-jsonl", "jsonl.zst-parquet")  # each value once
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize("held", ["parquet", "jsonl.zst"])
def test_kept_text_is_given_as_it_is_with_its_annotations(recipe_path, tmp_path, held, form):
    run(recipe_path, tmp_path, steps=ANNOTATED, output={**OUTPUT, "text": held})
    report, rows = exported(tmp_path / "run", tmp_path / "out", form)
    assert rows == kept(tmp_path)
    assert (report["made_of"], report["exact"], report["other_ids"]) == ("text", True, 0)
    loaded = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(of) for split, of in loaded.items()} == {s: len(r) for s, r in rows.items()}
    assert report["docs"] == sum(map(len, rows.values()))
    before = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "out").glob("*-0*")}
    assert len(before) > 2
    next((tmp_path / "out").glob("*-00001*")).unlink()
    again, other = exported(tmp_path / "run", tmp_path / "out", form)
    assert (again["docs"], other) == (report["docs"], rows)
    after = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "out").glob("*-0*")}
    assert sum(before[name] != after[name] for name in before) == 1


@pytest.mark.parametrize("held", ["parquet", "jsonl.zst"])
def test_times_that_an_input_brought_along_are_given(tmp_path, held):
    lines = [{"text": "a", "at": "2024-01-01T01:02:03.5Z"}, {"text": "b", "at": None}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recipe = make_recipe(
        {
            "inputs": [{"path": str(tmp_path / "in.jsonl"), "columns": {"at": "timestamp"}}],
            "tokenizer": None,
            "output": {"text": held},
        },
        where="recipe.yaml",
    )
    prepare(recipe, tmp_path / "run", one_by_one)
    report, _ = exported(tmp_path / "run", tmp_path / "out", "parquet")
    first, other = pq.read_table(tmp_path / "out" / "train-00000.parquet")["at"].to_pylist()
    assert (first.isoformat(), other) == ("2024-01-01T01:02:03.500000+00:00", None)
    assert (report["docs"], report["text_bytes"]) == (2, 2)


def test_ids_are_decoded_to_the_text_they_were_made_of(recipe_path, tmp_path):
    ids, text = tmp_path / "ids", tmp_path / "text"
    for folder, more in ((ids, {}), (text, {"text": "parquet"})):
        folder.mkdir()
        run(recipe_path, folder, steps=["normalize"], output={**OUTPUT, **more})
    report, rows = exported(ids / "run", tmp_path / "out", "jsonl")
    for split, expected in kept(text).items():
        found = [(row["id"], row["text"], row["source"], row["doc_id"]) for row in rows[split]]
        assert found == [(r["id"], r["text"], r["source"], r["doc_id"]) for r in expected]
        assert all(row["same_ids"] for row in rows[split])
    assert (report["made_of"], report["exact"]) == ("ids", True)


def test_a_tokenizer_that_changes_texts_says_that_it_is_not_known(recipe_path, tmp_path, capsys):
    tokenizer = Tokenizer.from_file(recipe_of(recipe_path, tmp_path).tokenizer.path)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.save(str(tmp_path / "lower.json"))
    run(recipe_path, tmp_path, tokenizer={"path": str(tmp_path / "lower.json")})
    out = tmp_path / "out"
    args = ["export", str(tmp_path / "run"), "--text", "--format", "parquet", "--out", str(out)]
    assert main(args) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "not byte for byte what was encoded; output.text keeps that" in told
    assert main([*args, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exact"] is None
    assert load_dataset("parquet", data_files=str(out / "*.parquet"))["train"].num_rows
    assert pq.read_schema(next(out.glob("*.parquet"))).names[:2] == ["id", "text"]


@pytest.mark.parametrize(
    ("change", "lossless"),
    [
        ({}, True),
        ({"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)}, False),
        ({"normalizer": normalizers.Lowercase()}, False),
        ({"added": AddedToken("<cut>", lstrip=True)}, False),
        ({"added": AddedToken("<whole>")}, True),
    ],
)
def test_ids_are_the_text_byte_for_byte_only_of_some_tokenizers(
    recipe_path, tmp_path, change, lossless
):
    tokenizer = Tokenizer.from_file(recipe_of(recipe_path, tmp_path).tokenizer.path)
    for name, value in change.items():
        if name == "added":
            tokenizer.add_tokens([value])
        else:
            setattr(tokenizer, name, value)
    tokenizer.save(str(tmp_path / "changed.json"))
    engine = load_engine(options.Tokenizer(path=str(tmp_path / "changed.json")), "auto", None)
    assert is_lossless(engine) is lossless


def test_ids_that_are_cut_elsewhere_are_not_those_that_the_text_makes(recipe_path, tmp_path):
    engine = load_engine(recipe_of(recipe_path, tmp_path).tokenizer, "auto", None)
    words = ["".join(letters) for letters in product("etaoinshr", repeat=3)]
    wholes, heads, tails = (
        engine.reference.encode(parts)
        for parts in (words, [w[:1] for w in words], [w[1:] for w in words])
    )
    rows = [
        (word, whole, head + tail)
        for word, whole, head, tail in zip(words, wholes, heads, tails, strict=True)
        if len(whole) == len(head + tail) and whole != head + tail
    ]
    assert rows
    for at, same in ((1, True), (2, False)):
        ids = pa.array([[*row[at], engine.eos_id] for row in rows], pa.list_(pa.uint16()))
        texts, found = decoded(engine, pa.record_batch([ids], ["input_ids"]))
        assert texts.to_pylist() == [word for word, *_ in rows]
        assert found.to_pylist() == [same] * len(rows)


@pytest.mark.long_but("7")  # the shortest cut most documents
@pytest.mark.parametrize("seq_len", [7, 64, 5000])  # files begin within documents
def test_packed_sequences_are_parted_into_documents(recipe_path, tmp_path, seq_len):
    output = {**OUTPUT, "shard_bytes": "16kB", "seq_len": seq_len}
    for name, more in (("kept", {"text": "parquet"}), ("ids", {})):
        (tmp_path / name).mkdir()
        run(recipe_path, tmp_path / name, output={**output, **more})
    report, rows = exported(tmp_path / "ids" / "run", tmp_path / "out", "parquet")
    assert report["made_of"] == "ids"
    wanted = kept(tmp_path / "kept")
    files = [*(tmp_path / "ids" / "run" / "dataset").rglob("*.arrow")]
    assert len(files) > 4
    cut = 0
    for split, documents in wanted.items():
        *whole, last = zip(documents, rows.get(split, []), strict=True)
        for document, row in whole:
            assert (row["text"], row["same_ids"]) == (document["text"], True)
            assert row["doc_id"] in (None, document["doc_id"])
        assert last[0]["text"].startswith(last[1]["text"].rstrip("\ufffd"))
        cut += not last[1]["same_ids"]
        assert any(row["doc_id"] is not None for row in rows[split])
    assert (report["other_ids"], report["exact"]) == (cut, cut == 0)


def test_of_documents_with_images_the_text_that_was_kept_is_given_alone(
    recipe_path, tmp_path, capsys
):
    rows = [
        {"texts": ["one", None, "two"], "images": [None, "https://a.org/1.png", None]},
        {"texts": [None, "three"], "images": ["https://a.org/2.png", None]},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {
        "inputs": [{"path": str(tmp_path / "in.jsonl"), "text": "texts", "images": "images"}],
        "images": {},
        "tokenizer": yaml.safe_load(recipe_path.read_text())["tokenizer"],
    }
    for name, output in (("ids", {}), ("kept", {"text": "parquet"})):
        recipe = make_recipe({**data, "output": output}, where="recipe.yaml")
        prepare(recipe, tmp_path / name, one_by_one)
    _, found = exported(tmp_path / "kept", tmp_path / "out", "jsonl")
    assert [row["text"] for row in found["train"]] == ["one\n\n\ufffc\n\ntwo", "\ufffc\n\nthree"]
    words = ["export", str(tmp_path / "ids"), "--text", "--format", "jsonl"]
    assert main([*words, "--out", str(tmp_path / "none")]) == 2
    told = capsys.readouterr().err
    assert "ids do not tell where in a text its images stood; run it with output.text" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_what_cannot_be_given_is_refused(recipe_path, tmp_path, capsys):
    tokenizer = yaml.safe_load(recipe_path.read_text())["tokenizer"]
    for name, more in (
        ("no-eos", {"eos": False}),
        ("id", {"special_tokens_in_text": "id"}),
        ("of-text", {"eos": "."}),
        ("bos-too", {"eos": "<|endoftext|>", "bos": "<|endoftext|>"}),
    ):
        (tmp_path / name).mkdir()
        output = {"seq_len": 64}
        run(recipe_path, tmp_path / name, output=output, tokenizer={**tokenizer, **more})
        with pytest.raises(ConfigError, match="packed sequences do not tell where a document ends"):
            exported(tmp_path / name / "run", tmp_path / name / "out", "parquet")
    run(recipe_path, tmp_path, output={})
    for more, why in (
        (["--format", "mds", "--text"], "mds holds ids; take --format parquet or jsonl"),
        (["--format", "jsonl"], "--format jsonl is of documents; add --text"),
        (["--format", "jsonl", "--text", "--tokens-only"], "is not for --text; leave it out"),
    ):
        assert main(["export", str(tmp_path / "run"), "--out", str(tmp_path / "o"), *more]) == 2
        assert why in " ".join(capsys.readouterr().err.split())
