"""The report on disk: what it says first, its tables, and how much of each is shown."""

import copy
import json

import pytest

from tests.pipelines.contamination.as_json import (
    found_sections,
    headline,
    sections,
    warnings,
    write_report,
)
from tests.pipelines.contamination.test_summary import questions, quiz, summary_of, written
from tests.sizing.document.test_passages import HOSTILE
from tokenmill.dedup.text.fold import FOLDINGS
from tokenmill.pipelines.contamination.report import FOLDING_WORDS as FOLDING_MEANINGS
from tokenmill.pipelines.contamination.report_found import MOST_OPEN, MOST_ROWS, REASONS, percent
from tokenmill.sizing.document.section import Table

HOSTILE = HOSTILE.replace("\ud800", "")  # JSON has no half characters

RUN = {
    "identity": "0123",
    "inputs": {"files": 3, "bytes": 12_345_678, "shards": 4, "skipped": ["corpus/notes.pdf"]},
    "documents": {"read": 4733, "text_bytes": 23_456_789, "failed": {"bad_json": 3, "no_text": 1}},
    "failed_inputs": [{"path": "a.gz", "cause": "not_gzip", "message": "no magic", "bytes": 123}],
    "failed_shards": [{"step": "search", "key": "00002", "error": "ShardError: cut short"}],
    "failed_sources": [],
    "damaged_shards": [{"key": "00003", "message": "line 14: not JSON"}],
    "files": {"report": "contamination.html", "items": "items.parquet"},
    "seconds": 1.5,
}


def run_data(tmp_path):
    """A search of two benchmarks, of which one is found in two sources."""
    rows = quiz(12)
    texts = questions(rows)
    docs = [*texts[:7], texts[7].upper(), f"{texts[0]} &amp; {texts[8].replace(' ', '&#32;')}"]
    digits = " ".join(map(str, range(20)))
    rows += [{"question": digits}]
    shards = {"web": docs, "books": [texts[0], f"{digits} and on"]}
    found = summary_of(tmp_path, {"quiz": rows, "other|set": quiz(3, "o")}, shards)
    return found | copy.deepcopy(RUN)


def empty_data(tmp_path):
    found = summary_of(tmp_path, {"quiz": quiz(2)}, {"web": ["nothing"]})
    run = {
        "inputs": {"files": 1, "bytes": 1, "shards": 1, "skipped": []},
        "documents": {"read": 1, "text_bytes": 1, "failed": {}},
        **{name: [] for name in ("failed_inputs", "failed_shards", "damaged_shards")},
        "identity": "0123",
        "files": {},
        "seconds": 1.0,
    }
    return found | run


def hostile_data(tmp_path):
    """Every text that is not ours is hostile, keys of mappings of others' names too."""
    data = run_data(tmp_path)
    ours = {"contamination", "settings", "reason", "foldings", "differences"}

    def spoilt(value, key=""):
        if key in ours:
            return value
        if isinstance(value, str):
            return "quiz" if key in ("name", "benchmark") else HOSTILE
        if isinstance(value, list):
            return [spoilt(v, key) for v in value]
        if isinstance(value, dict):
            return {HOSTILE if key == "failed" else k: spoilt(v, k) for k, v in value.items()}
        return value

    made = spoilt(data)
    for example in made["examples"]:
        example["item_text"]["spans"] = [[10, 40], [50, 60]]
    for benchmark in made["benchmarks"]:
        benchmark["name"] = HOSTILE
    for example in made["examples"]:
        example["benchmark"] = HOSTILE
    return made


UNKNOWN = "not looked for"  # edited copies, by the published rule alone


def written_report(tmp_path, data):
    """Markdown and HTML as they are on disk."""
    _, text, html = write_report(tmp_path / "out", data)
    return text.read_text(encoding="utf-8"), html.read_text(encoding="utf-8")


def cells_of(parts, key):
    (section,) = (s for s in parts if s.key == key)
    return {
        t.caption: [list(row) for row in t.rows] for t in section.blocks if isinstance(t, Table)
    }


def test_the_report_is_written_as_data_markdown_and_page(tmp_path):
    data = run_data(tmp_path)
    files = write_report(tmp_path / "out", data)
    assert [f.name for f in files] == [f"contamination{s}" for s in (".json", ".md", ".html")]
    assert json.loads(files[0].read_text()) == data
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(f.name for f in files)


def test_the_first_sentence_answers_how_many_and_where(tmp_path):
    assert headline(run_data(tmp_path)) == (
        "Of 16 items of 2 benchmarks 9 are in the corpus, whole or in part: in 10 of 4,733"
        " documents. Not searched, so that nothing is known of it: 4 documents, 1 input file,"
        " 1 shard, 1 damaged shard, 1 skipped file. The greatest share is that of quiz: 9 of 13"
        " items that can be tested are dirty (69.2 %). 1 item has no n-gram that counts, since many"
        " items share each or it has no letter: told as clean, whatever the corpus holds."
    )
    assert headline(empty_data(tmp_path)) == (
        "None of 2 items of 1 benchmark was found by n-grams in 1 document. Nothing failed."
    )


def test_what_could_not_be_tested_is_in_the_first_sentence(tmp_path):
    short = [{"question": f"Who wrote {name}?"} for name in ("it", "that", "this")]
    data = {**empty_data(tmp_path), **summary_of(tmp_path, {"quiz": short}, {"web": ["nothing"]})}
    assert headline(data) == (
        "None of 0 items that can be tested, of 1 benchmark, was found by n-grams in 1 document;"
        " 3 are too short to test. No item of quiz is long enough to be tested by n-grams. Nothing"
        " failed."
    )
    both = summary_of(tmp_path, {"quiz": short, "more": quiz(2)}, {"web": ["nothing"]})
    assert headline({**data, **both}).startswith(
        "None of 2 items that can be tested, of 2 benchmarks, was"
    )


def test_widespread_items_are_told_first_counted_and_shown(tmp_path):
    docs = [f"{n} {text}" for n in range(11) for text in questions(quiz(2))]
    found = summary_of(tmp_path, {"quiz": quiz(3)}, {"web": docs})
    data = {**empty_data(tmp_path), **found}
    told = "2 items stand in more than 10 documents each"
    assert f"{told}: not dirty by the published rule" in headline(data)
    parts = sections(data)
    assert cells_of(parts, "benchmarks")["Items"] == [
        ["quiz", "3", "0", "0 %", UNKNOWN, "2", "3", "13"]
    ]
    (note, block) = next(s for s in parts if s.key == "widespread").blocks
    assert note.startswith("Items in more than 10 documents")
    assert block.heading(2) == "quiz: 2 items"
    assert block.rows[0].facts[:2] == ("8 of 8 n-grams (100 %)", "in 11 documents")
    assert "<dt>widespread items</dt><dd>2 <" in written_report(tmp_path, data)[1]
    data["settings"]["action"] = "cut"  # of a step of `prepare`
    assert warnings(data) == [
        f"{told} and were kept: put exact or near before decontaminate, or set most_docs."
    ]
    data["benchmarks"][0]["widespread"] = 1
    assert warnings(data)[0].startswith("1 item stands in more than 10 documents and was kept")


def test_every_benchmark_has_its_counts_and_all_their_sums(tmp_path):
    tables = cells_of(sections(run_data(tmp_path)), "benchmarks")
    assert tables["Items"] == [
        ["quiz", "13", "9", "69.2 %", UNKNOWN, "10", "4", "1", "13"],
        ["other|set", "3", "0", "0 %", UNKNOWN, "0", "3", "0", "13"],
        ["all", "16", "9", "56.2 %", UNKNOWN, "10", "7", "1", ""],
    ]
    assert tables["Items that would be clean without a folding"] == [["quiz", "1"]]
    assert [row[:3:2] for row in tables["Benchmarks"]] == [
        ["quiz", "question"],
        ["other|set", "question"],
    ]


def test_a_document_with_items_of_two_benchmarks_is_counted_once_in_all(tmp_path):
    rows = {"quiz": quiz(2), "other": quiz(2, "o")}
    doc = " ".join(questions(rows["quiz"]) + questions(rows["other"]))
    tables = cells_of(found_sections(summary_of(tmp_path, rows, {"web": [doc]})), "benchmarks")
    assert [(r[0], r[2], r[5]) for r in tables["Items"]] == [
        ("quiz", "2", "1"),
        ("other", "2", "1"),
        ("all", "4", "1"),
    ]


def test_one_benchmark_has_no_row_of_sums(tmp_path):
    tables = cells_of(sections(empty_data(tmp_path)), "benchmarks")
    assert [row[0] for row in tables["Items"]] == ["quiz"]
    assert "Items that would be clean without a folding" not in tables


def test_documents_sources_and_n_grams_are_listed(tmp_path):
    parts = sections(run_data(tmp_path))
    assert cells_of(parts, "documents")["Documents"][0][:4] == ["8", "8", "web", "2"]
    assert cells_of(parts, "sources")["Sources"] == [["web", "9", "10"], ["books", "1", "1"]]
    rows = cells_of(parts, "ignored")["Passages"]
    assert rows == [[" ".join(map(str, range(20))), "8", "1", "1", "without a letter"]]


def test_long_lists_say_how_much_of_them_is_shown(tmp_path):
    data = run_data(tmp_path)
    data["worst"] = data["worst"] * 10
    data["sources"] = data["sources"] * 40
    data["ignored"] = data["ignored"] * 50
    data["n_ignored"] = {"shared": 2, "letterless": 3000, "frequent": 0}
    parts = sections(data)
    for key, caption in (
        ("documents", f"Documents: {MOST_ROWS} of 400 shown, those with most first"),
        ("sources", f"Sources: {MOST_ROWS} of 80 shown, those with most first"),
        ("ignored", f"Passages: {MOST_ROWS} of 50 shown, those with most first"),
    ):
        ((name, rows),) = cells_of(parts, key).items()
        assert (name, len(rows)) == (caption, MOST_ROWS)
    (note, _) = next(s for s in parts if s.key == "ignored").blocks
    assert (
        "3,002 make no item dirty: 2 of many items of a benchmark, 3,000 without a letter." in note
    )


def test_examples_are_side_by_side_by_benchmark(tmp_path):
    _, examples, *_ = found_sections(run_data(tmp_path))
    note, quiz_items = examples.blocks
    assert note.startswith("Items of which a document has most")
    assert quiz_items.caption == "quiz"
    assert (len(quiz_items.rows), quiz_items.n_open, quiz_items.n_all) == (9, MOST_OPEN, 9)
    first = quiz_items.rows[0]
    assert first.title == "quiz:0"
    assert first.facts == ("8 of 8 n-grams (100 %)", "in 3 documents", "written as in the item")
    assert [side.name for side in first.sides] == [
        "item",
        f"document 0 (doc_id 0) of web, bytes 0 to {len(first.sides[0].pieces[1].text)}",
    ]
    by_title = {row.title: row.facts[2:] for row in quiz_items.rows}
    assert by_title["quiz:7"] == ("differs in case",)
    assert by_title["quiz:8"] == ("seen through entities",)


def test_pieces_of_both_sides_are_the_whole_text(tmp_path):
    data = run_data(tmp_path)
    example = data["examples"][0]
    example["item_text"] = {
        "text": "abcdefgh", "spans": [[1, 3], [5, 8]], "chars_before": 1200, "chars_behind": 1,
    }  # fmt: skip
    example |= {"before": "x ", "match": "y", "after": "", "spans": 3}
    _, examples, *_ = found_sections(data)
    item, document = examples.blocks[1].rows[0].sides
    assert "".join(p.text for p in item.pieces) == " […1,200 characters…] abcdefgh […1 character…] "
    assert [p.text for p in item.pieces if p.marked] == ["bc", "fgh"]
    assert [p for p in document.pieces if p.text] == [("x ", False), ("y", True)]
    assert document.name.endswith(", the longest of 3 stretches")


def test_many_lines_before_a_match_do_not_hide_it(tmp_path):
    data = run_data(tmp_path)
    data["examples"][0] |= {"before": "\n".join("abcdef") + "\n", "match": "y", "after": "z\n" * 9}
    _, examples, *_ = found_sections(data)
    _, document = examples.blocks[1].rows[0].sides
    assert [p.text for p in document.pieces] == ["e\nf\n", "y", "z\n" * 9]


def with_copies(data):
    """The data of a search that has also looked for edited copies."""
    shown = data["examples"][-1]
    copy_of = {k: shown[k] for k in ("doc_id", "id", "source", "start_byte", "end_byte")}
    copy_of |= {k: shown[k] for k in ("before", "match", "after", "documents", "foldings")}
    text = {"text": shown["item_text"]["text"], "spans": []}
    named = {"benchmark": "other|set", "item": "other|set:1", "containment": 0.72}
    counts = zip(data["benchmarks"], (0, 3), strict=True)
    return {
        **data,
        "settings": {**data["settings"], "copies": {"threshold": 0.6, "short_threshold": 0.7}},
        "benchmarks": [
            {**benchmark, "edited": n, "edited_docs": min(n, 2)} for benchmark, n in counts
        ],
        "sources": [
            {**source, "edited_docs": 2 if source["source"] == "web" else 0}
            for source in data["sources"]
        ],
        "n_edited": 3,
        "edited": [{**copy_of, **named, "item_text": text}],
        "worst_edited": [
            {"doc_id": 7, "id": "7", "source": "web", "items": 2, "containment": 0.72}
        ],
    }


def test_edited_copies_are_shown_where_they_were_looked_for(tmp_path):
    data = with_copies(run_data(tmp_path))
    parts = sections(data)
    rows = cells_of(parts, "benchmarks")["Items"]
    assert [(row[0], row[4], row[6]) for row in rows] == [
        ("quiz", "0", "0"),
        ("other|set", "3", "2"),
        ("all", "3", "2"),
    ]
    assert cells_of(parts, "documents")[
        "Documents with edited copies: 1 of 2 shown, those with most first"
    ] == [["7", "7", "web", "2", "72.0 %"]]
    assert cells_of(parts, "sources")["Sources"][0] == ["web", "9", "10", "2"]
    (note, block) = next(s for s in parts if s.key == "edited").blocks
    assert note.startswith("Items that are neither dirty nor widespread, of which")
    assert block.heading(1) == "other|set: 3 items, 1 shown"
    assert block.rows[0].facts[0] == "72 % of its words, in pairs or in place"
    assert (
        "Edited copies of 3 other items stand in 2 documents: the step decontaminate takes these"
        in (headline(data))
    )
    tables = cells_of(parts, "method")
    assert "60 % of the item's word pairs" in tables["What is not seen"][-1][1]
    assert "100 % of texts with one word in ten" in tables["What is not seen"][-1][1]
    (method, *_) = next(s for s in parts if s.key == "method").blocks
    assert method.endswith("leaves them unless its edited says otherwise.")
    assert ["copies: threshold", "60 %"] in [row[:2] for row in tables["Settings"]]
    without = run_data(tmp_path)
    unseen = cells_of(sections(without), "method")["What is not seen"]
    assert "N words in a row" in unseen[-1][1]
    assert "70 % of texts with one word in ten" in unseen[-1][1]
    assert len(written_report(tmp_path, data)) == 2


def test_the_method_tells_the_settings(tmp_path):
    data = run_data(tmp_path)
    tables = cells_of(sections(data), "method")
    settings = {row[0]: row[1] for row in tables["Settings"]}
    assert settings["ngram"] == "13"
    assert settings["most_docs"] == "10"
    assert settings["folding: marks"] == "off"
    method = next(s for s in sections(data) if s.key == "method").blocks[0]
    assert "N is 13 for every benchmark, as set" in method
    assert "that stands in more than 10 documents, is shared" in method
    data["settings"] |= {"ngram": "auto", "most_docs": None}
    method = next(s for s in sections(data) if s.key == "method").blocks[0]
    assert "N of a benchmark is the 5th percentile" in method
    assert "counts for nothing that is shared" in method
    assert cells_of(sections(data), "method")["Settings"][2][1] == "no limit"


def test_every_folding_and_reason_has_a_meaning(tmp_path):
    assert set(FOLDING_MEANINGS) == set(FOLDINGS)
    assert set(REASONS) == set(run_data(tmp_path)["n_ignored"])


def test_what_was_read_and_what_failed(tmp_path):
    data = run_data(tmp_path)
    data["documents"]["first_failed"] = {"bad_json": "a.jsonl byte 7: not JSON"}
    tables = cells_of(sections(data), "inputs")
    failed = [["bad_json", "3", "a.jsonl byte 7: not JSON"], ["no_text", "1", "—"]]
    assert tables["Documents that failed"] == failed
    assert tables["Files skipped"] == [["corpus/notes.pdf"]]
    assert tables["Input files that cannot be read"] == [["a.gz", "not_gzip", "123", "no magic"]]
    assert len(tables) == 6
    assert tables["All of it, as files beside this one"] == [["items", "items.parquet"]]
    blocks = next(s for s in sections(empty_data(tmp_path)) if s.key == "inputs").blocks
    assert blocks[1:] == ("No input file or shard failed or is damaged.",)


def test_what_was_found_is_shown_without_a_search_of_its_own(tmp_path):
    data = summary_of(tmp_path, {"quiz": quiz(2)}, {"web": questions(quiz(1))})
    keys = ["benchmarks", "examples", "widespread", "edited", "paraphrases", "documents"]
    assert [s.key for s in found_sections(data)] == [*keys, "sources", "contexts", "ignored"]


@pytest.mark.parametrize("make", [run_data, empty_data, hostile_data])
def test_each_section_begins_with_words_of_ours_and_is_named_once(tmp_path, make):
    parts = sections(make(tmp_path))
    assert len({s.key for s in parts}) == len(parts)
    for section in parts:
        assert all(block[0].isalpha() for block in section.blocks if isinstance(block, str))


def test_shares_near_nothing_and_all_are_neither():
    assert [percent(f) for f in (0.0005, 0.0011, 0.9989, 1.0)] == [
        "< 0.1 %",
        "0.1 %",
        "99.9 %",
        "100 %",
    ]


def test_data_of_a_file_is_drawn_as_that_of_a_run(tmp_path):
    data = run_data(tmp_path)
    again = json.loads(json.dumps(data))
    assert sections(again) == sections(data)
    assert written(tmp_path / "x", [again])
