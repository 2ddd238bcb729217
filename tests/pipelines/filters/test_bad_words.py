"""Documents in which a word of a list stands: as a plain search with Python's `re` finds them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.filters.verdicts import verdicts
from tests.strategies import document_batch
from tokenmill.pipelines.core.config import explain
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.bad_words import PATTERN_BYTES, BadWords

LETTERS = "ab_9é \u0130\u0131\u017fK\u03a3\u03c3\u03c2.-\n\u0307\u0301語"
words = st.text(LETTERS, min_size=1, max_size=3).filter(str.strip)


def removed(stage, texts):
    found = stage(document_batch(texts)).removed
    return dict(zip(found["id"].to_pylist(), found["detail"].to_pylist(), strict=True))


@given(
    st.lists(st.text(LETTERS, max_size=12)), st.lists(words, min_size=1, max_size=4), st.booleans()
)
def test_as_a_search_for_each_word(texts, listed, whole):
    stage = BadWords(words=listed, whole_words=whole)
    around = r"(?:\W|^){}(?:\W|$)" if whole else "{}"
    known = [around.format(re.escape(w.strip().lower())) for w in listed]
    expected = {str(i) for i, t in enumerate(texts) if any(re.search(k, t.lower()) for k in known)}
    assert removed(stage, texts).keys() == expected


def test_more_words_than_a_pattern_takes():
    listed = [f"word{i:05d}" for i in range(3 * PATTERN_BYTES // 9)]
    texts = ["none", f"… {listed[0]}!", f"{listed[-1].upper()} it is", f"{listed[7]}s"]
    assert removed(BadWords(words=listed), texts) == {"1": listed[0], "2": listed[-1]}


def test_words_of_a_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("Foul\n\nquite foul\n")
    stage = BadWords.model_validate({"words": {"file": str(path)}})
    assert verdicts(stage, ["how foul.", "fouls"])[0][0] == "bad_word"
    path.write_text("fair\n")
    other = BadWords.model_validate({"words": {"file": str(path)}})
    assert stage != other
    path.write_text("\n \n")
    with pytest.raises(ConfigError, match=r"no word in .*words.txt to look for"):
        BadWords.model_validate({"words": {"file": str(path)}})(document_batch(["a"]))


def test_a_file_that_is_not_there(tmp_path):
    try:
        BadWords.model_validate({"words": {"file": str(tmp_path / "none.txt")}})
    except ConfigError as e:
        said = str(e)
    except ValueError as e:
        said = str(explain(e, "bad_words", BadWords))
    assert "none.txt: cannot be read" in said
