"""C4's rules: keep the lines that look like sentences, and documents with enough of them."""

from typing import ClassVar

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import U8, large_strings, text_buffers
from tokenmill.pipelines.core.config import Count
from tokenmill.pipelines.core.filter import REASON, Filter, Kinds
from tokenmill.pipelines.core.step import KEEP, StageResult, ratio, with_text
from tokenmill.pipelines.filters.kernels import c4 as kernels
from tokenmill.pipelines.filters.text.characters import PADDING, Characters, characters
from tokenmill.pipelines.filters.text.words import SentenceKind, sentence_counts, word_versions

LOREM_IPSUM = "lorem ipsum"
JAVASCRIPT = "javascript"
POLICIES = (
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)
CITATIONS = ("[edit]", "[citation needed]")  # and numbers: [1], [23], []
REASONS = ("lorem_ipsum", "curly_bracket", "too_few_sentences")  # as the kernel's verdicts count
TOO_FEW_SENTENCES = 3
NO_LIMIT = 2**62


class C4(Filter):
    r"""Keep lines that meet C4's rules, and remove documents with too few of them, or with a bad
    one. Thresholds are the published ones unless told; `None` or `false` turns a rule off.

    Lines are those of `str.splitlines()`, without whitespace around; kept lines are joined
    by "\n". In this order a line is dropped for
    max_word_chars: a word, by `str.split()`, of more characters;
    remove_citations: (not dropped, but) Wikipedia's [1], [edit], [citation needed] are cut out;
    terminal_mark: it does not end with . ? ! " or ', or ends with "...";
    min_words_per_line: fewer words, citations counted;
    lorem_ipsum: it says "lorem ipsum"; the document is removed;
    javascript: it says "javascript";
    curly_bracket: it has a "{"; the document is removed;
    policy: it says "terms of use", "privacy policy", "cookie policy", "uses cookies",
        "use of cookies" or "use cookies".
    These are read in lower case.
    min_sentences: of the lines left, or the document is removed.

    sentences: how they are told. By "marks", one ends where a mark that ends sentences in some
        script is followed by whitespace, quotes and brackets between them allowed, and at the end
        of a line. So "Mr. Smith left." are two; the original (NLTK's Punkt) knows such
        abbreviations, and so does "spacy", spaCy's sentencizer over its English words, as in
        datatrove.

    Source: Raffel et al. 2020, JMLR 21(140), section 2.2, and its code, c4_utils.py of TensorFlow
    Datasets; read as datatrove 0.10's C4QualityFilter reads it. It departs from the paper: ' ends
    a line too, a document is only removed for a "{" or "lorem ipsum" in a line that stands
    otherwise, the policy lines stand in the original code alone, and the list of bad words is
    left out. FineWeb ran it with `terminal_mark: false`.
    """

    name: ClassVar[str] = "c4"
    tells: ClassVar[Kinds] = {
        REASON: pa.string(),
        "sentences": pa.int64(),
        "kept_bytes_ratio": pa.float64(),
    }

    max_word_chars: Count | None = 1000
    remove_citations: bool = True
    terminal_mark: bool = True
    min_words_per_line: Count | None = 3
    lorem_ipsum: bool = True
    javascript: bool = True
    curly_bracket: bool = True
    policy: bool = True
    min_sentences: Count | None = 5
    sentences: SentenceKind = "marks"

    @property
    def cuts_text(self) -> bool:
        return not self.annotates

    def versions(self) -> dict[str, str]:
        return word_versions(self.sentences)

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        lines, verdicts = self._lines(characters(batch["text"]))
        n_sentences = sentence_counts(lines, self.sentences)
        too_few = (verdicts == KEEP) & (n_sentences < (self.min_sentences or 0))
        verdicts[too_few] = TOO_FEW_SENTENCES
        values = np.where(too_few, n_sentences, np.nan)
        kernels.keep_text(*lines, np.full_like(verdicts, KEEP) if self.annotates else verdicts)
        share = ratio(np.diff(lines.offsets), text_buffers(batch["text"]).lengths)
        found = {"sentences": n_sentences, "kept_bytes_ratio": share}
        result = self.judge(batch, verdicts, REASONS, values=values, found=found)
        if self.annotates:
            return result
        kept = large_strings(lines.data, lines.offsets)
        return with_text(result, kept.filter(pa.array(verdicts == KEEP)))

    def _lines(self, text: Characters) -> tuple[Characters, U8]:
        """What is left of each document, a newline behind each line, and first verdicts."""
        n_docs = len(text.offsets) - 1
        room = len(text.data) + n_docs  # a newline behind the last line, too
        data, classes = np.empty(room, np.uint8), np.empty(room + PADDING, np.uint8)
        offsets = np.empty(n_docs + 1, np.int64)
        verdicts = np.empty(n_docs, np.uint8)
        rules = kernels.LineRules(
            remove_citations=self.remove_citations,
            terminal_mark=self.terminal_mark,
            lorem_ipsum=self.lorem_ipsum,
            javascript=self.javascript,
            curly_bracket=self.curly_bracket,
            policy=self.policy,
            min_words=self.min_words_per_line or 0,
            max_word_chars=NO_LIMIT if self.max_word_chars is None else self.max_word_chars,
        )
        citations = tuple(np.frombuffer(c.encode(), np.uint8) for c in CITATIONS)
        phrases = packed((LOREM_IPSUM, JAVASCRIPT, *POLICIES))
        kernels.c4_lines(*text, rules, citations, phrases, data, classes, offsets, verdicts)
        return Characters(data[: offsets[-1]], classes, offsets), verdicts


def packed(phrases: tuple[str, ...]) -> kernels.Phrases:
    """Phrases, at most eight, as the kernel reads them."""
    text = text_buffers(pa.array(phrases, pa.large_string()))
    heads, seconds = np.zeros((2, 256), np.uint8)
    for k, phrase in enumerate(phrases):
        for table, letter in ((heads, phrase[0]), (seconds, phrase[1])):
            table[[ord(letter.lower()), ord(letter.upper())]] |= 1 << k
    return kernels.Phrases(text.data, text.offsets[1:], heads, seconds)
