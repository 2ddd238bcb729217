"""Rules for captions, the text of a sample."""

from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, model_validator

from tokenmill.pipelines.config import Config
from tokenmill.pipelines.filters.characters import char_counts, characters, word_counts
from tokenmill.pipelines.filters.node_facts import node_facts
from tokenmill.pipelines.filters.rules import Rule, above, below
from tokenmill.pipelines.images import alt_text
from tokenmill.pipelines.images.nodes import are_samples
from tokenmill.pipelines.images.result import edited_where
from tokenmill.pipelines.stage import StageResult

Count = Annotated[int, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class Captions(Config):
    """Keep samples whose caption may say something of its image.

    A sample is a document with images and no placeholder of one in its text; other documents
    pass. Limits are included, `None` or `false` turns a rule off. A sample leaves for the first
    of these it fails:
    empty: nothing but whitespace ("empty").
    urls: nothing but a URL ("url").
    file_names: nothing but a file's name, as "IMG_1234" or "boat.jpg", or a size ("file_name").
    boilerplate: digits and marks aside, nothing but "image", "photo" or the like ("boilerplate").
    min_words, max_words: by `str.split()` ("too_few_words", "too_many_words").
    min_chars, max_chars: code points ("too_few_chars", "too_many_chars").
    max_char_repetition_ratio: as in `interleaved_text`, of `char_ngram` characters
        ("repeated_characters").
    max_word_repetition_ratio: likewise, of `word_ngram` words ("repeated_words").

    Scripts that put no spaces between words want `min_words: null`. The language of captions is
    told by the step `language`, or by scores computed elsewhere (`document_scores`).

    Sources: DataComp, arXiv:2304.14108, keeps captions of more than two words and five characters
    (basic filter, baselines/apply_filter.py). The rest is ours: the list of boilerplate, at most
    256 words, and limits of repetition that 51 photos of COCO pass with five captions each, one
    a line (0.19 and 0.64 at most). Several lines are boilerplate only if all are.
    """

    name: ClassVar[str] = "captions"
    needs_images: ClassVar[bool] = True

    empty: bool = True
    urls: bool = True
    file_names: bool = True
    boilerplate: bool = True
    min_words: Count | None = 3
    max_words: Count | None = 256
    min_chars: Count | None = 6
    max_chars: Count | None = None
    max_char_repetition_ratio: Fraction | None = 0.2
    char_ngram: Annotated[int, Field(ge=1)] = 10
    max_word_repetition_ratio: Fraction | None = 0.7
    word_ngram: Annotated[int, Field(ge=1)] = 2

    @model_validator(mode="after")
    def _limits_in_order(self) -> "Captions":
        for of in ("words", "chars"):
            low, high = getattr(self, f"min_{of}"), getattr(self, f"max_{of}")
            if low is not None and high is not None and low > high:
                raise ValueError(f"min_{of} {low} is over max_{of} {high}; nothing would be kept")
        return self

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        judged = are_samples(batch)
        rules = [rule._replace(fails=rule.fails & judged) for rule in self._rules(batch["text"])]
        return edited_where(self.name, batch, batch, rules, None)

    def _rules(self, text: pa.Array) -> list[Rule]:
        chars = characters(text)
        n_words = word_counts(chars).astype(np.float64)
        n_chars = char_counts(chars).astype(np.float64)
        facts = node_facts(text, char_ngram=self.char_ngram, word_ngram=self.word_ngram, lists=())
        return [
            *self._kind_rules(alt_text.kinds(text)),
            below("too_few_words", n_words, self.min_words),
            above("too_many_words", n_words, self.max_words),
            below("too_few_chars", n_chars, self.min_chars),
            above("too_many_chars", n_chars, self.max_chars),
            above("repeated_characters", facts.char_repetition, self.max_char_repetition_ratio),
            above("repeated_words", facts.word_repetition, self.max_word_repetition_ratio),
        ]

    def _kind_rules(self, kinds: npt.NDArray[np.uint8]) -> list[Rule]:
        no_value = np.full(len(kinds), np.nan)
        return [
            Rule("empty", no_value, self.empty & (kinds == alt_text.EMPTY)),
            Rule("url", no_value, self.urls & (kinds == alt_text.URL)),
            Rule("file_name", no_value, self.file_names & (kinds == alt_text.FILE_NAME)),
            Rule("boilerplate", no_value, self.boilerplate & (kinds == alt_text.BOILERPLATE)),
        ]
