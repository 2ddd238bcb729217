"""Real text, and what another tool found in some of it."""

import gzip
import json
from collections import Counter
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.corpus.spans_corpora import find, job_of, taken
from tests.reference.shingle import words_of
from tests.strategies import THOROUGH
from tokenmill.dedup.arrays import text_buffers
from tokenmill.dedup.text.words import word_places
from tokenmill.pipelines.corpus.spans.settings import REMOVED_SPANS

NGRAM = 50


def documents(path):
    with gzip.open(path, "rt") as file:
        return [json.loads(line)["text"] for line in file]


def test_lines_that_dolma_dropped_are_dropped(shared_data, tmp_path):
    """Lines of 13 words or more; dolma's words are those of UAX 29, which count marks too."""
    data = shared_data / "dedup_truth" / "dolma_tests" / "tests" / "data"
    texts = documents(data / "provided" / "deduper" / "documents" / "000.json.gz")
    with gzip.open(data / "expected" / "dedupe-paragraph-ngrams.json.gz", "rt") as file:
        spans = [json.loads(line)["attributes"]["bff_duplicate_paragraph_spans"] for line in file]
    theirs = {
        (doc, text[start:end].rstrip("\n"))
        for doc, (text, found) in enumerate(zip(texts, spans, strict=True))
        for start, end, _ in found
        if len(words_of(text[start:end])) >= 13
    }
    step = {"ngram": 13, "action": "paragraph"}
    job = job_of(tmp_path, [{"repeated_spans": step}])
    find(job, [texts])
    rows = [
        row for one in taken(job, [texts]) for row in one.tables[REMOVED_SPANS.name].to_pylist()
    ]
    ours = {
        (row["doc_id"], texts[row["doc_id"]].encode()[row["start"] : row["end"]].decode())
        for row in rows
    }
    assert len(theirs) == 5
    assert theirs <= ours
    ((_, other),) = ours - theirs  # a list of months that an earlier line has, but for the last
    assert other.startswith("Archives Select Month August 2013 June 2013")


@pytest.mark.long_but("none-0.95")  # `first` by drawn corpora in test_spans
@pytest.mark.parametrize(("keep", "frac"), [("first", 0.787), ("none", 0.950)])
def test_words_that_go_of_documentation_are_those_of_a_set(shared_data, tmp_path, keep, frac):
    texts = documents(shared_data / "text" / "docs_etcd.jsonl.gz")
    texts = texts if THOROUGH else texts[:330]
    job, shards = job_of(tmp_path, [{"repeated_spans": {"keep": keep}}]), [texts[:300], texts[300:]]
    find(job, shards, batch=100)
    made = taken(job, shards, batch=100)
    words = [words_of(text) for text in texts]
    grams = [[hash(tuple(w[i : i + NGRAM])) for i in range(len(w) - NGRAM + 1)] for w in words]
    counts, seen = Counter(chain.from_iterable(grams)), set()
    goes = [np.zeros(len(w), np.bool_) for w in words]
    for doc, of_doc in enumerate(grams):
        for i, gram in enumerate(of_doc):
            if gram in seen if keep == "first" else counts[gram] > 1:
                goes[doc][i : i + NGRAM] = True
            seen.add(gram)
    places = word_places(text_buffers(pa.array(texts)), "unicode")
    found = [np.zeros(len(w), np.bool_) for w in words]
    for row in (row for one in made for row in one.tables[REMOVED_SPANS.name].to_pylist()):
        shard, at = divmod(row["doc_id"], 1 << 32)
        doc = shard * 300 + at
        of_doc = slice(*places.doc_words[doc : doc + 2])
        starts, ends = places.starts[of_doc], places.ends[of_doc]
        found[doc] |= (starts >= row["start"]) & (ends <= row["end"])
    assert all((a == b).all() for a, b in zip(found, goes, strict=True))
    if THOROUGH:
        assert np.concatenate(found).mean() == pytest.approx(frac, abs=0.005)
