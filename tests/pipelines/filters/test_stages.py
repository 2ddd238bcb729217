"""What holds for every stage a recipe can name, but those for images."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.pipelines.filters.texts import texts
from tests.strategies import document_batch, text_columns
from tokenmill.dedup.arrays import text_buffers
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.schema import DOCUMENT, REMOVED
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.filters.stages import STAGES

# those for images are tested in filters/images/, with the one by scores; those by models in
# filters/models/
OF_TEXT = [
    name
    for name in STAGES
    if not STEPS[name].needs_images and name not in ("document_scores", "quality", "perplexity")
]
NEEDED = {
    "bad_words": {"words": ["the", "cat"]},
    "url_filter": {"words": ["cat"]},
    "fineweb2": {"language": "url"},
    "select": {"where": "length(text) > 20"},
}
every_stage = pytest.mark.parametrize("name", OF_TEXT)


def made(name):
    """A stage with no more settings than it needs."""
    return STEPS[name](**NEEDED.get(name, {}))


def text_bytes(batch):
    return int(text_buffers(batch["text"]).lengths.sum())


@every_stage
@given(docs=st.lists(texts, max_size=8), first=st.integers(0, 8), n=st.integers(0, 8))
def test_every_document_is_kept_or_counted(name, docs, first, n):
    batch = document_batch(docs).slice(first, n)
    kept, removed, stats, *_ = made(name)(batch)
    assert (kept.schema, removed.schema) == (DOCUMENT, REMOVED)
    assert (stats.docs_in, stats.bytes_in) == (batch.num_rows, text_bytes(batch))
    assert (stats.docs_out, stats.bytes_out) == (kept.num_rows, text_bytes(kept))
    assert sum(stats.removed.values()) == removed.num_rows
    stats.check(name)
    both = kept["doc_id"].to_pylist() + removed["doc_id"].to_pylist()
    assert sorted(both) == batch["doc_id"].to_pylist()


@every_stage
@given(text=text_columns())
def test_a_verdict_does_not_depend_on_the_batch(name, text):
    stage = made(name)
    docs = text.to_pylist()
    alone = [stage(document_batch([t], ordinal=0)) for t in docs]
    together = stage(document_batch(docs))
    assert together.kept["text"].to_pylist() == [
        t for r in alone for t in r.kept["text"].to_pylist()
    ]
    assert together.removed["reason"].to_pylist() == [
        reason for r in alone for reason in r.removed["reason"].to_pylist()
    ]
    assert together.stats == sum((r.stats for r in alone), StageStats())


@every_stage
def test_an_empty_batch_stays_one(name):
    kept, removed, stats, *_ = made(name)(document_batch([]))
    assert (kept.num_rows, removed.num_rows) == (0, 0)
    assert stats == StageStats()


@every_stage
def test_a_stage_is_named_as_in_a_recipe_and_can_be_sent_to_a_worker(name):
    stage = made(name)
    assert stage.name == name
    assert pickle.loads(pickle.dumps(stage)) == stage
    assert STEPS[name].model_validate_json(stage.model_dump_json()) == stage


@every_stage
def test_a_stage_does_not_write_to_its_input(name):
    docs = ["a\r\nb [1] e\u0301.", "the cat of the cat. " * 40]
    batch = document_batch(docs)
    made(name)(batch)
    assert batch["text"].to_pylist() == docs


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        (
            "gopher_quality",
            {"min_words": 9, "max_words": 3},
            "min_words 9 is over max_words 3; nothing would be kept",
        ),
        (
            "gopher_quality",
            {"min_avg_word_length": 9.5, "max_avg_word_length": 3},
            "min_avg_word_length 9.5 is over max_avg_word_length 3.0; nothing would be kept",
        ),
        (
            "gopher_quality",
            {"stop_words": ["of the", "a"]},
            "stop word 'of the' is not one word; no word of a text equals it",
        ),
        (
            "gopher_quality",
            {"stop_words": ["a", "a"]},
            "min_stop_words 2 is over the 1 stop words there are; nothing would be kept",
        ),
        (
            "gopher_repetition",
            {"top_ngrams": [[2, 0.1], [3, 0.1], [2, 0.2]]},
            "n-gram size 2 stands twice; give each size one limit",
        ),
        ("gopher_repetition", {"top_ngrams": [[0, 0.1]]}, "greater than or equal to 1"),
        ("fineweb", {"max_short_lines_ratio": 67}, "less than or equal to 1"),
        ("normalize", {"unicode": "nfkc"}, "Input should be 'nfc'"),
    ],
)
def test_what_a_mistake_reads_like(name, settings, message):
    with pytest.raises(ValidationError) as e:
        STEPS[name].model_validate(settings)
    assert message in e.value.errors()[0]["msg"]


def test_zero_is_a_limit_and_none_is_off():
    stage = STEPS["gopher_repetition"]
    text = ["a\nb\nb"]
    lax = {"max_duplicate_line_chars_ratio": None, "top_ngrams": None, "duplicate_ngrams": None}
    strict = stage.model_validate({"max_duplicate_lines_ratio": 0.0, **lax})
    off = stage.model_validate({"max_duplicate_lines_ratio": None, **lax})
    removed = strict(document_batch(text)).removed
    assert removed["reason"].to_pylist() == ["duplicate_lines"]
    assert np.isclose(removed["value"][0].as_py(), 1 / 3)
    assert off(document_batch(text)).kept.num_rows == 1
