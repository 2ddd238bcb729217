import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipelines.benchmark.spec import Benchmark
from pipelines.decontaminate import OVERLAP, Decontaminate
from pipelines.errors import ConfigError, ShardError
from pipelines.schema import REMOVED
from tests.strategies import document_batch

LEAK = "Natalia sold clips to 48 of her friends in April, then she sold"  # 13 words
OTHER = "half as many clips in May; how many did she sell altogether in those two months?"
CLEAN = " ".join(f"w{i}" for i in range(2000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    items = [{"q": "nothing to find", "a": "short"}, {"q": f"{LEAK} {OTHER}", "a": "72"}]
    (folder / "sums.jsonl").write_text("\n".join(map(json.dumps, items)))
    (folder / "copy.jsonl").write_text(json.dumps({"text": LEAK.upper()}))
    return folder


def stage_of(folder, **settings):
    benchmarks = tuple(Benchmark(name=n, path=f"{folder}/{n}.jsonl") for n in ("sums", "copy"))
    return Decontaminate(**{"benchmarks": benchmarks, **settings})


def bound(folder, **settings):
    stage = stage_of(folder, **settings)
    path = folder / f"index-{len(settings)}.arrow"
    stage.prepare(path)
    return stage.bind(path)


@pytest.fixture(scope="module")
def remove(folder):
    return bound(folder)


def test_a_leaking_document_is_removed_with_its_evidence(remove):
    half = " ".join(LEAK.split()[:12])
    batch = document_batch([CLEAN, f"{CLEAN}\n“{LEAK}”, {CLEAN}", f"{CLEAN} {half} {CLEAN}"])
    result, overlaps = remove.check(batch)
    assert result.kept["id"].to_pylist() == ["0", "2"]
    (row,) = result.removed.to_pylist()
    assert (row["stage"], row["reason"], row["value"]) == ("decontaminate", "overlap", 1.0)
    assert row["detail"] == f"sums:1 n=1 '{LEAK}' (and 1 more item)"
    start = len(CLEAN) + 1 + len("“".encode())
    assert overlaps.to_pylist() == [
        {
            "doc_id": 1,
            "id": "1",
            "benchmark": name,
            "item": item,
            "start_byte": start,
            "end_byte": start + len(LEAK),
            "ngrams": 1,
            "excerpt": LEAK,
        }
        for name, item in (("sums", "sums:1"), ("copy", "copy:0"))
    ]
    assert overlaps.schema.equals(OVERLAP, check_metadata=True)
    assert result.removed.schema.equals(REMOVED, check_metadata=True)


def test_the_longest_overlap_is_the_evidence(remove):
    text = f"{LEAK.lower()} … {LEAK} {OTHER}"
    (row,) = remove(document_batch([text])).removed.to_pylist()
    n = len(f"{LEAK} {OTHER}".split()) - 12
    excerpt = f"{LEAK} {OTHER}"[:120]
    assert row["detail"] == f"sums:1 n={n} '{excerpt}' (and 1 more item)"
    assert row["value"] == n + 1


def test_report_keeps_the_documents_and_gives_the_same_overlaps(folder, remove):
    batch = document_batch([CLEAN, LEAK])
    report = bound(folder, action="report")
    result = report(batch)
    assert result.kept == batch
    assert result.removed.num_rows == 0
    assert report.overlaps(batch) == remove.overlaps(batch)
    assert report.overlaps(batch).num_rows == 2


@given(
    st.lists(st.sampled_from([CLEAN[:99], LEAK, f"a {LEAK}\n{OTHER}", "", "é " + LEAK]), max_size=6)
)
def test_every_document_is_kept_or_has_a_receipt(remove, texts):
    result, overlaps = remove.check(document_batch(texts))
    result.stats.check("decontaminate")
    assert result.stats.docs_in == len(texts)
    assert result.stats.removed.get("overlap", 0) == sum(LEAK in text for text in texts)
    assert set(overlaps["doc_id"].to_pylist()) == set(result.removed["doc_id"].to_pylist())


def test_what_was_indexed_is_told(remove, folder):
    sums, copy = remove.benchmarks
    assert sums["benchmark"] == {"name": "sums", "path": f"{folder}/sums.jsonl", "fields": None}
    assert (sums["fields"], sums["items"], sums["untestable"]) == (["q", "a"], 2, [0])
    assert (copy["fields"], copy["items"], copy["untestable"]) == (["text"], 1, [])


def test_an_index_of_another_recipe_is_refused(folder, tmp_path):
    stage, path = stage_of(folder), tmp_path / "index.arrow"
    stage.prepare(path)
    assert [p.name for p in tmp_path.iterdir()] == ["index.arrow"]
    with pytest.raises(ShardError, match="ngram '13', this run needs '8'"):
        stage_of(folder, ngram=8).bind(path)
    with pytest.raises(ShardError) as e:
        stage_of(folder, benchmarks=stage.benchmarks[:1]).bind(path)
    assert str(e.value) == (
        f"{path}: n-gram index of benchmark"
        f" {{'name': 'copy', 'path': '{folder}/copy.jsonl', 'fields': None}},"
        " this run needs None; delete it and build it again"
    )
    path.write_bytes(b"ARROW1")
    with pytest.raises(ShardError, match="not a saved n-gram index"):
        stage.bind(path)


def test_a_benchmark_too_short_to_match_is_refused(folder, tmp_path):
    path = tmp_path / "short.jsonl"
    path.write_text('{"q": "two words"}\n')
    stage = stage_of(folder, benchmarks=(Benchmark(name="short", path=str(path)),))
    with pytest.raises(ConfigError) as e:
        stage.prepare(tmp_path / "index.arrow")
    assert str(e.value) == (
        f"benchmark 'short': {path}: none of 1 items has 8 words in q;"
        " name other fields, or drop the benchmark"
    )
    assert not (tmp_path / "index.arrow").exists()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"action": "cut"}, "Input should be 'remove' or 'report'"),
        ({"ngram": 0}, "greater than or equal to 1"),
        ({"benchmarks": ()}, "at least 1 item"),
        ({"benchmarks": ({"name": "a", "path": "x"},) * 2}, "benchmark 'a' stands twice"),
        ({"benchmarks": ({"name": "a:b", "path": "x"},)}, "should match pattern"),
    ],
)
def test_settings_are_checked(folder, settings, complaint):
    with pytest.raises(ValidationError, match=complaint):
        stage_of(folder, **settings)


def test_real_benchmarks_in_real_text(shared_data, tmp_path):
    """Read by hand: one matrix of 0 to 15, in two versions of a page, is all that they share."""
    bench = shared_data / "bench"
    stage = Decontaminate(
        benchmarks=(
            Benchmark(name="gsm8k", path=str(bench / "gsm8k/test.jsonl")),
            Benchmark(name="humaneval", path=str(bench / "humaneval/HumanEval.jsonl.gz")),
        )
    )
    stage.prepare(tmp_path / "index.arrow")
    texts = [
        json.loads(line)["text"]
        for path in sorted((shared_data / "text").rglob("*.gz"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    planted = json.loads((bench / "gsm8k/test.jsonl").read_text().splitlines()[17])["question"]
    result, overlaps = stage.bind(tmp_path / "index.arrow").check(document_batch([*texts, planted]))
    assert result.removed["detail"].to_pylist()[-1].startswith("gsm8k:17 n=")
    assert overlaps["item"].to_pylist() == ["humaneval:129"] * 2 + ["gsm8k:17"]
    assert (
        overlaps["excerpt"][0].as_py() == "2, 3], [ 4, 5, 6, 7], [ 8, 9, 10, 11], [12, 13, 14, 15"
    )
