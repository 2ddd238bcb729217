"""Filters that annotate: nothing leaves, and columns say by what each document would have."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.pipelines.filters.test_stages import NEEDED
from tests.pipelines.filters.texts import texts
from tests.pipelines.train.quality.models import saved
from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.filter import Filter
from tokenmill.pipelines.core.schema import OWN_COLUMNS
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.filters.images.scores import DocumentScores
from tokenmill.pipelines.filters.models.quality import Quality
from tokenmill.pipelines.filters.select import Select
from tokenmill.pipelines.filters.stages import STAGES
from tokenmill.pipelines.prepare.recipe import make_recipe

WITH_FILES = ("quality", "perplexity", "document_scores")
FILTERS = [
    name
    for name in STAGES
    if issubclass(STEPS[name], Filter) and not STEPS[name].needs_images and name not in WITH_FILES
]


def stages(name):
    settings = NEEDED.get(name, {})
    return STEPS[name](**settings), STEPS[name](**settings, action="annotate")


@pytest.mark.parametrize("name", FILTERS)
@given(docs=st.lists(texts, max_size=6))
def test_annotations_tell_what_the_filter_would_have_done(name, docs):
    removes, annotates = stages(name)
    batch = document_batch(docs)
    kept, removed, stats, *_ = annotates(batch)
    assert kept.select(batch.schema.names).equals(batch)
    assert (removed.num_rows, stats.docs_out, stats.bytes_edited) == (0, len(docs), 0)
    assert kept.schema == pa.schema([*batch.schema, *annotates.annotations()])
    gone = {row["doc_id"]: row for row in removes(batch).removed.to_pylist()}
    if f"{name}_reason" in kept.schema.names:
        told = dict(
            zip(batch["doc_id"].to_pylist(), kept[f"{name}_reason"].to_pylist(), strict=True)
        )
        assert {d: r for d, r in told.items() if r} == {d: r["reason"] for d, r in gone.items()}
    for doc_id, row in gone.items():
        if row["value"] is not None and name != "url_filter":
            values = kept.filter(pa.array([d == doc_id for d in batch["doc_id"].to_pylist()]))
            found = [v for c in annotates.annotations() for v in values[c.name].to_pylist()]
            assert row["value"] in found


def test_what_is_counted_and_measured_is_of_its_own_document():
    def found(name, *texts):
        kept = STEPS[name](action="annotate")(document_batch(texts)).kept
        return {part: kept[f"{name}_{part}"].to_pylist() for part in STEPS[name]().finds()}

    masked = found("pii", "a@b.org hi", "", "no", "b@firm.com c@firm.net IP 8.8.8.8")
    assert masked == {"emails": [1, 0, 0, 2], "ipv4": [0, 0, 0, 1]}
    assert found("gopher_quality", "the be to of and that have with")["stop_words"] == [8.0]
    line = "A line that is long enough, and ends in a mark."
    lines = [line, "short", line, "Long enough a line too, without one"]
    rates = found("fineweb", "\n".join(lines))
    assert rates["terminal_lines_ratio"] == [0.5]
    assert rates["short_lines_ratio"] == [0.25]
    assert rates["duplicate_line_chars_ratio"] == [len(line) / len("".join(lines))]


def test_c4_tells_how_much_it_would_keep_of_what_it_would_remove_too():
    line = "One line of these ends in a mark."
    texts = [line, f"{line}\nand no mark", "\n".join([line] * 6), " \n"]
    batch = document_batch(texts)
    found = STEPS["c4"](action="annotate")(batch).kept
    assert found["c4_reason"].to_pylist() == ["too_few_sentences"] * 2 + [None, "too_few_sentences"]
    kept = STEPS["c4"](min_sentences=None)(batch).kept["text"].to_pylist()
    shares = [len(left) / len(text) for left, text in zip(kept, texts, strict=True)]
    assert found["c4_kept_bytes_ratio"].to_pylist() == shares


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_that_removes_is_known_as_it_was_before_it_could_annotate(name):
    removes, annotates = stages(name)
    assert not {"action", "column"} & removes.model_dump(mode="json").keys()
    again = STEPS[name].model_validate_json(annotates.model_dump_json())
    assert again == annotates
    assert again.annotations() == annotates.annotations()
    assert removes.annotations() == ()


def test_the_same_model_may_stand_twice_under_names_of_its_own(tmp_path):
    model = str(saved(tmp_path))
    first = Quality.model_validate({"model": model, "action": "annotate"})
    second = Quality.model_validate({"model": model, "action": "annotate", "column": "edu"})
    batch = second(first(document_batch(["good", "bad"])).kept).kept
    assert batch.schema.names[-2:] == ["quality", "edu"]
    assert batch["quality"].equals(batch["edu"])
    assert (first.stage_name, second.stage_name) == ("quality", "quality:edu")


def scores(tmp_path, **columns):
    pq.write_table(pa.table(columns), tmp_path / "scores.parquet")
    return str(tmp_path / "scores.parquet")


def test_columns_of_a_file_are_joined_by_id(tmp_path):
    file = scores(tmp_path, id=["2", "0", "2"], topic=["law", None, "art"], edu=[3, 1, 2])
    stage = DocumentScores.model_validate({"file": file, "action": "annotate"})
    batch = stage(document_batch(["a", "b", "c"])).kept
    assert batch["topic"].to_pylist() == [None, None, "law"]
    assert batch["edu"].to_pylist() == [1, None, 3]
    again = DocumentScores.model_validate_json(stage.model_dump_json())
    assert again == stage
    named = {"file": file, "action": "annotate", "columns": ["edu"], "column": "their"}
    assert [f.name for f in DocumentScores.model_validate(named).annotations()] == ["their_edu"]


def test_a_column_that_cannot_annotate_is_refused(tmp_path):
    file = scores(tmp_path, id=["2"], parts=[[1]])
    for columns, there in ((["parts"], "parts"), (["edu"], "edu")):
        with pytest.raises(ValidationError, match=f"'{there}' cannot annotate; there are none"):
            named = {"file": file, "action": "annotate", "columns": columns}
            DocumentScores.model_validate(named)
    for columns in ("parts", 5, [5], [["parts"]]):
        with pytest.raises(ValidationError, match="name them in a list"):
            named = {"file": file, "action": "annotate", "columns": columns}
            DocumentScores.model_validate(named)


def test_what_leaves_by_a_condition_names_the_values():
    batch = STEPS["length"](action="annotate")(document_batch(["a", "bcd"])).kept
    kept, removed, *_ = Select(where="length > 2 and url is null")(batch)
    assert kept["id"].to_pylist() == ["1"]
    (row,) = removed.to_pylist()
    assert (row["reason"], row["value"], row["detail"]) == (
        "not_selected",
        1.0,
        "length=1 url=null",
    )


def test_80_characters_of_a_value_are_shown():
    url = ["x" * 78, "x" * 79]  # and the quotes around it
    batch = document_batch(["a", "b"]).set_column(2, "url", pa.array(url))
    removed = Select(where="url is null")(batch).removed
    assert removed["detail"].to_pylist() == [f"url='{'x' * 78}'", f"url='{'x' * 79}…"]


RECIPE = {"inputs": ["x.jsonl"], "tokenizer": None, "output": {"text": "parquet"}}


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (["length", "length"], "step 'length' stands twice; name each step once"),
        ([{"length": {"action": "annotate"}}] * 2, "another name, as column: other"),
        (
            [{"length": {"action": "annotate", "column": "url"}}],
            "'length:url' would add a column 'url', which documents have already",
        ),
        (
            [{"select": {"where": "length > 2"}}, {"length": {"action": "annotate"}}],
            "no column 'length'",
        ),
        ([{"select": {"where": "eval('1')"}}], "is no part of a condition"),
        (["length", {"language": {"action": "annotate", "unit": "line"}}], "whole documents"),
        ([{"near": {"action": "annotate"}}], "'near' needs all documents before it knows of one"),
        ([{"normalize": {"action": "annotate"}}], "finds nothing of a document by itself, and ca"),
    ],
)
def test_a_recipe_whose_columns_do_not_fit_is_refused(steps, why):
    with pytest.raises(ConfigError, match=why.replace("(", r"\(").replace(")", r"\)")):
        make_recipe({**RECIPE, "steps": steps}, where="recipe.yaml")


def test_own_columns_are_those_that_a_run_writes():
    assert {"doc_id", "id", "url", "text", "source", "date", "copies"} <= OWN_COLUMNS
