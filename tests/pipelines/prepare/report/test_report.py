"""The report of a run: what it says, whatever the run was like; and reports to test with."""

import json
import tempfile
from functools import cache
from pathlib import Path

from tests.pipelines.contamination.as_json import summarize
from tests.strategies import document_batch
from tokenmill.dedup.overlap.counts import document_counts, frequent
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.contamination.found import hits_of, search
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.core.ledger import StageStats, check_chain
from tokenmill.pipelines.core.measured import measure
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import headline, sections, write_report

HOSTILE = '</title><script>alert("1")</script>'


def stage(docs_in, bytes_in, *, removed=None, failed=None, gone=0, edited=0, created=0):
    """Stats that balance: what a stage takes in, less what leaves."""
    removed, failed = removed or {}, failed or {}
    return StageStats(
        docs_in=docs_in,
        docs_created=created,
        docs_out=docs_in + created - sum(removed.values()) - sum(failed.values()),
        removed=removed,
        failed=failed,
        bytes_in=bytes_in,
        bytes_out=bytes_in - gone - edited,
        bytes_removed=gone,
        bytes_edited=edited,
    )


def run_ledger():
    return [
        ("read", stage(120_345, 987_654_321, failed={"invalid_utf8": 12}, gone=4_321)),
        ("normalize", stage(120_333, 987_650_000, edited=-1_001)),
        (
            "gopher_quality",
            stage(
                120_333,
                987_651_001,
                removed={"too_few_words": 20_017, "mean_word_length": 313},
                gone=87_651_001,
            ),
        ),
        ("split", stage(100_003, 900_000_000, created=1_707)),
        ("exact", stage(101_710, 900_000_000, removed={"exact_duplicate": 1_010}, gone=9_000_000)),
        ("near", stage(100_700, 891_000_000, removed={"near_duplicate": 700}, gone=1_000_000)),
        (
            "tokenize",
            stage(100_000, 890_000_000, failed={"shard_failed": 1_111}, gone=8_888_888),
        ),
    ]


def shard(source, docs, text_bytes, tokens):
    return {
        "source": source,
        "docs": docs,
        "chars": text_bytes - 77,
        "text_bytes": text_bytes,
        "tokens": tokens,
        "token_file_bytes": 2 * tokens + 24 * docs,
    }


@cache
def found_in_a_corpus():
    """What a small corpus has of a small benchmark, as JSON."""
    words = " ".join(f"w{i}" for i in range(30))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "items.jsonl"
        path.write_text("".join(json.dumps({"q": q}) + "\n" for q in (words, "just a few words")))
        step = Decontaminate(benchmarks=(Benchmark(name="quiz", path=str(path)),))
        index = step.build()
    found = search(document_batch(["x", f"x {words} y", words[:60]]), index, "crawl")
    counts = document_counts(hits_of(found))
    ignored = frequent(counts, index.ngrams, most_docs=1)
    analysis = Analysis(index.texts, index.ngrams, ignored)
    analysis.add(found)
    return json.dumps(summarize(index, analysis, counts))


def contamination():
    return json.loads(found_in_a_corpus())


def run_report(rows=None, shards=None):
    """A report as `summarize` makes it, of a run in which something of everything happened."""
    rows = run_ledger() if rows is None else rows
    check_chain(rows, "test")
    if shards is None:
        shards = [
            shard("crawl", 60_000, 500_000_000, 120_000_000),
            shard("crawl", 28_889, 281_111_112, 70_000_000),
            shard("books", 10_000, 100_000_000, 23_456_789),
        ]
    stored = sum(s["token_file_bytes"] for s in shards) + 4_096
    measured = measure(shards, stored)
    return {
        "report": "1",
        "name": "web",
        "identity": "5eed",
        "inputs": {"files": 17, "bytes": 1_234_567_890, "shards": 4, "skipped": []},
        "ledger": [{"stage": name, **stats.to_json()} for name, stats in rows],
        "ledger_by_source": {},
        "warnings": [],
        "failed_sources": [],
        "failed_inputs": [
            {
                "path": "crawl/cut.jsonl.gz",
                "cause": "truncated_gzip",
                "message": "crawl/cut.jsonl.gz: ends early",
                "bytes": 54_321,
            }
        ],
        "failed_shards": [{"step": "pass-1", "key": "00003", "error": "ValueError: a | b"}],
        "damaged_shards": [{"key": "00002", "message": "truncated_zstd: ends early"}],
        "first_failed": {"invalid_json": "/data/b.jsonl byte 77: not JSON"},
        "measurement": {name: m.to_json() for name, m in measured.items()},
        "length_bins": [0] * 8 + [1, 70, 4_000, 60_000, 30_000, 4_818] + [0] * 34,
        "duplicates": {
            "exact": {"docs": 101_710, "clusters": 900, "largest": [[7, 40], [9, 2]]},
            "bands": {"candidates": 5_432, "edges": 4_321},
            "near": {"docs": 101_710, "clusters": 412, "largest": [[4294967301, 31]], "edges": 999},
        },
        "contamination": contamination(),
        "dataset": {
            "path": "/data/web/dataset",
            "files": {"dataset/data-00000-of-00001.arrow": stored},
            "bytes": stored,
            "dtype": "uint16",
            "seq_len": 2048,
            "splits": {
                "train": {
                    "folder": "/data/web/dataset",
                    "docs": measured["total"].docs,
                    "tokens": measured["total"].tokens,
                    "files": 1,
                    "sequences": measured["total"].tokens // 2048,
                }
            },
        },
        "tokenizer": {
            "path": "gpt2.json",
            "engine": "gigatoken 0.10",
            "why": "",
            "docs_by_engine": {"gigatoken 0.10": 890, "tokenizers 0.23": 10},
            "mismatches": [{"key": "00001-of-00004", "message": "other ids of 'x'"}],
            "digest": "c0ffee",
            "largest_id": 50_256,
        },
        "stored_bytes": {"10-filtered": 300_000_001, "dataset": stored + 900},
        "steps": [
            {"step": "pass-0", "works": 4, "wall_s": 20.0, "cpu_s": 18.25},
            {"step": "exact-0", "works": 1, "wall_s": 0.5, "cpu_s": 0.25},
            {"step": "near-0", "works": 1, "wall_s": 0.75, "cpu_s": 0.5},
            {"step": "pass-1", "works": 3, "wall_s": 9.0, "cpu_s": 8.0},
            {"step": "state", "works": 1, "wall_s": 0.0, "cpu_s": 0.0},
        ],
        "machine": {"system": "Linux", "python": "3.11.7", "libraries": {"pyarrow": "26.0"}},
        "seconds": 41.5,
    }


def empty_report():
    """A run whose filter left nothing."""
    rows = [
        ("read", stage(3, 30)),
        ("c4", stage(3, 30, removed={"too_few_sentences": 3}, gone=30)),
        ("tokenize", stage(0, 0)),
    ]
    report = run_report(rows, [])
    for key in ("failed_inputs", "failed_shards", "damaged_shards"):
        report[key] = []
    return {**report, "length_bins": [0] * 48, "duplicates": {}, "contamination": {}}


def report_of(data):
    return Report.model_validate(data)


def sections_of(data):
    return sections(report_of(data))


def written(folder, data):
    write_report(folder, report_of(data))
    return (folder / "report.md").read_text(), (folder / "report.html").read_text()


def test_the_sums_of_the_whole_run_balance_in_sight():
    ledger = next(s for s in sections_of(run_report()) if s.key == "ledger")
    assert tuple(ledger.blocks[:2]) == (
        "Documents: 120,345 in + 1,707 created = 22,040 removed + 1,123 failed + 98,889 out.",
        "Bytes of text (UTF-8): 987,654,321 in + 1,001 added = 106,544,210 removed + 0 edited away"
        " + 881,111,112 out.",
    )
    assert ledger.blocks[2].rows[-1] == (
        "whole run",
        *("120,345", "1,707", "22,040", "1,123", "98,889"),
    )
    assert ledger.blocks[3].rows[-1] == (
        "whole run",
        *("987,654,321", "106,544,210", "-1,001", "881,111,112"),
    )


def test_a_sum_that_does_not_balance_says_so():
    report = run_report()
    report["ledger"][0]["docs_in"] += 1
    ledger = next(s for s in sections_of(report) if s.key == "ledger")
    assert "created ≠ 22,040 removed" in ledger.blocks[0]
    assert " added = " in ledger.blocks[1]


def test_the_headline_says_what_came_of_the_run():
    assert headline(report_of(run_report())) == (
        "Of 120,345 documents in 17 input files (1.23 GB, 4 shards), 98,889 came out (82.2 %):"
        " 881 MB of text, 213,456,789 tokens. A token stands for 4.128 ± 0.055 bytes of UTF-8 text"
        " and takes 2.01114 ± 0.00079 bytes in the dataset (± one standard error over 3"
        " shards). The dataset takes 429 MB in /data/web/dataset."
        " Failed: 1,123 documents, 1 input file, 1 shard, 1 damaged shard."
    )


def test_the_headline_of_a_run_that_left_nothing():
    assert headline(report_of(empty_report())) == (
        "Of 3 documents in 17 input files (1.23 GB, 4 shards), 0 came out (0.0 %): 0 B of text,"
        " 0 tokens. Nothing reached the tokenizer, so there are no bytes per token."
        " The dataset takes 4.1 kB in /data/web/dataset. Nothing failed."
    )


def hostile_report():
    """Every text that comes from outside tries to be markup."""
    report = run_report()
    measured = report["measurement"]
    measured[HOSTILE] = measured.pop("crawl")
    report["name"] = report["dataset"]["path"] = report["tokenizer"]["path"] = HOSTILE
    for row in report["failed_inputs"] + report["failed_shards"] + report["damaged_shards"]:
        row.update({k: HOSTILE for k, v in row.items() if isinstance(v, str)})
    for rows in ("benchmarks", "worst", "sources", "ignored"):
        for row in report["contamination"][rows]:
            texts = [k for k, v in row.items() if isinstance(v, str) and k != "reason"]
            row.update(dict.fromkeys(texts, HOSTILE))
    report["ledger"][2]["removed"][HOSTILE] = report["ledger"][2]["removed"].pop("too_few_words")
    report["ledger"][3]["stage"] = HOSTILE
    report["machine"]["system"] = f"a\x00b\x1b[31m{HOSTILE}"
    return report


def test_json_is_the_report_itself(tmp_path):
    report = run_report()
    write_report(tmp_path, report_of(report))
    assert json.loads((tmp_path / "report.json").read_text()) == report
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {"report.json", "report.md", "report.html"}


def test_what_may_be_absent_may_be_absent(tmp_path):
    report = run_report()
    assert "41.5" in written(tmp_path / "with", report)[1]
    del report["seconds"]
    assert "41.5" not in "".join(written(tmp_path / "without", report))


def test_throughput_is_that_of_the_text_that_enters_a_step():
    times = next(s for s in sections_of(run_report()) if s.key == "time").blocks[1]
    assert {row[0]: row[-1] for row in times.rows} == {
        "pass-0": "49.38",  # 987,654,321 bytes in 20 s
        "exact-0": "—",
        "near-0": "—",
        "pass-1": "100.00",  # 900,000,000 bytes in 9 s
        "state": "—",
    }


def test_a_step_that_took_no_time_has_no_throughput():
    report = run_report()
    report["steps"][0]["wall_s"] = 0.0
    times = next(s for s in sections_of(report) if s.key == "time").blocks[1]
    assert times.rows[0] == ("pass-0", "4", "0.00", "18.25", "—")


def test_reasons_of_a_stage_stand_by_their_number():
    ledger = next(s for s in sections_of(run_report()) if s.key == "ledger")
    assert [row[1] for row in ledger.blocks[4].rows] == [
        "invalid_utf8",
        "too_few_words",
        "mean_word_length",
        "exact_duplicate",
        "near_duplicate",
        "shard_failed",
    ]


def test_what_was_done_about_benchmark_items_stands_before_what_was_found():
    removed = {"short_piece": 4, "many_pieces": 1}
    cut = stage(100_000, 890_000_000, created=70, removed=removed, gone=9_000, edited=45_000)
    rows = [*run_ledger()[:-1], ("decontaminate", cut), ("tokenize", stage(100_065, 889_946_000))]
    report = {**run_report(rows), "contamination": contamination()}
    parts = {s.key: s for s in sections_of(report)}
    keys = list(parts)
    assert keys.index("decontaminate") + 1 == keys.index("benchmarks")
    assert (
        parts["decontaminate"]
        .blocks[0]
        .startswith(
            "Action cut: 100,000 documents in, 70 more made by cutting, 100,065 out; dropped:"
            " short_piece 4, many_pieces 1. Of 890 MB of text 45 kB was cut out and 9 kB dropped."
        )
    )
    assert parts["benchmarks"].blocks[1].rows[0][:2] == ("quiz", "2")
    left = parts["decontaminate"].blocks[1]
    assert left.startswith("Only n-gram overlaps count here: edited copies of items stay unless")
    assert "at least 13 words" not in parts["decontaminate"].blocks[0]
    found = report["contamination"]
    found["settings"]["action"] = "paragraph"
    found["benchmarks"][0]["widespread"] = 2
    told = {s.key: s for s in sections_of(report)}["decontaminate"].blocks
    assert told[0].endswith("13 words with at least half of their n-grams from benchmarks.")
    assert "2 items stand in more than 10 documents each and were kept: put exact or" in told[1]
    assert "benchmarks" not in {s.key for s in sections_of({**report, "contamination": {}})}
