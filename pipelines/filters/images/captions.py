"""Rules for captions, the text of a sample: its length, its words, and whether it says anything.

Some alt texts say nothing of their image: URLs, names of files, and words such as "image".
"""

import json
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tokenmill.dedup.arrays import U8
from tokenmill.pipelines.core.config import Count, Fraction
from tokenmill.pipelines.core.filter import REASON, Filter, Kinds
from tokenmill.pipelines.core.step import Rule, StageResult, above, below, without_value
from tokenmill.pipelines.filters.text.characters import char_counts, characters
from tokenmill.pipelines.filters.text.node_facts import node_facts
from tokenmill.pipelines.filters.text.parts import split_at
from tokenmill.pipelines.filters.text.words import word_counts, words_of
from tokenmill.pipelines.read.images.nodes import are_samples

SAYS_SOMETHING, EMPTY, URL, FILE_NAME, BOILERPLATE = range(5)

# of lines without whitespace around, ASCII's capitals made small; what RE2 and `re` both read alike
URLS = r"^(?:[a-z][a-z0-9+.-]*://|www\.)[^ \t\f\r]+$"
TIMES = "\u00d7"
FILE_NAMES = "|".join(
    [
        r"^.+\.(?:jpe?g|png|gif|webp|bmp|tiff?|svg|heic|avif|ico)$",  # of any name
        # as cameras, telephones and screenshots name them: IMG_1234, DSC01234-2, P1000123 (1)
        r"^(?:img|dscn?|dscf|pxl|gopr|mvi|vid|wp|p|whatsapp image|screen ?shot)[ _-]*[0-9]{3,}"
        r"[a-z0-9_.-]*(?: ?\([0-9]+\))?$",
        r"^[0-9a-f]{16,}$",  # digests
        rf"^[0-9]+ ?[x{TIMES}] ?[0-9]+(?: ?px)?$",  # sizes: 1920x1080
    ]
)

MEASURED = ("words", "chars", "char_repetition_ratio", "word_repetition_ratio")
# What stands there once all but letters is taken out, in lower case. A list of ours.
_LISTED = json.loads(Path(__file__).with_suffix(".json").read_bytes())
BARE = frozenset(" ".join(_LISTED["words"]).split() + " ".join(_LISTED["phrases"]).split(", "))


def text_kinds(text: pa.Array) -> U8:
    r"""(n_texts,) uint8, what is wrong with each: EMPTY, URL, FILE_NAME, BOILERPLATE, or nothing.

    text: (n_texts,) large_string. Of several lines, each a caption, one that says something is
    enough; else the first that is not blank tells.
    """
    lines = split_at(text, "\n")
    of_line, owners = _kinds_of_lines(pc.utf8_trim_whitespace(lines.text)), lines.owners
    found = np.full(len(text), EMPTY, np.uint8)
    told = np.flatnonzero(of_line != EMPTY)[::-1]
    found[owners[told]] = of_line[told]  # the first line is written last
    found[owners[of_line == SAYS_SOMETHING]] = SAYS_SOMETHING
    return found


def _kinds_of_lines(lines: pa.Array) -> U8:
    bare = pc.utf8_trim_whitespace(
        pc.replace_substring_regex(pc.utf8_lower(lines), r"[^\pL]+", " ")
    )
    conditions = [
        pc.equal(lines, ""),
        pc.match_substring_regex(pc.ascii_lower(lines), URLS),
        pc.match_substring_regex(pc.ascii_lower(lines), FILE_NAMES),
        pc.is_in(bare, pa.array(sorted(BARE), bare.type)),
    ]
    given = [np.asarray(condition) for condition in conditions]
    return np.select(given, [EMPTY, URL, FILE_NAME, BOILERPLATE], SAYS_SOMETHING).astype(np.uint8)


class Captions(Filter):
    """Remove samples whose caption says nothing of its image: it is empty, too short or too long,
    repeats itself, or is a URL, a file's name or "image".

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
    tells: ClassVar[Kinds] = {REASON: pa.string(), **dict.fromkeys(MEASURED, pa.float64())}
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

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        judged = are_samples(batch)
        rules = [rule._replace(fails=rule.fails & judged) for rule in self._rules(batch["text"])]
        values = [np.where(judged, rule.value, np.nan) for rule in (*rules[4:8:2], *rules[8:])]
        return self.judge_by(batch, rules, dict(zip(MEASURED, values, strict=True)))

    def _rules(self, text: pa.Array) -> list[Rule]:
        kinds, chars = text_kinds(text), characters(text)
        n_words = word_counts(words_of(chars, "whitespace")).astype(np.float64)
        n_chars = char_counts(chars).astype(np.float64)
        facts = node_facts(text, char_ngram=self.char_ngram, word_ngram=self.word_ngram, lists=())
        return [
            without_value("empty", self.empty & (kinds == EMPTY)),
            without_value("url", self.urls & (kinds == URL)),
            without_value("file_name", self.file_names & (kinds == FILE_NAME)),
            without_value("boilerplate", self.boilerplate & (kinds == BOILERPLATE)),
            below("too_few_words", n_words, self.min_words),
            above("too_many_words", n_words, self.max_words),
            below("too_few_chars", n_chars, self.min_chars),
            above("too_many_chars", n_chars, self.max_chars),
            above("repeated_characters", facts.char_repetition, self.max_char_repetition_ratio),
            above("repeated_words", facts.word_repetition, self.max_word_repetition_ratio),
        ]
