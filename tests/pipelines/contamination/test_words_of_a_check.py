"""All that a check says of a small corpus with an item of each kind, row by row, word by word."""

import json
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from tests.golden.held import held
from tests.pipelines.contamination.as_json import check_contamination
from tests.pipelines.contamination.corpus import WIDE, WORDS, one_in_ten_replaced
from tests.running import one_by_one
from tokenmill.flows.commands.contamination import show_report
from tokenmill.pipelines.contamination.check import Check
from tokenmill.pipelines.contamination.model import Report

PARAPHRASED = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May."
    " How many clips did Natalia sell altogether in April and May?",
    "In April 48 friends bought clips from Natalia. In May she sold half of that number. What is"
    " the total number of clips that Natalia sold in these two months, April and May, altogether?",
)


def words(seed, n=34):
    return " ".join(Random(seed).choices(WORDS.split(), k=n))


def corpus():
    """Documents of two sources; each item stands where its comment says."""
    items = [{"q": words(f"item {n}")} for n in range(8)]
    plain, loud, wide, edited, part, many, _, twice = (item["q"] for item in items)
    passages = [words(f"passage {n}", 60) for n in range(3)]
    quiz = [
        {"context": passage, "question": words(f"question {n}", 14), "answer": words(f"a{n}", 3)}
        for n, passage in enumerate(passages)
    ]
    quiz += [{"context": "", "question": "Who ate it?", "answer": "Ada"}]
    items += [{"q": PARAPHRASED[0]}]
    a = [
        f"{words('a', 50)} {plain}\n\n{words('b', 50)}",
        f"{loud.upper()} {words('c', 80)} {plain}",
        wide.translate(WIDE),
        f"{words('d', 40)} {one_in_ten_replaced(edited)} {words('e', 40)}",
        f"{words('f', 20)} {' '.join(part.split()[:14])} {words('g', 20)}",
        f"{twice} {words('h', 20)} {twice}",
    ]
    b = [f"{words(f'many {n}', 20)} {many}" for n in range(12)]
    b += [
        f"{words('i', 30)} {passages[0]} {words('j', 30)}",  # a passage alone
        f"{passages[1]} {quiz[1]['question']} {quiz[1]['answer']}",
        f"{words('k', 30)} {quiz[2]['question']} {quiz[2]['answer']}",
        f"Who ate it? Ada. {words('l', 30)}",
        PARAPHRASED[1],
        words("m", 200),
    ]
    return items, quiz, {"a": a, "b": b}


CHECKS = {
    "usual": {"paraphrases": {}},
    "gpt3": {"verdict": "gpt3", "copies": None},
    "others": {"verdict": 0.3, "matching": {"ngram": 5, "most_docs": None}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    items, quiz, documents = corpus()
    for name, rows in (("sums", items), ("quiz", quiz)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, texts in documents.items():
        lines = (json.dumps({"id": f"{name}{n}", "text": text}) for n, text in enumerate(texts))
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    with (folder / "a.jsonl").open("ab") as file:
        file.write(b'\n{"text": "\xff"}\nno JSON\n')
    return folder


@pytest.mark.parametrize("name", CHECKS)
def test_what_a_check_tells_is_what_it_was(folder, name, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    benchmarks = [{"name": n, "path": f"{n}.jsonl"} for n in ("sums", "quiz")]
    settings = {"inputs": [{"path": f"{n}.jsonl"} for n in "ab"], **CHECKS[name]}
    matching = {"benchmarks": benchmarks, **settings.get("matching", {})}
    out = Path(name)
    report = check_contamination(
        Check.model_validate({**settings, "matching": matching}), out, one_by_one
    )
    text = json.dumps(report).replace(str(folder), "FOLDER")
    show_report(Report.model_validate_json(text), Path("/FOLDER"))
    told = [capsys.readouterr().out, (out / "contamination.md").read_text()]
    for file in ("items", "overlaps"):
        rows = pq.read_table(out / f"{file}.parquet").to_pylist()
        told.append("\n".join(json.dumps(row, default=repr) for row in rows))
    text = "\n\n".join(told).replace(str(folder), "FOLDER")
    held(f"contamination-{name}.txt", text)
