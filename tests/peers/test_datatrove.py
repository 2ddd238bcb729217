"""Our filters give datatrove's verdicts: by its own words and sentences, and by `str.split()`."""

import gzip
import json
import random
import sysconfig
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.filters.languages import SENTENCES
from tests.pipelines.filters.test_differential import dense_documents
from tests.pipelines.filters.verdicts import verdicts
from tests.pipelines.filters.words import odd_texts, random_text
from tests.reference.filters import SENTENCE_END
from tests.strategies import document_batch
from tokenmill.dedup.text.unicode import code_points
from tokenmill.pipelines.filters.c4 import C4
from tokenmill.pipelines.filters.fineweb import FineWeb
from tokenmill.pipelines.filters.fineweb2 import table, words_of_language
from tokenmill.pipelines.filters.gopher_quality import GopherQuality
from tokenmill.pipelines.filters.gopher_repetition import GopherRepetition
from tokenmill.pipelines.filters.text.characters import SYMBOLS, TERMINAL_MARKS
from tokenmill.pipelines.filters.text.libraries import check_library
from tokenmill.pipelines.filters.text.words import split

datatrove = pytest.importorskip("datatrove")
pytestmark = pytest.mark.peers

from datatrove.data import Document  # noqa: E402
from datatrove.pipeline import filters as theirs  # noqa: E402
from datatrove.utils.text import PUNCTUATION_SET, TERMINAL_PUNCTUATION  # noqa: E402
from datatrove.utils.word_tokenizers import WordTokenizer, load_word_tokenizer  # noqa: E402


class Whitespace(WordTokenizer):
    """`str.split()`, and our rule for sentences; datatrove takes it in place of a language."""

    def word_tokenize(self, text):
        return text.split()

    def sent_tokenize(self, text):
        return [text[a:b] for a, b in self.span_tokenize(text)]

    def span_tokenize(self, text):
        ends = [m.end() for m in SENTENCE_END.finditer(text)] + [len(text)]
        return list(zip([0, *ends[:-1]], ends, strict=True))


WORDS = Whitespace()
LIBRARY_TEXTS = (
    "ผู้ชายสวมเสื้อแจ็กเก็ตสีแดงขี่จักรยานเลียบแม่น้ำ 1,250.75 บาท",
    "एक आदमी लाल जैकेट पहनकर नदी के किनारे साइकिल चलाता है। वह 12,345.6 रुपये देता है॥",
    "Một người đàn ông mặc áo khoác đỏ đạp xe dọc bờ sông, giá 1.250.000 đồng.",
    "আমি বাংলায় গান গাই। ஒரு மனிதன் சிவப்பு ஜாக்கெட் அணிந்து. ఒక మనిషి ఎర్ర జాకెట్.",
)

QUALITY = {
    "gopher_short_doc": "too_few_words",
    "gopher_long_doc": "too_many_words",
    "gopher_below_avg_threshold": "words_too_short",
    "gopher_above_avg_threshold": "words_too_long",
    "gopher_too_many_hashes": "too_many_hashes",
    "gopher_too_many_ellipsis": "too_many_ellipses",
    "gopher_too_many_bullets": "too_many_bullet_lines",
    "gopher_too_many_end_ellipsis": "too_many_ellipsis_lines",
    "gopher_below_alpha_threshold": "too_few_alpha_words",
    "gopher_enough_stop_words": "too_few_stop_words",
}
REPETITION = {
    "empty": "empty",
    "dup_para_frac": "duplicate_paragraphs",
    "dup_para_char_frac": "duplicate_paragraph_chars",
    "dup_line_frac": "duplicate_lines",
    "dup_line_char_frac": "duplicate_line_chars",
    **{f"top_{n}_gram": f"top_{n}_gram" for n in range(1, 5)},
    **{f"duplicated_{n}_n_grams": f"duplicate_{n}_grams" for n in range(1, 11)},
}
FINEWEB = {
    "empty": "empty",
    "line_punct_ratio": "too_few_terminal_lines",
    "short_line_ratio": "too_many_short_lines",
    "char_dup_ratio": "duplicate_line_chars",
    "list_ratio": "too_many_newlines",
}
C4_REASONS = {n: n for n in ("lorem_ipsum", "curly_bracket", "too_few_sentences")}


def pairs(kind, language):
    """Our filters and datatrove's, by name, and what its reasons are called here."""
    words, sentences = {"words": kind}, {"sentences": "spacy" if kind == "spacy" else "marks"}
    theirs_of = {"language": language}
    return {
        f"gopher_quality, {kind}": (
            GopherQuality(**words),
            theirs.GopherQualityFilter(**theirs_of),
            QUALITY,
        ),
        f"gopher_quality, few words, {kind}": (
            GopherQuality(
                min_words=5, min_alpha_words_ratio=0.3, max_symbol_word_ratio=0.02, **words
            ),
            theirs.GopherQualityFilter(
                min_doc_words=5,
                max_non_alpha_words_ratio=0.3,
                max_symbol_word_ratio=0.02,
                **theirs_of,
            ),
            QUALITY,
        ),
        f"gopher_repetition, {kind}": (
            GopherRepetition(**words),
            theirs.GopherRepetitionFilter(**theirs_of),
            REPETITION,
        ),
        f"gopher_repetition, n-grams alone, {kind}": (
            GopherRepetition(
                max_duplicate_lines_ratio=None,
                max_duplicate_paragraphs_ratio=None,
                max_duplicate_line_chars_ratio=None,
                max_duplicate_paragraph_chars_ratio=None,
                top_ngrams=((1, 0.12), (2, 0.1)),
                duplicate_ngrams=((3, 0.3), (5, 0.2)),
                **words,
            ),
            theirs.GopherRepetitionFilter(
                dup_line_frac=None,
                dup_para_frac=None,
                dup_line_char_frac=None,
                dup_para_char_frac=None,
                top_n_grams=((1, 0.12), (2, 0.1)),
                dup_n_grams=((3, 0.3), (5, 0.2)),
                **theirs_of,
            ),
            REPETITION,
        ),
        f"fineweb, {kind}": (
            FineWeb(**words),
            theirs.FineWebQualityFilter(**theirs_of),
            FINEWEB,
        ),
        f"fineweb, later rules, {kind}": (
            FineWeb(keep_no_terminal_lines=True, max_duplicate_line_chars_ratio=0.2, **words),
            theirs.FineWebQualityFilter(
                line_punct_exclude_zero=True, char_duplicates_ratio=0.2, **theirs_of
            ),
            FINEWEB,
        ),
        f"c4, {kind}": (
            C4(**sentences),
            theirs.C4QualityFilter(**theirs_of),
            C4_REASONS,
        ),
        f"c4, as FineWeb ran it, {kind}": (
            C4(terminal_mark=False, **sentences),
            theirs.C4QualityFilter(filter_no_terminal_punct=False, **theirs_of),
            C4_REASONS,
        ),
        f"c4, all lines, {kind}": (
            C4(terminal_mark=False, min_words_per_line=0, min_sentences=3, **sentences),
            theirs.C4QualityFilter(
                filter_no_terminal_punct=False,
                min_words_per_line=0,
                min_num_sentences=3,
                **theirs_of,
            ),
            C4_REASONS,
        ),
    }


class English(WordTokenizer):
    """datatrove's default, each text split once for all filters."""

    def __init__(self):
        super().__init__("eng")
        split = load_word_tokenizer("eng")
        self.word_tokenize = lru_cache(None)(split.word_tokenize)
        self.sent_tokenize = split.sent_tokenize
        self.span_tokenize = lru_cache(None)(split.span_tokenize)

    def word_tokenize(self, text): ...  # the class has to have them

    def sent_tokenize(self, text): ...

    def span_tokenize(self, text): ...


PAIRS = pairs("whitespace", WORDS) | pairs("spacy", English())


def their_verdicts(peer, names, texts):
    """(our name of their reason or None, their text) for each text."""
    found = []
    for text in texts:
        document = Document(text=text, id="")
        result = peer.filter(document)
        reason = None if result is True else names[result[1]]
        found.append((reason, document.text if reason is None else None))
    return found


def our_verdicts(stage, texts):
    left = iter(stage(document_batch(texts)).kept["text"].to_pylist())
    return [(r, next(left) if r is None else None) for r, _ in verdicts(stage, texts)]


@pytest.fixture(scope="module")
def documentation():
    """Documentation and source text of installed packages, and pieces of it."""
    root = Path(sysconfig.get_path("purelib"))
    files = [f for kind in ("*.txt", "*.md", "*.rst", "*.py") for f in sorted(root.rglob(kind))]
    texts = [f.read_text(encoding="utf-8", errors="replace")[:20_000] for f in files[:1500]]
    return texts + [p for t in texts[:100] for p in t.split("\n\n")] + ["", " ", "\n\n", "…\r\n..."]


@pytest.mark.parametrize("pair", PAIRS)
def test_verdicts_are_datatroves_on_documentation(documentation, pair):
    stage, peer, names = PAIRS[pair]
    assert our_verdicts(stage, documentation) == their_verdicts(peer, names, documentation)


@pytest.mark.parametrize("pair", PAIRS)
def test_verdicts_are_datatroves_on_odd_texts(pair):
    """Pieces that spaCy has rules for, glued or apart, some runs of them repeated."""
    rng = random.Random(0)
    odd = [random_text(rng, n) for n in (5, 40, 200) for _ in range(400)]
    repeating = [random_text(rng, 12) * rng.randrange(1, 12) for _ in range(300)]
    stage, peer, names = PAIRS[pair]
    texts = odd + repeating + dense_documents()
    assert our_verdicts(stage, texts) == their_verdicts(peer, names, texts)


@given(odd_texts | st.text(max_size=60))
def test_words_are_datatroves(text):
    assert split(text, "spacy") == load_word_tokenizer("eng").word_tokenize(text)


def shared_texts(folder):
    """The texts of each corpus, by file; of wikitext its paragraphs."""
    for file in sorted((folder / "text").rglob("*.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield file.name, [json.loads(line)["text"] for line in lines]
    for file in sorted((folder / "text").rglob("*.txt")):
        paragraphs = [p for p in file.read_text("utf-8").split("\n") if p.strip()]
        articles = file.read_text("utf-8").split("\n = ")
        yield file.name, paragraphs + articles


@pytest.mark.timeout(1200)  # datatrove splits a few hundred KB a second
@pytest.mark.parametrize("pair", PAIRS)
def test_verdicts_are_datatroves_on_real_corpora(shared_data, pair):
    stage, peer, names = PAIRS[pair]
    for name, texts in shared_texts(shared_data):
        assert our_verdicts(stage, texts) == their_verdicts(peer, names, texts), name


def test_character_sets_are_datatroves():
    assert {chr(c) for c in code_points(SYMBOLS)} == PUNCTUATION_SET
    assert {chr(c) for c in code_points(TERMINAL_MARKS)} == TERMINAL_PUNCTUATION


@pytest.mark.filterwarnings("default")  # of jieba
@pytest.mark.parametrize("code", [code for code, one in table().items() if "library" in one])
def test_words_of_other_libraries_are_those_that_datatrove_asks_them_for(code):
    kind = words_of_language(code, "published")
    check_library(kind)
    words = load_word_tokenizer(table()[code]["published"])
    text = "\n".join([*table()[code]["stop_words"], *LIBRARY_TEXTS, *SENTENCES.values()])
    assert split(text, kind) == words.word_tokenize(text)
