"""Our filters give datatrove's verdicts when datatrove splits words as we do."""

import gzip
import json
import sysconfig
from pathlib import Path

import pytest

from pipelines.filters.c4 import C4
from pipelines.filters.characters import SYMBOLS, TERMINAL_MARKS, code_points
from pipelines.filters.fineweb import FineWeb
from pipelines.filters.gopher_quality import GopherQuality
from pipelines.filters.gopher_repetition import GopherRepetition
from tests.pipelines.filters.verdicts import verdicts
from tests.reference.filters import SENTENCE_END
from tests.strategies import document_batch

datatrove = pytest.importorskip("datatrove")
pytestmark = pytest.mark.peers

from datatrove.data import Document  # noqa: E402
from datatrove.pipeline import filters as theirs  # noqa: E402
from datatrove.utils.text import PUNCTUATION_SET, TERMINAL_PUNCTUATION  # noqa: E402
from datatrove.utils.word_tokenizers import WordTokenizer  # noqa: E402


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

PAIRS = {
    "gopher_quality": (GopherQuality(), theirs.GopherQualityFilter(language=WORDS), QUALITY),
    "gopher_quality, few words": (
        GopherQuality(min_words=5, min_alpha_words_ratio=0.3, max_symbol_word_ratio=0.02),
        theirs.GopherQualityFilter(
            min_doc_words=5,
            max_non_alpha_words_ratio=0.3,
            max_symbol_word_ratio=0.02,
            language=WORDS,
        ),
        QUALITY,
    ),
    "gopher_repetition": (
        GopherRepetition(),
        theirs.GopherRepetitionFilter(language=WORDS),
        REPETITION,
    ),
    "gopher_repetition, n-grams alone": (
        GopherRepetition(
            max_duplicate_lines_ratio=None,
            max_duplicate_paragraphs_ratio=None,
            max_duplicate_line_chars_ratio=None,
            max_duplicate_paragraph_chars_ratio=None,
            top_ngrams=((1, 0.12), (2, 0.1)),
            duplicate_ngrams=((3, 0.3), (5, 0.2)),
        ),
        theirs.GopherRepetitionFilter(
            dup_line_frac=None,
            dup_para_frac=None,
            dup_line_char_frac=None,
            dup_para_char_frac=None,
            top_n_grams=((1, 0.12), (2, 0.1)),
            dup_n_grams=((3, 0.3), (5, 0.2)),
            language=WORDS,
        ),
        REPETITION,
    ),
    "fineweb": (FineWeb(), theirs.FineWebQualityFilter(language=WORDS), FINEWEB),
    "fineweb, later rules": (
        FineWeb(keep_no_terminal_lines=True, max_duplicate_line_chars_ratio=0.2),
        theirs.FineWebQualityFilter(
            line_punct_exclude_zero=True, char_duplicates_ratio=0.2, language=WORDS
        ),
        FINEWEB,
    ),
    "c4": (C4(), theirs.C4QualityFilter(language=WORDS), C4_REASONS),
    "c4, as FineWeb ran it": (
        C4(terminal_mark=False),
        theirs.C4QualityFilter(filter_no_terminal_punct=False, language=WORDS),
        C4_REASONS,
    ),
}


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
def test_verdicts_are_datatroves_on_real_corpora(shared_data, pair):
    stage, peer, names = PAIRS[pair]
    for file in sorted((shared_data / "text").rglob("*.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        assert our_verdicts(stage, texts) == their_verdicts(peer, names, texts), file.name


def test_character_sets_are_datatroves():
    assert {chr(c) for c in code_points(SYMBOLS)} == PUNCTUATION_SET
    assert {chr(c) for c in code_points(TERMINAL_MARKS)} == TERMINAL_PUNCTUATION
