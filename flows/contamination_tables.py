"""What `tokenmill contamination` prints: counts, what was seen through, documents, examples."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tokenmill.flows.show import MATCH, filled, printable, show, table
from tokenmill.flows.troubles import bounded, failures
from tokenmill.pipelines.contamination.check import DOCUMENT
from tokenmill.pipelines.contamination.model import (
    AnyExample,
    BenchmarkSummary,
    EditedExample,
    IgnoredPassage,
    Report,
)
from tokenmill.pipelines.contamination.report_found import columns_of, found_in_short, warnings
from tokenmill.sizing.document.section import count
from tokenmill.sizing.units import format_bytes

MOST_WORST, MOST_SOURCES = 5, 5
MOST_SHOWN = {"examples": 3, "widespread": 2, "edited": 2}  # of each kind of examples
AROUND_CHARS, MATCH_CHARS = 80, 240  # of an example, beside and in the match

AnExample = TypeVar("AnExample", bound=AnyExample)


def show_report(report: Report, out: Path) -> None:
    """Print what was found, in the order a reader asks."""
    read, folder = count(report.documents.read, "document"), out.absolute()
    show(
        [
            f"{read}, {format_bytes(report.documents.text_bytes)} of text,"
            f" searched for {count(report.total('items'), 'item')}",
            *found_in_short(report, read),
        ],
        benchmarks_table(report.benchmarks, "items of benchmarks"),
        filled(_foldings(report.benchmarks)),
        filled(_worst(report)),
        filled(_sources(report)),
        _ignored(report),
        *(
            _example(example)
            for kind, most in MOST_SHOWN.items()
            for example in one_a_benchmark(getattr(report, kind) or ())[:most]
        ),
        [
            *_troubles(report),
            *(f"{k:<9} {folder / report.files[k]}" for k in ("report", "items", "overlaps")),
        ],
    )


def benchmarks_table(benchmarks: Sequence[BenchmarkSummary], title: str) -> Table:
    """Numbers of items, but for the share, the documents and N; without empty columns."""
    columns = columns_of(benchmarks)
    rows = [
        (b.name, *(_share(b.dirty_frac) if k == "dirty_frac" else getattr(b, k) for k in columns))
        for b in benchmarks
    ]
    labels = (f">{label}".replace(" ", "\n") for label in columns.values())
    return table(title, ("benchmark", *labels), rows)


def _share(frac: float | None) -> str:
    return "-" if frac is None else f"{hundredths(frac)} %"


def hundredths(frac: float | None) -> str:
    """A share as it is read: "-" if there is none to tell.

    >>> hundredths(4 / 3270), hundredths(0.0), hundredths(None)
    ('0.122', '0', '-')
    """
    return "-" if frac is None else f"{100 * frac:.3g}"


def _foldings(benchmarks: Sequence[BenchmarkSummary]) -> Table:
    """Items that would have been missed without seeing through a disguise."""
    names = list(dict.fromkeys(name for b in benchmarks for name in b.foldings))
    rows = [
        (b.name, *(b.foldings.get(name, 0) for name in names)) for b in benchmarks if b.foldings
    ]
    columns = ("benchmark", *(f">{name.replace('_', ' ')}" for name in names))
    return table("of these, items seen only through a folding", columns, rows)


def _worst(report: Report) -> Table:
    rows = [
        (
            f"{document.source}: {document.id}",
            document.items,
            format_bytes(document.overlap_bytes),
            hundredths(document.overlap_bytes / document.text_bytes),
        )
        for document in report.worst[:MOST_WORST]
    ]
    columns = ("document", ">items", ">overlap", ">% of its text")
    return table("documents with most of them", columns, rows)


def _sources(report: Report) -> Table:
    sources = report.sources if len(report.sources) > 1 else ()
    names = ["docs", "pairs", *(["edited_docs"] if report.edited_docs else [])]
    rows = [(s.source, *(getattr(s, name) for name in names)) for s in sources[:MOST_SOURCES]]
    labels = {"docs": ">documents", "pairs": ">items in them", "edited_docs": ">with edited copies"}
    return table("sources", ("source", *(labels[name] for name in names)), rows)


def _ignored(report: Report) -> list[str]:
    """Why n-grams of items count for nothing, with a passage for each reason."""
    reasons = ", ".join(f"{k:,} {name}" for name, k in report.n_ignored.items() if k)
    if not reasons:
        return []
    n, rows = sum(report.n_ignored.values()), one_a_reason(report.ignored)
    return [
        f"{n:,} n-grams stand in the corpus but count for nothing ({reasons}), as",
        *(f"  {count(row.documents, 'document')}: {row.passage}" for row in rows),
    ]


def one_a_reason(ignored: Sequence[IgnoredPassage]) -> list[IgnoredPassage]:
    """The first passage of each reason; those in too many documents first, which may be items."""
    first = {row.reason: row for row in reversed(ignored)}
    return [first[reason] for reason in sorted(first, key=lambda r: ("frequent" not in r, r))]


def one_a_benchmark(examples: Sequence[AnExample]) -> list[AnExample]:
    """The first of each benchmark, then the second of each, and so on."""
    met: Counter[str] = Counter()
    ranks = []
    for example in examples:
        ranks.append(met[example.benchmark])
        met[example.benchmark] += 1
    return [examples[n] for n in sorted(range(len(examples)), key=ranks.__getitem__)]


def _example(example: AnyExample) -> Group:
    """An item beside the document that has most of it."""
    document = f"{example.source}: {example.id}, byte {example.start_byte:,}"
    sides = Table(box=None, pad_edge=False, show_header=True, expand=True)
    for head in (example.item, document):
        sides.add_column(Text(printable(head), style="bold"), ratio=1, overflow="fold")
    sides.add_row(_item(example), highlighted(example.before, example.match, example.after))
    return Group(sides, Padding(Text(_how(example), style="dim"), (0, 0)))


def _how(example: AnyExample) -> str:
    seen = f", seen through {', '.join(example.foldings)}" if example.foldings else ""
    if isinstance(example, EditedExample):
        return f"a copy with {hundredths(example.containment)} % of the item's word pairs{seen}"
    places = count(example.spans, "place")
    return f"{hundredths(example.found_frac)} % of the item's n-grams in {places}{seen}"


def _item(example: AnyExample) -> Text:
    """The item with its longest match marked; of an edited one, all from its first match on."""
    text, spans = example.item_text.text, example.item_text.spans
    start, end = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
    if isinstance(example, EditedExample) and spans:
        start, end = spans[0][0], spans[-1][1]
    return highlighted(text[:start], text[start:end], text[end:])


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


def _troubles(report: Report) -> list[str]:
    lines = [*(f"warning: {line}" for line in warnings(report)), *failures(report)]
    failed = report.documents.failed
    if failed:
        causes = ", ".join(f"{n:,} {cause}" for cause, n in failed.items())
        lines.append(f"documents that could not be read: {causes}")
    if report.inputs.skipped:
        skipped = ", ".join(report.inputs.skipped)
        lines.append(f"not read, for their names tell no format: {skipped}")
    return bounded(lines, DOCUMENT)
