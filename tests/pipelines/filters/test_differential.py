"""The filters' kernels give the verdicts, reasons and values of their slow twins."""

import gzip
import json
import random
import textwrap
from functools import partial
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.filters.texts import texts
from tests.pipelines.filters.verdicts import verdicts
from tests.pipelines.filters.words import HAS_SPACY, odd_texts, random_text
from tests.reference import filters as twins
from tests.strategies import document_batch, examples
from tokenmill.pipelines.filters.c4 import C4
from tokenmill.pipelines.filters.fineweb import FineWeb
from tokenmill.pipelines.filters.gopher_quality import GopherQuality
from tokenmill.pipelines.filters.gopher_repetition import GopherRepetition

small = st.integers(0, 6)
share = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.25, 0.5, 2 / 3, 0.9, 1.0])


word_kinds = st.sampled_from(["whitespace", "unicode", "spacy"] if HAS_SPACY else ["unicode"])
docs_of_any = st.lists(texts | odd_texts, max_size=4)


def maybe(values):
    return st.none() | values


qualities = st.builds(
    GopherQuality,
    min_words=maybe(small),
    max_words=maybe(st.integers(6, 30)),
    min_avg_word_length=maybe(st.sampled_from([0, 2, 2.5, 3])),
    max_avg_word_length=maybe(st.sampled_from([3, 4, 5])),
    max_symbol_word_ratio=maybe(share),
    max_bullet_lines_ratio=maybe(share),
    max_ellipsis_lines_ratio=maybe(share),
    min_alpha_words_ratio=maybe(share),
    min_stop_words=maybe(st.integers(0, 2)),
    stop_words=st.sampled_from([("the", "of"), ("a", "東京")]),
    words=word_kinds,
)
ngrams = st.lists(st.tuples(st.integers(1, 6), share), max_size=4, unique_by=lambda pair: pair[0])
repetitions = st.builds(
    GopherRepetition,
    max_duplicate_lines_ratio=maybe(share),
    max_duplicate_paragraphs_ratio=maybe(share),
    max_duplicate_line_chars_ratio=maybe(share),
    max_duplicate_paragraph_chars_ratio=maybe(share),
    top_ngrams=maybe(ngrams.map(tuple)),
    duplicate_ngrams=maybe(ngrams.map(tuple)),
    words=word_kinds,
)
finewebs = st.builds(
    FineWeb,
    min_terminal_lines_ratio=maybe(share),
    keep_no_terminal_lines=st.booleans(),
    max_short_lines_ratio=maybe(share),
    short_line_chars=st.integers(0, 20),
    max_duplicate_line_chars_ratio=maybe(share),
    max_newlines_ratio=maybe(share),
    words=word_kinds,
)
c4s = st.builds(
    C4,
    max_word_chars=maybe(st.integers(0, 12)),
    remove_citations=st.booleans(),
    terminal_mark=st.booleans(),
    min_words_per_line=maybe(small),
    lorem_ipsum=st.booleans(),
    javascript=st.booleans(),
    curly_bracket=st.booleans(),
    policy=st.booleans(),
    min_sentences=maybe(small),
    sentences=st.sampled_from(["marks", "spacy"] if HAS_SPACY else ["marks"]),
)


@given(docs_of_any, qualities)
def test_gopher_quality_is_its_twin(docs, stage):
    assert verdicts(stage, docs) == [twins.gopher_quality(t, stage) for t in docs]


@given(docs_of_any, repetitions)
def test_gopher_repetition_is_its_twin(docs, stage):
    assert verdicts(stage, docs) == [twins.gopher_repetition(t, stage) for t in docs]


@given(docs_of_any, finewebs)
def test_fineweb_is_its_twin(docs, stage):
    assert verdicts(stage, docs) == [twins.fineweb(t, stage) for t in docs]


@given(docs_of_any, c4s)
def test_c4_is_its_twin_and_writes_the_same_text(docs, stage):
    expected = [twins.c4(t, stage) for t in docs]
    assert verdicts(stage, docs) == [(reason, value) for reason, value, _ in expected]
    left = [text for reason, _, text in expected if reason is None]
    assert stage(document_batch(docs)).kept["text"].to_pylist() == left


LINES = [
    *(
        "a b c.{}",
        "a b c{}",
        "a b{}c.",
        "{}a b c.",
        "a b c..{}",
        'a b c."{}',
        "a b c{}d.",
        "a b{}{}.",
    ),
    *(
        "a b c {}1].",
        "a b c [1{}",
        "a b c [{}].",
        "a b c [12{}.",
        "a b c [edit{}",
        "a b c [{}dit].",
    ),
    *(
        "a b c [citation{}needed].",
        "a b c [citation needed{}",
        "a java{}script c.",
        "javascrip{} b c.",
    ),
    *(
        "{}avascript b c.",
        "a lorem{}ipsum.",
        "a b lorem ipsu{}.",
        "a b lorem ipsum{}",
        "cookie{} a b.",
    ),
    *(
        "a terms of{}use.",
        "a term{} of use.",
        "a b us{}s cookies.",
        "a b privacy polic{}.",
        "a{} b c.",
    ),
    *("a b c.{}\nd e f.", "a b c.\n{}\nd e f.", "a b c.\n{}d e f.", "a b{}123456 d."),
]
LINE_RULES = {
    "all": C4(min_sentences=None),
    "phrases": C4(min_sentences=None, terminal_mark=False, min_words_per_line=None),
    "words": C4(
        min_sentences=None, terminal_mark=False, remove_citations=False, max_word_chars=6,
        curly_bracket=False, policy=False, javascript=False, lorem_ipsum=False,
    ),
    "sentences": C4(min_sentences=2, terminal_mark=False, min_words_per_line=None),
}  # fmt: skip


@pytest.mark.parametrize("rules", LINE_RULES)
def test_every_character_at_every_place_of_a_line_is_told_as_the_twin_of_c4_tells_it(rules):
    stage = LINE_RULES[rules]
    docs = [line.replace("{}", char) for line in LINES for char in [*map(chr, range(128)), "é", ""]]
    expected = [twins.c4(t, stage) for t in docs]
    assert verdicts(stage, docs) == [(reason, value) for reason, value, _ in expected]
    left = [text for reason, _, text in expected if reason is None]
    assert stage(document_batch(docs)).kept["text"].to_pylist() == left


def random_document(seed):
    """Up to 3,000 words of a small vocabulary, some runs of them repeated."""
    rng = np.random.default_rng(seed)
    vocabulary = [f"w{i}"[: rng.integers(1, 5)] * rng.integers(1, 4) for i in range(400)]
    words = list(rng.choice(vocabulary, rng.integers(1, 3000)))
    for _ in range(rng.integers(0, 6)):
        start, n = rng.integers(0, len(words)), rng.integers(1, 120)
        words[start:start] = words[start : start + n]
    return " ".join(words)


def test_gopher_repetition_is_its_twin_on_long_documents():
    """Where the bounds of the n-gram rules decide, and where they do not."""
    docs = [random_document(seed) for seed in range(examples(60, 25))]
    sizes = tuple((n, 0.03) for n in range(1, 11))
    for stage in (
        GopherRepetition(),
        *(GopherRepetition(top_ngrams=(pair,), duplicate_ngrams=None) for pair in sizes[:4]),
        *(GopherRepetition(top_ngrams=None, duplicate_ngrams=(pair,)) for pair in sizes),
    ):
        expected = [twins.gopher_repetition(t, stage) for t in docs]
        assert verdicts(stage, docs) == expected
    assert len({reason for reason, _ in expected}) == 2


def dense_documents():
    """Of nothing but what is counted, so that a count a block of bytes cannot hold would show."""
    units = [
        "#",
        ".",
        "...",
        "…",
        "\n",
        "a ",
        "é ",
        "- x\n",
        "\u2022\n",
        "\u2028",
        "a.\n",
        "[1]",
        "🙂",
        "東" * 25 + "\n",
        "a b c. [1]\n",
    ]
    tiny = ["".join(of) for n in (1, 2, 3) for of in product('.a#\n -"', repeat=n)]
    sizes = (1, 7, 8, 9, 63, 64, 127, 128, 129, 255, 256, 700)
    return [unit * n for unit in units for n in sizes] + tiny


def library_texts():
    """Source text that ships with Python, whole and as its paragraphs."""
    files = sorted(Path(textwrap.__file__).parent.glob("*.py"))[: examples(40, 15)]
    whole = [f.read_text(encoding="utf-8")[:20_000] for f in files]
    return whole + [p for t in whole[:10] for p in t.split("\n\n")]


def shared_texts(folder):
    for file in sorted((folder / "text").rglob("*.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from (
                json.loads(line)["text"][:20_000] for line in islice(lines, examples(150, 50))
            )


FILTERS = [
    (GopherQuality(), twins.gopher_quality),
    (GopherQuality(min_words=5, min_alpha_words_ratio=None), twins.gopher_quality),
    (GopherRepetition(), twins.gopher_repetition),
    (FineWeb(), twins.fineweb),
    (FineWeb(max_duplicate_line_chars_ratio=0.3, max_newlines_ratio=0.2), twins.fineweb),
    (C4(), lambda text, stage: twins.c4(text, stage)[:2]),
    (C4(terminal_mark=False, curly_bracket=False), lambda text, f: twins.c4(text, f)[:2]),
]

SPACY = (
    [
        # when a test asks: its stop words are split by spaCy, which every process would load
        (partial(GopherQuality, words="spacy", min_words=5), twins.gopher_quality),
        (GopherRepetition(words="spacy"), twins.gopher_repetition),
        (FineWeb(words="spacy", max_duplicate_line_chars_ratio=0.3), twins.fineweb),
        (C4(sentences="spacy"), lambda text, stage: twins.c4(text, stage)[:2]),
        (
            C4(sentences="spacy", terminal_mark=False, min_words_per_line=None),
            lambda text, stage: twins.c4(text, stage)[:2],
        ),
    ]
    if HAS_SPACY
    else []
)


def name_of(given):
    return getattr(getattr(given, "func", given), "name", "")


def compared(stage, twin, docs):
    stage = stage() if isinstance(stage, partial) else stage
    assert verdicts(stage, docs) == [twin(t, stage) for t in docs]


# one rule at a time that nearly all documents fail, so that each measured value is seen
QUALITY_OFF = dict.fromkeys(
    name for name in GopherQuality.model_fields if name.startswith(("min_", "max_"))
)
FINEWEB_OFF = dict.fromkeys(n for n in FineWeb.model_fields if n.startswith(("min_", "max_")))
DENSE = [
    *(
        (GopherQuality(**{**QUALITY_OFF, rule: 0}), twins.gopher_quality)
        for rule in QUALITY_OFF
        if rule.startswith("max_")
    ),
    (GopherQuality(**{**QUALITY_OFF, "min_alpha_words_ratio": 1}), twins.gopher_quality),
    *(
        (FineWeb(**{**FINEWEB_OFF, rule: 0}), twins.fineweb)
        for rule in FINEWEB_OFF
        if rule.startswith("max_")
    ),
    (FineWeb(**{**FINEWEB_OFF, "min_terminal_lines_ratio": 1}), twins.fineweb),
    *FILTERS,
    *SPACY,
]


@pytest.mark.parametrize(("stage", "twin"), SPACY, ids=name_of)
def test_a_filter_is_its_twin_on_what_spacy_splits_in_odd_ways(stage, twin):
    rng = random.Random(0)
    docs = [random_text(rng, 120) for _ in range(150)]
    compared(stage, twin, docs)


@pytest.mark.parametrize(("stage", "twin"), DENSE, ids=name_of)
def test_a_filter_is_its_twin_on_dense_documents(stage, twin):
    docs = dense_documents()
    compared(stage, twin, docs)


@pytest.mark.parametrize(("stage", "twin"), [*FILTERS, *SPACY], ids=name_of)
def test_a_filter_is_its_twin_on_source_text(stage, twin):
    docs = library_texts()
    compared(stage, twin, docs)


@pytest.mark.parametrize(("stage", "twin"), FILTERS, ids=name_of)
def test_a_filter_is_its_twin_on_real_corpora(shared_data, stage, twin):
    docs = list(shared_texts(shared_data))
    compared(stage, twin, docs)
