"""Limits of OBELICS for a text: of a node, and of a document."""

from typing import Annotated

from pydantic import Field, model_validator

from tokenmill.pipelines.config import Config
from tokenmill.pipelines.filters.node_facts import NodeFacts
from tokenmill.pipelines.filters.rules import Rule, above, below

Count = Annotated[int, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
MODELS = {
    "min_language_score": "language identification",
    "max_perplexity": "perplexity",
}


class Limits(Config):
    """What a text must meet, in this order; limits are included, `None` turns a rule off.

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

    Words are lower-cased, and special characters at their ends taken off. min_language_score and
    max_perplexity need models, and none ships: see `InterleavedText`.
    """

    min_words: Count | None = None
    max_words: Count | None = None
    max_char_repetition_ratio: Fraction | None = None
    max_word_repetition_ratio: Fraction | None = None
    max_special_characters_ratio: Fraction | None = None
    min_stop_words_ratio: Fraction | None = None
    max_flagged_words_ratio: Fraction | None = None
    min_punctuation_ratio: Fraction | None = None
    punctuation_from: Count = 0
    min_common_words_ratio: Fraction | None = None
    spam_words_ratio: Fraction | None = None
    min_language_score: float | None = None
    max_perplexity: float | None = None

    @model_validator(mode="after")
    def _possible(self) -> "Limits":
        low, high = self.min_words, self.max_words
        if low is not None and high is not None and low > high:
            raise ValueError(f"min_words {low} is over max_words {high}; nothing would be kept")
        for key, what in MODELS.items():
            if getattr(self, key) is not None:
                raise ValueError(
                    f"{key} needs a model for {what}, and none ships; leave it out, compute the"
                    " scores elsewhere, and take the step document_scores"
                )
        return self

    def rules(self, facts: NodeFacts) -> list[Rule]:
        """The rules in their order; facts.shares: of stop, flagged, common and spam words."""
        stop, flagged, common, spam = facts.shares
        spammy = spam >= (2.0 if self.spam_words_ratio is None else self.spam_words_ratio)
        little_punctuation = below(
            "too_little_punctuation", facts.points, self.min_punctuation_ratio
        )
        return [
            below("too_few_words", facts.n_words, self.min_words),
            above("too_many_words", facts.n_words, self.max_words),
            above("repeated_characters", facts.char_repetition, self.max_char_repetition_ratio),
            above("repeated_words", facts.word_repetition, self.max_word_repetition_ratio),
            above("special_characters", facts.special, self.max_special_characters_ratio),
            below("too_few_stop_words", stop, self.min_stop_words_ratio),
            above("flagged_words", flagged, self.max_flagged_words_ratio),
            little_punctuation._replace(
                fails=little_punctuation.fails & (facts.n_tokens >= self.punctuation_from)
            ),
            below("too_few_common_words", common, self.min_common_words_ratio),
            Rule("spam_words", spam, spammy),
        ]


class NodeLimits(Limits):
    """As `Limits`, with those of OBELICS for a node."""

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


class DocumentLimits(Limits):
    """As `Limits`, with those of OBELICS for all nodes of a document that are left."""

    min_words: Count | None = 10
    max_words: Count | None = 2_000
    max_char_repetition_ratio: Fraction | None = 0.1
    max_word_repetition_ratio: Fraction | None = 0.2
    max_special_characters_ratio: Fraction | None = 0.275
    min_stop_words_ratio: Fraction | None = 0.35
    max_flagged_words_ratio: Fraction | None = 0.01
    min_punctuation_ratio: Fraction | None = 0.03
    min_common_words_ratio: Fraction | None = 0.9
