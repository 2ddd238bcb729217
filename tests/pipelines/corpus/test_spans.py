"""Spans found by files, in any number of groups and ranges, are those of one dictionary."""

import tempfile
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.pipelines.corpus.spans_corpora import corpora, find, found_in, job_of, left, taken
from tests.reference import spans as reference
from tests.strategies import THOROUGH, document_batch, examples, few, text_columns
from tokenmill.dedup.arrays import text_buffers
from tokenmill.dedup.text.words import lines
from tokenmill.pipelines.core.schema import PLACEHOLDER, doc_ids
from tokenmill.pipelines.corpus.spans import ngrams
from tokenmill.pipelines.corpus.spans.apply import _have_images, without_spans
from tokenmill.pipelines.corpus.spans.ngrams import FOUND
from tokenmill.pipelines.corpus.spans.step import RepeatedSpans

STEPS = [
    {"ngram": 3},
    {"ngram": 2, "keep": "none"},
    {"ngram": 4, "words": "whitespace"},
    {"ngram": 3, "words": "whitespace", "keep": "none", "least_chars": 9},
    {"ngram": 2, "action": "paragraph", "share": 0.5},
    {"ngram": 3, "action": "both", "share": 0.3},
    {"ngram": 3, "action": "both", "share": 0.0, "words": "whitespace"},
    {"ngram": 2, "action": "document", "share": 0.4},
]
SIZES = [(1 << 29, 1 << 26, 1 << 17), (40, 30, 7), (1, 1, 1), (90, 1, 3)]


def set_sizes(monkeypatch, group, of_range, chunk):
    monkeypatch.setattr(ngrams, "GROUP_BYTES", group)
    monkeypatch.setattr(ngrams, "RANGE_BYTES", of_range)
    monkeypatch.setattr(ngrams, "MOST_BITS", 3)
    monkeypatch.setattr(ngrams, "LEAST_ROWS", chunk)
    monkeypatch.setattr(ngrams, "MOST_ROWS", chunk)


def all_texts(shards):
    ids = [int(i) for shard, texts in enumerate(shards) for i in doc_ids(shard, 0, len(texts))]
    return ids, [text for texts in shards for text in texts]


@pytest.mark.parametrize("step", few(STEPS, 2), ids=str)
@settings(max_examples=examples(12, 5))
@given(shards=corpora, sizes=st.sampled_from(SIZES), batch=st.integers(1, 3))
def test_what_is_left_is_what_a_dictionary_leaves(step, shards, sizes, batch):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        set_sizes(patch, *sizes)
        job = job_of(Path(folder), [{"repeated_spans": {"words": "unicode", **step}}])
        find(job, shards, batch=batch)
        made = taken(job, shards, batch=batch)
    ids, texts = all_texts(shards)
    expected = dict(zip(ids, reference.left(texts, **step), strict=True))
    assert left(made) == {doc_id: text for doc_id, text in expected.items() if text is not None}
    gone = [row for one in made for row in one.result.removed.to_pylist()]
    assert [row["doc_id"] for row in gone] == [i for i in ids if expected[i] is None]


@settings(max_examples=examples(12, 8))
@given(shards=corpora, sizes=st.sampled_from(SIZES), ngram=st.integers(2, 5))
def test_runs_hold_each_ngram_that_stood_before_and_where(shards, sizes, ngram):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        set_sizes(patch, *sizes)
        job = job_of(Path(folder), [{"repeated_spans": {"ngram": ngram, "words": "unicode"}}])
        find(job, shards)
        rows = [
            row
            for shard in range(len(shards))
            for batch in found_in(job, shard)
            for row in batch.to_pylist()
        ]
    ids, texts = all_texts(shards)
    found = {
        (ids.index(r["doc_id"]), r["word"] + i): (ids.index(r["of_doc_id"]), r["of_word"] + i)
        for r in rows
        for i in range(r["ngrams"])
    }
    assert found == reference.going(texts, ngram=ngram)
    assert len(found) == sum(row["ngrams"] for row in rows)


def test_of_scripts_without_spaces_characters_are_words(tmp_path):
    shards = [
        ["春眠不覚暁処処聞啼鳥。", "夜来 春眠不 覚暁処処、聞啼鳥 花落"],
        ["ภาษาไทยงาม", "ก ภาษา ไทยงาม"],
    ]
    job = job_of(tmp_path, [{"repeated_spans": {"ngram": 6}}])
    find(job, shards)
    found = left(taken(job, shards))
    assert list(found.values()) == [shards[0][0], "夜来 花落", shards[1][0], "ก"]


@given(texts=st.lists(st.lists(st.sampled_from("abcd"), max_size=12).map(" ".join), max_size=4))
@settings(max_examples=examples(30))
def test_ngrams_together_are_the_substrings_that_repeat(texts):
    for ngram in (2, 3, 5):
        goes = reference.going(texts, ngram=ngram, keep="none")
        covered = {(doc, word + i) for doc, word in goes for i in range(ngram)}
        assert covered == reference.covered(texts, ngram=ngram)


def test_groups_ranges_and_memory_change_no_finding(tmp_path, monkeypatch):
    phrases = ["one two three four", "two three four five six", "seven", "eight nine ten"]
    texts = [" ".join(words) for words in product(phrases, repeat=4)][:: 1 if THOROUGH else 7]
    shards = [texts[at : at + 10] for at in range(0, len(texts), 10)]
    made = {}
    for number, (sizes, budget) in enumerate(product(SIZES[:3], ["700KiB", "4GiB"])):
        sizes = (*sizes[:2], min(sizes[2], 1000))
        set_sizes(monkeypatch, *sizes)
        monkeypatch.setattr("tokenmill.pipelines.corpus.spans.ngrams.AT_ONCE", 64)
        job = job_of(tmp_path / str(number), [{"repeated_spans": {"ngram": 5}}], budget)
        find(job, shards, batch=7)
        files = sorted((job.out / "19-spans").iterdir())
        made[number] = [file.read_bytes() for file in files]
        assert len(files) == len(shards)
    assert all(files == made[0] for files in made.values())


def test_a_removed_document_names_the_one_it_shares_its_longest_run_with():
    documents = document_batch(["a b c d e f g h"] * 4)
    runs = [  # document, word, n-grams, of which document
        *((0, 0, 1, 90), (0, 3, 3, 91), (0, 6, 1, 92)),
        *((1, 0, 2, 93), (1, 4, 2, 94)),
        *((2, 0, 4, 2), (2, 6, 1, 95)),
    ]
    columns = [*zip(*((*run, 0) for run in runs), strict=True)]
    found = pa.record_batch(
        [pa.array(c, f.type) for c, f in zip(columns, FOUND, strict=True)], schema=FOUND
    )
    removed = without_spans(RepeatedSpans(ngram=2, least_chars=99), documents, found).result.removed
    named = dict(
        zip(removed["doc_id"].to_pylist(), removed["duplicate_of"].to_pylist(), strict=True)
    )
    assert named == {0: 91, 1: 93, 2: None}  # the first of equal ones; none of its own


placed = st.lists(st.sampled_from(["a", "\n", PLACEHOLDER, "\ufffd", "東"]), max_size=8).map(
    "".join
)


@given(text_columns(placed))
@example(pa.array(["a", PLACEHOLDER]))
@example(pa.array([PLACEHOLDER, "\ufffd", PLACEHOLDER]).slice(0, 2))
def test_lines_with_the_place_of_an_image_are_told_wherever_it_stands(column):
    expected = [PLACEHOLDER in line for text in column.to_pylist() for line in text.split("\n")]
    assert _have_images(lines(text_buffers(column))).tolist() == expected


STORY = "It was a dark and stormy night; the rain fell in torrents."


@pytest.mark.parametrize(
    ("step", "texts", "expected"),
    [
        (
            {},
            [STORY, f"He wrote: “{STORY.upper()}” Then he slept."],
            [0, "He wrote: Then he slept."],
        ),
        ({}, [f"{STORY}\n\nOne.", f"Two.\n\n{STORY}\n\nThree."], [0, "Two.\n\nThree."]),
        ({"keep": "none"}, [f"One. {STORY}", f"{STORY}\nTwo."], ["One.", "Two."]),
        ({}, [f"{STORY} {STORY}"], [STORY]),
        ({}, [STORY, f"- {STORY}\n"], [0, None]),
        ({"least_chars": 5}, [STORY, f"{STORY} Four", f"{STORY} Fives"], [0, None, "Fives"]),
        ({"action": "paragraph"}, [STORY, f"One\n{STORY}\nTwo", STORY], [0, "One\nTwo", None]),
        ({"action": "paragraph"}, [f"{STORY}\n{STORY}", "It was\n"], [STORY, "It was\n"]),
        ({"action": "both"}, [STORY, f"One\n{STORY}\nTwo"], [0, None]),
        ({"action": "document"}, [STORY, f"One\n{STORY}", f"{STORY} x y"], [0, None, 2]),
        ({"action": "document"}, [f"{STORY} {STORY}"], [0]),
    ],
    ids=str,
)
def test_a_few_documents_by_eye(tmp_path, step, texts, expected):
    job = job_of(tmp_path, [{"repeated_spans": {"ngram": 8, **step}}])
    find(job, [texts])
    kept = left(taken(job, [texts]))
    wanted = {i: texts[t] if isinstance(t, int) else t for i, t in enumerate(expected)}
    assert kept == {i: text for i, text in wanted.items() if text is not None}
