r"""OBELICS' rules for the text of interleaved documents: for each node, then for what is left.

    Home

    \ufffc

    A longer node, of words as a text has them.

"Home" is too short a node; the image and the longer node stay.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from tokenmill.pipelines.config import Config
from tokenmill.pipelines.filters.function_words import ENGLISH
from tokenmill.pipelines.filters.node_facts import node_facts
from tokenmill.pipelines.filters.rules import Rule, first_failing
from tokenmill.pipelines.filters.word_list import Words, table_of
from tokenmill.pipelines.images.nodes import are_samples, measured_text, split_nodes, without
from tokenmill.pipelines.images.result import edited_where
from tokenmill.pipelines.images.text_limits import DocumentLimits, Limits, NodeLimits
from tokenmill.pipelines.stage import KEEP, StageResult

# rules that are off without a list of words: they stand in the order of the lists
OF_LISTS = (
    "min_stop_words_ratio",
    "max_flagged_words_ratio",
    "min_common_words_ratio",
    "spam_words_ratio",
)


class InterleavedText(Config):
    r"""Take nodes that fail a rule out of documents, then remove documents that fail one.

    A node is what stands between "\n\n". One that holds nothing but images always stays; of one
    that fails, the images stay, as nodes of their own. Placeholders of images count as spaces.
    Nodes that failed are counted by rule, as "node_too_few_words", and the receipt of a document
    that is removed tells of its own. Samples pass: `captions` has rules for those.

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
    perplexity (of documents, by KenLM, 1,500) need models.
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

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        nodes = split_nodes(batch["text"])
        spared = are_samples(batch)
        rules = self._rules(nodes.measured, self.node)
        verdicts, _ = first_failing(rules, len(nodes.text))
        verdicts[nodes.is_image | spared[nodes.owners]] = KEEP
        failing = verdicts != KEEP
        edited = batch
        if failing.any():
            column = batch.schema.get_field_index("text")
            edited = batch.set_column(column, batch.schema.field(column), without(nodes, failing))
        left = self._rules(measured_text(nodes, ~failing), self.document)
        document_rules = [rule._replace(fails=rule.fails & ~spared) for rule in left]
        counts = _by_reason(nodes.owners[failing], verdicts[failing], batch.num_rows, len(rules))
        details = pa.array([_told(row, rules) for row in counts.tolist()], pa.string())
        result = edited_where(self.name, batch, edited, document_rules, None, details=details)
        pairs = zip(rules, counts.sum(axis=0).tolist(), strict=True)
        return result._replace(notes={f"node_{rule.reason}": n for rule, n in pairs if n})

    def _rules(self, text: pa.Array, limits: Limits) -> list[Rule]:
        stop = ENGLISH if self.stop_words == "english" else self.stop_words
        lists = (stop, self.flagged_words, self.common_words, self.spam_words)
        facts = node_facts(
            text,
            char_ngram=self.char_ngram,
            word_ngram=self.word_ngram,
            lists=[table_of(words or ()) for words in lists],
        )
        off = {key for key, words in zip(OF_LISTS, lists, strict=True) if words is None}
        return limits.model_copy(update=dict.fromkeys(off)).rules(facts)


def _by_reason(
    owners: npt.NDArray[np.int64], verdicts: npt.NDArray[np.uint8], n_docs: int, n_rules: int
) -> npt.NDArray[np.int64]:
    """(n_docs, n_rules) how many nodes of each document failed each rule."""
    cells = owners * n_rules + (verdicts - 1)
    return np.bincount(cells, minlength=n_docs * n_rules).reshape(n_docs, n_rules)


def _told(counts: list[int], rules: list[Rule]) -> str | None:
    """What a receipt says of the nodes of its document; null if none failed."""
    told = [f"{n} {rule.reason}" for n, rule in zip(counts, rules, strict=True) if n]
    return f"nodes: {', '.join(told)}" if told else None
