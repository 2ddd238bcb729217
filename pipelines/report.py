"""The report of a run, on disk: as data, as Markdown and as a page with plots.

    report of `summarize` ─┬─ report.json
                           └─ sections: paragraphs and tables ─┬─ report.md
                                                               └─ report.html, with plots

Every figure shown is read off the report's data, or is a sum or ratio of such figures.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tokenmill.pipelines.atomic import write_json, write_text
from tokenmill.pipelines.contamination.counted import warnings
from tokenmill.pipelines.contamination.report_found import found_sections
from tokenmill.pipelines.images.contact_sheet import contact_sheet
from tokenmill.pipelines.mix.report import mixed_in_short, mixture_sections
from tokenmill.pipelines.ratios import fixed, with_error
from tokenmill.pipelines.report_against import against_blocks
from tokenmill.pipelines.report_failures import failed_in_short, failure_blocks
from tokenmill.pipelines.report_html import report_page
from tokenmill.pipelines.report_images import image_blocks, notes_table
from tokenmill.pipelines.report_requirements import requirement_blocks
from tokenmill.pipelines.summary import removed_by_reason
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.section import NONE, Section, Table, count, table
from tokenmill.sizing.units import format_bytes

Report: TypeAlias = Mapping[str, Any]

RULES = {  # of actions whose name does not say all
    "paragraph": " Dropped are paragraphs of at least 13 words with at least half of their n-grams"
    " from benchmarks."
}
LEFT = (
    "Only n-gram overlaps count here: edited copies of items stay. Search the dataset with"
    " tokenmill contamination to see them, and with --containment none to see what else is left."
)
CORPUS_WIDE = (
    *("exact", "near", "same_url", "same_images"),
    *("repeated_images", "near_images", "repeated_paragraphs", "repeated_spans"),
    "decontaminate",
)


def write_report(out: Path, report: dict[str, Any]) -> None:
    """Write report.json, report.md and report.html into `out`, each atomically.

    report: as `summarize` makes it; what `prepare` or a later version adds may be absent.
    """
    write_json(out / "report.json", report)
    title, parts = f"Report of the run {report['name']}", sections(report)
    write_text(out / "report.md", markdown(title, parts))
    sheets = contact_sheet(out / "thumbnails", report["ledger"])
    write_text(out / "report.html", report_page(title, parts, report, sheets))


def sections(report: Report) -> list[Section]:
    """What a reader wants to know, in the order in which it is asked."""
    found = report["contamination"]
    return [
        _section("summary", "In short", [headline(report)]),
        _section("ledger", "Where documents and bytes went", _ledger(report)),
        _section("plots", "Plots", []),
        _section("measurement", "Measurement", _measurement(report)),
        *mixture_sections(report),
        _section("images", "Images", image_blocks(report)),
        _section("duplicates", "Duplicates", _duplicates(report)),
        _section("decontaminate", "Benchmark items", _decontaminate(report)),
        *(found_sections(found) if found else []),
        _section("requirements", "Storage requirements", requirement_blocks(report)),
        _section("failures", "Failed and damaged", failure_blocks(report)),
        _section("time", "Time", _time(report)),
        _section("origin", "How it was made", _origin(report)),
    ]


def _section(key: str, title: str, blocks: Iterable[str | Table]) -> Section:
    return Section(key=key, title=title, blocks=tuple(blocks))


def headline(report: Report) -> str:
    """The run in one paragraph: in, out, tokens, bytes per token, dataset, failures."""
    inputs, rows, total = report["inputs"], report["ledger"], report["measurement"]["total"]
    last = [row for row in rows if row["stage"] not in ("mix", "pack") or "mixture" not in report]
    docs_in, docs_out = rows[0]["docs_in"], last[-1]["docs_out"]
    kept = f" ({100 * docs_out / docs_in:.1f} %)" if docs_in else ""
    sentences = [
        f"Of {count(docs_in, 'document')} in {count(inputs['files'], 'input file')}"
        f" ({format_bytes(inputs['bytes'])}, {count(inputs['shards'], 'shard')}),"
        f" {docs_out:,} came out{kept}: {format_bytes(last[-1]['bytes_out'])} of text,"
        f" {count(total['tokens'], 'token')}."
    ]
    if total["text_bytes_per_token"] is None:
        sentences.append("Nothing reached the tokenizer, so there are no bytes per token.")
    else:
        of_text, other = (" of text", ", any token") if "images" in total else ("", " and")
        sentences.append(
            f"A token{of_text} stands for {with_error(total, 'text_bytes_per_token')} bytes of"
            f" UTF-8 text{other} takes {with_error(total, 'stored_bytes_per_token')} bytes in the"
            f" dataset (± one standard error over {count(total['shards'], 'shard')})."
        )
    dataset = report["dataset"]
    if "mixture" in report:
        sentences.append(mixed_in_short(report))
    sentences.append(f"The dataset takes {format_bytes(dataset['bytes'])} in {dataset['path']}.")
    failed = sum(sum(row["failed"].values()) for row in rows)
    return " ".join([*sentences, failed_in_short(report, failed)])


def _ledger(report: Report) -> list[str | Table]:
    rows = report["ledger"]
    gone = [(sum(r["removed"].values()), sum(r["failed"].values())) for r in rows]
    docs = [
        (r["docs_in"], r["docs_created"], *g, r["docs_out"])
        for r, g in zip(rows, gone, strict=True)
    ]
    text = [(r["bytes_in"], r["bytes_removed"], r["bytes_edited"], r["bytes_out"]) for r in rows]
    stages = [row["stage"] for row in rows]
    d, b = _whole(docs), _whole(text)
    left = sorted(removed_by_reason(rows), key=lambda r: (stages.index(r[0]), -r[3]))
    reasons = [(stage, reason, outcome, f"{n:,}") for stage, outcome, reason, n in left]
    columns = ("stage", "reason", "outcome", ">documents")
    return [
        f"Documents: {d[0]:,} in + {d[1]:,} created {_equal(d[0] + d[1], d[2] + d[3] + d[4])}"
        f" {d[2]:,} removed + {d[3]:,} failed + {d[4]:,} out.",
        f"Bytes of text (UTF-8): {b[0]:,} in {_equal(b[0], b[1] + b[2] + b[3])}"
        f" {b[1]:,} removed + {b[2]:,} edited away + {b[3]:,} out.",
        _counts("Documents by stage", ("in", "created", "removed", "failed", "out"), stages, docs),
        _counts("Bytes of text by stage", ("in", "removed", "edited away", "out"), stages, text),
        table("Documents that left, by reason", columns, reasons),
        *notes_table(report),
    ]


def _measurement(report: Report) -> list[str | Table]:
    ratios = ("text_bytes_per_token", "stored_bytes_per_token")
    columns: tuple[str, ...] = (
        "source",
        ">shards",
        ">documents",
        ">characters",
        ">text bytes",
        ">tokens",
    )
    columns += (">text bytes per token", ">se (text)", ">stored bytes per token", ">se (stored)")
    found = report["measurement"]
    measured = [
        *((k, m) for k, m in found.items() if k != "total"),
        ("all sources", found["total"]),
    ]
    rows = [
        (
            source,
            *(f"{m[name]:,}" for name in ("shards", "docs", "chars", "text_bytes", "tokens")),
            *(fixed(m[name + end]) for name in ratios for end in ("", "_se")),
        )
        for source, m in measured
    ]
    splits = [
        (name, *(f"{s[k]:,}" if k in s else NONE for k in ("docs", "tokens", "sequences", "files")))
        for name, s in report["dataset"]["splits"].items()
    ]
    stored = [(name, f"{n:,}", format_bytes(n)) for name, n in report["stored_bytes"].items()]
    return [
        "Counted over the documents that reached the tokenizer. Text bytes are UTF-8; stored bytes"
        " are those of the dataset's files, format included. A standard error (se) is over shards,"
        " so a source in one shard has none.",
        table("Measured by source", columns, rows, sums=True),
        table("Splits", ("split", ">documents", ">tokens", ">sequences", ">files"), splits),
        table("Written by folder", ("folder", ">bytes", ">about"), stored, folded=True),
    ]


def _duplicates(report: Report) -> list[str | Table]:
    found, names = report["duplicates"], ("docs", "candidates", "edges", "clusters")
    rows = [
        (name, *(f"{found[name][k]:,}" if k in found[name] else NONE for k in names))
        for name in ("exact", "bands", "near")
        if name in found
    ]
    compared = ("step", ">documents compared", ">candidate pairs", ">verified pairs", ">clusters")
    note = "Pairs under bands count once in each band that found them; under near, once."
    return [
        *([note] if "bands" in found else []),
        *([table("Corpus-wide deduplication", compared, rows)] if rows else []),
        *against_blocks(report.get("against")),
    ]


def _decontaminate(report: Report) -> list[str | Table]:
    """What was done about benchmark items; what was found follows in sections of its own."""
    rows = [row for row in report["ledger"] if row["stage"] == "decontaminate"]
    if not rows or not report["contamination"]:
        return []
    row, action = rows[0], report["contamination"]["settings"]["action"]
    left = ", ".join(f"{reason} {n:,}" for reason, n in row["removed"].items()) or "none"
    bytes_in, edited, gone = (
        format_bytes(row[f"bytes_{name}"]) for name in ("in", "edited", "removed")
    )
    return [
        f"Action {action}: {row['docs_in']:,} documents in, {row['docs_created']:,} more made by"
        f" cutting, {row['docs_out']:,} out; dropped: {left}."
        f" Of {bytes_in} of text {edited} was cut out and {gone} dropped."
        " What follows was found before that, in"
        " documents as the step took them in. For items under 8 words nothing is cut."
        f"{RULES.get(action, '')}",
        " ".join([LEFT, *warnings(report["contamination"])]),
    ]


def _time(report: Report) -> list[str | Table]:
    rows = [
        (s["step"], f"{s['works']:,}", *(f"{s[k]:,.2f}" for k in ("wall_s", "cpu_s")), rate)
        for s, rate in ((s, _mb_per_s(report, s)) for s in report["steps"])
    ]
    took = report.get("seconds")
    whole = "" if took is None else f"The whole run took {took:,.1f} s. "
    return [
        f"{whole}Wall and CPU time are added up over the works of a step, which run side by side;"
        " CPU time is that of a work's own thread, without threads that libraries start. MB/s is"
        " the text that goes into a step over its wall time: of one worker, that is.",
        table("Steps", ("step", ">works", ">wall, s", ">CPU, s", ">text, MB/s a worker"), rows),
    ]


def _mb_per_s(report: Report, step: Mapping[str, Any]) -> str:
    """MB of text that go into a step, per second of a worker; a dash for steps that see no text."""
    kind, _, index = step["step"].partition("-")
    rows = {row["stage"]: row["bytes_in"] for row in report["ledger"]}
    taken = None
    if kind == "pass" and index == "0":
        taken = rows.get("read")
    elif kind == "pass":  # it begins by dropping what the corpus-wide steps before it found
        before = [f"{name}-{int(index) - 1}" for name in CORPUS_WIDE]
        steps = [s["step"] for s in report["steps"] if s["step"] in before]
        taken = rows.get(steps[0].partition("-")[0]) if steps else None
    if taken is None or not step["wall_s"]:
        return NONE
    return f"{taken / 1e6 / step['wall_s']:,.2f}"


def _origin(report: Report) -> list[str | Table]:
    tokenizer, machine = report["tokenizer"], report["machine"]
    seq_len = report["dataset"]["seq_len"]
    rows = [
        ("run identity", report.get("identity", "in manifest.json, with the recipe")),
        ("tokenizer", tokenizer["path"]),
        ("tokenizer digest", tokenizer["digest"]),
        ("tokenizer engine", tokenizer["engine"]),
        *_engines(tokenizer),
        ("largest token id", f"{tokenizer['largest_id']:,}"),
        ("token type", report["dataset"]["dtype"]),
        ("sequence length", NONE if seq_len is None else f"{seq_len:,}"),
        ("system", machine["system"]),
        ("Python", machine["python"]),
        *machine["libraries"].items(),
        ("report version", report["report"]),
    ]
    return [table("Made with", ("what", "`value"), rows)]


def _engines(tokenizer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Which engine encoded what, and why not the fast one."""
    rows = [
        (f"documents encoded by {name}", f"{docs:,}")
        for name, docs in tokenizer["docs_by_engine"].items()
    ]
    if tokenizer["why"]:
        rows.append(("why no faster engine", tokenizer["why"]))
    rows += [
        (f"shard {m['key']}", f"{m['message']}; encoded exactly") for m in tokenizer["mismatches"]
    ]
    return rows


def _counts(
    caption: str, names: Iterable[str], stages: list[str], rows: Sequence[tuple[int, ...]]
) -> Table:
    """A ledger table of counts by stage, the whole run last."""
    cells = [
        (stage, *(f"{n:,}" for n in row))
        for stage, row in zip([*stages, "whole run"], [*rows, _whole(rows)], strict=True)
    ]
    return table(caption, ("stage", *(f">{name}" for name in names)), cells, sums=True)


def _whole(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """What went into the first stage, what came out of the last, and the sums between."""
    first, *between, last = zip(*rows, strict=True)
    return (first[0], *map(sum, between), last[-1])


def _equal(left: int, right: int) -> str:
    return "=" if left == right else "≠"
