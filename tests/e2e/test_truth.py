"""Near duplicates against the exact Jaccard similarity of every pair of two real corpora."""

import gzip
import json
import sys

import numpy as np
import pytest
import yaml

from tests.dedup.same.labels import clusters
from tests.pipelines.conftest import train
from tests.running import one_by_one, prepare
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.storage.files import open_arrow


def truth(path):
    """{(a, b): J} of all pairs of unique documents with J >= 0.5; a < b."""
    pairs = {}
    with gzip.open(path, "rt", encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                a, b, j, *_ = line.rstrip("\n").split("\t")
                pairs[min(a, b), max(a, b)] = float(j)
    return pairs


def found(out):
    """Verified edges and cluster mates of a run, as pairs of the documents' own ids."""
    shards = sorted((out / "10-filtered").glob("*.arrow"))
    ids = np.array([i for s in shards for b in open_arrow(s)[0] for i in b["id"].to_pylist()])
    bands = sorted((out / "12-edges").glob("*.arrow"))
    edges = np.concatenate(
        [np.column_stack([b["left"], b["right"]]) for p in bands for b in open_arrow(p)[0]]
    )
    label = clusters(len(ids), edges)
    members = {}
    for row, first in enumerate(label):
        members.setdefault(first, []).append(row)
    mates = [(a, b) for m in members.values() for i, a in enumerate(m) for b in m[i + 1 :]]
    return named(ids, edges), named(ids, mates)


def named(ids, pairs):
    return {(min(ids[a], ids[b]), max(ids[a], ids[b])) for a, b in pairs}


def run(folder, docs):
    with (folder / "docs.jsonl").open("w", encoding="utf-8") as f:
        f.writelines(json.dumps({"id": i, "text": t}) + "\n" for i, t in docs)
    data = {
        "inputs": [{"path": str(folder / "docs.jsonl")}],
        "shard_bytes": "256kB",
        "steps": ["exact", "near"],
        "tokenizer": {"path": str(train(folder))},
        "run": {"keep_intermediates": True},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(data))
    prepare(load_recipe(folder / "recipe.yaml"), folder / "run", one_by_one)
    return found(folder / "run")


def etcd(shared_data):
    with gzip.open(shared_data / "text" / "docs_etcd.jsonl.gz", "rt", encoding="utf-8") as f:
        return [(d["id"], d["text"]) for d in map(json.loads, f)]


def mccormick(shared_data):
    path = shared_data / "dedup_truth" / "mccormick_minhash" / "data" / "articles_1000.train"
    return [tuple(line.split(" ", 1)) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.long_but("news")  # one corpus of the two
@pytest.mark.parametrize(
    ("name", "docs"), [("docs_etcd", etcd), ("mccormick_1000", mccormick)], ids=["etcd", "news"]
)
def test_recall_and_precision_of_verified_edges(shared_data, tmp_path, name, docs):
    pairs = truth(shared_data / "dedup_truth" / "exact_jaccard" / f"{name}.w5.tsv.gz")
    edges, mates = run(tmp_path, docs(shared_data))
    similar = {p for p, j in pairs.items() if j >= 0.8}
    recall = len(similar & edges) / len(similar)
    precision = sum(pairs.get(p, 0.0) >= 0.7 for p in edges) / len(edges)
    of_clusters = sum(pairs.get(p, 0.0) >= 0.7 for p in mates) / len(mates)
    sys.stdout.write(  # shown by pytest -rP
        f"{name}: recall {recall:.4f} of {len(similar)} pairs at J >= 0.8, precision"
        f" {precision:.4f} of {len(edges)} edges at J >= 0.7, {of_clusters:.4f} of {len(mates)}"
        " pairs within whole clusters\n"
    )
    assert recall >= 0.995, f"{len(similar & edges)} of {len(similar)} pairs at J >= 0.8"
    assert precision == 1.0, f"{precision:.4f} of {len(edges)} edges at J >= 0.7"
