"""What summary.json and contamination.json hold: every key, its type and what it says.

    python -m tokenmill.pipelines.contamination.model   writes the JSON schema beside this file

Names, ids and texts in it are untrusted text. A report of `prepare` holds a `Summary` too.
"""

from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from tokenmill.pipelines.core.data import Data
from tokenmill.pipelines.runs.finished import Failures, Inventory
from tokenmill.pipelines.storage.atomic import write_json

NAME = "decontaminate"  # of the step
SCHEMA = Path(__file__).with_name("schema.json")


class Settings(Data, extra="allow"):
    """How items were looked for; those of the step decontaminate have its own settings too."""

    ngram: int | Literal["auto"] = Field(description="Words in an n-gram")
    words: Literal["scripts", "whitespace"] = "scripts"
    """Of scripts without spaces a word is a character or grapheme cluster, or what spaces part."""
    folding: dict[str, bool] = Field(description="The disguises that were seen through")
    most_docs: int | None
    """An n-gram in more documents is ignored; None is no limit."""
    verdict: float | Literal["gpt3"] = "gpt3"
    """Share of an item from which on it is dirty; "gpt3": one n-gram of it is enough."""
    copies: dict[str, float] | None = None
    """The thresholds of `Copies`; None where edited copies were not looked for."""
    paraphrases: float | None = None
    """The score from which on a window may have an item in other words; None: not looked for."""
    action: str | None = Field(None, description="Of the step decontaminate; not in a search")

    @model_serializer(mode="wrap")
    def _as_set(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: v for name, v in dump(self).items() if name in self.model_fields_set}


class BenchmarkCounts(Data):
    """Items of a benchmark: each is clean, dirty or untestable, or by shares some or only_context.

    Where edited copies were looked for, each is one of these or `edited`.

    By shares an item is dirty if a document has at least the threshold of the n-grams that are its
    own; as published, if the corpus has any.
    """

    ngram: int = Field(description="Words in its n-grams, where spaces part words")
    clean: int = Field(description="Items of which the corpus has no n-gram that counts")
    dirty: int = Field(description="Items of which it has one")
    untestable: int
    """Items of fewer than 8 words; by shares, those too of which no n-gram is their own."""
    found_whole: int
    """Of the untestable, those that stand in a document as a whole."""
    too_short: int = Field(description="Of the untestable, those that are not looked for at all")
    widespread: int
    """Of the clean, those that stand in too many documents to be dirty."""
    only_ignored: int
    """Of the other clean ones, those of which documents have n-grams, all ignored."""
    docs: int = Field(description="Documents that have an item, dirty or found whole")
    pairs: int = Field(description="Of such a document and an item that it has")
    uncounted: int
    """Items that could not be dirty: others share each of their n-grams, or it has no letter. Of
    the untestable by shares, of the clean as published."""
    foldings: dict[str, int]
    """Of the dirty and the found whole, those that documents have in disguise alone, by the folding
    that sees through it; an item that needs two counts for both."""

    whole: int = Field(0, description="Items of which one document has all; by shares")
    most: int = Field(0, description="Items of which one document has half or more, but not all")
    some: int = Field(0, description="Items of which documents have less than the threshold")
    only_context: int = 0
    """Items whose question is under 8 words and is searched with what stands around it alone."""
    context_found: int = 0
    """Items that are not dirty, but whose passage, or another field that items share, was found, as
    it is or edited."""
    verbatim: int = 0
    """Of the clean, those that ask what no words tell from others: found only as it is."""
    repeated: int = Field(0, description="Items that are an earlier one word by word")
    short_clean: int | None = None
    """Of the clean, those of fewer than 13 words: of edited copies that have less than the
    `short_threshold` of their word pairs nothing is known. None where no copies were looked for."""

    @property
    def found_items(self) -> int:
        """Items of which anything that counts stands in the corpus."""
        return self.dirty + self.found_whole


class BenchmarkSummary(BenchmarkCounts):
    """A benchmark, and how many of its items are in the corpus."""

    name: str = Field(description="As the recipe or the command calls it")
    path: str = Field(description="Of its items")
    fields: tuple[str, ...] = Field(description="Of an item, those that were looked for")
    md5: str = Field(description="Of the texts of all items")
    items: int = Field(description="How many it has")
    dirty_frac: float | None
    """Dirty items, of all but the untestable and only_context; None without any."""
    edited: int | None = None
    """Items of which a document has a copy, but which are not dirty, found whole or widespread."""
    edited_docs: int | None = Field(None, description="Documents with such copies")
    paraphrased: int | None = None
    """Items, not found otherwise, that a document may have in other words; as `siblings`, only
    where these were looked for."""
    siblings: int | None = Field(None, description="Of these, those with other numbers")
    files: tuple[str, ...] | None = None
    """Names of the files that the items were read from, if there are any."""

    @property
    def tested(self) -> int:
        """Items that the dirty share is of."""
        return self.clean + self.some + self.dirty + (self.edited or 0)


class ItemText(Data):
    """The text of an item, or the part of it around what the document has."""

    text: str = Field(description="Of the item; a long one in part")
    spans: tuple[tuple[int, int], ...]
    """What the document has: start and end, in characters of `text`."""
    chars_before: int | None = Field(None, description="Characters of the item left out in front")
    chars_behind: int | None = Field(None, description="Characters of the item left out behind")


class Example(Data):
    """An item beside the document that has most of it."""

    benchmark: str = Field(description="Its name")
    item: str
    """The benchmark's name and the item's number, such as "gsm8k:17"."""
    documents: int = Field(description="How many have any of the item")
    doc_id: int = Field(description="The document's number in the run")
    id: str = Field(description="The document's id in the input")
    source: str = Field(description="The document's")
    start_byte: int = Field(description="Of the match, in UTF-8 bytes of the document's text")
    end_byte: int = Field(description="Of the match, in UTF-8 bytes of the document's text")
    foldings: tuple[str, ...] = Field(description="The disguises that the match was seen through")
    before: str = Field(description="Text of the document in front of the match")
    match: str
    """The stretch of the document that repeats the item; a long one without its middle."""
    after: str = Field(description="Text of the document behind the match")
    item_text: ItemText


class NgramExample(Example):
    """An item of which a document has n-grams; the match is the longest stretch of them."""

    ngrams: int = Field(description="N-grams of the item that the document has")
    found_frac: float = Field(description="Their share of all n-grams of the item that count")
    spans: int = Field(description="Stretches of the document that they make")
    as_written: bool = Field(description="The match is the item's text to the letter")
    differences: tuple[str, ...]
    """In what the match differs from the item: case, punctuation, white space."""


class EditedExample(Example):
    """An item of which a document has an edited copy, which is the match."""

    containment: float = Field(
        description="Share of the item's word pairs that the copy has, or of its words in place,"
        " less a tenth, or of its letters, less those that differ; the most of these"
    )


class ParaphraseExample(Example):
    """An item that a document may have in other words, or a sibling of it; the match is a window.

    The spans of the item's text are its words that the match has too, in any order.
    """

    score: float = Field(description="Of the words that both have, by how rare they are")
    share: float = Field(description="Of the item's words by weight, that the match has")
    numbers: int = Field(description="Different numbers of the item")
    agreeing: int = Field(description="Of these, those that the match has")
    sibling: bool = Field(description="Fewer than half of the numbers agree")
    spans: tuple[tuple[int, int], ...]
    """Words of the match that the item has too: start and end, in characters."""


AnyExample: TypeAlias = NgramExample | EditedExample | ParaphraseExample


class CorpusDocument(Data):
    """A document of the corpus."""

    doc_id: int = Field(description="Its number in the run")
    id: str = Field(description="Its id in the input")
    source: str = Field(description="Its source")


class WorstDocument(CorpusDocument):
    """A document that has many items."""

    items: int = Field(description="Of which it has enough to make them dirty")
    overlap_bytes: int = Field(description="UTF-8 bytes of its text in such n-grams")
    text_bytes: int = Field(description="UTF-8 bytes of its text")


class WorstEdited(CorpusDocument):
    """A document that has copies of many edited items."""

    items: int = Field(description="Edited items that it has a copy of")
    containment: float = Field(description="Of the best copy")


class SourceSummary(Data):
    """Documents of a source, and what they have."""

    source: str = Field(description="Its name")
    docs: int = Field(description="Documents that have an item")
    pairs: int = Field(description="Of such a document and an item that it has")
    edited_docs: int | None = None
    """Documents that have a copy of an edited item."""


class FoundContext(Data):
    """A passage, or another field that items share, that stands in the corpus."""

    benchmark: str = Field(description="Its name")
    items: int = Field(description="That have it")
    item: str = Field(description='The first of them, such as "squad:17"')
    text: str = Field(description="Its beginning")
    found_frac: float = Field(description="Share of its n-grams in the document with most of them")
    documents: int = Field(description="That have at least the threshold of it")
    doc_id: int = Field(description="The number of the document with most of it")


class IgnoredPassage(Data):
    """N-grams of the corpus that make no item dirty, as one passage."""

    passage: str = Field(description="As an item has it, with single spaces")
    ngrams: int = Field(description="Of the passage, ignored and in documents")
    documents: int = Field(description="That have the most widespread of these n-grams")
    items: int = Field(description="That have the n-gram most items have")
    reason: str = Field(description="Why they are ignored; several with commas between")


class Summary(Data):
    """What was looked for, how, and what was found."""

    contamination: str = Field(description="Version of this summary")
    settings: Settings
    benchmarks: tuple[BenchmarkSummary, ...] = Field(description="As they were named")
    examples: tuple[NgramExample, ...]
    """Of each benchmark the items of which a document has most, the best first."""
    widespread: tuple[NgramExample, ...]
    """Items in too many documents to be dirty."""
    worst: tuple[WorstDocument, ...] = Field(description="The documents with most items")
    sources: tuple[SourceSummary, ...]
    """Those with most pairs of a document and an item first."""
    contexts: tuple[FoundContext, ...] = ()
    """Passages that were found, those of most items first; not of the published verdict."""
    n_contexts: int = Field(0, description="Such passages, of all benchmarks")
    ignored: tuple[IgnoredPassage, ...] = Field(description="Those of most documents first")
    n_ignored: dict[str, int]
    """N-grams of the corpus that make no item dirty, by the first reason that holds."""
    n_edited: int | None = None
    """Edited items; this and what follows only where edited copies were looked for."""
    edited: tuple[EditedExample, ...] | None = None
    """Of each benchmark the edited items with the best copies, the best first."""
    worst_edited: tuple[WorstEdited, ...] | None = None
    """The documents with copies of most edited items."""

    n_paraphrased: int | None = None
    """Items that may stand in other words; this and what follows only where these were looked
    for."""
    paraphrases: tuple[ParaphraseExample, ...] | None = None
    """Of each benchmark such items with the best scores, the best first."""

    def total(self, name: str) -> int:
        """A count of items, of all benchmarks."""
        return sum(getattr(benchmark, name) or 0 for benchmark in self.benchmarks)

    @property
    def found_docs(self) -> int:
        """Documents that have an item of any benchmark."""
        return sum(source.docs for source in self.sources)

    @property
    def edited_docs(self) -> int:
        """Documents that have an edited copy of an item; they may have other items too."""
        return sum(source.edited_docs or 0 for source in self.sources)


class Documents(Data):
    """What was read of the corpus."""

    read: int
    text_bytes: int = Field(description="UTF-8 bytes of their text")
    failed: dict[str, int] = Field(description="Documents by cause")
    first_failed: dict[str, str] | None = None
    """By cause, where the first of them stands, and what is wrong with it."""


class Report(Failures, Summary):
    """The report of a search: contamination.json."""

    identity: str = Field(description="Digest of all that decides what is found")
    inputs: Inventory
    documents: Documents
    files: dict[str, str] = Field(description="Names of the files of the run by what they hold")
    seconds: float


if __name__ == "__main__":
    write_json(SCHEMA, Report.model_json_schema())
