"""Near-duplicates of real documents, against the exact Jaccard similarity of every pair."""

import csv
import gzip
import json
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest

from tokenmill.dedup.same.lsh import Bands, band_keys, buckets
from tokenmill.dedup.same.minhash import MinHash, signatures
from tokenmill.dedup.same.verify import ALL_PAIRS, verified_edges


def documents_of_etcd(folder):
    with gzip.open(folder / "text" / "docs_etcd.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {d["id"]: d["text"] for d in map(json.loads, lines)}


def documents_of_mccormick(folder):
    path = folder / "dedup_truth" / "mccormick_minhash" / "data" / "articles_1000.train"
    lines = path.read_text("utf-8").split("\n")
    return dict(line.split(" ", 1) for line in lines if line)


CORPORA = {"docs_etcd": documents_of_etcd, "mccormick_1000": documents_of_mccormick}


@pytest.mark.parametrize("name", CORPORA)
def test_true_pairs_are_found_and_found_pairs_are_true(shared_data, name):
    docs = CORPORA[name](shared_data)
    with gzip.open(shared_data / "dedup_truth/exact_jaccard" / f"{name}.w5.tsv.gz", "rt") as lines:
        rows = list(csv.reader((x for x in lines if x[0] != "#"), delimiter="\t"))
    truth = {frozenset(row[:2]): float(row[2]) for row in rows}
    with gzip.open(
        shared_data / "dedup_truth/exact_jaccard" / f"{name}.w5.exact_groups.jsonl.gz", "rt"
    ) as lines:
        copies = {i for line in lines for i in json.loads(line)["ids"][1:]}
    names = [i for i in docs if i not in copies]
    found = signatures(pa.array([docs[i] for i in names]), MinHash(num_perm=112))
    keys = band_keys(found, Bands(bands=14, rows=8))
    each = {"num_perm": found.shape[1], "verify": 0.7, "rows_at_once": len(names)}
    bands = [buckets(k.copy()) for k in keys.T]
    largest = max(np.diff(of_band.ends, prepend=0).max() for of_band in bands)
    assert largest <= ALL_PAIRS, "else pairs that others join already are left out"
    bands = [verified_edges(of_band, found.__getitem__, **each) for of_band in bands]
    edges = np.unique(np.concatenate([*chain(*bands)]), axis=0)
    pairs = {frozenset((names[x], names[y])) for x, y in edges.tolist()}
    similar = {pair for pair, jaccard in truth.items() if jaccard >= 0.8}
    recall = len(similar & pairs) / len(similar)
    precision = sum(truth.get(pair, 0) >= 0.7 for pair in pairs) / len(pairs)
    assert recall >= 0.98
    assert precision >= 0.98
