"""Whole checks without an orchestrator: what is found, what stays, what is refused."""

import gzip
import json
from collections import Counter

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.contamination.as_json import check_contamination
from tests.pipelines.contamination.corpus import (
    EDITED,
    PLANTED,
    QUESTIONS,
    RIDDLES,
    WHOLE,
    documents,
    one_in_ten_replaced,
    write_benchmark,
    write_check,
)
from tests.pipelines.read.web.archives import archive, html, http, page, response, words
from tests.running import one_by_one
from tokenmill.pipelines.contamination.check import Check
from tokenmill.pipelines.contamination.index import Matching
from tokenmill.pipelines.contamination.model import SCHEMA, Report, Summary
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.runs.work import attempt
from tokenmill.pipelines.storage.atomic import json_text

OUTPUT = ("items.parquet", "overlaps.parquet", "summary.json", "counts.arrow")


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    return write_check(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def run(check, tmp_path_factory):
    """A finished run: its folder and its report."""
    out = tmp_path_factory.mktemp("finished") / "run"
    return out, check_contamination(check, out, one_by_one)


def nothing_more(job, phase):
    raise AssertionError(f"{phase.name} was done again")


def with_inputs(check, *paths, **settings):
    inputs = [{"path": str(path)} for path in paths]
    return Check.model_validate({**check.model_dump(), "inputs": inputs, **settings})


def test_a_web_archive_is_searched_in_all_of_its_text(check, tmp_path):
    menu = f"<ul><li>{QUESTIONS[1]}</li></ul>"  # no main text of a page
    pages = [response(1, http(html(words(1)) + menu.encode())), page(2, words(2))]
    (tmp_path / "crawl.warc.gz").write_bytes(archive(pages))
    given = with_inputs(check, tmp_path / "crawl.warc.gz", shard_bytes=10)
    report = check_contamination(given, tmp_path / "out", one_by_one)
    found = {b["name"]: (b["dirty"], b["docs"]) for b in report["benchmarks"]}
    assert found == {"sums": (1, 1), "riddles": (0, 0)}
    assert (report["documents"]["read"], report["documents"]["failed"]) == (2, {})
    assert check_contamination(given, tmp_path / "out", one_by_one) == report


def test_planted_items_are_found_and_no_others(run):
    out, report = run
    by_name = {b["name"]: b for b in report["benchmarks"]}
    assert (by_name["sums"]["dirty"], by_name["sums"]["clean"]) == (3, 4)
    assert by_name["sums"]["docs"] == 4
    assert (by_name["riddles"]["dirty"], by_name["riddles"]["clean"]) == (1, 7)
    assert (by_name["riddles"]["untestable"], by_name["riddles"]["found_whole"]) == (1, 1)
    assert by_name["sums"]["foldings"] == {"compat": 1}
    assert (by_name["sums"]["edited"], by_name["riddles"]["edited"]) == (1, 0)
    assert (by_name["sums"]["edited_docs"], by_name["riddles"]["edited_docs"]) == (1, 0)
    assert report["n_edited"] == 1
    assert [(w["id"], w["items"]) for w in report["worst_edited"]] == [
        (report["edited"][0]["id"], 1)
    ]
    assert [(s["source"], s["docs"], s["edited_docs"]) for s in report["sources"]] == [
        ("a", 3, 0),
        ("b", 2, 1),
    ]
    rows = pq.read_table(out / "items.parquet").to_pylist()
    assert [row["item"] for row in rows if row["docs"]] == [
        *("sums:0", "sums:1", "sums:2"),
        *("riddles:0", "riddles:1"),
    ]
    assert [row["docs"] for row in rows if row["docs"]] == [2, 1, 1, 1, 1]
    assert {row["found_frac"] for row in rows if row["docs"]} == {1.0}
    assert len(rows) == len(QUESTIONS) + len(RIDDLES)
    assert (out / "contamination.json").is_file()


STATES = ("dirty", "edited", "some", "clean", "untestable", "only_context")


def test_every_item_is_told_as_one_thing(tmp_path):
    texts = [
        QUESTIONS[0],
        *(" ".join(question.split()[:14]) for question in QUESTIONS[1:3]),  # too few for a copy
        *(one_in_ten_replaced(question) for question in QUESTIONS[2:4]),
        f"{one_in_ten_replaced(RIDDLES[3])} {WHOLE}?",
    ]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    named = {"sums": QUESTIONS, "riddles": RIDDLES}
    benchmarks = tuple(write_benchmark(tmp_path, name, items) for name, items in named.items())
    inputs = [{"path": str(tmp_path / "x.jsonl")}]
    check = Check(inputs=inputs, matching=Matching(benchmarks=benchmarks))
    sums, riddles = check_contamination(check, tmp_path / "run", one_by_one)["benchmarks"]
    told = [{state: b[state] for state in STATES if b[state]} for b in (sums, riddles)]
    assert told[0] == {"dirty": 1, "edited": 2, "some": 1, "clean": 4}
    assert told[1] == {"edited": 1, "clean": 7, "untestable": 1}
    assert (sums["dirty_frac"], riddles["dirty_frac"]) == (1 / 8, 0)
    rows = pq.read_table(tmp_path / "run" / "items.parquet").to_pylist()
    statuses = [row["status"] for row in rows]
    assert statuses[:5] == ["dirty", "some", "edited", "edited", "clean"]
    assert rows[2]["found_frac"] > 0
    assert [Counter(statuses[:8]), Counter(statuses[8:])] == told


def test_reports_are_as_the_schema_that_ships_says(check, run, tmp_path):
    schema = json.loads(SCHEMA.read_text())
    assert SCHEMA.read_text() == json_text(Report.model_json_schema())
    blind = check.model_copy(update={"copies": None})
    check_contamination(blind, tmp_path / "run", one_by_one)
    for out in (run[0], tmp_path / "run"):
        text = (out / "contamination.json").read_text()
        jsonschema.validate(json.loads(text), schema)
        assert json_text(Report.model_validate_json(text).to_json()) == text
        summary = (out / "summary.json").read_text()
        assert json_text(Summary.model_validate_json(summary).to_json()) == summary
    with pytest.raises(jsonschema.ValidationError, match="'failed_inputs' is a required property"):
        jsonschema.validate(json.loads(summary), schema)


def test_an_edited_copy_is_shown_beside_its_item(check, run, tmp_path):
    out, report = run
    (example,) = report["edited"]
    assert (example["item"], example["documents"]) == ("sums:5", 1)
    assert example["item_text"]["text"] == QUESTIONS[5]
    text = documents()[EDITED]
    assert example["id"] == f"b-{EDITED - len(documents()) // 2}"
    span = text.encode()[example["start_byte"] : example["end_byte"]].decode()
    assert example["match"] == span
    assert f"{example['before']}{span}{example['after']}" in text
    assert PLANTED[EDITED].startswith(span[:40])
    assert 0.6 <= example["containment"] < 0.9
    rows = {row["item"]: row for row in pq.read_table(out / "items.parquet").to_pylist()}
    assert rows["sums:5"]["containment"] == example["containment"]
    assert [rows[f"sums:{n}"]["copy_docs"] for n in range(6)] == [2, 1, 1, 0, 0, 1]
    assert rows["sums:0"]["containment"] == 1.0

    marked = [QUESTIONS[5][a:b] for a, b in example["item_text"]["spans"]]
    kept = [w for i, w in enumerate(QUESTIONS[5].split()) if i % 10 != 5]
    assert " ".join(marked).split() == [*kept[:-1], kept[-1].removesuffix("?")] or (
        " ".join(marked).split() == kept
    )

    blind = check.model_copy(update={"copies": None})
    without = check_contamination(blind, tmp_path / "run", one_by_one)
    assert without["edited"] == []
    assert [b["edited"] for b in without["benchmarks"]] == [0, 0]
    assert without["settings"]["copies"] is None
    assert not (tmp_path / "run" / "index" / "copies.arrow").exists()


def test_an_edited_copy_is_told_of_the_item_that_it_is_most_of(check, tmp_path):
    template = "Of {} apples that Mary had in her basket she gave away {} to her brother on {}."
    rows = [template.format(*of) for of in (("12", "7", "Monday"), ("15", "4", "Friday"))]
    (tmp_path / "a.txt").write_text(rows[1].replace("basket", "bag"))
    given = with_benchmark(check, write_benchmark(tmp_path, "q", rows))
    given = with_inputs(given, tmp_path / "a.txt")
    report = check_contamination(given, tmp_path / "run", one_by_one)
    assert (report["benchmarks"][0]["dirty"], report["benchmarks"][0]["edited"]) == (0, 1)
    assert [example["item"] for example in report["edited"]] == ["q:1"]


def test_an_item_in_too_many_documents_is_widespread_and_its_copies_are_rows(check, tmp_path):
    path = tmp_path / "many.jsonl"
    texts = [f"{n} {QUESTIONS[3]}" for n in range(11)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    report = check_contamination(with_inputs(check, path), tmp_path / "run", one_by_one)
    sums = report["benchmarks"][0]
    counts = {"dirty": 0, "widespread": 1, "edited": 0, "edited_docs": 0, "docs": 0}
    assert counts.items() <= sums.items()
    assert [(e["item"], e["documents"]) for e in report["widespread"]] == [("sums:3", 11)]
    assert (report["n_edited"], report["edited"], report["worst_edited"]) == (0, [], [])
    rows = pq.read_table(tmp_path / "run" / "items.parquet").to_pylist()
    told = [(row["item"], row["docs"], row["widespread_docs"], row["copy_docs"]) for row in rows]
    assert [row["item"] for row in rows if row["status"] == "widespread"] == ["sums:3"]
    assert [row for row in told if any(row[1:])] == [("sums:3", 0, 11, 11)]
    overlaps = pq.read_table(tmp_path / "run" / "overlaps.parquet").to_pylist()
    assert [(row["kind"], row["containment"]) for row in overlaps] == [("copy", 1.0)] * 11


def test_overlaps_name_bytes_of_documents(check, run):
    texts = documents()
    half = len(texts) // 2
    rows = pq.read_table(run[0] / "overlaps.parquet").to_pylist()
    places = [(row["source"], int(row["id"].partition("-")[2])) for row in rows]
    assert {n + half * (source == "b") for source, n in places} == set(PLANTED)
    (copy,) = (row for row in rows if row["kind"] == "copy")
    assert (copy["item"], copy["ngrams"]) == ("sums:5", None)
    assert copy["containment"] == run[1]["edited"][0]["containment"]
    by_ngrams = [row for row in rows if row["kind"] == "ngrams"]
    assert {row["containment"] for row in by_ngrams} == {None}
    assert [row["doc_id"] for row in by_ngrams] == sorted(row["doc_id"] for row in by_ngrams)
    for row, (source, n) in zip(rows, places, strict=True):
        span = texts[n + half * (source == "b")].encode()[row["start_byte"] : row["end_byte"]]
        assert " ".join(span.decode().split()).startswith(row["excerpt"])
        assert len(row["excerpt"]) == min(120, len(span.decode()))
        assert row["foldings"] == (["compat"] if row["id"] == "a-40" else [])
        assert row["item"].partition(":")[0] == row["benchmark"]


def test_every_document_is_read_or_failed_by_cause(check, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "some.jsonl").write_text(
        json.dumps({"text": QUESTIONS[0]}) + "\nnot json\n" + json.dumps({"text": 5}) + "\n"
    )
    whole = gzip.compress(
        b"".join(json.dumps({"text": f"some words {i}"}).encode() + b"\n" for i in range(50_000))
    )
    (folder / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "other.jsonl").write_text('{"prose": "x"}\n')
    (folder / "notes.xyz").write_text("x")
    report = check_contamination(with_inputs(check, folder), tmp_path / "run", one_by_one)
    read = report["documents"]
    assert read["failed"]["invalid_json"] == 1
    assert read["failed"]["truncated_gzip"] == 1
    assert sum(read["failed"].values()) == 3
    assert read["read"] > 1000
    (failed,) = report["failed_inputs"]
    assert failed["cause"] == "missing_column"
    way = "name the one that holds the text, as PATH:NAME, or --text-column NAME for all"
    assert failed["message"].endswith(way)
    assert report["inputs"]["texts"] == {"in": {"text": 2}}
    (damaged,) = report["damaged_shards"]
    assert "truncated_gzip" in damaged["message"]
    assert report["inputs"]["skipped"] == [str(folder / "notes.xyz")]
    assert report["benchmarks"][0]["dirty"] == 1


@pytest.mark.parametrize(("failed_frac", "told"), [(0.5, True), (0.8, False)])
def test_a_source_of_which_half_failed_is_told(check, tmp_path, failed_frac, told):
    (tmp_path / "web.jsonl").write_text('{"text": "words"}\n' + "no JSON\n" * 2)
    (tmp_path / "books.jsonl").write_text('{"text": "words"}\n' * 3 + "no JSON\n")
    paths = (tmp_path / "web.jsonl", tmp_path / "books.jsonl")
    given = with_inputs(check, *paths, limits={"failed_frac": failed_frac})
    report = check_contamination(given, tmp_path / "run", one_by_one)
    message = "2 of its 3 documents failed: invalid_json 2"
    assert report["failed_sources"] == [{"source": "web", "message": message}] * told
    # it decides nothing: a run with another is the same
    again = with_inputs(check, *paths, limits={"failed_frac": 1.0})
    assert check_contamination(again, tmp_path / "run", one_by_one) == report


def test_a_corpus_of_which_nothing_could_be_read_is_told(check, tmp_path):
    for n in range(3):
        (tmp_path / f"{n}.txt").write_text("some words")
    given = with_inputs(check, tmp_path / "*.txt", limits={"max_document_bytes": 5})
    report = check_contamination(given, tmp_path / "run", one_by_one)
    assert report["failed_sources"] == [
        {"source": tmp_path.name, "message": "3 of its 3 documents failed: too_large 3"},
        {"source": "total", "message": "nothing is left of 3 documents"},
    ]


def backwards(job, phase):
    made = [attempt(job, work) for work in reversed(phase.works)]
    return made[::-1]


def test_order_and_workers_change_no_byte(check, run, tmp_path):
    other = check.model_copy(update={"run": RunOptions(workers=7)})
    report = check_contamination(other, tmp_path / "run", backwards)
    assert report["inputs"]["shards"] > 4
    for name in OUTPUT:
        assert (tmp_path / "run" / name).read_bytes() == (run[0] / name).read_bytes(), name


def test_the_cut_into_shards_changes_no_count(check, run, tmp_path):
    one = check.model_copy(update={"shard_bytes": 10**9})
    report = check_contamination(one, tmp_path / "run", one_by_one)
    assert report["inputs"]["shards"] == 2
    assert report["benchmarks"] == run[1]["benchmarks"]
    items = [pq.read_table(out / "items.parquet") for out in (tmp_path / "run", run[0])]
    assert items[0] == items[1]


def test_a_finished_run_answers_at_once_and_keeps_no_intermediates(check, run):
    out, report = run
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()}
    assert not (out / "found").exists()
    assert check_contamination(check, out, nothing_more) == json.loads(json.dumps(report))
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()} == before


def test_what_a_finished_run_lost_is_made_again(check, run, tmp_path):
    out = tmp_path / "run"
    check_contamination(check, out, one_by_one)
    (out / "items.parquet").unlink()
    (out / "contamination.json").unlink()
    check_contamination(check, out, one_by_one)
    assert (out / "items.parquet").read_bytes() == (run[0] / "items.parquet").read_bytes()
    (out / "contamination.json").unlink()
    check_contamination(check, out, nothing_more)
    assert (out / "contamination.json").is_file()


def test_a_damaged_index_is_built_again(check, run, tmp_path):
    out = tmp_path / "run"

    def stopped(job, phase):
        if phase.name == "count":
            raise KeyboardInterrupt
        return one_by_one(job, phase)

    with pytest.raises(KeyboardInterrupt):
        check_contamination(check, out, stopped)
    (out / "index" / "ngrams.arrow").write_bytes(b"other")
    check_contamination(check, out, one_by_one)
    assert (out / "items.parquet").read_bytes() == (run[0] / "items.parquet").read_bytes()


def test_a_shard_that_fails_is_named_and_the_next_run_mends_it(check, run, tmp_path):
    out = tmp_path / "run"
    seen = []

    def failing(job, phase):
        seen.extend(work.key for work in phase.works if phase.name == "search")
        if phase.name != "search":
            return one_by_one(job, phase)
        *rest, last = phase.works
        done = one_by_one(job, type(phase)(name=phase.name, works=tuple(rest)))
        return [*done, type(done[0])(work=last, error=OSError(5, "Input/output error"))]

    report = check_contamination(check, out, failing)
    assert [(f["step"], f["key"]) for f in report["failed_shards"]] == [("search", seen[-1])]
    assert report["documents"]["read"] < run[1]["documents"]["read"]
    assert report["benchmarks"][0]["dirty"] == 3
    mended = check_contamination(check, out, one_by_one)
    assert mended["failed_shards"] == []
    for name in OUTPUT:
        assert (out / name).read_bytes() == (run[0] / name).read_bytes(), name


def test_other_settings_in_the_same_folder_are_refused(check, run):
    with pytest.raises(ConfigError, match=r"run: --ngram is auto there, 9 here; choose"):
        check_contamination(with_ngram(check, 9), run[0], nothing_more)


def with_ngram(check, ngram):
    return check.model_copy(update={"matching": check.matching.model_copy(update={"ngram": ngram})})


def test_an_edited_benchmark_is_another_run(tmp_path):
    check = write_check(tmp_path)
    check_contamination(check, tmp_path / "run", one_by_one)
    write_benchmark(tmp_path, "sums", QUESTIONS[1:])
    with pytest.raises(ConfigError, match=r"another run: \S*sums\.jsonl has changed since; c"):
        check_contamination(check, tmp_path / "run", nothing_more)


def with_benchmark(check, benchmark):
    matching = check.matching.model_copy(update={"benchmarks": (benchmark,)})
    return check.model_copy(update={"matching": matching})


@pytest.mark.parametrize(
    ("items", "update", "message"),
    [
        (QUESTIONS, {"path": "/nowhere/x.jsonl"}, "benchmark 'b': /nowhere/x.jsonl: no such file"),
        (QUESTIONS, {"fields": ("question",)}, "no field 'question'; .*fields are q"),
        ([], {}, "b.jsonl: holds no items; check the path"),
        (["yes", "no"], {}, "none of 2 items has 3 words in q; name other fields"),
    ],
)
def test_a_benchmark_that_cannot_be_used_is_one_line_and_writes_nothing(
    check, tmp_path, items, update, message
):
    benchmark = write_benchmark(tmp_path, "b", items).model_copy(update=update)
    with pytest.raises(ConfigError, match=message) as e:
        check_contamination(with_benchmark(check, benchmark), tmp_path / "run", nothing_more)
    assert "\n" not in str(e.value)
    assert not (tmp_path / "run" / "manifest.json").exists()
    good = with_benchmark(check, write_benchmark(tmp_path, "b", QUESTIONS))
    assert check_contamination(good, tmp_path / "run", one_by_one)["benchmarks"][0]["dirty"] == 3


def test_a_benchmark_inside_the_corpus_is_refused(check, tmp_path):
    write_benchmark(tmp_path, "other", QUESTIONS)
    inside = with_benchmark(check, write_benchmark(tmp_path, "b", QUESTIONS))
    with pytest.raises(ConfigError, match="'b': .*b.jsonl is also read as corpus, which would"):
        check_contamination(with_inputs(inside, tmp_path), tmp_path / "run", nothing_more)


def test_a_corpus_that_cannot_be_read_is_one_line(check, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    with pytest.raises(ConfigError, match=r"^/\S*: no such file or folder; check the path"):
        check_contamination(with_inputs(check, tmp_path / "x"), tmp_path / "run", nothing_more)
    (folder / "x.jsonl").write_text('{"prose": "x", "n": 1}\n')
    columns = "no text column among: prose, n; name the one that holds the text, as PATH:NAME"
    with pytest.raises(ConfigError, match=columns):
        check_contamination(with_inputs(check, folder), tmp_path / "run", nothing_more)
    (folder / "x.jsonl").write_text('{"messages": [{"content": "x"}]}\n')
    way = "as PATH:messages.content, or --text-column messages.content for all"
    with pytest.raises(ConfigError, match=way):
        check_contamination(with_inputs(check, folder), tmp_path / "run", nothing_more)
    (folder / "x.jsonl").write_text('{"prose": "x", "n": 1}\n')
    named = [{"path": str(folder), "text": "prose"}]
    prose = Check.model_validate({**check.model_dump(), "inputs": named})
    report = check_contamination(prose, tmp_path / "run", one_by_one)
    assert report["documents"]["read"] == 1


def test_a_corpus_without_documents_is_named(check, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ConfigError) as e:
        check_contamination(with_inputs(check, empty), tmp_path / "run", nothing_more)
    assert str(e.value) == (
        f"no document can be read: {empty}: no files there; name files, or folders with files, of"
        " text, JSONL, Parquet or Arrow"
    )
    (empty / "x.dat").write_text("x")
    with pytest.raises(ConfigError, match=r"empty: 'x.dat' tells no format; rename them, as NAME"):
        check_contamination(with_inputs(check, empty), tmp_path / "run", nothing_more)


def test_tokens_and_runs_are_no_corpus(check, run, tmp_path):
    (tmp_path / "tokens").mkdir()
    pq.write_table(pa.table({"input_ids": [[1, 2]], "id": ["a"]}), tmp_path / "tokens/x.parquet")
    with pytest.raises(ConfigError, match=r"x.parquet: holds tokens \(input_ids\), not text; name"):
        check_contamination(with_inputs(check, tmp_path / "tokens"), tmp_path / "r", nothing_more)
    with pytest.raises(ConfigError, match="made by contamination, holds reports, not text; name"):
        check_contamination(with_inputs(check, run[0]), tmp_path / "r", nothing_more)


def test_an_output_inside_the_corpus_is_refused(check, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(ConfigError, match="lies inside the input"):
        check_contamination(with_inputs(check, tmp_path), tmp_path / "run", nothing_more)
    assert not (tmp_path / "run").exists()


def test_documents_and_bytes_of_all_batches_are_counted(check, tmp_path):
    texts = [f"some words {i}" for i in range(9000)] + [" ".join(QUESTIONS[:2])]
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    one = with_inputs(check, path, shard_bytes=10**9)
    report = check_contamination(one, tmp_path / "run", one_by_one)
    assert report["documents"]["read"] == len(texts)
    assert report["documents"]["text_bytes"] == sum(map(len, texts))
    sums = report["benchmarks"][0]
    assert (sums["docs"], sums["pairs"], sums["dirty"]) == (1, 2, 2)
