"""What the step decontaminate tells of benchmarks in a run's report, as `summarize` writes it."""

from pydantic import JsonValue

from tokenmill.pipelines.core.data import Data


class FoundBenchmark(Data):
    """A benchmark, and how many of its items are in the corpus."""

    name: str
    """As the recipe calls it."""
    path: str
    """Of its items."""
    fields: list[str]
    """Of an item, those that were looked for."""
    md5: str
    """Hex digest of the texts."""
    items: int
    """How many it has."""
    dirty_frac: float | None
    """Dirty items, of the clean and dirty ones; None without any."""
    ngram: int
    """Words in its n-grams."""
    clean: int
    """Items of which no n-gram that counts was found."""
    dirty: int
    """Items of which one was found."""
    untestable: int
    """Items of fewer than 8 words. Each item is clean, dirty or untestable."""
    found_whole: int
    """Of the untestable, those that stand in a document as a whole."""
    too_short: int
    """Of the untestable, those that are not looked for at all."""
    widespread: int
    """Of the clean, those that stand in too many documents to be dirty."""
    only_ignored: int
    """Of the other clean ones, those of which documents have n-grams, all ignored."""
    docs: int
    """Documents that have an item, dirty or found whole."""
    pairs: int
    """Of such a document and an item that it has."""
    uncounted: int
    """Of the clean, those that could not be dirty: no n-gram of theirs counts."""
    foldings: dict[str, int]
    """Items that documents have in disguise alone, by the folding that sees through it."""


class ItemText(Data):
    """The text of an item, or what stands around what was found of it."""

    text: str
    """Of the item; a long one in part."""
    spans: list[tuple[int, int]]
    """What was found: start and end, in characters of `text`."""
    chars_before: int
    """Characters of the item left out in front."""
    chars_behind: int
    """Characters of the item left out behind."""


class FoundItem(Data):
    """An item beside the document that has most of it."""

    benchmark: str
    """Its name."""
    item: str
    """The benchmark's name and the item's number, such as "gsm8k:17"."""
    documents: int
    """How many have the item."""
    found_frac: float
    """N-grams of the item that this document has, of all that count (0 to 1)."""
    ngrams: int
    """How many these are."""
    spans: int
    """Stretches of the document that they make."""
    doc_id: int
    """The document's number in the run."""
    id: str
    """The document's id in the input."""
    source: str
    """The document's."""
    start_byte: int
    """Of the longest stretch, in UTF-8 bytes of the document's text."""
    end_byte: int
    """Of the longest stretch, in UTF-8 bytes of the document's text."""
    foldings: list[str]
    """The disguises that had to be taken off."""
    as_written: bool
    """The stretch is the item's text to the letter."""
    differences: list[str]
    """In what the two differ."""
    before: str
    """Text of the document in front of the stretch."""
    match: str
    """The stretch; a long one without its middle."""
    after: str
    """Text of the document behind the stretch."""
    item_text: ItemText


class WorstDocument(Data):
    """A document that has many items."""

    doc_id: int
    """Its number in the run."""
    id: str
    """Its id in the input."""
    source: str
    """Its source."""
    items: int
    """Of which it has an n-gram that counts."""
    overlap_bytes: int
    """UTF-8 bytes of its text in such n-grams."""
    text_bytes: int
    """UTF-8 bytes of its text."""


class FoundSource(Data):
    """What documents of a source have."""

    source: str
    """Its name."""
    docs: int
    """Documents that have an item."""
    pairs: int
    """Of such a document and an item that it has."""


class IgnoredPassage(Data):
    """N-grams of the corpus that count for nothing, as one passage."""

    passage: str
    """As an item has it, with single spaces."""
    ngrams: int
    """Of the passage, ignored and in documents."""
    documents: int
    """That have the n-gram of it which most have."""
    items: int
    """That have it."""
    reason: str
    """Why; of several, with commas between."""


class FoundItems(Data):
    """What of the benchmarks was in the corpus before the step cut it out."""

    contamination: str
    """Version of this section."""
    settings: dict[str, JsonValue]
    """Of the step, but for its benchmarks."""
    benchmarks: list[FoundBenchmark]
    """As the recipe has them."""
    examples: list[FoundItem]
    """Of each benchmark the items of which a document has most."""
    widespread: list[FoundItem]
    """Items in too many documents to be dirty."""
    worst: list[WorstDocument]
    """The documents with most items."""
    sources: list[FoundSource]
    """The ones with most pairs first."""
    ignored: list[IgnoredPassage]
    """The ones of most documents first."""
    n_ignored: dict[str, int]
    """N-grams of the corpus that were ignored, by the first reason that holds."""
