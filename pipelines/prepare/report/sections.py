"""The report of a run, on disk: as data, as Markdown and as a page with plots.

    report of `summarize` ─┬─ report.json
                           └─ sections: paragraphs and tables ─┬─ report.md
                                                               └─ report.html, with plots

Every figure shown is read off the report's data, or is a sum or ratio of such figures.

The page of a run's report: its sections, with plots of where documents and bytes went.

What the storage of a run's corpus has to hold and deliver, as a report shows it.

What a report says of the earlier runs that its run stands against.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tokenmill.pipelines.contamination.model import Summary
from tokenmill.pipelines.contamination.report_found import found_sections, warnings
from tokenmill.pipelines.prepare.report.images import image_blocks, image_plots, notes_table
from tokenmill.pipelines.prepare.report.summary import removed_by_reason
from tokenmill.pipelines.prepare.report.thumbnails import contact_sheet
from tokenmill.pipelines.runs.report import (
    failed_in_short,
    failure_blocks,
    failure_figures,
    fixed,
    with_error,
)
from tokenmill.pipelines.storage.atomic import write_json, write_text
from tokenmill.pipelines.tokens.mix.report import mixed_in_short, mixture_sections
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar, Series, Stack
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.page import KeyFigure, figure, page
from tokenmill.sizing.document.section import NONE, Section, Table, count, table
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.units import format_bytes, format_count, format_quantity

Report: TypeAlias = Mapping[str, Any]

MOST_CLUSTERS = 15

DOCUMENTS = Axis("documents", lambda n: f"{n:,.0f}")
TOKENS = Axis("tokens", format_count)
TEXT = Axis("UTF-8 bytes of text", format_bytes)


def report_page(
    title: str, sections: Sequence[Section], report: Report, sheets: Sequence[str] = ()
) -> str:
    """The document as HTML, with plots of the report's figures in their sections.

    sheets: pictures of the run's images.
    """
    return page(
        title,
        sections,
        key_figures=[*_key_figures(report), *failure_figures(report, "failures")],
        plots={
            "plots": _plots(report),
            "images": [*image_plots(report), *sheets],
            "requirements": _requirement_plots(report),
        },
        footer="The same figures as data: report.json; as text: report.md.",
    )


def _key_figures(report: Report) -> list[KeyFigure]:
    """The figures that matter first."""
    total, rows = report["measurement"]["total"], report["ledger"]
    figures = [
        KeyFigure("documents out", f"{rows[-1]['docs_out']:,}", f"of {rows[0]['docs_in']:,}"),
        KeyFigure("tokens", format_count(total["tokens"])),
    ]
    for name in ("text_bytes_per_token", "stored_bytes_per_token"):
        value, sign, error = with_error(total, name).partition(" ±")
        figures.append(KeyFigure(name.replace("_", " "), value, sign + error))
    return [*figures, KeyFigure("dataset", format_bytes(report["dataset"]["bytes"]))]


def _plots(report: Report) -> list[str]:
    """Where documents and text went, why, how long documents are, clusters, sources."""
    made = [_documents_plot(report), _text_plot(report)]
    if any(report["length_bins"]):
        edges = "UTF-8 bytes, log scale"
        bins = report["length_bins"]
        drawn = charts.histogram("lengths", "Document lengths", DOCUMENTS, bins, edges)
        made.append(figure("Document lengths", "of those that reached the tokenizer", drawn))
    sources = [Bar(k, m["tokens"]) for k, m in report["measurement"].items() if k != "total"]
    if any(bar.value for bar in sources):
        drawn = charts.bars("sources", "Tokens by source", TOKENS, sources)
        made.append(figure("Tokens by source", "", drawn))
    if any(row["removed"] or row["failed"] for row in report["ledger"]):
        made.append(_reasons_plot(report))
    made += _cluster_plot(report["duplicates"])
    return made


def _documents_plot(report: Report) -> str:
    """A waterfall of documents; a stage that takes and makes none has no row."""
    rows = report["ledger"]
    changes = []
    for row in rows:
        stage, removed, failed = row["stage"], row["removed"], row["failed"]
        found = (
            Bar(f"{stage}: created", -row["docs_created"]),
            Bar(stage, sum(removed.values()), "gone"),
            Bar(f"{stage}: failed", sum(failed.values()), "failed"),
        )
        changes += [bar for bar in found if bar.value]
    start = Bar(f"into {rows[0]['stage']}", rows[0]["docs_in"])
    end = f"out of {rows[-1]['stage']}"
    drawn = charts.waterfall("documents", "Documents by stage", DOCUMENTS, start, changes, end)
    return figure("Documents by stage", "from those read to those kept; outlined: failed", drawn)


def _text_plot(report: Report) -> str:
    series = (Series("passed on", "main"), Series("removed or edited away", "gone"))
    stacks = [
        Stack(row["stage"], (row["bytes_out"], max(row["bytes_removed"] + row["bytes_edited"], 0)))
        for row in report["ledger"]
    ]
    drawn = charts.stacked("text", "Bytes of text by stage", TEXT, series, stacks)
    return figure(
        "Text by stage", "what each stage took in; the figure is what it passed on", drawn
    )


def _reasons_plot(report: Report) -> str:
    """Bars by reason; one that several stages give is told apart by its stage."""
    rows = removed_by_reason(report["ledger"])
    stages = Counter(reason for _, _, reason, _ in rows)
    found = [
        Bar(
            reason if stages[reason] == 1 else f"{reason} · {stage}",
            n,
            "failed" if outcome == "failed" else "main",
        )
        for stage, outcome, reason, n in rows
    ]
    drawn = charts.bars("reasons", "Documents that left, by reason", DOCUMENTS, found)
    note = "outlined: failed" if any(bar.kind == "failed" for bar in found) else ""
    return figure("Why documents left", note, drawn)


def _cluster_plot(duplicates: Mapping[str, Any]) -> list[str]:
    """The largest clusters of near duplicates, or of exact ones where there was no near step."""
    step = "near" if "near" in duplicates else "exact"
    largest = duplicates.get(step, {}).get("largest", [])[:MOST_CLUSTERS]
    if not largest:
        return []
    title = f"Largest {step}-duplicate clusters"
    clusters = [Bar(str(doc_id), size) for doc_id, size in largest]
    drawn = charts.bars("clusters", title, DOCUMENTS, clusters)
    return [figure(title, "by the id of their first document", drawn)]


def _requirement_plots(report: Report) -> list[str]:
    """What has to be stored, all of it in bytes."""
    wanted = [r for r in report.get("requirements") or [] if r["unit"] == "bytes"]
    if not wanted:
        return []
    stored = [Bar(r["name"], r["value"]) for r in wanted]
    drawn = charts.bars("stored", "Bytes to store", Axis("bytes", format_bytes), stored)
    return [figure("Capacity", "each requirement in bytes", drawn)]


def requirement_blocks(report: Mapping[str, Any]) -> list[str | Table]:
    wanted = report.get("requirements") or []
    if not wanted:
        return []
    rows = [(r["name"], _shown(r), _interval(r), r.get("rests_on") or _basis(r)) for r in wanted]
    formulas = [(r["name"], r["formula"], r["source"]) for r in wanted]
    given = [(r["name"], i) for r in wanted for i in r["inputs"]]
    inputs = [(name, i["name"], _shown(i), _basis(i), i["source"]) for name, i in given]
    of_input = ("requirement", "`input", ">value", "*basis", "source")
    assumed = [(a["name"], _shown(a), a["source"]) for a in report.get("sizing_assumptions") or []]
    return [
        "For this corpus as measured, and a training cluster as assumed below: tokenmill size"
        " takes a plan with your own figures. Storage is in SI units: 1 TB is 10^12 bytes. An"
        " interval covers the spread of bytes per token over shards, and nothing else.",
        table("Required", ("requirement", ">value", "95 % interval", "*rests on"), rows),
        table("Assumed", ("input", ">value", "source"), assumed, folded=True),
        table("Formulas", ("requirement", "`formula", "source"), formulas, folded=True),
        table("Inputs of each formula", of_input, inputs, folded=True),
    ]


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row.get("low"), row.get("high")
    if low is None or high is None:
        return NONE
    return " to ".join(format_quantity(v, row["unit"], digits=4) for v in (low, high))


def _shown(given: Mapping[str, Any]) -> str:
    return str(given.get("shown") or format_quantity(given["value"], given["unit"]))


def _basis(given: Mapping[str, Any]) -> str:
    if given.get("computed_by") is not None:
        return "computed"
    return "measured" if given["measured"] else "assumed"


def against_blocks(found: Mapping[str, Any] | None) -> list[str | Table]:
    """Sentences and a table; none of a run that stands alone.

    found: as `summarize` has it.
    """
    if not found:
        return []
    runs = [(run["path"], f"{run['docs']:,}") for run in found["runs"]]
    return [
        *against_lines(found),
        table("Earlier runs, oldest first", ("`run", ">documents held"), runs),
    ]


def against_lines(found: Mapping[str, Any]) -> list[str]:
    """How many documents went because an earlier run holds them, and what to know of that."""
    by_step = found["duplicates"]
    told = ", ".join(f"{step} {n:,}" for step, n in by_step.items())
    return [
        f"Duplicates of documents that earlier runs hold: {sum(by_step.values()):,}"
        + (f" ({told})." if told else "."),
        *(f"{remark[0].upper()}{remark[1:]}." for remark in found["remarks"]),
    ]


RULES = {  # of actions whose name does not say all
    "paragraph": " Dropped are paragraphs of at least 13 words with at least half of their n-grams"
    " from benchmarks."
}
LEFT = (
    "Only n-gram overlaps count here: edited copies of items stay. Search the dataset with"
    " tokenmill contamination to see them, and with --containment none to see what else is left."
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
        *(found_sections(Summary.model_validate(found)) if found else []),
        *_sections_of_steps(report),
        _section("requirements", "Storage requirements", requirement_blocks(report)),
        _section("failures", "Failed and damaged", failure_blocks(report)),
        _section("time", "Time", _time(report)),
        _section("origin", "How it was made", _origin(report)),
    ]


def _section(key: str, title: str, blocks: Iterable[str | Table]) -> Section:
    return Section(key=key, title=title, blocks=tuple(blocks))


def _sections_of_steps(report: Report) -> Iterator[Section]:
    """What plugged-in steps say of themselves: a table of what each counted."""
    for name, facts in report.get("sections", {}).items():
        rows = [(fact.replace("_", " "), _fact(value)) for fact, value in facts.items()]
        title = name.replace("_", " ").capitalize()
        yield _section(f"own-{name}", title, [table(title, ("what", ">how many"), rows)])


def _fact(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


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
        " ".join([LEFT, *warnings(Summary.model_validate(report["contamination"]))]),
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
        done = {step["step"] for step in report["steps"]}
        before = [name for name in rows if f"{name}-{int(index) - 1}" in done]
        taken = rows[before[0]] if before else None
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
