import gzip
import json

import pytest

from tokenmill.pipelines.contamination.items.items import read_items
from tokenmill.pipelines.contamination.items.rows import read_rows
from tokenmill.pipelines.contamination.items.spec import Benchmark, parse_benchmark
from tokenmill.pipelines.core.errors import ConfigError


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_a_folder_of_files_an_item_each_is_read_by_path(tmp_path):
    for subject, number in (("geometry", 1), ("algebra", 2), ("algebra", 1)):
        item = {"problem": f"{subject} {number}?", "level": "Level 1", "solution": "1"}
        write(tmp_path / "MATH" / "test" / subject / f"{number}.json", item)
    (tmp_path / "MATH" / "README.md").write_text("about")
    write(tmp_path / "MATH" / "dataset_infos.json", {"default": {"features": {}}})
    items = read_items(parse_benchmark(f"MATH={tmp_path}/MATH"))
    assert items.to_pydict() == {
        "item": ["MATH:0", "MATH:1", "MATH:2"],
        "problem": ["algebra 1?", "algebra 2?", "geometry 1?"],
        "solution": ["1", "1", "1"],
    }


def test_a_folder_of_tasks_is_read_whole(tmp_path):
    for task in ("navigate", "snarks"):
        examples = [{"input": f"{task} {i}", "target": "Yes"} for i in range(2)]
        write(tmp_path / "bbh" / f"{task}.json", {"canary": "x", "examples": examples})
    items = read_items(parse_benchmark(f"bbh={tmp_path}/bbh"))
    assert items["input"].to_pylist() == ["navigate 0", "navigate 1", "snarks 0", "snarks 1"]


def test_a_folder_of_mmlu_is_read_whole(tmp_path):
    for subject in ("anatomy", "law"):
        (tmp_path / f"{subject}_test.csv").write_text(
            f"Which {subject}?,1,2,3,4,C\nWhy?,a,b,c,d,A\n"
        )
    items = read_items(parse_benchmark(f"mmlu={tmp_path}"))
    assert items.column_names == ["item", "question", "A", "B", "C", "D"]
    assert items["question"].to_pylist() == ["Which anatomy?", "Why?", "Which law?", "Why?"]
    assert items["C"].to_pylist() == ["3", "c", "3", "c"]


def test_a_pattern_is_what_it_matches(tmp_path):
    for name in ("test-0", "test-1", "train-0"):
        write(tmp_path / f"{name}.json", [{"q": name}])
    assert read_rows(f"{tmp_path}/test-*.json") == [{"q": "test-0"}, {"q": "test-1"}]


def test_a_bad_file_of_a_folder_is_named(tmp_path):
    write(tmp_path / "a.json", [{"q": "x"}])
    (tmp_path / "b.jsonl").write_text("{")
    with pytest.raises(ConfigError) as e:
        read_items(Benchmark(name="quiz", path=str(tmp_path)))
    assert str(e.value).startswith(f"benchmark 'quiz': {tmp_path}: b.jsonl: line 1 is not JSON")


def test_a_pattern_without_a_match_is_refused(tmp_path):
    with pytest.raises(ConfigError) as e:
        read_items(Benchmark(name="quiz", path=f"{tmp_path}/*.json"))
    assert str(e.value) == (
        f"benchmark 'quiz': {tmp_path}/*.json: matches no file; check the pattern"
    )


def test_a_small_packed_file_unpacks_to_4_mib_and_no_more(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    row = b'{"q": "%s"}' % (b"a" * (4 * 1024**2 - 9))
    path.write_bytes(gzip.compress(row, 1))
    assert len(row) == 4 * 1024**2
    assert len(read_rows(str(path))) == 1
    path.write_bytes(gzip.compress(row + b"\n", 1))
    with pytest.raises(ValueError, match="bytes unpack to over .*; unpack it first"):
        read_rows(str(path))
