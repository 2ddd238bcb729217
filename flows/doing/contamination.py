"""Do a search for benchmark items, and show what was found."""

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import count
from operator import or_
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenmill.flows.asked import Asked, whole
from tokenmill.flows.ended import MOST_ROWS, Ended, Shown, key_of
from tokenmill.flows.executing import reported
from tokenmill.flows.prefect.pages import link_to
from tokenmill.pipelines.contamination.check import DOCUMENT, PAGE, Check, check_contamination
from tokenmill.pipelines.contamination.model import BenchmarkSummary, Report
from tokenmill.pipelines.read.parquet import bounded

KEY = "contamination"  # of the report; the tables of benchmarks have their names behind it


def check_corpus(asked: Asked[Check, Path]) -> Ended:
    """Do the search, unless it was done before."""
    title = f"check {whole(asked.out)}"
    return reported(asked, check_contamination, in_short, artifacts, name=title, label=KEY)


def in_short(report: Report) -> str:
    """What was found, in one sentence."""
    items = ", ".join(f"{b.name} {b.found_items:,}" for b in report.benchmarks)
    return f"items in {report.documents.read:,} documents: {items}"


def artifacts(report: Report, out: Path) -> Iterator[Shown]:
    """A table of the items found for each benchmark, and the report as a document."""
    keys = artifact_keys(benchmark.name for benchmark in report.benchmarks)
    for benchmark, key in zip(report.benchmarks, keys, strict=True):
        rows = item_rows(out / report.files["items"], benchmark.name)
        yield Shown(key, rows, in_a_line(benchmark))
    markdown = (out / DOCUMENT).read_text(encoding="utf-8")
    yield Shown(KEY, markdown, f"{in_short(report)}; {link_to(out, PAGE)}")


def artifact_keys(names: Iterable[str]) -> list[str]:
    """A key for each benchmark: lower-case letters, digits and dashes, no two alike.

    >>> artifact_keys(["GSM-8K", "gsm 8k"])
    ['contamination-gsm-8k', 'contamination-gsm-8k-2']
    """
    keys: list[str] = []
    for name in names:
        stem = key_of(KEY, name)
        numbered = (stem if n == 1 else f"{stem}-{n}" for n in count(1))
        keys.append(next(key for key in numbered if key not in keys and key != KEY))
    return keys


def item_rows(path: Path, benchmark: str) -> list[dict[str, Any]]:
    """The items of a benchmark in items.parquet that stand in the corpus, most of it first."""
    names = ("docs", "widespread_docs", "copy_docs", "paraphrase_docs")
    is_found = reduce(or_, (pc.field(name) > 0 for name in names))
    wanted = (pc.field("benchmark") == benchmark) & is_found
    order = [(name, "descending") for name in ("found_frac", "containment", "docs")]
    found = pq.read_table(bounded(path), filters=wanted).sort_by(order)
    return [
        {**row, "foldings": ", ".join(row["foldings"])}
        for row in found.drop_columns("benchmark").slice(0, MOST_ROWS).to_pylist()
    ]


def in_a_line(benchmark: BenchmarkSummary) -> str:
    """What the table of a benchmark is about, as Markdown."""
    b = benchmark
    return (
        f"{b.dirty:,} of {b.tested:,} items that can be tested are dirty by n-grams of {b.ngram}"
        f" words, {b.whole:,} of them whole, {b.found_whole:,} of {b.untestable:,} that"
        f" they cannot test were found whole, in {b.docs:,} documents; of the rest"
        f" {b.edited or 0:,} stand in the corpus as edited copies, {b.some:,} in part,"
        f" {b.paraphrased or 0:,} may do so in other words,"
        f" {b.context_found:,} with their context alone, and {b.widespread:,} in too many"
        f" documents to be dirty; {b.only_context:,} could be found only with their context"
    )
