import bz2
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from datasets import Dataset, DatasetDict

from tokenmill.pipelines.contamination.items.items import item_texts, read_items
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.core.errors import ConfigError

ROWS = [
    {"question": "How many?", "choices": {"text": ["two", "three"], "label": ["A", "B"]}, "n": 2},
    {"question": "Who,\nthen?", "choices": {"text": ["me", "you"], "label": ["A", "B"]}, "n": 3},
]
QUESTIONS = [row["question"] for row in ROWS]
CHOICES = ["two\nthree\nA\nB", "me\nyou\nA\nB"]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def write_parquet(path):
    pq.write_table(pa.Table.from_pylist(ROWS), path)


WRITERS = {
    "a.jsonl": lambda p: p.write_bytes(LINES),
    "bom.jsonl": lambda p: p.write_bytes(b"\xef\xbb\xbf" + LINES.replace(b"\n", b"\r\n\n")),
    "a.jsonl.gz": lambda p: p.write_bytes(gzip.compress(LINES)),
    "a.jsonl.bz2": lambda p: p.write_bytes(bz2.compress(LINES)),
    "a.jsonl.zst": lambda p: p.write_bytes(zstandard.compress(LINES)),
    "lines.json": lambda p: p.write_bytes(LINES),
    "list.json": lambda p: p.write_text(json.dumps(ROWS)),
    "held.json": lambda p: p.write_text(json.dumps({"version": 1, "tags": ["x"], "data": ROWS})),
    "a.parquet": write_parquet,
    "saved": lambda p: Dataset.from_list(ROWS * 3).select(range(2)).save_to_disk(p),
}


def refusal(benchmark):
    with pytest.raises(ConfigError) as e:
        read_items(benchmark)
    return str(e.value)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_items(tmp_path, name):
    WRITERS[name](tmp_path / name)
    items = read_items(Benchmark(name="quiz", path=str(tmp_path / name)))
    assert items.to_pydict() == {
        "item": ["quiz:0", "quiz:1"],
        "question": QUESTIONS,
        "choices": CHOICES,
    }


def test_a_saved_dataset_of_several_shards_is_read_whole(tmp_path):
    Dataset.from_dict({"q": [f"question {i}" for i in range(10)]}).save_to_disk(
        tmp_path / "saved", num_shards=3
    )
    items = read_items(Benchmark(name="quiz", path=f"{tmp_path}/saved/"))
    assert items["q"].to_pylist() == [f"question {i}" for i in range(10)]


@pytest.mark.parametrize("mark", [",", ";", "|", "\t"])
def test_csv(tmp_path, mark):
    path = tmp_path / "a.csv"
    path.write_text(f'question{mark}n\nHow many?{mark}2\n"Who,\nthen?"{mark}3\n')
    items = read_items(Benchmark(name="quiz", path=str(path)))
    assert items.to_pydict() == {"item": ["quiz:0", "quiz:1"], "question": QUESTIONS}


@pytest.mark.parametrize(
    ("rows", "second"),
    [
        ('"Who,\tthen?"\t3\n', "Who,\tthen?"),
        ('"Who, ""then""?\nShe?"\t3\n', 'Who, "then"?\nShe?'),
        ('"Who" is "it"?\t3\n', '"Who" is "it"?'),
        ('"Who\t3\n', '"Who'),
    ],
)
def test_tsv_with_quotes_and_without(tmp_path, rows, second):
    path = tmp_path / "a.tsv"
    path.write_text(f"question\tn\nHow many?\t2\n{rows}")
    items = read_items(Benchmark(name="quiz", path=str(path)))
    assert items["question"].to_pylist() == ["How many?", second]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (("How many?", "18"), ["f0"]),  # as MGSM has no header
        (("How many?", "-2.5"), ["f0"]),
        (("It is so", "0"), ["f0"]),
        (("question", "2020"), ["question"]),
        (("the question", "1", "2"), ["the question"]),
        (("Who is it?", "1", "3"), ["f0"]),
        (("0", "1"), ["0"]),  # as pandas names them
        (("question", "n2"), ["question"]),
    ],
)
def test_a_first_line_with_a_number_is_an_item(tmp_path, header, names):
    path = tmp_path / "a.tsv"
    path.write_text("\t".join(header) + "\nWho, then?" + "\t3" * (len(header) - 1) + "\n")
    items = read_items(Benchmark(name="quiz", path=str(path)))
    assert items.column_names == ["item", *names]
    assert items[names[0]].to_pylist()[-1] == "Who, then?"
    assert items.num_rows == 1 + (names == ["f0"])


def test_mgsm_as_its_makers_publish_it(tmp_path):
    path = tmp_path / "mgsm_en.tsv"
    path.write_text("How many ducks?\t18\nHow many bolts?\t3\n")
    items = read_items(Benchmark(name="mgsm", path=str(path)))
    assert items["f0"].to_pylist() == ["How many ducks?", "How many bolts?"]


def test_line_breaks_in_a_large_csv(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("q,n\n" + ('"a' + ",\n" * 500 + 'b",1\n') * 5_000)  # over a block of 1 MiB
    assert read_items(Benchmark(name="quiz", path=str(path))).num_rows == 5_000


def test_named_fields_come_in_their_order_and_numbers_count(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES)
    items = read_items(Benchmark(name="quiz", path=str(path), fields=("n", "question")))
    assert items.to_pydict() == {
        "item": ["quiz:0", "quiz:1"],
        "n": ["2", "3"],
        "question": QUESTIONS,
    }


def test_each_field_is_a_text_and_all_of_them_together(tmp_path):
    items = pa.table({"item": ["q:0", "q:1"], "a": ["one", "three"], "b": ["two", ""]})
    texts, rows, _ = item_texts(items)
    assert list(zip(texts.to_pylist(), rows.to_pylist(), strict=True)) == [
        ("one", 0),
        ("three", 1),
        ("two", 0),
        ("one\ntwo", 0),
        ("three\n", 1),
    ]
    assert item_texts(items.select(["item", "a"]))[0].to_pylist() == ["one", "three"]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.jsonl", b"", "holds no items; check the path"),
        ("a.json", b"[]", "holds no items; check the path"),
        ("a.csv", b"", "holds no items; check the path"),
        ("a.jsonl", b'{"q": "x"}\n[1]\n', "line 2 is not a JSON object"),
        ("a.json", b'{"a": 1}', "holds 0 lists of objects; it must hold one list of objects"),
        ("a.jsonl", b'{"n": 1}\n', "no field holds text; fields are n"),
        (
            "a.txt",
            b"x",
            "cannot tell its format;"
            " its name must end in .jsonl, .json, .csv, .tsv, .tab, .parquet",
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path, name, content, complaint):
    path = tmp_path / name
    path.write_bytes(content)
    assert (
        refusal(Benchmark(name="quiz", path=str(path))) == f"benchmark 'quiz': {path}: {complaint}"
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b'{"q": '),
        ("a.json", b"{"),
        ("a.parquet", b"PAR1 and no more"),
        ("a.jsonl.gz", gzip.compress(LINES)[:-9]),
        ("a.jsonl.gz", b"not gzip at all"),
        ("a.jsonl", b"\xff\xfe"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    message = refusal(Benchmark(name="quiz", path=str(path)))
    assert message.startswith(f"benchmark 'quiz': {path}: ")
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path):
    path = f"{tmp_path}/none.jsonl"
    assert refusal(Benchmark(name="quiz", path=path)) == (
        f"benchmark 'quiz': {path}: no such file or folder; check the path"
    )


def test_a_wrong_field_is_named_with_the_nearest(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES)
    assert refusal(Benchmark(name="quiz", path=str(path), fields=("qestion",))) == (
        f"benchmark 'quiz': {path}: no field 'qestion'; did you mean 'question'?"
        " fields are question, choices, n"
    )


def test_a_folder_must_be_one_saved_split(tmp_path):
    split = Dataset.from_list(ROWS)
    DatasetDict({"train": split, "test": split}).save_to_disk(tmp_path / "both")
    assert refusal(Benchmark(name="quiz", path=f"{tmp_path}/both")) == (
        f"benchmark 'quiz': {tmp_path}/both: has splits; name one:"
        f" {tmp_path}/both/train, {tmp_path}/both/test"
    )
    assert refusal(Benchmark(name="quiz", path=str(tmp_path))) == (
        f"benchmark 'quiz': {tmp_path}: holds saved datasets; name one:"
        f" {tmp_path}/both/test, {tmp_path}/both/train"
    )
    (tmp_path / "empty").mkdir()
    assert refusal(Benchmark(name="quiz", path=f"{tmp_path}/empty")) == (
        f"benchmark 'quiz': {tmp_path}/empty: has no file that ends in .jsonl, .json, .csv, .tsv,"
        " .tab, .parquet, and no state.json; name a file, or a saved dataset"
    )


def test_half_a_surrogate_pair_is_read_as_a_question_mark(tmp_path):
    (tmp_path / "quiz.jsonl").write_text('{"q": "a \\ud800 é"}')
    items = read_items(Benchmark(name="quiz", path=f"{tmp_path}/quiz.jsonl"))
    assert items["q"].to_pylist() == ["a ? é"]


def test_a_field_of_a_field_is_named_with_a_dot(tmp_path):
    path = tmp_path / "a.jsonl"
    stem = {"stem": "Who?", "choices": [{"text": "me", "label": "A"}, {"text": "you"}]}
    rows = [{"question": stem, "a.b": "whole", "a": {"b": "part"}}, {"question": {"stem": None}}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = ("question.stem", "question.choices.text", "a.b")
    items = read_items(Benchmark(name="quiz", path=str(path), fields=fields))
    assert items.to_pydict() == {
        "item": ["quiz:0", "quiz:1"],
        "question.stem": ["Who?", ""],
        "question.choices.text": ["me\nyou", ""],
        "a.b": ["whole", ""],
    }
    assert refusal(Benchmark(name="quiz", path=str(path), fields=("question.text",))) == (
        f"benchmark 'quiz': {path}: no field 'question.text'; did you mean 'question'?"
        " fields are question, a.b, a"
    )


def test_items_of_one_word_stay_items(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"q": "Why?"}\n{"q": ""}\n{"q": null}\n{}\n')
    items = read_items(Benchmark(name="quiz", path=str(path)))
    assert items["q"].to_pylist() == ["Why?", "", "", ""]
    texts, rows, _ = item_texts(items)
    assert (texts.to_pylist(), rows.to_pylist()) == (["Why?"], [0])
