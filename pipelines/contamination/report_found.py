"""What was found of benchmarks, as sections of a report: of a search, or of preparing a corpus.

Every function takes the data of `summarize`; all text in it may be anyone's.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from dedup.fold import FOLDINGS
from pipelines.contamination.report_examples import edited_section, examples_section
from sizing.document.section import NONE, Section, Table, table
from sizing.units import format_bytes

Data: TypeAlias = Mapping[str, Any]

MOST_ROWS = 30
COUNTED = {
    "items": ">items",
    "clean": ">clean",
    "dirty": ">dirty",
    "dirty_frac": ">dirty share",
    "untestable": ">untestable",
    "found_whole": ">of these found whole",
    "only_ignored": ">only boilerplate",
    "edited": ">edited copies",
    "docs": ">documents",
}
REASONS = {
    "frequent": "in too many documents",
    "shared": "of many items of a benchmark",
    "letterless": "without a letter",
}


def found_sections(data: Data) -> list[Section]:
    """By benchmark, side by side, by document, by source, and what counted for nothing."""
    return [
        Section(key="benchmarks", title="By benchmark", blocks=tuple(_benchmarks(data))),
        examples_section(data),
        edited_section(data),
        Section(key="documents", title="Documents with most items", blocks=tuple(_worst(data))),
        Section(key="sources", title="By source", blocks=tuple(_sources(data))),
        Section(key="ignored", title="What counted for nothing", blocks=tuple(_ignored(data))),
    ]


def found_items(benchmarks: Iterable[Data]) -> int:
    """Items of which anything that counts stands in the corpus."""
    return sum(b["dirty"] + b["found_whole"] for b in benchmarks)


def found_documents(data: Data) -> int:
    """Documents that have any of them."""
    return sum(source["docs"] for source in data["sources"])


def percent(frac: float | None) -> str:
    """A share as a person reads it; some is never shown as none, nor nearly all as all.

    >>> percent(0.1234), percent(0.0), percent(0.0001), percent(0.9999), percent(None)
    ('12.3 %', '0 %', '< 0.1 %', '> 99.9 %', '—')
    """
    if frac is None:
        return NONE
    if 0 < frac < 0.001:
        return "< 0.1 %"
    if 0.999 < frac < 1:
        return "> 99.9 %"
    return f"{100 * frac:.1f} %" if frac % 1 else f"{100 * frac:.0f} %"


def _benchmarks(data: Data) -> list[str | Table]:
    benchmarks = data["benchmarks"]
    counted = [name for name in COUNTED if all(name in b for b in benchmarks)]
    rows = [(b["name"], f"{b['ngram']}", *_counts(b, counted)) for b in benchmarks]
    if len(rows) > 1:
        rows.append(("all", "", *_counts(_sums(data, counted), counted)))
    columns = ("benchmark", ">N", *(COUNTED[name] for name in counted))
    edited = " Edited copies: items of which no n-gram that counts was found, but a copy."
    return [
        "Every item is clean, dirty or untestable. The dirty share is of those that can be tested."
        " Of items under 8 words, which cannot, some were found as a whole. Only boilerplate:"
        " clean items of which only n-grams stand in the corpus that count for nothing."
        f"{edited if 'edited' in counted else ''}",
        table("Items", columns, rows, sums=len(rows) > 1),
        *_foldings(benchmarks),
        table(
            "Benchmarks",
            ("benchmark", "`path", "fields", "`md5"),
            [(b["name"], b["path"], ", ".join(b["fields"]), b["md5"]) for b in benchmarks],
            folded=True,
        ),
    ]


def _sums(data: Data, counted: Iterable[str]) -> Data:
    """Of all benchmarks together; a document may have items of several."""
    counts = [name for name in counted if name not in ("dirty_frac", "docs")]
    sums = {name: sum(b[name] for b in data["benchmarks"]) for name in counts}
    tested = sums["clean"] + sums["dirty"]
    share = sums["dirty"] / tested if tested else None
    return sums | {"dirty_frac": share, "docs": found_documents(data)}


def _counts(row: Data, counted: Iterable[str]) -> list[str]:
    return [percent(row[k]) if k == "dirty_frac" else f"{row[k]:,}" for k in counted]


def _foldings(benchmarks: Sequence[Data]) -> list[Table]:
    """Which disguises had to be seen through; only those that were."""
    needed = [name for name in FOLDINGS if any(b["foldings"].get(name) for b in benchmarks)]
    rows = [
        (b["name"], *(f"{b['foldings'].get(name, 0):,}" for name in needed))
        for b in benchmarks
        if b["foldings"]
    ]
    caption = "Items that would be clean without a folding"
    columns = ("benchmark", *(f">{name}" for name in needed))
    return [table(caption, columns, rows)] if rows else []


def _worst(data: Data) -> list[str | Table]:
    rows = [
        (
            row["id"],
            str(row["doc_id"]),
            row["source"],
            f"{row['items']:,}",
            f"{row['overlap_bytes']:,}",
            percent(row["overlap_bytes"] / row["text_bytes"]),
            format_bytes(row["text_bytes"]),
        )
        for row in data["worst"][:MOST_ROWS]
    ]
    if not rows:
        return ["No document has an item."]
    columns = ("`id", "`doc_id", "source", ">items", ">bytes of them", ">share of text", ">text")
    return [table(_shown("Documents", len(rows), found_documents(data)), columns, rows)]


def _sources(data: Data) -> list[str | Table]:
    sources = data["sources"]
    rows = [(s["source"], f"{s['docs']:,}", f"{s['pairs']:,}") for s in sources[:MOST_ROWS]]
    if not rows:
        return ["No source has a document with an item."]
    columns = ("source", ">documents with items", ">pairs of document and item")
    return [table(_shown("Sources", len(rows), len(sources)), columns, rows)]


def _ignored(data: Data) -> list[str | Table]:
    totals = data["n_ignored"]
    n_all = sum(totals.values())
    if not n_all:
        return ["No n-gram of the corpus was left out of account."]
    parts = ", ".join(f"{n:,} {REASONS[name]}" for name, n in totals.items() if n)
    rows = [
        (
            row["passage"],
            *(f"{row[name]:,}" for name in ("ngrams", "documents", "items")),
            ", ".join(REASONS[name] for name in row["reason"].split(", ")),
        )
        for row in data["ignored"][:MOST_ROWS]
    ]
    columns = ("`words", ">n-grams", ">documents", ">items", "why")
    return [
        f"Of the items' n-grams that stand in the corpus {n_all:,} make no item dirty: {parts}."
        " An item is dirty if it has another n-gram in the corpus.",
        table(_shown("Passages", len(rows), len(data["ignored"])), columns, rows),
    ]


def _shown(what: str, n: int, n_all: int) -> str:
    """A caption that says how many are not shown."""
    return what if n == n_all else f"{what}: {n:,} of {n_all:,} shown, those with most first"
