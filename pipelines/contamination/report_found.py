"""What was found of benchmarks, as sections of a report: of a search, or of preparing a corpus.

Every function takes the data of `summarize`; all text in it may be anyone's.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tokenmill.dedup.fold import FOLDINGS
from tokenmill.pipelines.contamination.counted import (
    counted,
    edited_documents,
    found_documents,
    total,
)
from tokenmill.pipelines.contamination.report_examples import (
    edited_section,
    examples_section,
    widespread_section,
)
from tokenmill.sizing.document.section import NONE, Section, Table, table
from tokenmill.sizing.units import format_bytes

Data: TypeAlias = Mapping[str, Any]

MOST_ROWS = 30
MEANINGS = {
    "widespread": "Widespread: clean by the published rule, but at least half of its n-grams stand"
    " in too many documents to count.",
    "edited": "Edited copies: items of which no n-gram that counts was found, but a copy.",
    "untestable": "Too short: under 8 words, looked for as a whole only.",
    "found_whole": "Short, found: those of them that stand in a document.",
    "only_ignored": "Only boilerplate: other clean items of which n-grams stand in the corpus that"
    " count for nothing.",
}
OF_SOURCE = {
    "docs": ">documents with items",
    "pairs": ">pairs of document and item",
    "edited_docs": ">documents with edited copies",
}
NO_SUM = ("dirty_frac", "docs", "edited_docs", "ngram")
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
        widespread_section(data),
        edited_section(data),
        Section(key="documents", title="Documents with most items", blocks=tuple(_worst(data))),
        Section(key="sources", title="By source", blocks=tuple(_sources(data))),
        Section(key="ignored", title="What counted for nothing", blocks=tuple(_ignored(data))),
    ]


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
    shown = counted(benchmarks)
    rows = [(b["name"], *_counts(b, shown)) for b in benchmarks]
    if len(rows) > 1:
        rows.append(("all", *_counts(_sums(data, shown), shown)))
    meanings = " ".join(MEANINGS[name] for name in MEANINGS if name in shown)
    return [
        "Every item is clean, dirty or too short to test. The dirty share is of those that can be"
        f" tested. {meanings}".strip(),
        table(
            "Items",
            ("benchmark", *(f">{label}" for label in shown.values())),
            rows,
            sums=len(rows) > 1,
        ),
        *_foldings(benchmarks),
        table(
            "Benchmarks",
            ("benchmark", "`path", "fields", "`md5"),
            [(b["name"], b["path"], ", ".join(b["fields"]), b["md5"]) for b in benchmarks],
            folded=True,
        ),
    ]


def _sums(data: Data, names: Iterable[str]) -> Data:
    """Of all benchmarks together; a document may have items of several."""
    benchmarks = data["benchmarks"]
    sums = {name: total(benchmarks, name) for name in names if name not in NO_SUM}
    tested = sums["clean"] + sums["dirty"]
    return sums | {
        "dirty_frac": sums["dirty"] / tested if tested else None,
        "docs": found_documents(data),
        "edited_docs": edited_documents(data),
    }


def _counts(row: Data, names: Iterable[str]) -> list[str]:
    return [
        percent(row[k]) if k == "dirty_frac" else f"{row[k]:,}" if k in row else "" for k in names
    ]


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
    columns = ("`id", "`doc_id", "source", ">items", ">bytes of them", ">share of text", ">text")
    shown = _shown("Documents", len(rows), found_documents(data))
    tables = [table(shown, columns, rows)] if rows else []
    return [*(() if rows else ["No document has an item."]), *tables, *_worst_edited(data)]


def _worst_edited(data: Data) -> list[Table]:
    names = ("id", "doc_id", "source", "items")
    rows = [
        (*(str(row[name]) for name in names), percent(row["containment"]))
        for row in data.get("worst_edited", ())[:MOST_ROWS]
    ]
    columns = ("`id", "`doc_id", "source", ">edited items", ">word pairs of the best copy")
    caption = _shown("Documents with edited copies", len(rows), edited_documents(data))
    return [table(caption, columns, rows)] if rows else []


def _sources(data: Data) -> list[str | Table]:
    sources = data["sources"]
    names = ["docs", "pairs", *(["edited_docs"] if edited_documents(data) else [])]
    rows = [(s["source"], *(f"{s[name]:,}" for name in names)) for s in sources[:MOST_ROWS]]
    if not rows:
        return ["No source has a document with an item."]
    columns = ("source", *(OF_SOURCE[name] for name in names))
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
