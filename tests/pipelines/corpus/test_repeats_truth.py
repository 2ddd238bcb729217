"""Lines of real text: what dolma's own tests expect, and what CCNet's rule leaves of it."""

import gzip
import json

import pytest

from tests.pipelines.corpus.counted.test_count import find_repeats, found_in, job_of, write_sidecars
from tests.reference import repeats as reference
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs

CCNET = RepeatedParagraphs(
    unit="line",
    normalize="ccnet",
    digest="sha1",
    within="corpus",
    count="documents",
    more_than=1,
    empty="count",
)


def lines_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def documents(texts):
    return [{"doc_id": i, "url": None, "text": t, "images": []} for i, t in enumerate(texts)]


def found(step, texts, folder):
    shards = [documents(texts)]
    job = job_of(folder, [step])
    write_sidecars(job, shards)
    find_repeats(job, (step,))
    return found_in(job, shards)


@pytest.mark.parametrize("provided", ["documents", "deduper/documents"])
def test_lines_that_stood_before_are_those_of_dolma(shared_data, tmp_path, provided):
    data = shared_data / "dedup_truth" / "dolma_tests" / "tests" / "data"
    texts = [doc["text"] for doc in lines_of(data / "provided" / provided / "000.json.gz")]
    expected = lines_of(data / "expected" / "dedupe-paragraphs.json.gz")
    step = RepeatedParagraphs(unit="line", within="corpus", more_than=1, keep="first")
    later = found(step, texts, tmp_path)
    for row, (text, doc) in enumerate(zip(texts, expected, strict=True)):
        spans, start = [], 0
        for number, line in enumerate(text.split("\n")):
            end = start + len(line) + 1  # also behind the last, which has no line feed
            if (row, number) in later:
                spans.append([start, end, 1])
            start = end
        assert spans == doc["attributes"]["bff_duplicate_paragraph_spans"]


@pytest.mark.long  # the rule by test_count
def test_what_ccnet_takes_out_of_documentation_is_what_dictionaries_do(shared_data, tmp_path):
    texts = [doc["text"] for doc in lines_of(shared_data / "text" / "docs_etcd.jsonl.gz")]
    out = found(CCNET, texts, tmp_path)
    how = {"unit": "line", "normalize": "ccnet", "empty": "count", "count": "documents"}
    wanted = reference.repeated_paragraphs([documents(texts)], within="corpus", more_than=1, **how)
    assert out.keys() == wanted[0].keys() | wanted[1].keys()
    n_lines = sum(text.count("\n") + 1 for text in texts)
    assert len(out) / n_lines == pytest.approx(0.978, abs=0.001)
