"""Words that a library tells are found in the text, whatever stands between them."""

import re
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.filters.words import odd_texts
from tokenmill.pipelines.filters.c4 import C4
from tokenmill.pipelines.filters.fineweb import FineWeb
from tokenmill.pipelines.filters.fineweb2 import PUBLISHED, FineWeb2
from tokenmill.pipelines.filters.gopher_quality import GopherQuality
from tokenmill.pipelines.filters.gopher_repetition import GopherRepetition
from tokenmill.pipelines.filters.kernels.characters import SPLIT
from tokenmill.pipelines.filters.text.characters import characters
from tokenmill.pipelines.filters.text.libraries import places_of
from tokenmill.pipelines.filters.text.words import Words, classes_at, letters

SPLITS = {"white space": str.split, "characters": list, "words": re.compile(r"\w+|\W").findall}


@pytest.mark.parametrize("name", SPLITS)
@given(st.lists(odd_texts, max_size=5))
@example(["ab", "ba", "", "好 吧", "a\u2003"])
def test_words_are_those_of_the_library_without_white_space_around(name, texts):
    text = characters(pa.array(texts, pa.large_string()))
    classes = classes_at(text, places_of(texts, SPLITS[name]))
    found = letters(Words(text.data, classes, text.offsets, SPLIT))
    behind = set((found.first_words[1:] - 1).tolist())  # where no word begins
    places = [place for k, place in enumerate(pairwise(found.starts.tolist())) if k not in behind]
    made = [found.data[a:b].tobytes().decode() for a, b in places]
    assert made == [w.strip() for one in texts for w in SPLITS[name](one) if w.strip()]


def test_a_word_that_does_not_stand_in_the_text_is_left_out():
    assert [p.tolist() for p in places_of(["aé b", "b"], lambda _: ["é", "c", "b"])] == [
        [1, 4, 5],
        [3, 5, 6],
        [],
    ]


@pytest.mark.skipif(find_spec("jieba") is not None, reason="jieba is there")
def test_a_library_that_is_missing_is_named_with_what_to_install():
    with pytest.raises(ValueError, match="words: jieba needs a library; pip install jieba"):
        FineWeb2(words="published", keep=("zh",))
    with pytest.raises(ValueError, match="words: .* needs a library; pip install"):
        FineWeb2(words="published")  # of all languages
    FineWeb2(words="published", keep=("fa",))  # of which datatrove asks spaCy


def test_a_run_is_of_the_version_of_what_splits_its_words():
    assert GopherQuality().versions() == C4().versions() == {}
    assert FineWeb2(words="scripts").versions() == {"fineweb-2": PUBLISHED}
    pytest.importorskip("spacy")
    spacy = {"spacy": version("spacy")}
    for step in (GopherQuality, GopherRepetition, FineWeb):
        assert step(words="spacy").versions() == spacy
    assert C4(sentences="spacy").versions() == spacy
    assert FineWeb2(keep=("de",)).versions() == {"fineweb-2": PUBLISHED, **spacy}
