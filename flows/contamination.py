"""Look for benchmark items in a corpus: a Prefect task for each piece of work, and artifacts."""

import re
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from prefect import flow
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.pools.choose import open_pool
from flows.tasks import as_tasks
from pipelines.contamination.job import Check
from pipelines.contamination.run import DOCUMENT, check_contamination

KEY = "contamination"  # of the report; the tables of benchmarks have their names behind it
MOST_ROWS = 1000  # items of a table: a page of Prefect's UI, not the whole of items.parquet


@flow(name="check-contamination", flow_run_name="check {out}", validate_parameters=False)
def contamination_flow(check: Check, out: Path) -> dict[str, Any]:
    """Find which benchmark items a corpus holds, and where; returns the report.

    Publishes a table of the items found for each benchmark, and the report as a document.
    """
    with open_pool(check.run, out) as pool:
        report = check_contamination(
            check, out, as_tasks(pool, task_seconds=check.run.task_seconds)
        )
    names = [benchmark["name"] for benchmark in report["benchmarks"]]
    for benchmark, key in zip(report["benchmarks"], artifact_keys(names), strict=True):
        rows = item_rows(out / report["files"]["items"], benchmark["name"])
        create_table_artifact(table=rows, key=key, description=in_a_sentence(benchmark))
    markdown = (out / DOCUMENT).read_text(encoding="utf-8")
    create_markdown_artifact(markdown, key=KEY)
    return report


def artifact_keys(names: Iterable[str]) -> list[str]:
    """A key for each benchmark: lower-case letters, digits and dashes, no two alike.

    >>> artifact_keys(["GSM-8K", "gsm 8k"])
    ['contamination-gsm-8k', 'contamination-gsm-8k-2']
    """
    keys: list[str] = []
    for name in names:
        stem = "-".join([KEY, *re.findall("[a-z0-9]+", name.lower())])
        numbered = (stem if n == 1 else f"{stem}-{n}" for n in count(1))
        keys.append(next(key for key in numbered if key not in keys and key != KEY))
    return keys


def item_rows(path: Path, benchmark: str) -> list[dict[str, Any]]:
    """The items of a benchmark that stand in the corpus, those first of which most does.

    path: items.parquet.
    """
    columns = [pc.field(name) > 0 for name in ("docs", "widespread_docs", "copy_docs")]
    is_found = columns[0] | columns[1] | columns[2]
    wanted = (pc.field("benchmark") == benchmark) & is_found
    order = [(name, "descending") for name in ("found_frac", "containment", "docs")]
    found = pq.read_table(path, filters=wanted).sort_by(order)
    return [
        {**row, "foldings": ", ".join(row["foldings"])}
        for row in found.drop_columns("benchmark").slice(0, MOST_ROWS).to_pylist()
    ]


def in_a_sentence(benchmark: dict[str, Any]) -> str:
    """What the table of a benchmark is about, as Markdown."""
    tested = benchmark["clean"] + benchmark["dirty"]
    return (
        f"{benchmark['dirty']:,} of {tested:,} items that n-grams of {benchmark['ngram']} words can"
        f" test are dirty, {benchmark['found_whole']:,} of {benchmark['untestable']:,} others were"
        f" found whole, in {benchmark['docs']:,} documents; of the rest {benchmark['edited']:,}"
        " stand in the corpus as edited copies, and"
        f" {benchmark['widespread']:,} in too many documents to be dirty"
    )
