"""Words are those of their slow twins, and of spaCy itself."""

import random
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.filters.texts import texts
from tests.pipelines.filters.verdicts import verdicts
from tests.pipelines.filters.words import KINDS, PARTS, needs_spacy, odd_texts, random_text
from tests.reference.words import words
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.gopher_quality import GopherQuality
from tokenmill.pipelines.filters.text import spacy as english
from tokenmill.pipelines.filters.text import spacy as spacy_words
from tokenmill.pipelines.filters.text.characters import characters
from tokenmill.pipelines.filters.text.words import split, words_of
from tokenmill.pipelines.prepare.recipe import make_recipe

# "x)y:" alone is one thing and another where what stands before or behind looks like a rule
# together with a part of it
CONTEXTS = [
    "x: ):y",
    "x:) :) :)",
    "(: (:x",
    "Dr .)",
    "He 's",
    "a:( (b",
    ":) )-:x",
    "Co. .)",
    "x:( :)y",
]


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts | odd_texts | st.text(max_size=40))
@example(text="")
@example(text=" \n")
@example(text="京 \u0301 ก\u200b\u0e34 ཀ ྐ 京\u200b ｶ ﾞa")
@example(text="I said 'cannot'. Cannot! cant, Mr. x. X. U.S.A. (e.g. etc.) US$5 10km")
def test_words_are_those_of_the_twin(kind, text):
    assert split(text, kind) == words(text, kind)


@needs_spacy
@pytest.mark.parametrize("text", CONTEXTS)
def test_words_that_depend_on_those_around(text):
    assert split(text, "spacy") == words(text, "spacy")


@needs_spacy
def test_words_do_depend_on_those_around():
    """Or the test above would say nothing."""
    alone = [w for text in CONTEXTS for piece in text.split() for w in words(piece, "spacy")]
    assert alone != [w for text in CONTEXTS for w in words(text, "spacy")]


@needs_spacy
def test_every_two_odd_parts_are_split_as_spacy_splits_them():
    """Side by side, a space between, and a letter around: what rules touch, all at once."""
    found = [
        f"{a}{gap}{b}{end}"
        for a in PARTS
        for b in PARTS[::3]
        for gap, end in (("", "x"), (" ", ""))
    ]
    assert [split(text, "spacy") for text in found[:50]] == [words(t, "spacy") for t in found[:50]]
    whole = "\n".join(found)
    assert split(whole, "spacy") == words(whole, "spacy")


@needs_spacy
def test_what_is_remembered_decides_nothing(monkeypatch):
    """Neither how much, nor what was asked for at once, nor in which order."""
    rng = random.Random(0)
    docs = [random_text(rng, 60) for _ in range(60)]
    expected = [words(text, "spacy") for text in docs]
    memo = spacy_words.Memo()
    monkeypatch.setattr(spacy_words, "_IDLE", {"en": [memo]})
    assert [split(text, "spacy") for text in docs] == expected
    monkeypatch.setattr(spacy_words, "MOST_PIECES", memo._rules[2] + 3)
    monkeypatch.setattr(memo, "_fresh", memo._fresh[:2])
    monkeypatch.setattr(memo, "_missed", memo._missed[:3])
    monkeypatch.setattr(memo, "_touching", memo._touching[:6])
    assert split("\n".join(docs), "spacy") == [w for ws in expected for w in ws]
    assert [split(text, "spacy") for text in docs[::-1]] == expected[::-1]
    assert memo.n_pieces <= spacy_words.MOST_PIECES


@needs_spacy
def test_documents_of_a_batch_do_not_touch():
    docs = ["x:", "):y", "", " ", "(:", "(:x"]
    found = words_of(characters(pa.array(docs)), "spacy")
    assert [n - 1 for n in _begins(found)] == [len(words(text, "spacy")) - 1 for text in docs]


def _begins(found):
    for start, end in zip(found.offsets[:-1], found.offsets[1:], strict=True):
        inside = [not c & 2 for c in found.classes[start:end]]
        split_here = [bool(c & found.splits) for c in found.classes[start:end]]
        yield sum(
            here and (i == 0 or not inside[i - 1] or split_here[i]) for i, here in enumerate(inside)
        )


@needs_spacy
@pytest.mark.parametrize("unit", ["a", "é", "東", "1,", "a.b-"])
def test_a_piece_too_long_is_taken_in_parts(unit):
    longest = spacy_words.LONGEST_BYTES
    whole = unit * (longest // len(unit.encode()))
    assert split(whole, "spacy") == words(whole, "spacy")
    first = split(f"{whole}{unit * 10}", "spacy")
    assert "".join(first) == whole + unit * 10
    assert max(len(w.encode()) for w in first) <= longest


@needs_spacy
def test_marks_without_end_take_no_time_without_end():
    """Of which spaCy's own expressions look through all for each mark; 10 s for these."""
    text = "".join(random.Random(1).choice("!?()[]{};,") for _ in range(60_000))
    assert "".join(split(text, "spacy")) == text


@needs_spacy
def test_the_word_that_spacy_forgets_is_a_word():
    """Asked for again and again: the crash comes the second time."""
    for n in range(2, 9):
        assert split("IS_ALPHA" + "!" * n, "spacy") == ["IS_ALPHA", *"!" * n]


@needs_spacy
def test_rules_are_as_spacy_has_them():
    """A rule that stands alone is split as it says, whatever the matcher finds in its words."""
    memo = spacy_words.Memo()
    rules = memo.splitter.rules
    assert len(rules) > 1000
    assert [split(rule, "spacy") for rule in rules] == [words(rule, "spacy") for rule in rules]


@needs_spacy
def test_suffixes_are_shorter_than_what_is_looked_at():
    """But for runs of dots: else a suffix could begin before."""
    from re import _parser

    from spacy.lang.en import English

    widths = {s: _parser.parse(s).getwidth()[1] for s in English.Defaults.suffixes}
    without_end = [s for s, width in widths.items() if width > 1000]
    assert without_end == [r"\.\.+"]
    assert max(w for w in widths.values() if w <= 1000) <= english.SUFFIX_CHARS


@needs_spacy
def test_threads_each_remember_for_themselves():
    rng = random.Random(2)
    docs = [random_text(rng, 300) for _ in range(24)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: split(text, "spacy"), docs))
    assert found == [words(text, "spacy") for text in docs]


@pytest.mark.parametrize(
    "step", [{"gopher_quality": {"words": "spacy"}}, {"c4": {"sentences": "spacy"}}]
)
def test_a_missing_library_is_named(monkeypatch, step):
    monkeypatch.setattr(english, "find_spec", lambda _: None)
    recipe = {"inputs": [{"path": "a.txt"}], "steps": [step], "tokenizer": {"path": "t.json"}}
    with pytest.raises(
        ConfigError, match=r"needs the spacy library; pip install 'tokenmill\[spacy\]'"
    ):
        make_recipe(recipe, where="r.yaml")


def test_a_stop_word_that_no_text_can_have_is_refused():
    with pytest.raises(ValueError, match='stop word "don\'t" is not one word; no word of a text'):
        GopherQuality(stop_words=("the", "of", "don't"), words="unicode")


@needs_spacy
def test_a_recipe_that_asks_for_other_sentences_is_another():
    step = {"c4": {"sentences": "spacy"}}
    recipe = {"inputs": [{"path": "a.txt"}], "steps": [step], "tokenizer": {"path": "t.json"}}
    assert "'sentences': 'spacy'" in str(make_recipe(recipe, where="r.yaml").identity()["steps"][0])


@pytest.mark.parametrize("kind", ["unicode", "scripts"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("हिन्दी में किताबें", "हिन्दी में किताबें"),
        ("বাংলা ভাষার ইতিহাস।", "বাংলা ভাষার ইতিহাস"),
        ("தமிழ் மொழியில், நூல்கள்", "தமிழ் மொழியில் நூல்கள்"),
        ("తెలుగు పుస్తకాలు", "తెలుగు పుస్తకాలు"),
        ("ශ්\u200dරී ලංකාව", "ශ්\u200dරී ලංකාව"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0628\u0631\u0648\u0645",) * 2,
        ("cafe\u0301, na\u0308ive", "cafe\u0301 na\u0308ive"),
        ("❤\ufe0f 1\ufe0f\u20e3 a\u200d b", "1 a b"),
        ("İstanbul", "İstanbul"),
    ],
)
def test_marks_are_of_the_word_that_they_stand_behind(kind, text, said):
    assert split(text, kind) == said.split(" ")


def test_a_page_of_hindi_has_words_of_the_usual_length():
    page = "यह एक छोटा पृष्ठ है जिसमें हिन्दी भाषा के कुछ वाक्य लिखे गए हैं। " * 20
    for kind in ("unicode", "scripts"):
        assert verdicts(GopherQuality(words=kind, min_stop_words=None), [page]) == [(None, None)]


PAGE = {"zh": "今天的天气很好我们一起去公园里散步。", "th": "วันนี้อากาศดีมากเราจึงไปเดินเล่นในสวนด้วยกัน"}


@pytest.mark.parametrize("language", PAGE)
def test_a_page_of_a_script_without_spaces_has_words_where_asked(language):
    without = {"min_avg_word_length": None, "min_stop_words": None}
    found = {
        kind: verdicts(GopherQuality(words=kind, **without), [PAGE[language] * 5])
        for kind in ("scripts", "whitespace")
    }
    assert found["scripts"] == [(None, None)]
    assert found["whitespace"][0][0] == "too_few_words"
