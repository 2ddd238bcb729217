"""What `tokenmill contamination` prints: counts, what was seen through, documents, examples."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flows.show import console, printable, table
from flows.troubles import bounded, failures
from pipelines.contamination.run import DOCUMENT
from sizing.units import format_bytes

MOST_WORST, MOST_SOURCES, MOST_EXAMPLES, MOST_EDITED, MOST_IGNORED = 5, 5, 3, 2, 3
AROUND_CHARS, MATCH_CHARS = 80, 240  # of an example, beside and in the match
MATCH = "bold black on yellow"

Row = dict[str, Any]


def show_report(report: dict[str, Any], out: Path) -> None:
    """Print what was found, in the order a reader asks."""
    show = console()
    documents = report["documents"]
    show.print(
        f"{documents['read']:,} documents, {format_bytes(documents['text_bytes'])} of text,"
        f" searched for {sum(b['items'] for b in report['benchmarks']):,} items"
    )
    show.print()
    show.print(_benchmarks(report["benchmarks"], with_edited=bool(report["settings"]["copies"])))
    for made in (_foldings(report["benchmarks"]), _worst(report), _sources(report)):
        if made.row_count:
            show.print()
            show.print(made)
    _ignored(show, report)
    examples = one_a_benchmark(report["examples"])[:MOST_EXAMPLES]
    for example in (*examples, *one_a_benchmark(report["edited"])[:MOST_EDITED]):
        show.print()
        show.print(_example(example))
    show.print()
    for line in _troubles(report):
        show.print(Text(printable(line)))
    folder = out.absolute()
    for name in ("report", "items", "overlaps"):
        show.print(Text(f"{name:<9} {folder / report['files'][name]}"))


def _benchmarks(benchmarks: Sequence[Row], *, with_edited: bool) -> Table:
    """Columns of numbers of items, but for the share and the last one."""
    edited = ("edited",) if with_edited else ()
    columns = (
        *("benchmark", ">N", ">items", ">clean", ">dirty", ">dirty\n%"),
        *(">not\ntestable", ">found\nwhole", *(f">{name}" for name in edited), ">docs"),
    )
    rows = [
        (
            *(b[name] for name in ("name", "ngram", "items", "clean", "dirty")),
            percent(b["dirty_frac"]),
            *(b[name] for name in ("untestable", "found_whole", *edited, "docs")),
        )
        for b in benchmarks
    ]
    return table("items of benchmarks that stand in the corpus", columns, rows)


def percent(frac: float | None) -> str:
    """A share as it is read: "-" if there is none to tell.

    >>> percent(4 / 3270), percent(0.0), percent(None)
    ('0.122', '0', '-')
    """
    return "-" if frac is None else f"{100 * frac:.3g}"


def _foldings(benchmarks: Sequence[Row]) -> Table:
    """Items that would have been missed without seeing through a disguise."""
    names = list(dict.fromkeys(name for b in benchmarks for name in b["foldings"]))
    rows = [
        (b["name"], *(b["foldings"].get(name, 0) for name in names))
        for b in benchmarks
        if b["foldings"]
    ]
    columns = ("benchmark", *(f">{name.replace('_', ' ')}" for name in names))
    return table("of these, items seen only through a folding", columns, rows)


def _worst(report: Row) -> Table:
    rows = [
        (
            f"{w['source']}: {w['id']}",
            w["items"],
            format_bytes(w["overlap_bytes"]),
            percent(w["overlap_bytes"] / w["text_bytes"]),
        )
        for w in report["worst"][:MOST_WORST]
    ]
    columns = ("document", ">items", ">overlap", ">% of its text")
    return table("documents with most of them", columns, rows)


def _sources(report: Row) -> Table:
    found = report["sources"] if len(report["sources"]) > 1 else ()
    rows = [(s["source"], s["docs"], s["pairs"]) for s in found[:MOST_SOURCES]]
    return table("sources", ("source", ">documents", ">items in them"), rows)


def _ignored(show: Console, report: Row) -> None:
    n = sum(report["n_ignored"].values())
    if n:
        reasons = ", ".join(f"{k:,} {name}" for name, k in report["n_ignored"].items() if k)
        show.print()
        show.print(f"{n:,} n-grams stand in the corpus but count for nothing ({reasons}), as")
        for row in report["ignored"][:MOST_IGNORED]:
            show.print(Text(f"  {row['documents']:,} documents: {printable(row['passage'])}"))


def one_a_benchmark(examples: Sequence[Row]) -> list[Row]:
    """The first of each benchmark, then the second of each, and so on.

    >>> rows = [{"benchmark": benchmark, "item": item} for benchmark, item in ("a1", "a2", "b3")]
    >>> [row["item"] for row in one_a_benchmark(rows)]
    ['1', '3', '2']
    """
    met: Counter[str] = Counter()
    ranks = []
    for example in examples:
        ranks.append(met[example["benchmark"]])
        met[example["benchmark"]] += 1
    return [examples[n] for n in sorted(range(len(examples)), key=ranks.__getitem__)]


def _example(example: Row) -> Group:
    """An item beside the document that has most of it."""
    heads = (
        example["item"],
        f"{example['source']}: {example['id']}, byte {example['start_byte']:,}",
    )
    made = Table(box=None, pad_edge=False, show_header=True, expand=True)
    for head in heads:
        made.add_column(Text(printable(head), style="bold"), ratio=1, overflow="fold")
    made.add_row(_item(example["item_text"]), _document(example))
    return Group(made, Padding(Text(_how(example), style="dim"), (0, 0)))


def _how(example: Row) -> str:
    seen = f", seen through {', '.join(example['foldings'])}" if example["foldings"] else ""
    if "containment" in example:
        return f"a copy with {percent(example['containment'])} % of the item's word pairs{seen}"
    places = f"{example['spans']} place{'s' if example['spans'] > 1 else ''}"
    return f"{percent(example['found_frac'])} % of the item's n-grams in {places}{seen}"


def _item(item: Row) -> Text:
    text, spans = item["text"], [tuple(span) for span in item["spans"]]
    start, end = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
    return highlighted(text[:start], text[start:end], text[end:])


def _document(example: Row) -> Text:
    return highlighted(example["before"], example["match"], example["after"])


def highlighted(before: str, match: str, after: str) -> Text:
    """A match, marked, in some of the text around it; control characters are made visible."""
    before, match, after = (printable(re.sub(r"\s+", " ", part)) for part in (before, match, after))
    left, right = before[-AROUND_CHARS:], after[:AROUND_CHARS]
    return Text.assemble(
        "…" if left != before else "",
        left,
        (_middle_out(match), MATCH),
        right,
        "…" if right != after else "",
    )


def _middle_out(text: str) -> str:
    half = MATCH_CHARS // 2
    return text if len(text) <= MATCH_CHARS else f"{text[:half]} … {text[-half:]}"


def _troubles(report: Row) -> list[str]:
    lines = failures(report)
    failed = report["documents"]["failed"]
    if failed:
        causes = ", ".join(f"{n:,} {cause}" for cause, n in failed.items())
        lines.append(f"documents that could not be read: {causes}")
    if report["inputs"]["skipped"]:
        lines.append(
            f"not read, for their names tell no format: {', '.join(report['inputs']['skipped'])}"
        )
    return bounded(lines, DOCUMENT)
