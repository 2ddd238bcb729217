"""The data of a report: every count is that of the analysis, every example can be checked."""

import json

import numpy as np
import pytest

from tests.pipelines.contamination.as_json import summarize
from tests.pipelines.contamination.test_analysis import words
from tests.strategies import document_batch
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.found import count_corpus, ignored_grams, search
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.contamination.summary import LEAD_CHARS, MOST_CHARS
from tokenmill.pipelines.storage.atomic import write_text

KEYS = {
    "contamination", "settings", "benchmarks", "examples", "worst", "sources", "ignored",
    "n_ignored", "widespread", "contexts", "n_contexts",
}  # fmt: skip


def written(path, rows):
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def summary_of(tmp_path, benchmarks, shards, *, most_docs=10, **bounds):
    """benchmarks: rows by name.  shards: documents by source."""
    named = tuple(
        Benchmark(name=name, path=written(tmp_path / f"{name}.jsonl", rows))
        for name, rows in benchmarks.items()
    )
    index = BenchmarkIndex.build(Matching(benchmarks=named, ngram=13, most_docs=most_docs))
    found = [
        search(document_batch(docs, ordinal), index, source)
        for ordinal, (source, docs) in enumerate(shards.items())
    ]
    counts = count_corpus(found, len(index.ngrams.hashes))
    ignored = ignored_grams(index, counts)
    frequent = ignored & ~index.ignored
    analysis = Analysis(index.texts, index.ngrams, ignored, frequent=frequent)
    for rows in found:
        analysis.add(rows)
    return summarize(index, analysis, counts, **bounds)


def quiz(n, of="i", n_words=20):
    return [{"question": words(n_words, f"{of}{i}x")} for i in range(n)]


def questions(rows):
    return [row["question"] for row in rows]


def test_what_was_found_of_each_benchmark(tmp_path):
    rows, others = quiz(4), quiz(2, "o")
    short = [{"question": "What is the capital of France?"}, {"question": "Why so?"}]
    docs = [f"x {rows[0]['question']}", f"{questions(rows)[1]} {rows[0]['question'].upper()}"]
    made = summary_of(
        tmp_path,
        {"quiz": rows, "others": others, "short": short},
        {"web": docs, "books": ["what is the capital of france", "none"]},
    )
    assert set(made) == KEYS
    assert json.loads(json.dumps(made)) == made
    by_name = {b["name"]: b for b in made["benchmarks"]}
    assert list(by_name) == ["quiz", "others", "short"]
    expected = {"items": 4, "clean": 2, "dirty": 2, "untestable": 0, "dirty_frac": 0.5}
    expected |= {"ngram": 13, "fields": ["question"], "pairs": 3, "docs": 2, "foldings": {}}
    assert expected.items() <= by_name["quiz"].items()
    assert by_name["others"]["dirty_frac"] == 0.0
    expected = {"items": 2, "untestable": 2, "found_whole": 1, "too_short": 1, "dirty_frac": None}
    assert expected.items() <= by_name["short"].items()
    assert made["sources"] == [
        {"source": "web", "docs": 2, "pairs": 3},
        {"source": "books", "docs": 1, "pairs": 1},
    ]
    assert [(w["id"], w["items"]) for w in made["worst"]] == [("1", 2), ("0", 1), ("0", 1)]
    assert made["settings"]["most_docs"] == 10
    assert made["settings"]["folding"]["entities"] is True


def test_an_example_stands_for_each_item_the_best_first(tmp_path):
    rows = quiz(5)
    texts = questions(rows)
    parts = [
        " ".join(text.split()[:n]) for text, n in zip(texts, (13, 20, 15, 20, 12), strict=True)
    ]
    docs = [*parts, parts[2], f"again {texts[0]}"]
    made = summary_of(tmp_path, {"quiz": rows, "more": quiz(3, "m")}, {"web": docs})
    shown = [(e["item"], e["id"], e["documents"]) for e in made["examples"]]
    assert shown == [("quiz:0", "6", 2), ("quiz:1", "1", 1), ("quiz:3", "3", 1), ("quiz:2", "2", 2)]
    assert [e["found_frac"] for e in made["examples"]] == [1.0, 1.0, 1.0, 3 / 8]
    bounded = summary_of(tmp_path, {"quiz": rows}, {"web": docs}, most_examples=2)
    assert bounded["examples"] == made["examples"][:2]


def test_of_items_found_whole_the_longer_come_first(tmp_path):
    rows = [{"question": words(n, f"i{n}x")} for n in (20, 40, 30)]
    made = summary_of(tmp_path, {"quiz": rows}, {"web": questions(rows)})
    assert [e["item"] for e in made["examples"]] == ["quiz:1", "quiz:2", "quiz:0"]


def test_an_example_shows_both_sides_and_how_they_differ(tmp_path):
    item = words(20, "word")
    doc = f"{'é' * 300} before: {item.upper().replace('WORD7 ', '&#87;ord7, ')}. After 東"
    (example,) = summary_of(tmp_path, {"quiz": [{"question": f"Q: {item}?"}]}, {"web": [doc]})[
        "examples"
    ]
    start, end = example["start_byte"], example["end_byte"]
    assert doc.encode()[start:end].decode() == example["match"]
    assert example["before"].endswith("before: ")
    assert example["after"] == ". After 東"
    assert example["item_text"] == {
        "text": f"Q: {item}?",
        "spans": [[3, 3 + len(item)]],
        "chars_before": 0,
        "chars_behind": 0,
    }
    assert (example["foldings"], example["as_written"]) == (["entities"], False)
    assert example["differences"] == ["case", "punctuation"]


def test_an_item_as_it_is_written_is_told_apart(tmp_path):
    rows = quiz(2)
    docs = [questions(rows)[0], questions(rows)[1].replace(" ", "\n")]
    made = summary_of(tmp_path, {"quiz": rows}, {"web": docs})["examples"]
    assert [(e["as_written"], e["differences"]) for e in made] == [
        (True, []),
        (False, ["white space"]),
    ]


def test_long_items_and_matches_are_bounded(tmp_path):
    item = f"{words(3000, 'b')} {words(3000, 'i')} {words(3000, 'c')}"
    (example,) = summary_of(tmp_path, {"quiz": [{"question": item}]}, {"web": [words(3000, "i")]})[
        "examples"
    ]
    assert len(example["match"]) < MOST_CHARS + 40
    left_out = len(words(3000, "i")) - MOST_CHARS
    assert f"[…{left_out:,} characters…]" in example["match"]
    shown = example["item_text"]
    text = shown["text"]
    assert len(text) == MOST_CHARS
    assert shown["chars_before"] + len(text) + shown["chars_behind"] == len(item)
    assert item[shown["chars_before"] :].startswith(text)
    ((start, end),) = shown["spans"]
    assert text[start:end].startswith("i0 i1 i2 ")
    assert end == len(text)
    assert text[:start].endswith("b2999 ")


@pytest.mark.parametrize(("n_before", "is_cut"), [(60, False), (200, True)])
def test_an_item_begins_near_what_was_found_of_it(tmp_path, n_before, is_cut):
    item = f"{words(n_before, 'b')} {words(20, 'i')} {words(100, 'c')}"
    (example,) = summary_of(tmp_path, {"quiz": [{"question": item}]}, {"web": [words(20, "i")]})[
        "examples"
    ]
    shown = example["item_text"]
    ((start, end),) = shown["spans"]
    assert (start == LEAD_CHARS) == (shown["chars_before"] > 0) == is_cut
    assert shown["text"][start:end] == words(20, "i")
    assert item[shown["chars_before"] :] == shown["text"]


def test_what_of_an_item_is_not_shown_is_not_marked(tmp_path):
    item = f"{words(20, 'i')} {words(MOST_CHARS, 'b')} {words(20, 'i')}"
    (example,) = summary_of(tmp_path, {"quiz": [{"question": item}]}, {"web": [words(20, "i")]})[
        "examples"
    ]
    assert example["item_text"]["spans"] == [[0, len(words(20, "i"))]]


def test_n_grams_that_count_for_nothing_are_listed_with_their_reason(tmp_path):
    prompt, licence, digits = words(13, "prompt"), words(14, "licence"), words(13, "")
    absent = "13 14 15"  # of n-grams that are in no document
    rows = [{"question": f"{prompt} {words(5, f'i{n}x')}"} for n in range(12)]
    rows += [{"question": f"{licence} {words(9, 'l')}"}, {"question": f"{digits} {absent}"}]
    docs = [*[licence] * 4, *[prompt] * 3, *[f"{digits} ."] * 2, words(13, "unseen")]
    made = summary_of(tmp_path, {"quiz": rows}, {"web": docs}, most_docs=3)
    assert made["n_ignored"] == {"shared": 1, "letterless": 1, "frequent": 2}
    assert made["ignored"] == [
        {"passage": licence, "ngrams": 2, "documents": 4, "items": 1, "reason": "frequent"},
        {"passage": prompt, "ngrams": 1, "documents": 3, "items": 12, "reason": "shared"},
        {"passage": digits, "ngrams": 1, "documents": 2, "items": 1, "reason": "letterless"},
    ]
    assert made["examples"] == []
    (benchmark,) = made["benchmarks"]
    assert (benchmark["dirty"], benchmark["only_ignored"]) == (0, 14)
    assert benchmark["uncounted"] == 1  # the digits
    bounded = summary_of(tmp_path, {"quiz": rows}, {"web": docs}, most_docs=3, most_ignored=1)
    assert bounded["ignored"] == made["ignored"][:1]
    assert bounded["n_ignored"] == made["n_ignored"]
    unbounded = summary_of(tmp_path, {"quiz": rows}, {"web": docs}, most_docs=None)
    assert unbounded["n_ignored"] == {"shared": 1, "letterless": 1, "frequent": 0}


def test_an_n_gram_ignored_for_two_reasons_counts_once(tmp_path):
    prompt = words(13, "prompt")
    rows = [{"question": f"{prompt} {words(5, f'i{n}x')}"} for n in range(12)]
    made = summary_of(tmp_path, {"quiz": rows}, {"web": [prompt] * 4}, most_docs=3)
    assert made["n_ignored"] == {"shared": 1, "letterless": 0, "frequent": 0}
    assert [row["reason"] for row in made["ignored"]] == ["shared"]


def test_a_widespread_item_is_counted_and_shown(tmp_path):
    rows = quiz(3)
    docs = [f"copy {n}: {questions(rows)[1].upper()}" for n in range(11)]
    made = summary_of(tmp_path, {"quiz": rows}, {"web": docs[:4], "books": docs[4:]})
    (benchmark,) = made["benchmarks"]
    assert [benchmark[k] for k in ("clean", "dirty", "widespread", "only_ignored")] == [3, 0, 1, 0]
    (example,) = made["widespread"]
    assert (example["item"], example["documents"]) == ("quiz:1", 11)
    assert (example["ngrams"], example["found_frac"]) == (8, 1.0)
    assert example["match"] == questions(rows)[1].upper()
    assert made["examples"] == made["sources"] == []
    once = summary_of(tmp_path, {"quiz": rows}, {"web": docs[:10]})
    assert (once["benchmarks"][0]["dirty"], once["widespread"]) == (1, [])


def test_of_as_many_documents_frequent_passages_come_first(tmp_path):
    digits, phrase = words(13, ""), words(13, "phrase")
    rows = [{"question": digits}, {"question": phrase}]
    made = summary_of(tmp_path, {"quiz": rows}, {"web": [digits, phrase] * 3}, most_docs=2)
    assert [row["reason"] for row in made["ignored"]] == ["frequent", "letterless"]


def test_an_ignored_n_gram_of_a_disguised_item_is_named(tmp_path):
    item = words(13, "w").replace("w", "\uff57")
    made = summary_of(tmp_path, {"quiz": [{"question": item}]}, {"web": [words(13, "w")] * 12})
    assert [row["passage"] for row in made["ignored"]] == [words(13, "w")]


def test_a_corpus_without_items_says_so(tmp_path):
    made = summary_of(tmp_path, {"quiz": quiz(3)}, {"web": ["nothing", ""], "empty": []})
    assert made["benchmarks"][0]["clean"] == 3
    assert [made[k] for k in ("examples", "worst", "sources", "ignored")] == [[], [], [], []]


@pytest.mark.parametrize("seed", range(3))
def test_examples_agree_with_the_documents(tmp_path, seed):
    """Whatever is marked on either side holds the same words."""
    random = np.random.default_rng(seed)
    vocabulary = [f"w{i}" for i in range(30)]
    rows = [{"question": " ".join(random.choice(vocabulary, 40))} for _ in range(30)]
    texts = questions(rows)
    docs = [
        f"x {' '.join(texts[i].split()[a : a + 18])} y".title() for i in range(30) for a in (0, 20)
    ]
    made = summary_of(tmp_path, {"quiz": rows}, {"web": docs}, most_examples=30)
    assert len(made["examples"]) == 30
    for example in made["examples"]:
        text = example["item_text"]["text"]
        spans = [text[a:b] for a, b in example["item_text"]["spans"]]
        assert max(spans, key=len) == example["match"].lower()
        assert example["differences"] == ["case"]
