import pytest

from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.contamination.items.spec import parse_benchmark, read_known
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import make_recipe

GSM8K = "hf://openai/gsm8k/main/test"
WAY = "write NAME=PATH[:FIELD,FIELD]"


@pytest.mark.parametrize(
    ("spec", "name", "path", "fields"),
    [
        ("quiz=/data/q.jsonl", "quiz", "/data/q.jsonl", None),
        ("quiz=/data/q.jsonl:question", "quiz", "/data/q.jsonl", ("question",)),
        (
            "quiz=/q.csv: Question , Correct Answer",
            "quiz",
            "/q.csv",
            ("Question", "Correct Answer"),
        ),
        ("arc=/q.jsonl:question.stem", "arc", "/q.jsonl", ("question.stem",)),
        ("quiz=s3://bucket/q.jsonl", "quiz", "s3://bucket/q.jsonl", None),
        ("quiz=s3://bucket/q.jsonl:q,a", "quiz", "s3://bucket/q.jsonl", ("q", "a")),
        ("quiz=s3://bucket/a:b/q.jsonl", "quiz", "s3://bucket/a:b/q.jsonl", None),
        ("quiz=s3://bucket/a:b.jsonl:", "quiz", "s3://bucket/a:b.jsonl", None),
        ("quiz=file:///data/q.jsonl:q", "quiz", "file:///data/q.jsonl", ("q",)),
        ("quiz=/data/day=1/q.jsonl", "quiz", "/data/day=1/q.jsonl", None),
        ("quiz=hf://a/b/c/test:q", "quiz", "hf://a/b/c/test", ("q",)),
        ("gsm8k=hf://openai/gsm8k/main/train", "gsm8k", "hf://openai/gsm8k/main/train", None),
        ("gsm8k", "gsm8k", GSM8K, None),
        ("GSM-8K", "GSM-8K", GSM8K, None),
        ("gsm8k:question", "gsm8k", GSM8K, ("question",)),
    ],
)
def test_a_spec_says_name_path_and_fields(spec, name, path, fields):
    found = parse_benchmark(spec)
    assert (found.name, found.path, found.fields) == (name, path, fields)


@pytest.mark.parametrize(
    ("tail", "fields"), [(r"C:\data\q.csv", None), (r"C:\data\q.csv:q", ("q",))]
)
def test_the_colon_of_a_drive_begins_no_fields(tail, fields):
    found = parse_benchmark(f"quiz={tail}")
    assert found.path.endswith(r"C:\data\q.csv")
    assert found.fields == fields


def test_a_file_that_is_there_is_the_path_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse_benchmark("quiz=a:b.jsonl").fields == ("b.jsonl",)
    (tmp_path / "a:b.jsonl").write_text("{}")
    assert parse_benchmark("quiz=a:b.jsonl").path == f"{tmp_path}/a:b.jsonl"
    assert parse_benchmark("quiz=a:b.jsonl:q").fields == ("q",)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("quiz=", f"benchmark 'quiz=': names no path; {WAY}"),
        ("quiz=:q", f"benchmark 'quiz=:q': names no path; {WAY}"),
        ("quiz=a.jsonl:q,", f"benchmark 'quiz=a.jsonl:q,': a field without a name; {WAY}"),
        ("a/b=c", f"benchmark 'a/b=c': begins with a path; {WAY}"),
        (
            "my quiz=a.jsonl",
            "benchmark 'my quiz=a.jsonl': the name 'my quiz' is empty or holds a space or colon;"
            f" {WAY}",
        ),
        (
            "=a.jsonl",
            f"benchmark '=a.jsonl': the name '' is empty or holds a space or colon; {WAY}",
        ),
        ("gsm8", f"benchmark 'gsm8': names no path; {WAY}; did you mean 'gsm8k'?"),
        (
            "quiz.jsonl",
            f"benchmark 'quiz.jsonl': names no path; {WAY}; known without a path: "
            + ", ".join(k.name for k in read_known()),
        ),
    ],
)
def test_a_spec_of_another_form_is_refused_with_the_form(spec, message):
    with pytest.raises(ConfigError) as e:
        parse_benchmark(spec)
    assert str(e.value) == message


def test_gsm8k_train_has_a_name_but_no_path_of_its_own():
    with pytest.raises(ConfigError, match="names no path"):
        parse_benchmark("gsm8k-train")


@pytest.mark.parametrize("given", ["gsm8k", {"name": "gsm8k"}])
def test_a_recipe_may_name_a_well_known_benchmark_alone(given):
    assert Decontaminate(benchmarks=[given]).benchmarks == (parse_benchmark("gsm8k"),)


def test_a_benchmark_of_a_recipe_that_nobody_knows_needs_a_path():
    for given in ("quiz", {"name": "quiz"}):
        steps = [{"decontaminate": {"benchmarks": [given]}}]
        recipe = {"inputs": ["a.jsonl"], "steps": steps, "tokenizer": {"path": "t.json"}}
        with pytest.raises(ConfigError, match="benchmark 'quiz': names no path"):
            make_recipe(recipe, where="r.yaml")
