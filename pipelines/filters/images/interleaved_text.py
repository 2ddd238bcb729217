"""OBELICS' rules for the text of interleaved documents: for each node, then for what is left.

    Home

    \ufffc

    A longer node, of words as a text has them.

"Home" is too short a node; the image and the longer node stay. The limits of a node and those of a
document have the same names and other values.
"""

import math
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.pipelines.core.config import Config, Count, Fraction
from tokenmill.pipelines.core.filter import REASON, Filter
from tokenmill.pipelines.core.schema import PLACEHOLDER, with_column
from tokenmill.pipelines.core.step import KEEP, Rule, StageResult, above, below, first_failing
from tokenmill.pipelines.filters.bad_words import Words, table_of
from tokenmill.pipelines.filters.images.edit import edited_where
from tokenmill.pipelines.filters.text.node_facts import ENGLISH, NodeFacts, node_facts
from tokenmill.pipelines.filters.text.parts import Parts, split_at
from tokenmill.pipelines.read.images.nodes import BREAK, are_samples


class NodeLimits(Config):
    """What a text must meet, in this order; limits are included, `None` turns a rule off.

    The defaults are those of OBELICS for a node.
    min_words, max_words: pieces between whitespace with a character that is not special
        ("too_few_words", "too_many_words").
    max_char_repetition_ratio: share of windows of `char_ngram` characters that are one of the
        most frequent, as many of those as the root of how many differ ("repeated_characters").
    max_word_repetition_ratio: share of windows of `word_ngram` words that the text has twice or
        more ("repeated_words").
    max_special_characters_ratio: of characters: ASCII's punctuation, digits and whitespace, other
        marks, emoji ("special_characters").
    min_stop_words_ratio: of words, `stop_words` ("too_few_stop_words").
    max_flagged_words_ratio: of words, `flagged_words` ("flagged_words").
    min_punctuation_ratio: of tokens, which are `[,;:?!.]` or `[\\w']+`, the former, in a text of
        `punctuation_from` tokens or more ("too_little_punctuation").
    min_common_words_ratio: of words, `common_words` ("too_few_common_words").
    spam_words_ratio: of words, `spam_words`, from which on a text is spam ("spam_words").

    Words are lower-cased, and special characters at their ends taken off.
    """

    min_words: Count | None = 4
    max_words: Count | None = 1_000
    max_char_repetition_ratio: Fraction | None = 0.1
    max_word_repetition_ratio: Fraction | None = 0.1
    max_special_characters_ratio: Fraction | None = 0.3
    min_stop_words_ratio: Fraction | None = 0.3
    max_flagged_words_ratio: Fraction | None = 0.01
    min_punctuation_ratio: Fraction | None = 0.001
    punctuation_from: Count = 12
    min_common_words_ratio: Fraction | None = 0.8
    spam_words_ratio: Fraction | None = 0.12

    def rules(self, facts: NodeFacts) -> list[Rule]:
        """The rules in their order; facts.shares: of stop, flagged, common and spam words."""
        stop, flagged, common, spam = facts.shares
        spammy = spam >= (2.0 if self.spam_words_ratio is None else self.spam_words_ratio)
        points = np.where(facts.n_tokens >= self.punctuation_from, facts.points, np.nan)
        return [
            below("too_few_words", facts.n_words, self.min_words),
            above("too_many_words", facts.n_words, self.max_words),
            above("repeated_characters", facts.char_repetition, self.max_char_repetition_ratio),
            above("repeated_words", facts.word_repetition, self.max_word_repetition_ratio),
            above("special_characters", facts.special, self.max_special_characters_ratio),
            below("too_few_stop_words", stop, self.min_stop_words_ratio),
            above("flagged_words", flagged, self.max_flagged_words_ratio),
            below("too_little_punctuation", points, self.min_punctuation_ratio),
            below("too_few_common_words", common, self.min_common_words_ratio),
            Rule("spam_words", spam, spammy),
        ]


class DocumentLimits(NodeLimits):
    """As `NodeLimits`, but for those of OBELICS for all nodes of a document that are left."""

    min_words: Count | None = 10
    max_words: Count | None = 2_000
    max_word_repetition_ratio: Fraction | None = 0.2
    max_special_characters_ratio: Fraction | None = 0.275
    min_stop_words_ratio: Fraction | None = 0.35
    min_punctuation_ratio: Fraction | None = 0.03
    punctuation_from: Count = 0
    min_common_words_ratio: Fraction | None = 0.9
    spam_words_ratio: Fraction | None = None


class Nodes(NamedTuple):
    """Documents taken apart at `BREAK`.

    measured: the text of each node, images as spaces.
    n_images: (n_nodes,) placeholders in each.  is_image: whether it holds nothing else.
    """

    parts: Parts
    measured: pa.Array
    n_images: I64
    is_image: Bools

    def without(self, failing: Bools) -> pa.Array:
        """(n_docs,) large_string, the documents without some nodes; of those the images stay."""
        alone = pa.array(
            [BREAK.join([PLACEHOLDER] * n) for n in range(int(self.n_images.max(initial=0)) + 1)],
            pa.large_string(),
        )
        images = alone.take(pa.array(self.n_images))
        left = pc.if_else(pa.array(failing), images, self.parts.text)
        return self.parts._replace(text=left).joined(~failing | (self.n_images > 0))


def split_nodes(text: pa.Array) -> Nodes:
    """Take documents, (n_docs,) large_string, apart."""
    parts = split_at(text, BREAK)
    n_images = np.asarray(pc.count_substring(parts.text, PLACEHOLDER)).astype(np.int64)
    measured = pc.replace_substring(parts.text, PLACEHOLDER, " ") if n_images.any() else parts.text
    blank = np.asarray(pc.equal(pc.utf8_trim_whitespace(measured), ""))
    return Nodes(parts, measured, n_images, (n_images > 0) & blank)


# what is told of a document, in the order of its rules; and how many of its nodes failed one
MEASURED = (
    "words", "char_repetition_ratio", "word_repetition_ratio", "special_characters_ratio",
    "stop_words_ratio", "flagged_words_ratio", "punctuation_ratio", "common_words_ratio",
    "spam_words_ratio",
)  # fmt: skip
FAILED_NODES = "failed_nodes"
# rules that are off without a list of words, and what they measure, in the order of the lists
OF_LISTS = (
    ("min_stop_words_ratio", "stop_words_ratio"),
    ("max_flagged_words_ratio", "flagged_words_ratio"),
    ("min_common_words_ratio", "common_words_ratio"),
    ("spam_words_ratio", "spam_words_ratio"),
)


class InterleavedText(Filter):
    r"""Take nodes that fail a rule out of documents, then remove documents that fail one: OBELICS'
    limits of words, repetition, marks and stop words.

    A node is what stands between "\n\n". One that holds nothing but images always stays; of one
    that fails, the images stay, as nodes of their own. Placeholders of images count as spaces.
    Nodes that failed are counted by rule, as "node_too_few_words", and the removed row of a
    document tells of its own. Samples pass: `captions` has rules for those. To annotate takes no
    node out, and measures documents as if those that fail had left.

    node, document: their limits.
    char_ngram, word_ngram: of windows that repeat.
    stop_words: "english" is our list of function words; or words, or a file of them.
    flagged_words, common_words, spam_words: words or a file of them, whose rules are off without.

    Source: OBELICS, arXiv:2306.16527, as its code has the rules (web_document_filtering.py,
    config_filter_web_documents.yaml, and 13_final_processing.py for spam); what they measure was
    the same on 20,180 nodes of web pages and documentation. Departures: its lists of words do not
    ship, nor do its 301 stop words, instead of which ours gave the same verdict on 97.5 % of the
    14,346 of those nodes that have four words, and on 97.7 % of 300 documents of C4; words are
    split at all whitespace, as by `str.split()`;
    unusual spaces are not replaced in the text; and language (of documents, by fastText, 0.8) and
    perplexity (of documents, by KenLM, 1,500) need models: steps `language` and `perplexity`.
    """

    name: ClassVar[str] = "interleaved_text"

    node: NodeLimits = NodeLimits()
    document: DocumentLimits = DocumentLimits()
    char_ngram: Annotated[int, Field(ge=1)] = 10
    word_ngram: Annotated[int, Field(ge=1)] = 5
    stop_words: Literal["english"] | Words = "english"
    flagged_words: Words | None = None
    common_words: Words | None = None
    spam_words: Words | None = None

    def finds(self) -> dict[str, pa.DataType]:
        return {
            REASON: pa.string(),
            **dict.fromkeys((m for m in MEASURED if m not in self._without), pa.float64()),
            FAILED_NODES: pa.int64(),
        }

    @property
    def _without(self) -> set[str]:
        """What is not measured, for want of a list of words."""
        lists = zip(OF_LISTS, self._lists, strict=True)
        return {m for (_, m), words in lists if words is None}

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        nodes = split_nodes(batch["text"])
        owners = nodes.parts.owners
        spared = are_samples(batch)
        rules = self._rules(nodes.measured, self.node)
        verdicts, _ = first_failing(rules, len(owners))
        verdicts[nodes.is_image | spared[owners]] = KEEP
        failing = verdicts != KEEP
        edited = batch
        if failing.any():
            edited = with_column(batch, "text", nodes.without(failing))
        measured_nodes = nodes.parts._replace(text=nodes.measured)
        left = self._rules(measured_nodes.joined(~failing & ~nodes.is_image), self.document)
        document_rules = [rule._replace(fails=rule.fails & ~spared) for rule in left]
        if self.annotates:
            measured = [np.where(spared, np.nan, rule.value) for rule in left[1:]]
            found = dict(zip(MEASURED, measured, strict=True))
            n_failed = np.bincount(owners[failing], minlength=batch.num_rows)
            return self.judge_by(batch, document_rules, {**found, FAILED_NODES: n_failed})
        # (n_docs, n_rules) how many nodes of each document failed each rule
        shape = batch.num_rows, len(rules)
        cells = owners[failing] * len(rules) + (verdicts[failing] - 1)
        counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
        details = pa.array([_told(row, rules) for row in counts.tolist()], pa.string())
        result = edited_where(self.stage_name, batch, edited, document_rules, None, details=details)
        pairs = zip(rules, counts.sum(axis=0).tolist(), strict=True)
        return result._replace(notes={f"node_{rule.reason}": n for rule, n in pairs if n})

    @property
    def _lists(self) -> tuple[Any, ...]:
        stop = ENGLISH if self.stop_words == "english" else self.stop_words
        return stop, self.flagged_words, self.common_words, self.spam_words

    def _rules(self, text: pa.Array, limits: NodeLimits) -> list[Rule]:
        lists = [table_of(words or ()) for words in self._lists]
        facts = node_facts(
            text, char_ngram=self.char_ngram, word_ngram=self.word_ngram, lists=lists
        )
        off = {limit for limit, measured in OF_LISTS if measured in self._without}
        return limits.model_copy(update=dict.fromkeys(off)).rules(facts)


def _told(counts: list[int], rules: list[Rule]) -> str | None:
    """What a removed row says of the nodes of its document; null if none failed."""
    told = [f"{n} {rule.reason}" for n, rule in zip(counts, rules, strict=True) if n]
    return f"nodes: {', '.join(told)}" if told else None
