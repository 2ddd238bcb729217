import pytest

from tokenmill.pipelines.contamination.items.rows import check_outside
from tokenmill.pipelines.contamination.items.spec import Benchmark, parse_benchmark
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    (folder / "more").mkdir(parents=True)
    for name in ("corpus/a.jsonl", "corpus/more/test.jsonl", "corpus/more/val.jsonl", "out.jsonl"):
        (tmp_path / name).write_text('{"text": "x"}\n')
    return folder


def bench(path):
    return Benchmark(name="quiz", path=str(path))


def told(benchmarks, paths):
    """What is said of benchmarks that are in the corpus."""
    with pytest.raises(ConfigError) as e:
        check_outside(benchmarks, [Input(path=path) for path in paths])
    return str(e.value)


@pytest.mark.parametrize("path", ["more/test.jsonl", "more/../more/test.jsonl", "more/t*.jsonl"])
def test_a_benchmark_in_the_corpus_is_found(corpus, path):
    assert told([bench(corpus / path)], [str(corpus)]) == (
        f"benchmark 'quiz': {corpus}/more/test.jsonl is also read as corpus, which would find"
        " every item; move it out of the corpus, exclude it, or narrow the corpus to a pattern"
        " such as FOLDER/*.parquet"
    )


def test_a_folder_of_it_is_found_with_all_its_files(corpus):
    found = told([bench(corpus / "more")], [str(corpus)])
    assert f"{corpus}/more/test.jsonl and 1 more is also read" in found


def test_a_link_does_not_hide_it(corpus, tmp_path):
    (tmp_path / "link.jsonl").symlink_to(corpus / "a.jsonl")
    found = told([bench(tmp_path / "link.jsonl")], [str(corpus)])
    assert f"'quiz': {corpus}/a.jsonl is also read" in found
    (corpus / "linked.jsonl").symlink_to(tmp_path / "out.jsonl")
    found = told([bench(tmp_path / "out.jsonl")], [f"file://{corpus}"])
    assert f"'quiz': {corpus}/linked.jsonl is also read" in found


def test_what_the_corpus_does_not_read_is_not_in_it(corpus, tmp_path):
    benchmarks = [
        bench(tmp_path / "out.jsonl"),
        bench(corpus / "more" / "test.jsonl"),
        parse_benchmark("gsm8k"),
    ]
    check_outside(benchmarks, [Input(path=f"{corpus}/*.jsonl")])
    check_outside(benchmarks, [Input(path=str(corpus), exclude=["test.*"])])
    found = told(benchmarks, [f"{corpus}/*.jsonl", f"{corpus}/more"])
    assert f"'quiz': {corpus}/more/test.jsonl is also read" in found


def test_a_benchmark_that_is_not_there_is_named(corpus):
    with pytest.raises(ConfigError, match="benchmark .*none.jsonl: no such file or folder"):
        check_outside([bench(corpus / "none.jsonl")], [Input(path=str(corpus))])


def test_a_store_that_does_not_answer_is_told_in_a_line(corpus, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "true")
    with pytest.raises(ConfigError, match=r"^benchmark 'quiz': s3://b/x.jsonl: the store does not"):
        check_outside([bench("s3://b/x.jsonl")], [Input(path=str(corpus))])
    with pytest.raises(ConfigError, match=r"^s3://b/x.jsonl: the store does not answer"):
        check_outside([bench(corpus / "a.jsonl")], [Input(path="s3://b/x.jsonl")])
