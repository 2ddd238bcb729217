"""What the step decontaminate tells of benchmarks in a run's report, as `summarize` writes it."""

from pydantic import Field, JsonValue

from tokenmill.pipelines.core.data import Data


class FoundBenchmark(Data):
    """A benchmark, and how many of its items are in the corpus."""

    name: str = Field(description="As the recipe calls it")
    path: str = Field(description="Of its items")
    fields: list[str] = Field(description="Of an item, those that were looked for")
    md5: str = Field(description="Hex digest of the texts")
    items: int = Field(description="How many it has")
    dirty_frac: float | None = Field(description="Dirty, of clean and dirty; None without any")
    ngram: int = Field(description="Words in its n-grams")
    clean: int = Field(description="Items of which no n-gram that counts was found")
    dirty: int = Field(description="Items of which one was found")
    untestable: int = Field(description="Under 8 words; each is clean, dirty or this")
    found_whole: int = Field(description="Of the untestable, those in a document as a whole")
    too_short: int = Field(description="Of the untestable, those that are not looked for at all")
    widespread: int = Field(description="Of the clean, those in too many documents to be dirty")
    only_ignored: int = Field(description="Of the other clean ones, those found by ignored n-grams")
    docs: int = Field(description="Documents that have an item, dirty or found whole")
    pairs: int = Field(description="Of such a document and an item that it has")
    uncounted: int = Field(description="Of the clean, those without an n-gram that counts")
    foldings: dict[str, int] = Field(description="Items found in disguise alone, by folding")


class ItemText(Data):
    """The text of an item, or what stands around what was found of it."""

    text: str = Field(description="Of the item; a long one in part")
    spans: list[tuple[int, int]] = Field(description="Found: start and end, in characters")
    chars_before: int = Field(description="Characters of the item left out in front")
    chars_behind: int = Field(description="Characters of the item left out behind")


class FoundItem(Data):
    """An item beside the document that has most of it."""

    benchmark: str = Field(description="Its name")
    item: str = Field(description='Benchmark and number, as "gsm8k:17"')
    documents: int = Field(description="How many have the item")
    found_frac: float = Field(description="Of the item's n-grams those that it has (0 to 1)")
    ngrams: int = Field(description="How many these are")
    spans: int = Field(description="Stretches of the document that they make")
    doc_id: int = Field(description="The document's number in the run")
    id: str = Field(description="The document's id in the input")
    source: str = Field(description="The document's")
    start_byte: int = Field(description="Of the longest stretch, in UTF-8 bytes")
    end_byte: int = Field(description="Of the longest stretch, in UTF-8 bytes")
    foldings: list[str] = Field(description="The disguises that had to be taken off")
    as_written: bool = Field(description="The stretch is the item's text to the letter")
    differences: list[str] = Field(description="In what the two differ")
    before: str = Field(description="Text of the document in front of the stretch")
    match: str = Field(description="The stretch; a long one without its middle")
    after: str = Field(description="Text of the document behind the stretch")
    item_text: ItemText


class WorstDocument(Data):
    """A document that has many items."""

    doc_id: int = Field(description="Its number in the run")
    id: str = Field(description="Its id in the input")
    source: str = Field(description="Its source")
    items: int = Field(description="Of which it has an n-gram that counts")
    overlap_bytes: int = Field(description="UTF-8 bytes of its text in such n-grams")
    text_bytes: int = Field(description="UTF-8 bytes of its text")


class FoundSource(Data):
    """What documents of a source have."""

    source: str = Field(description="Its name")
    docs: int = Field(description="Documents that have an item")
    pairs: int = Field(description="Of such a document and an item that it has")


class IgnoredPassage(Data):
    """N-grams of the corpus that count for nothing, as one passage."""

    passage: str = Field(description="As an item has it, with single spaces")
    ngrams: int = Field(description="Of the passage, ignored and in documents")
    documents: int = Field(description="That have the n-gram of it which most have")
    items: int = Field(description="That have it")
    reason: str = Field(description="Why; of several, with commas between")


class FoundItems(Data):
    """What of the benchmarks was in the corpus before the step cut it out."""

    contamination: str = Field(description="Version of this section")
    settings: dict[str, JsonValue] = Field(description="Of the step, but for its benchmarks")
    benchmarks: list[FoundBenchmark] = Field(description="As the recipe has them")
    examples: list[FoundItem] = Field(description="Of each benchmark those with most of an item")
    widespread: list[FoundItem] = Field(description="Items in too many documents to be dirty")
    worst: list[WorstDocument] = Field(description="The documents with most items")
    sources: list[FoundSource] = Field(description="The ones with most pairs first")
    ignored: list[IgnoredPassage] = Field(description="The ones of most documents first")
    n_ignored: dict[str, int] = Field(description="N-grams ignored, by the first reason that holds")
