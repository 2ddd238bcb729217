"""Files as the makers of benchmarks publish them, a few rows of each."""

import csv
import io
import json
import re

import pytest

from tokenmill.pipelines.contamination.items.rows import (
    one_a_question,
    read_csv,
    read_json,
    read_jsonl,
)


def squad(*paragraphs):
    return {"version": "1.1", "data": [{"title": "Rivers", "paragraphs": list(paragraphs)}]}


def asked(*questions):
    return [
        {"id": str(i), "question": q, "answers": [{"text": q[0], "answer_start": 7}]}
        for i, q in enumerate(questions)
    ]


def test_squad_is_a_row_a_question():
    data = squad(
        {"context": "The Nile is long.", "qas": asked("Who?", "What?")},
        {"context": "The Po is not.", "qas": asked("Why?")},
        {"context": "Nobody asked.", "qas": []},
    )
    rows = one_a_question(read_json(json.dumps(data).encode()))
    assert [(r["title"], r["context"], r["question"]) for r in rows] == [
        ("Rivers", "The Nile is long.", "Who?"),
        ("Rivers", "The Nile is long.", "What?"),
        ("Rivers", "The Po is not.", "Why?"),
    ]
    assert rows[2]["answers"] == [{"text": "W", "answer_start": 7}]


def test_passages_with_questions_by_lines_are_a_row_a_question():
    lines = [{"context": c, "qas": asked(*qs)} for c, qs in (("a", ["x", "y"]), ("b", ["z"]))]
    rows = one_a_question(read_jsonl("\n".join(map(json.dumps, lines)).encode()))
    assert [(r["context"], r["question"]) for r in rows] == [("a", "x"), ("a", "y"), ("b", "z")]


def test_drop_is_a_row_a_question():
    data = {
        "nfl_1": {"passage": "The Bears won.", "qa_pairs": [{"question": "Who won?"}]},
        "nfl_2": {"passage": "It rained.", "qa_pairs": [{"question": "And?"}, {"question": "So?"}]},
    }
    rows = one_a_question(read_json(json.dumps(data).encode()))
    assert rows == [
        {"passage": "The Bears won.", "question": "Who won?"},
        {"passage": "It rained.", "question": "And?"},
        {"passage": "It rained.", "question": "So?"},
    ]


def test_paragraphs_that_are_evidence_stay_in_their_row():
    row = {"question": "Who?", "paragraphs": [{"title": "a", "text": "b"}, {"title": "c"}]}
    assert one_a_question([row]) == [row]


def test_bbh_holds_its_examples_beside_a_warning():
    data = {"canary": "DO NOT TRAIN", "examples": [{"input": "not True is", "target": "False"}]}
    assert read_json(json.dumps(data).encode()) == data["examples"]


def test_a_file_of_math_is_an_item():
    item = {"problem": "What is 1+1?", "level": "Level 1", "solution": "2"}
    assert read_json(json.dumps(item).encode()) == [item]


MMLU = [
    ["What is 1, or 2?", "0.50", "1e5", "None", "", "B"],
    ["Line one\nline two", "x", 'say "so"', "z", "w", "D"],
]


def as_csv(rows):
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue().encode()


def test_mmlu_without_header_keeps_its_first_question_and_every_character():
    names = ["question", "A", "B", "C", "D", "answer"]
    assert read_csv(as_csv(MMLU)) == [dict(zip(names, row, strict=True)) for row in MMLU]


def test_a_header_of_six_columns_is_a_header():
    header = ["question", "a", "b", "c", "d", "answer"]
    assert [r["question"] for r in read_csv(as_csv([header, *MMLU]))] == [r[0] for r in MMLU]
    six = [["id", "q", "A", "B", "C", "D"], ["1", "why?", "w", "x", "y", "z"]]
    assert read_csv(as_csv(six)) == [{"id": 1, "q": "why?", "A": "w", "B": "x", "C": "y", "D": "z"}]


def test_a_very_long_field_is_no_mmlu():
    long = "x" * 200_000
    assert read_csv(as_csv([["a", "b"], [long, "c"]])) == [{"a": long, "b": "c"}]
    first = [long, "x", "x", "x", "x", "A"]
    assert read_csv(as_csv([first, first])) == [{long: long, "x": "x", "A": "A"}]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (["a", "b"], "is JSON but no list of objects, nor an object that holds one"),
        ("text", "is JSON but no list of objects, nor an object that holds one"),
        (
            {"question": {"0": "Who?"}, "answer": {"0": "me"}},
            "is written by columns; write it by rows, in pandas to_json(orient='records')",
        ),
        (
            {"question": ["Who?", "Why?"], "answer": ["me", "so"]},
            "is written by columns; write it by rows, in pandas to_json(orient='records')",
        ),
        (
            {"version": "1", "train": [{"q": "a"}], "test": [{"q": "b"}]},
            "holds 2 lists of objects; it must hold one list of objects",
        ),
    ],
)
def test_other_json_is_refused_with_what_it_is(value, complaint):
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}$"):
        read_json(json.dumps(value).encode())
