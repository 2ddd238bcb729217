"""FineWeb 2's rules: each document by those of its language, whatever stands beside it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.filters.languages import SENTENCES
from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.fineweb2 import FineWeb2, rules_of, table
from tokenmill.pipelines.filters.text.words import split
from tokenmill.pipelines.prepare.recipe import make_recipe

CODES = ("de", "zh", "ru", "en", None)
pages = st.tuples(st.sampled_from(CODES), st.sampled_from(tuple(SENTENCES)), st.integers(0, 9))


def told(batch, codes, scores):
    return batch.append_column("language", pa.array(codes, pa.string())).append_column(
        "language_score", pa.array(scores, pa.float64())
    )


@given(st.lists(pages, max_size=8))
def test_each_is_judged_by_the_rules_of_its_own_language(docs):
    texts = ["\n".join(SENTENCES[of] + f" {k}." for k in range(n)) for _, of, n in docs]
    step = FineWeb2(words="unicode", least=0.5)
    codes, scores = [code for code, *_ in docs], [n / 10 for *_, n in docs]
    result = step(told(document_batch(texts), codes, scores))
    gone = dict(
        zip(*(result.removed[name].to_pylist() for name in ("doc_id", "reason")), strict=True)
    )
    expected = {}
    for k, (code, text, score) in enumerate(zip(codes, texts, scores, strict=True)):
        alone = document_batch(texts).slice(k, 1)
        if code not in table():
            reason = "other_language"
        elif score < 0.5:
            reason = "uncertain_language"
        else:
            by = (f(alone).removed["reason"].to_pylist() for f in rules_of(code, "unicode").filters)
            reason = next((found[0] for found in by if found), None)
        if reason is not None:
            expected[alone["doc_id"][0].as_py()] = reason
        assert text == alone["text"][0].as_py()
    assert gone == expected


def test_the_published_least_scores_are_those_of_each_language():
    batch = told(document_batch(["", ""]), ["de", "az"], [0.82, 0.31])
    removed = FineWeb2(words="unicode", least="published")(batch).removed
    assert removed["reason"].to_pylist() == ["uncertain_language", "empty"]
    assert np.isclose(removed["value"][0].as_py(), 0.82)  # German asks for 0.821, Azerbaijani 0.3


@pytest.mark.parametrize("code", table())
def test_the_rules_of_all_languages_can_be_made(code):
    limits = table()[code]
    *_, quality = rules_of(code, "scripts").filters
    assert quality.stop_words or code in ("th", "bn", "hi", "ml", "mr", "ne", "ta", "te")
    assert quality.min_alpha_words_ratio == limits["alpha"]


@pytest.mark.long_but("nl")  # one language
@pytest.mark.parametrize("code", ["de", "fr", "nl"])
def test_words_of_a_language_are_those_of_spacy(code):
    spacy = pytest.importorskip("spacy")
    text = " ".join(
        [*SENTENCES.values(), "C'est l'été, z.B. um 5km/h (ca. 3.5 %) - 's avonds; d'or!"]
    )
    words = [token.text for token in spacy.blank(code)(text) if not token.text.isspace()]
    assert split(text, f"spacy:{code}") == words


def recipe(*steps):
    data = {"inputs": "a.jsonl", "steps": steps, "tokenizer": None, "output": {"text": "parquet"}}
    return make_recipe(data, where="here")


def test_the_language_must_be_told_before():
    with pytest.raises(ConfigError, match="needs a column 'language'.*action: annotate"):
        recipe({"fineweb2": {"words": "unicode"}})
    with pytest.raises(ConfigError, match="no limits of language 'en' are known; there are ar, az"):
        recipe({"language": {"action": "annotate"}}, {"fineweb2": {"keep": ["en"]}})
    with pytest.raises(ConfigError, match="has no rules of 'zh'; take words: scripts"):
        recipe({"gopher_quality": {"words": "spacy:zh", "stop_words": ["的"]}})


def test_english_rules_for_another_language_are_warned_of():
    (told,) = recipe({"language": {"keep": ["de", "en"]}}, {"gopher_quality": {}}).warnings
    assert told.startswith(
        "step 'gopher_quality' asks for English stop words, and the recipe keeps de:"
    )
    for settings in ({"stop_words": ["der", "die"]}, {"min_stop_words": None}):
        assert not recipe({"language": {"keep": ["de"]}}, {"gopher_quality": settings}).warnings
    assert not recipe({"language": {}}, {"gopher_quality": {}}).warnings
    assert not recipe({"language": {"action": "annotate"}}, {"gopher_quality": {}}).warnings
