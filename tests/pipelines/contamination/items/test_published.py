"""Well-known benchmarks by their name alone: in the forms that they are published in."""

import hashlib
import json

import pytest

from tokenmill.pipelines.contamination.items.items import item_texts, read_items
from tokenmill.pipelines.contamination.items.spec import parse_benchmark, read_known
from tokenmill.pipelines.core.errors import ConfigError

EXPORTS = [
    pytest.param(k.name, e, id=f"{k.name}-{i}")
    for k in read_known()
    for i, e in enumerate(k.exports)
]


def row_with(fields):
    """A row that has a text in each field, in lists of objects where a name has a dot."""
    row = {"id": "a row's id"}
    for field in fields:
        *outer, last = field.split(".")
        part = row
        for name in outer:
            part = part.setdefault(name, [{}])[0]
        part[last] = [f"the {field}", 7]
    return row


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("name", "export"), EXPORTS)
def test_the_name_alone_finds_the_fields(tmp_path, name, export):
    path = write(tmp_path / "a.jsonl", row_with(export.fields))
    items = read_items(parse_benchmark(f"{name.upper()}={path}"))
    texts = {field: [f"the {field}\n7"] for field in export.fields}
    assert items.to_pydict() == {"item": [f"{name.upper()}:0"], **texts}


@pytest.mark.parametrize(("name", "export"), EXPORTS)
def test_a_test_set_may_lack_the_answers(tmp_path, name, export):
    path = write(tmp_path / "a.jsonl", row_with(export.needed))
    assert read_items(parse_benchmark(f"{name}={path}")).column_names == ["item", *export.needed]


def test_an_answer_of_the_test_set_that_is_empty_is_left_out(tmp_path):
    path = write(tmp_path / "a.jsonl", {"question": "Who?", "answer": ""})
    assert read_items(parse_benchmark(f"gsm8k={path}")).column_names == ["item", "question"]


def test_another_form_is_refused_with_its_fields(tmp_path):
    path = write(
        tmp_path / "a.jsonl", {"instruction": "Choose.", "output": "A", "question": "Who?"}
    )
    with pytest.raises(ConfigError) as e:
        read_items(parse_benchmark(f"arc-easy={path}"))
    assert str(e.value) == (
        f"benchmark 'arc-easy': {path}: lacks the fields of arc-easy (question, choices.text or"
        " question.stem, question.choices.text); name those to look for, as"
        " arc-easy=PATH:FIELD,FIELD or as `fields` in a recipe, or give it a name that is"
        " not arc-easy with or without a split behind;"
        " fields are instruction, output, question"
    )
    items = read_items(parse_benchmark(f"arc-easy={path}:instruction"))
    assert items["instruction"].to_pylist() == ["Choose."]


def test_an_unknown_name_looks_for_every_text_but_ids(tmp_path):
    row = {"id": "x1", "Question_ID": "q1", "question": "Who?", "n": 3, "a": ["me"]}
    path = write(tmp_path / "a.jsonl", row)
    items = read_items(parse_benchmark(f"quiz={path}"))
    assert items.column_names == ["item", "question", "a"]
    named = read_items(parse_benchmark(f"quiz={path}:id,question"))
    assert named.column_names == ["item", "id", "question"]
    alone = write(tmp_path / "b.jsonl", {"id": "x1", "n": 3})
    assert read_items(parse_benchmark(f"quiz={alone}")).column_names == ["item", "id"]


# Each was looked at: the item's texts are whole, in the order of a prompt, without ids and
# without the letters of choices. Words of each text, and a digest in place of the text itself.
@pytest.mark.parametrize(
    ("spec", "items", "fields", "row", "words", "digest"),
    [
        ("gsm8k=gsm8k/test.jsonl", 1319, "question answer", 17, [41, 78, 119], "8d5044b7a48cd830"),
        (
            "gsm8k-train=gsm8k/train.jsonl",
            7473,
            "question answer",
            3,
            [41, 59, 100],
            "8aefe2c56b873308",
        ),
        (
            "HumanEval=humaneval/HumanEval.jsonl.gz",
            164,
            "prompt canonical_solution test",
            2,
            [45, 4, 26, 75],
            "ee9dbe3871fa423b",
        ),
        (
            "mbpp=mbpp/mbpp.jsonl",
            974,
            "text code test_list",
            2,
            [8, 24, 12, 44],
            "1429966e212d9704",
        ),
        (
            "BoolQ=boolq_arrow/none/validation",
            3270,
            "passage question",
            5,
            [55, 7, 62],
            "3d6c2a171ca27d11",
        ),
        (
            "arc_easy=ai2_arc_arrow/ARC-Easy/validation",
            570,
            "question choices.text",
            7,
            [11, 13, 24],
            "5a8b9411786d353c",
        ),
        (
            "ARC-Challenge=ai2_arc_arrow/ARC-Challenge/validation",
            299,
            "question choices.text",
            4,
            [37, 12, 49],
            "df076f82ff5703bb",
        ),
        (
            "arc-challenge=arc_challenge_test_llmadapters.json:instruction",
            1172,
            "instruction",
            0,
            [57],
            "8948055d4b54166b",
        ),
    ],
)
def test_the_texts_of_published_items(shared_data, spec, items, fields, row, words, digest):
    name, _, path = spec.partition("=")
    table = read_items(parse_benchmark(f"{name}={shared_data}/bench/{path}"))
    assert table.num_rows == items
    assert table.column_names == ["item", *fields.split()]
    pairs = zip(*(column.to_pylist() for column in item_texts(table)[:2]), strict=True)
    texts = [text for text, of in pairs if of == row]
    assert [len(text.split()) for text in texts] == words
    assert hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16] == digest
