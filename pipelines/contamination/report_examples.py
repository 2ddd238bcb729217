"""Items beside documents that have them, as a section of a report."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tokenmill.sizing.document.section import (
    Comparison,
    Comparisons,
    Passage,
    Piece,
    Section,
    count,
)

Data: TypeAlias = Mapping[str, Any]

MOST_OPEN = 5  # of a benchmark


def examples_section(data: Data) -> Section:
    """Of each benchmark the items of which a document has most, the best first."""
    n_found = {b["name"]: b["dirty"] + b["found_whole"] for b in data["benchmarks"]}
    note = (
        "Items of which a document has most, each beside the document that has most of it. Marked:"
        " the longest stretch of the document that repeats the item, and its n-grams in the item."
        " Characters that cannot be seen stand by their names."
    )
    blocks = _blocks(data["examples"], n_found)
    return Section(key="examples", title="Side by side", blocks=(note, *blocks) if blocks else ())


def widespread_section(data: Data) -> Section:
    """Items in too many documents to be dirty, each beside one of these."""
    n_found = {b["name"]: b.get("widespread", 0) for b in data["benchmarks"]}
    note = (
        f"Items in more than {count(data['settings']['most_docs'] or 0, 'document')}: their n-grams"
        " count for nothing, as common phrases do, and they are no dirty items by the published"
        " rule. If these are questions rather than phrases, the corpus has them many times over."
    )
    blocks = _blocks(data.get("widespread", ()), n_found)
    title = "Widespread items"
    return Section(key="widespread", title=title, blocks=(note, *blocks) if blocks else ())


def edited_section(data: Data) -> Section:
    """Items that no n-gram shows, beside the best of their copies; none if not looked for."""
    n_found = {b["name"]: b.get("edited", 0) for b in data["benchmarks"]}
    note = (
        "Items without an n-gram in the corpus that counts, of which a document has an edited copy"
        " all the same. Marked: the stretch of the document that has most of the item's word"
        " pairs, and the words of the item that it has."
    )
    blocks = _blocks(data.get("edited", ()), n_found)
    return Section(key="edited", title="Edited copies", blocks=(note, *blocks) if blocks else ())


def _blocks(examples: Sequence[Data], n_found: Mapping[str, int]) -> list[Comparisons]:
    """By benchmark.  n_found: items of each that there are examples of."""
    made = []
    for name, n in n_found.items():
        rows = tuple(_comparison(e) for e in examples if e["benchmark"] == name)
        if rows:
            block = Comparisons(caption=name, rows=rows, n_open=MOST_OPEN, n_all=n, noun="item")
            made.append(block)
    return made


def _comparison(example: Data) -> Comparison:
    return Comparison(
        title=example["item"],
        facts=tuple(_facts(example)),
        sides=(_item(example["item_text"]), _document(example)),
    )


def _facts(example: Data) -> list[str]:
    """How much of the item, in how many documents, and how it is written there."""
    facts = [_share(example), f"in {count(example['documents'], 'document')}"]
    if example.get("as_written"):
        return [*facts, "written as in the item"]
    if example["foldings"]:
        facts.append(f"seen through {', '.join(example['foldings'])}")
    if example.get("differences"):
        facts.append(f"differs in {', '.join(example['differences'])}")
    return facts


def _share(example: Data) -> str:
    if "containment" in example:
        return f"{100 * example['containment']:.0f} % of its word pairs"
    ngrams, share = example["ngrams"], example["found_frac"]
    return f"{ngrams:,} of {count(round(ngrams / share), 'n-gram')} ({100 * share:.0f} %)"


def _item(text: Data) -> Passage:
    pieces, at, shown = [], 0, text["text"]
    for start, end in text["spans"]:
        pieces += [Piece(shown[at:start]), Piece(shown[start:end], marked=True)]
        at = end
    return Passage(
        "item",
        (
            *_left_out(text.get("chars_before", 0)),
            *pieces,
            Piece(shown[at:]),
            *_left_out(text.get("chars_behind", 0)),
        ),
    )


def _left_out(chars: int) -> tuple[Piece, ...]:
    return (Piece(f" […{count(chars, 'character')}…] "),) if chars else ()


def _document(example: Data) -> Passage:
    where = f"bytes {example['start_byte']:,} to {example['end_byte']:,}"
    n = example.get("spans", 1)
    spans = f", the longest of {n:,} stretches" if n > 1 else ""
    pieces = (
        Piece(example["before"]),
        Piece(example["match"], marked=True),
        Piece(example["after"]),
    )
    name = f"document {example['id']} (doc_id {example['doc_id']}) of {example['source']}"
    return Passage(f"{name}, {where}{spans}", pieces)
