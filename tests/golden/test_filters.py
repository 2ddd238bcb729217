"""Verdicts on documents chosen by hand, each for the edge that "why" names.

A line of <stage>.jsonl: the stage's settings, a text, the reason it is removed for or null, and,
where the stage edits, the text that is kept.
"""

import json
from pathlib import Path

import pytest

from tests.strategies import document_batch
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.filters.stages import STAGES

# those for images, and by scores of images and documents, are in test_images.py; quality and
# perplexity, which need models, are in test_quality.py and test_perplexity.py
FILTERS = [
    name
    for name in STAGES
    if not STEPS[name].needs_images
    and name not in ("normalize", "document_scores", "quality", "perplexity")
]


def cases(name):
    lines = Path(__file__).with_name(f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", FILTERS)
def test_verdicts(name):
    for case in cases(name):
        stage = STEPS[name].model_validate(case["settings"])
        kept, removed, *_ = stage(document_batch([case["text"]], urls=[case.get("url")]))
        reason = removed["reason"][0].as_py() if removed.num_rows else None
        assert reason == case["reason"], case
        if reason is None:
            assert kept["text"][0].as_py() == case.get("kept", case["text"]), case


@pytest.mark.parametrize("name", FILTERS)
def test_every_reason_of_a_filter_has_a_case(name):
    seen = {case["reason"] for case in cases(name)} - {None}
    assert seen >= REASONS[name]


REASONS = {
    "length": {"too_short", "too_long"},
    "select": {"not_selected", "unknown_value"},
    "pii": set(),
    "url_filter": {
        "blocked_domain",
        "blocked_url",
        "blocked_word",
        "blocked_soft_words",
        "blocked_subword",
    },
    "bad_words": {"bad_word"},
    "language": {"other_language", "uncertain_language"},
    "c4": {"lorem_ipsum", "curly_bracket", "too_few_sentences"},
    "gopher_quality": {
        "too_few_words",
        "too_many_words",
        "words_too_short",
        "words_too_long",
        "too_many_hashes",
        "too_many_ellipses",
        "too_many_bullet_lines",
        "too_many_ellipsis_lines",
        "too_few_alpha_words",
        "too_few_stop_words",
    },
    "gopher_repetition": {
        "empty",
        "duplicate_paragraphs",
        "duplicate_paragraph_chars",
        "duplicate_lines",
        "duplicate_line_chars",
        "top_2_gram",
        "top_3_gram",
        "duplicate_2_grams",
    },
    "fineweb": {
        "empty",
        "too_few_terminal_lines",
        "too_many_short_lines",
        "duplicate_line_chars",
        "too_many_newlines",
    },
    "fineweb2": {"other_language", "too_few_words", "too_few_stop_words", "duplicate_lines"},
    "interleaved_text": {
        "too_few_words",
        "too_many_words",
        "repeated_characters",
        "repeated_words",
        "special_characters",
        "too_few_stop_words",
        "flagged_words",
        "too_little_punctuation",
        "too_few_common_words",
        "spam_words",
    },
}
