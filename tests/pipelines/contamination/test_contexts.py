"""Passages that items ask about: found alone they are told as such, edited or not."""

import json
from random import Random

import pyarrow.parquet as pq
import pytest

from tests.pipelines.contamination.as_json import check_contamination
from tests.pipelines.contamination.corpus import WORDS
from tests.running import one_by_one
from tokenmill.pipelines.contamination.check import Check
from tokenmill.pipelines.contamination.model import Report
from tokenmill.pipelines.contamination.report_found import found_in_short

LETTERS = {
    "Cyrillic": ("абвгдежзиклмнопрстуфхцчшэюя", 7, " "),
    "Han": ("".join(map(chr, range(0x4E00, 0x5200))), 2, ""),
    "Thai": ("".join(map(chr, range(0x0E01, 0x0E2E))), 4, ""),
}


def words_of(script, n, seed):
    draw = Random(f"{script} {seed}")
    if script == "Latin":
        return draw.choices(WORDS.split(), k=n)
    letters, size, _ = LETTERS[script]
    return ["".join(draw.choices(letters, k=size)) for _ in range(n)]


def edited(words, script, every=6):
    """Every sixth word is another."""
    others = words_of(script, len(words), "others")
    return [
        o if i % every == every - 1 else w
        for i, (w, o) in enumerate(zip(words, others, strict=True))
    ]


def checked(rows, docs, script, path):
    """The report, and of each item the status; docs: lists of lists of words."""
    space = " " if script == "Latin" else LETTERS[script][2]
    (path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    around = [space.join(words_of(script, 40, f"around {i}")) for i in range(2)]
    texts = ["\n".join([around[0], *map(space.join, doc), around[1]]) for doc in docs]
    (path / "c.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    check = Check.model_validate(
        {
            "inputs": [{"path": str(path / "c.jsonl")}],
            "matching": {"benchmarks": [{"name": "b", "path": str(path / "b.jsonl")}]},
        }
    )
    report = check_contamination(check, path / "out", one_by_one)
    return report, pq.read_table(path / "out/items.parquet")["status"].to_pylist()


@pytest.mark.parametrize(
    ("script", "columns"),
    [
        ("Latin", ("context", "question", "answer")),
        ("Cyrillic", ("text", "task", "solution")),  # known for a passage as items share it
        ("Han", ("question", "answers", "passage")),
        ("Thai", ("article", "question", "answer")),
    ],
)
def test_a_passage_that_stands_there_without_its_question_makes_no_item_a_copy(
    script, columns, tmp_path
):
    space = " " if script == "Latin" else LETTERS[script][2]
    passages = [words_of(script, 60, f"p{i}") for i in range(5)]
    questions = [words_of(script, 12, f"q{i}") for i in range(10)]
    of_columns = sorted(columns, key=["text", "context", "article", "passage"].__contains__)
    rows = []
    for i, question in enumerate(questions):
        passage = passages[i // 2]
        parts = (question, passage[20 + i : 30 + i], passage)  # the answer is of the passage
        named = dict(zip(of_columns, map(space.join, parts), strict=True))
        rows.append({name: named[name] for name in columns})
    docs = [
        [passages[0]],
        [edited(passages[1], script)],
        [edited(passages[2], script), edited(questions[4], script)],
        [passages[3], questions[6]],
        [questions[8]],
    ]
    report, status = checked(rows, docs, script, tmp_path)
    expected = ["clean"] * 4 + ["edited", "clean", "dirty", "clean", "dirty", "clean"]
    assert status == expected
    (benchmark,) = report["benchmarks"]
    assert (benchmark["edited"], benchmark["dirty"]) == (1, 2)
    assert benchmark["context_found"] == 6  # of both items of 0 and 1, of the others' siblings
    overlaps = pq.read_table(tmp_path / "out/overlaps.parquet")["item"].to_pylist()
    assert sorted(set(overlaps)) == ["b:4", "b:6", "b:8"]


def test_passages_and_the_items_of_edited_ones_are_told_in_short(tmp_path):
    passages = [words_of("Latin", 60, f"p{i}") for i in range(2)]
    rows = [
        {"passage": " ".join(passage), "question": " ".join(words_of("Latin", 12, f"q{p}{i}"))}
        for p, passage in enumerate(passages)
        for i in range(2)
    ]

    def said(*docs):
        path = tmp_path / str(len(docs))
        path.mkdir()
        report, status = checked(rows, [[doc] for doc in docs], "Latin", path)
        assert status == ["clean"] * 4
        return found_in_short(Report.model_validate(report), "2 documents")[1:]

    edit = edited(passages[1], "Latin")
    assert said(passages[0], edit) == [
        "1 passage stands in the corpus, and 4 items whose passage does, as it is or edited, are"
        " not dirty."
    ]
    assert said(edit) == ["Edited copies of the passages of 2 items stand there."]


@pytest.mark.parametrize(("length", "every"), [(12, 5), (6, 6)])
def test_questions_that_stand_with_their_passage_are_all_told(length, every, tmp_path):
    passages = [words_of("Latin", 80, f"p{i}") for i in range(3)]
    questions = [words_of("Latin", length, f"q{i}") for i in range(15)]
    rows = [
        {"passage": " ".join(passages[i // 5]), "question": " ".join(questions[i])}
        for i in range(15)
    ]
    docs = [
        [
            edited(passages[p], "Latin"),
            *(edited(question, "Latin", every) for question in questions[5 * p : 5 * p + 5]),
        ]
        for p in range(3)
    ]
    assert checked(rows, docs, "Latin", tmp_path)[1] == ["edited"] * 15


def test_a_field_that_has_the_question_in_it_is_no_context(tmp_path):
    passages = [words_of("Latin", 80, f"p{i}") for i in range(4)]
    questions = [words_of("Latin", 14, f"q{i}") for i in range(4)]
    both = list(map(" ".join, map(list.__add__, passages, questions)))
    rows = [{"context": c, "question": " ".join(q)} for c, q in zip(both, questions, strict=True)]
    docs = [
        [edited(p, "Latin"), edited(q, "Latin", 5)]
        for p, q in zip(passages, questions, strict=True)
    ]
    assert checked(rows, docs, "Latin", tmp_path)[1] == ["edited"] * 4
