"""The report of a search for benchmark items, on disk: as data, as Markdown and as a page.

data of `summarize` and of the run ─┬─ contamination.json
                                    └─ sections ─┬─ contamination.md
                                                 └─ contamination.html, with plots
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tokenmill.pipelines.atomic import write_json, write_text
from tokenmill.pipelines.contamination.counted import found_in_short, warnings
from tokenmill.pipelines.contamination.report_found import found_sections, percent
from tokenmill.pipelines.contamination.report_html import contamination_page
from tokenmill.pipelines.contamination.report_method import method_section
from tokenmill.pipelines.report_failures import failed_in_short, failure_blocks
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.section import Section, Table, count, table
from tokenmill.sizing.units import format_bytes

Data: TypeAlias = Mapping[str, Any]

TITLE = "Benchmark items in the corpus"
NAME = "contamination"


def write_report(out: Path, data: Data) -> list[Path]:
    """Write contamination.json, .md and .html into `out`, each atomically; return the files.

    data: of `summarize`, and of the run: inputs (files, bytes, shards, skipped), documents
        (read, text_bytes, failed by cause), failed_inputs, failed_shards, damaged_shards, and
        files (names by what they hold), if there are others beside these.
    """
    files = [out / f"{NAME}{suffix}" for suffix in (".json", ".md", ".html")]
    parts = sections(data)
    write_json(files[0], data)
    write_text(files[1], markdown(TITLE, parts))
    write_text(files[2], contamination_page(TITLE, parts, data))
    return files


def sections(data: Data) -> list[Section]:
    """What a researcher wants to know, in the order in which it is asked."""
    return [
        Section(key="summary", title="In short", blocks=(headline(data),)),
        *found_sections(data),
        method_section(data),
        Section(key="inputs", title="What was read", blocks=tuple(_inputs(data))),
    ]


def headline(data: Data) -> str:
    """How many items are in the corpus, where most; what failed."""
    documents = data["documents"]
    sentences = found_in_short(data, count(documents["read"], "document"))
    worst = max(data["benchmarks"], key=lambda b: b["dirty_frac"] or 0)
    if worst["dirty"] and len(data["benchmarks"]) > 1:
        tested = worst["clean"] + worst["dirty"]
        greatest = (
            f"The greatest share is that of {worst['name']}: {worst['dirty']:,} of {tested:,}"
            f" items that can be tested are dirty ({percent(worst['dirty_frac'])})."
        )
        sentences.insert(1, greatest)
    failed = failed_in_short(data, sum(documents["failed"].values()))
    return " ".join([*sentences, *warnings(data), failed])


def _inputs(data: Data) -> list[str | Table]:
    inputs, documents = data["inputs"], data["documents"]
    causes = sorted(documents["failed"].items(), key=lambda c: (-c[1], c[0]))
    files = [(what, name) for what, name in data.get("files", {}).items() if what != "report"]
    return [
        f"Read: {count(documents['read'], 'document')} with {format_bytes(documents['text_bytes'])}"
        f" of text, from {count(inputs['files'], 'input file')} ({format_bytes(inputs['bytes'])},"
        f" {count(inputs['shards'], 'shard')}).",
        *_listed(
            "Documents that failed", ("cause", ">documents"), [(c, f"{n:,}") for c, n in causes]
        ),
        *_listed("Files skipped", ("`path",), [(path,) for path in inputs["skipped"]]),
        *failure_blocks(data),
        *_listed("All of it, as files beside this one", ("what", "`file"), files),
    ]


def _listed(caption: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[Table]:
    return [table(caption, columns, rows)] if rows else []
