"""A tokenizer whose library gives up on a text: one document fails, the others are there."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from datasets import load_from_disk
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from tests.running import one_by_one, prepare
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.tokens.options import Tokenizer as Settings
from tokenmill.pipelines.tokens.reference import UnencodableError, open_reference
from tokenmill.pipelines.tokens.tokenize import load_engine

HOSTILE = "a" * 40 + "!"  # the regex tries every way to cut the letters up


@pytest.fixture(scope="module")
def backtracking(tmp_path_factory):
    """A vocabulary of bytes whose pattern takes exponential time."""
    vocab = {letter: i for i, letter in enumerate(["<eos>", *map(chr, range(32, 127))])}
    made = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("(a+)+$"), behavior="isolated")
    path = tmp_path_factory.mktemp("backtracking") / "tokenizer.json"
    made.save(str(path))
    return path


def test_a_panic_is_an_error_with_its_cause(backtracking):
    with pytest.raises(UnencodableError, match="retry-limit"):
        open_reference(str(backtracking)).encode(["fine", HOSTILE])


def test_a_document_that_the_tokenizer_gives_up_on_fails_alone(tmp_path, backtracking):
    texts = [["first", HOSTILE, "third"], ["other shard"]]
    for i, part in enumerate(texts):
        lines = [json.dumps({"id": f"{i}-{k}", "text": text}) for k, text in enumerate(part)]
        (tmp_path / f"docs-{i}.jsonl").write_text("\n".join(lines))
    recipe = {
        "name": "giving up",
        "inputs": [{"path": str(tmp_path / "docs-*.jsonl"), "source": "docs"}],
        "steps": [],
        "tokenizer": {"path": str(backtracking), "eos": False},
    }
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    report = prepare(load_recipe(tmp_path / "recipe.yaml"), tmp_path / "run", one_by_one)
    (tokenize,) = [row for row in report["ledger"] if row["stage"] == "tokenize"]
    assert (tokenize["docs_in"], tokenize["docs_out"]) == (4, 3)
    assert tokenize["failed"] == {"unencodable": 1}
    reference = open_reference(str(backtracking))
    rows = load_from_disk(str(tmp_path / "run" / "dataset"))
    assert list(rows["input_ids"]) == reference.encode(["first", "third", "other shard"])
    files = (tmp_path / "run" / "removed").glob("*.parquet")
    removed = [row for file in files for row in pq.read_table(file).to_pylist()]
    (row,) = [row for row in removed if row.get("outcome") == "failed"]
    assert (row["id"], row["stage"], row["reason"]) == ("0-1", "tokenize", "unencodable")
    assert "retry-limit-in-match" in row["detail"]


def test_what_is_measured_counts_no_token_of_it(tmp_path, backtracking):
    lines = [json.dumps({"text": text}) for text in ("first", HOSTILE, "third")]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    recipe = {
        "name": "giving up",
        "inputs": [str(tmp_path / "docs.jsonl")],
        "steps": [],
        "tokenizer": {"path": str(backtracking), "eos": False},
    }
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    estimate = tmp_path / "estimate.json"
    measure_corpus(Measuring(recipe=load_recipe(tmp_path / "recipe.yaml")), estimate, one_by_one)
    assert json.loads(estimate.read_text())["corpus"]["tokens"] == len("first" + "third")


def test_what_the_reference_gives_up_on_while_it_checks_is_no_mismatch(tokenizer_path, monkeypatch):
    engine = load_engine(Settings(path=str(tokenizer_path), eos=False))
    assert engine.name.startswith("gigatoken")

    def encode(texts):
        raise UnencodableError("regex backtracks")

    monkeypatch.setattr(engine.reference, "encode", encode)
    with pytest.raises(UnencodableError, match="^regex backtracks"):
        engine.encode(pa.array(["a word"] * 3), checked=True)
