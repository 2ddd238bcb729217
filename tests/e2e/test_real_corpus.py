"""The main job on real corpora, through the command: same bytes with 1 worker and 2, exact ids."""

import json
from itertools import pairwise

import pytest
import tokenizers
import yaml
from datasets import load_from_disk

from tokenmill.flows.cli import main
from tokenmill.pipelines.storage.files import open_arrow

pytestmark = pytest.mark.long  # tests/cluster/test_same_digest.py has the same corpora
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def recipe(shared_data, tmp_path_factory):
    text, bench = shared_data / "text", shared_data / "bench"
    data = {
        "name": "real",
        "inputs": [
            {"path": str(text / "*.jsonl.gz"), "source": "docs"},
            {"path": str(text / "c4_sample_wimbd" / "**" / "*.json.gz"), "source": "c4"},
            {"path": str(text / "wikitext2" / "**" / "*.txt"), "source": "wikitext"},
        ],
        "shard_bytes": "256kB",
        "steps": [
            "normalize",
            {"gopher_quality": {}},
            {"gopher_repetition": {}},
            "exact",
            "near",
            {
                "decontaminate": {
                    "benchmarks": [
                        {
                            "name": "gsm8k",
                            "path": str(bench / "gsm8k" / "test.jsonl"),
                            "fields": ["question", "answer"],
                        },
                        {
                            "name": "humaneval",
                            "path": str(bench / "humaneval" / "HumanEval.jsonl.gz"),
                            "fields": ["prompt", "canonical_solution"],
                        },
                    ]
                }
            },
        ],
        "tokenizer": {"path": str(shared_data / "tokenizers" / "gpt2.json"), "eos": END},
        "output": {"shard_bytes": "2MB"},
        "run": {"keep_intermediates": True},
    }
    path = tmp_path_factory.mktemp("recipe") / "real.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.fixture(scope="module")
def runs(recipe, tmp_path_factory, server):
    folder = tmp_path_factory.mktemp("runs")
    for workers in ("1", "2"):
        out = str(folder / workers)
        assert main(["prepare", str(recipe), "--out", out, "--workers", workers, "--json"]) == 0
    return folder


def files(folder):
    return sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())


def test_one_worker_and_two_make_the_same_bytes(runs):
    results = ("dataset", "removed", "overlaps", "pieces")
    for part in (*results, "10-filtered", "14-near", "15-found", "16-ignored"):
        one, two = runs / "1" / part, runs / "2" / part
        assert files(one) == files(two)
        for name in files(one):
            assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_the_corpus_was_cut_into_many_shards(runs):
    report = json.loads((runs / "1" / "report.json").read_text())
    assert report["inputs"]["shards"] >= 30
    assert report["ledger"][0]["docs_in"] == 2930
    assert not report["failed_inputs"]
    assert not report["failed_shards"]


def test_every_document_has_the_ids_of_tokenizers_in_corpus_order(runs, shared_data):
    reference = tokenizers.Tokenizer.from_file(str(shared_data / "tokenizers" / "gpt2.json"))
    reference.encode_special_tokens = True
    end = reference.token_to_id(END)
    texts = {}
    for shard in sorted((runs / "1" / "10-filtered").glob("*.arrow")):
        for batch in open_arrow(shard)[0]:
            texts |= zip(batch["doc_id"].to_pylist(), batch["text"].to_pylist(), strict=True)
    dataset = load_from_disk(str(runs / "1" / "dataset"))
    assert all(a < b for a, b in pairwise(dataset["doc_id"]))
    encoded = reference.encode_batch(
        [texts[d] for d in dataset["doc_id"]], add_special_tokens=False
    )
    for row, expected in zip(dataset, encoded, strict=True):
        assert row["input_ids"] == [*expected.ids, end]
