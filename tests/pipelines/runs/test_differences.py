"""What is said of a run directory that belongs to another run."""

import pytest

from tokenmill.pipelines.contamination.check import WORDS
from tokenmill.pipelines.runs.manifest import differences

CHECK = {
    "inputs": [{"path": "/a.jsonl", "source": "a", "text": None}],
    "matching": {
        "benchmarks": [{"name": "sums", "path": "/s.jsonl", "fields": None}],
        "ngram": "auto",
        "most_docs": 10,
        "folding": {"marks": False},
    },
    "copies": {"threshold": 0.6, "short_threshold": 0.7},
    "shard_bytes": 256_000_000,
}
THERE = {
    "check": CHECK,
    "inputs": {"/a.jsonl": [1, "2"]},
    "benchmarks": {"/s.jsonl": [1, "2"]},
    "shards": "00",
    "versions": {"check": "1"},
}


def with_check(**settings):
    return {**THERE, "check": {**CHECK, **settings}, "shards": "11"}


def with_matching(**settings):
    return with_check(matching={**CHECK["matching"], **settings})


B = {"path": "/b.jsonl", "source": "b", "text": None}
CASES = [
    (THERE, []),
    ({**THERE, "shards": "11"}, ["shards differs"]),
    (
        {**THERE, "inputs": {"/a.jsonl": [1, "3"]}, "shards": "11"},
        ["/a.jsonl has changed since"],
    ),
    (
        {**THERE, "inputs": {"/b.jsonl": [1, "2"]}, "shards": "11"},
        ["/a.jsonl is gone since", "/b.jsonl is new since"],
    ),
    ({**THERE, "benchmarks": {"/s.jsonl": [9, "2"]}}, ["/s.jsonl has changed since"]),
    ({**THERE, "versions": {"check": "2"}}, ['versions.check is "1" there, "2" here']),
    (
        {**with_check(inputs=[B]), "inputs": {"/b.jsonl": [1, "2"]}},
        ["PATH is /a.jsonl there, /b.jsonl here"],
    ),
    (
        with_check(inputs=[*CHECK["inputs"], B]),
        ["PATH is /a.jsonl there, /a.jsonl, /b.jsonl here"],
    ),
    (
        with_check(inputs=[{**CHECK["inputs"][0], "text": "body", "join": "\n"}]),
        ["--text-column is none there, body here"],
    ),
    (with_matching(ngram=10), ["--ngram is auto there, 10 here"]),
    (with_matching(most_docs=None), ["--most-docs is 10 there, none here"]),
    (with_matching(folding={"marks": True}), ["--folding marks is off there, on here"]),
    (with_matching(benchmarks=[]), ["--benchmark is sums there,  here"]),
    (with_check(copies=None), ["--containment is 0.6 there, none here"]),
    (
        with_check(copies={"threshold": 0.6, "short_threshold": 0.8}),
        ["check.copies.short_threshold is 0.7 there, 0.8 here"],
    ),
    (with_check(shard_bytes=1), ["check.shard_bytes is 256000000 there, 1 here"]),
    ({"recipe": {}}, ["it was made by another command"]),
]


@pytest.mark.parametrize(("here", "lines"), CASES, ids=[" ".join(c[1]) or "none" for c in CASES])
def test_settings_and_files_that_differ_are_told_without_what_follows(here, lines):
    assert differences(THERE, here, WORDS) == lines


def test_long_values_are_shortened():
    (line,) = differences({"recipe": {"name": "x" * 99}}, {"recipe": {"name": "y"}}, {})
    assert line == f'recipe.name is "{"x" * 56}… there, "y" here'
