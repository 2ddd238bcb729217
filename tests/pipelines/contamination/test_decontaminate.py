import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from tests.pipelines.chains import Runs, words
from tests.running import one_by_one, prepare
from tokenmill.pipelines.contamination import decontaminate
from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import make_recipe

BENCHMARK = {"name": "sums", "path": "sums.jsonl"}


def test_the_defaults_are_what_gpt3_did():
    step = Decontaminate(benchmarks=(BENCHMARK,))
    assert (step.action, step.ngram, step.most_docs) == ("cut", "auto", 10)
    assert (step.window_chars, step.least_chars, step.most_pieces) == (200, 200, 10)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"action": "delete"}, "'cut', 'document', 'paragraph' or 'report'"),
        ({"ngram": 0}, "greater than or equal to 1"),
        ({"most_pieces": 16}, "less than or equal to 15"),
        ({"window_chars": -1}, "greater than or equal to 0"),
        ({"benchmarks": ()}, "at least 1 item"),
        ({"benchmarks": (BENCHMARK, BENCHMARK)}, "benchmark 'sums' stands twice"),
    ],
)
def test_settings_are_checked(settings, complaint):
    with pytest.raises(ValidationError, match=complaint):
        Decontaminate(**{"benchmarks": (BENCHMARK,), **settings})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"folding": {"mark": False}}, "folding: unknown key 'mark'; did you mean 'marks'"),
        (
            {"benchmarks": [{**BENCHMARK, "pth": "b.jsonl"}]},
            "benchmarks.0: unknown key 'pth'; did you mean 'path'",
        ),
    ],
)
def test_an_unknown_key_is_told_with_those_there_are(settings, told):
    step = {"decontaminate": {"benchmarks": [BENCHMARK], **settings}}
    recipe = {"inputs": [{"path": "x"}], "tokenizer": {"path": "o/t"}, "steps": [step]}
    with pytest.raises(ConfigError, match=told):
        make_recipe(recipe, where="recipe.yaml")


def test_a_run_takes_edited_copies_out_and_its_receipts_say_so(tmp_path):
    item = words("item", 40)
    copy = " ".join("other" if i % 5 == 4 else w for i, w in enumerate(item.split()))
    rows = [{"question": text} for text in (item, words("whole", 40), words("none", 40))]
    (tmp_path / "quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    runs = Runs(tmp_path)
    around = f"{words('b', 200)} {{}} {words('c', 200)}"
    docs = [words("a", 200), around.format(copy), copy, around.format(rows[1]["question"])]
    runs.write("web", docs)
    (tmp_path / "other.jsonl").write_text(json.dumps({"question": words("other", 40)}))
    benchmarks = [{"name": n, "path": str(tmp_path / f"{n}.jsonl")} for n in ("quiz", "other")]
    steps = [{"decontaminate": {"benchmarks": benchmarks, "edited": "cut"}}]
    report = prepare(
        runs.recipe("web", steps=steps, keep_index=False), tmp_path / "run", one_by_one
    )
    (removed,) = table_rows(tmp_path / "run" / "removed")
    assert (removed["reason"], removed["detail"][:19]) == ("edited", "quiz:0 edited copy ")
    copies = table_rows(tmp_path / "run" / "overlaps")
    assert sorted((r["id"], r["kind"], r["source"]) for r in copies) == [
        ("web-1", "copy", "docs"),
        ("web-2", "copy", "docs"),
        ("web-3", "ngrams", "docs"),
    ]
    assert report["contamination"]["settings"]["edited"] == "cut"
    assert [s["edited_docs"] for s in report["contamination"]["sources"]] == [2]
    counts, _ = report["contamination"]["benchmarks"]
    states = {name: counts[name] for name in ("items", "dirty", "edited", "edited_docs", "clean")}
    assert states == {"items": 3, "dirty": 1, "edited": 1, "edited_docs": 2, "clean": 1}
    pieces = [r["id"] for r in table_rows(tmp_path / "run" / "pieces")]
    assert pieces == [f"web-{n}#piece-{k}" for n in (1, 3) for k in (1, 2)]


def test_an_edited_passage_is_taken_out_only_with_what_is_asked_about_it(tmp_path):
    passage, *questions = words("passage", 60), words("asked", 15), words("why", 15)
    rows = [{"passage": passage, "question": question} for question in questions]
    (tmp_path / "quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    copies = [
        " ".join("other" if i % 5 == 4 else w for i, w in enumerate(text.split()))
        for text in (passage, *questions)
    ]
    runs = Runs(tmp_path)
    around = f"{words('b', 200)} {{}} {words('c', 200)}"
    runs.write("web", [around.format(copies[0]), around.format("\n".join(copies))])
    step = {"benchmarks": [{"name": "quiz", "path": str(tmp_path / "quiz.jsonl")}], "edited": "cut"}
    recipe = runs.recipe("web", steps=[{"decontaminate": step}], keep_index=False)
    prepare(recipe, tmp_path / "run", one_by_one)
    overlaps = table_rows(tmp_path / "run" / "overlaps")
    told = sorted((row["id"], row["item"]) for row in overlaps)
    assert told == [("web-1", "quiz:0"), ("web-1", "quiz:1")]


def table_rows(folder):
    return [
        row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


def test_a_documents_detail_is_its_longest_span_and_then_its_best_copy():
    """The first of several alike; an item that it has twice is one item."""
    spans = [
        (7, "b:1", 2, None), (7, "b:2", 5, None), (7, "b:3", 5, None), (7, "b:2", 3, None),
        (9, "b:4", None, 0.61), (9, "b:5", None, 0.82), (4, "b:6", None, 0.9), (4, "b:6", 1, None),
    ]  # fmt: skip
    columns = dict(
        zip(("doc_id", "item", "ngrams", "containment"), zip(*spans, strict=True), strict=True)
    )
    excerpts = [f"{item} of {doc}" for doc, item, *_ in spans]
    rows = pa.RecordBatch.from_pydict({**columns, "excerpt": excerpts})
    batch = pa.RecordBatch.from_pydict({"doc_id": [4, 7, 8, 9]})
    assert decontaminate._details(batch, rows).to_pylist() == [
        "b:6 n=1 'b:6 of 4'",
        "b:2 n=5 'b:2 of 7' (and 2 more items)",
        None,
        "b:5 edited copy 0.82 'b:5 of 9' (and 1 more item)",
    ]
