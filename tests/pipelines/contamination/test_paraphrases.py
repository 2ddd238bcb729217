"""Items in other words, from the corpus to the report."""

import json

import pyarrow.parquet as pq
import pytest

from tests.pipelines.contamination.as_json import check_contamination, found_sections
from tests.running import one_by_one
from tokenmill.pipelines.contamination.check import Check
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.contamination.model import Report
from tokenmill.pipelines.contamination.paraphrases import agreeing_words
from tokenmill.pipelines.contamination.report import UNSEEN
from tokenmill.pipelines.contamination.report_found import found_in_short

QUESTIONS = [
    "Janet's ducks lay 16 eggs per day. She eats three for breakfast every morning and bakes"
    " muffins for her friends with four. She sells the remainder at the farmers' market daily.",
    "A robe takes 2 bolts of blue fiber and half that much white fiber. How many bolts of fabric"
    " does the tailor order for 35 robes of the choir?",
    "Wendi feeds each of her chickens three cups of mixed chicken feed, containing seeds, mealworms"
    " and vegetables. She gives the flock 15 cups in the morning and 25 in the afternoon.",
]
DOCUMENTS = {
    "rephrased": "Each morning the ducks of Janet produce 16 eggs: 3 are eaten at breakfast, with 4"
    " she bakes her friends muffins, and the farmers' market gets the remainder.",
    "sibling": "For a robe one needs 7 bolts of blue fiber, and of white fiber half that; how many"
    " bolts of fabric will the tailor order so that a choir gets 90 such robes?",
    "other": "The weather of the coast is mild, and visitors come in summer for the old harbour.",
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """A function of the score: the folder of a finished check, and its report."""
    folder = tmp_path_factory.mktemp("words")
    lines = (json.dumps({"question": question}) for question in QUESTIONS)
    (folder / "quiz.jsonl").write_text("\n".join(lines), encoding="utf-8")
    rows = (json.dumps({"id": name, "text": text}) for name, text in DOCUMENTS.items())
    (folder / "web.jsonl").write_text("\n".join(rows), encoding="utf-8")

    def run(score):
        benchmark = Benchmark(name="quiz", path=str(folder / "quiz.jsonl"))
        check = Check(
            inputs=[{"path": str(folder / "web.jsonl")}],
            matching={"benchmarks": [benchmark]},
            paraphrases=score and {"score": score},
        )
        out = folder / f"run-{score}"
        return out, check_contamination(check, out, one_by_one)

    return run


def unseen_rows(out):
    """Which rows of UNSEEN the report has."""
    told = (out / "contamination.md").read_text()
    return [f"| {what} | {why[:15]}" in told for what, why in UNSEEN]


def test_an_item_in_other_words_is_told_apart_from_dirty_ones_and_from_a_sibling(checked):
    out, report = checked(2.0)
    (counts,) = report["benchmarks"]
    assert [counts[k] for k in ("dirty", "edited", "paraphrased", "siblings")] == [0, 0, 2, 1]
    kinds = [
        (r["id"], r["item"], r["kind"]) for r in pq.read_table(out / "overlaps.parquet").to_pylist()
    ]
    assert sorted(kinds) == [
        ("rephrased", "quiz:0", "paraphrase"),
        ("sibling", "quiz:1", "sibling"),
    ]
    items = pq.read_table(out / "items.parquet")
    assert items["status"].to_pylist() == ["clean"] * 3
    assert items["paraphrase_docs"].to_pylist() == [1, 1, 0]
    assert report["n_paraphrased"] == 2
    assert not (out / "paraphrases").exists()
    assert unseen_rows(out) == [what != "paraphrases" for what, _ in UNSEEN]


def test_both_texts_are_shown_with_the_words_that_agree(checked):
    _, report = checked(2.0)
    examples = {e["item"]: e for e in report["paraphrases"]}
    example = examples["quiz:0"]
    text, match = example["item_text"]["text"], example["match"]
    ours = [text[start:end] for start, end in example["item_text"]["spans"]]
    theirs = [match[start:end] for start, end in example["spans"]]
    for one, other in (("three", "3"), ("ducks", "ducks"), ("friends", "friends"), ("16", "16")):
        assert one in ours
        assert other in theirs
    assert "sells" not in ours
    assert (example["sibling"], example["numbers"], example["agreeing"]) == (False, 3, 3)
    assert examples["quiz:1"]["sibling"]
    section = next(s for s in found_sections(report) if s.key == "paraphrases")
    facts = [row.facts for row in section.blocks[1].rows]
    assert any("3 of 3 numbers agree" in row for row in facts)
    assert any(row[0].startswith("sibling: ") for row in facts)
    lines = found_in_short(Report.model_validate(report), "3 documents")
    assert lines[1].startswith(
        "Most words of 2 other items stand together in a document, 1 of them"
    )


def test_they_are_looked_for_only_if_asked(checked):
    out, report = checked(None)
    assert "n_paraphrased" not in report or report["n_paraphrased"] is None
    assert pq.read_table(out / "overlaps.parquet").num_rows == 0
    assert pq.read_table(out / "items.parquet")["paraphrase"].to_pylist() == [0, 0, 0]
    assert all(unseen_rows(out))


def test_a_passage_in_other_words_is_none_of_the_short_question_asked_about_it(tmp_path):
    item = {"passage": QUESTIONS[0], "question": "What is sold there?"}
    (tmp_path / "quiz.jsonl").write_text(json.dumps(item), encoding="utf-8")
    (tmp_path / "web.jsonl").write_text(json.dumps({"text": DOCUMENTS["rephrased"]}))
    benchmark = Benchmark(name="quiz", path=str(tmp_path / "quiz.jsonl"))
    for verdict, expected in ((0.5, 0), ("gpt3", 1)):
        check = Check(
            inputs=[{"path": str(tmp_path / "web.jsonl")}],
            matching={"benchmarks": [benchmark]},
            paraphrases={},
            verdict=verdict,
        )
        report = check_contamination(check, tmp_path / f"{verdict}", one_by_one)
        assert report["benchmarks"][0]["paraphrased"] == expected


def test_a_higher_score_finds_less(checked):
    _, report = checked(30.0)
    assert report["n_paraphrased"] == 0


def test_words_agree_by_their_beginning_and_numbers_by_their_value():
    item = [(0, 5, "three"), (6, 12, "baking"), (13, 18, "robes"), (19, 21, "16")]
    window = [(0, 1, "3"), (2, 7, "bakes"), (8, 13, "robes"), (14, 17, "160")]
    agreed = agreeing_words(item, window)
    assert agreed == [((0, 5), (6, 12), (13, 18)), ((0, 1), (2, 7), (8, 13))]
    assert agreeing_words([], window) == [(), ()]
