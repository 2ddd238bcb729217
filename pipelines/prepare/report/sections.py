"""The report of a run, on disk: as data, as Markdown and as a page with plots.

    report of `summarize` ─┬─ report.json
                           └─ sections: paragraphs and tables ─┬─ report.md
                                                               └─ report.html, with plots

Every figure shown is read off the report's data, or is a sum or ratio of such figures.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from tokenmill.pipelines.contamination.report_found import found_sections, warnings
from tokenmill.pipelines.core.measured import TOTAL
from tokenmill.pipelines.prepare.report.duplicates import (
    DOCUMENTS,
    cluster_plot,
    duplicate_blocks,
    or_none,
    similarity_plot,
)
from tokenmill.pipelines.prepare.report.images import (
    absent_columns,
    image_blocks,
    image_plots,
    notes_table,
    reasons_plot,
    whole,
)
from tokenmill.pipelines.prepare.report.model import Against, Report, StepTime, Tokenizer
from tokenmill.pipelines.prepare.report.thumbnails import contact_sheet
from tokenmill.pipelines.read.readers import passed_over
from tokenmill.pipelines.runs.report import (
    failed_in_short,
    failure_blocks,
    failure_figures,
    fixed,
    texts_table,
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
from tokenmill.sizing.units import format_bytes, format_count, percent

MOST_LISTED = 10
MOST_SOURCES = 50

TOKENS = Axis("tokens", format_count)
TEXT = Axis("UTF-8 bytes of text", format_bytes)


def report_page(
    title: str, sections: Sequence[Section], report: Report, sheets: Sequence[str]
) -> str:
    """The document as HTML, plots of the report in their sections; sheets: pictures of images."""
    return page(
        title,
        sections,
        key_figures=[
            *_key_figures(report),
            *failure_figures(report, sum(report.failed_documents().values()), "failures"),
        ],
        plots={
            "plots": _plots(report),
            "images": [*image_plots(report), *sheets],
            "duplicates": similarity_plot(report),
        },
        footer="The same figures as data: report.json; as text: report.md.",
    )


def _key_figures(report: Report) -> list[KeyFigure]:
    """The figures that matter first."""
    rows = report.ledger
    figures = [KeyFigure("documents out", f"{rows[-1].docs_out:,}", f"of {rows[0].docs_in:,}")]
    if report.dataset is None or report.total.tokens is None:
        figures.append(KeyFigure("text out", format_bytes(rows[-1].bytes_out), "UTF-8"))
        if (text := report.text) is not None:
            note = f"{text.format}, zstd level {text.zstd_level}"
            figures.append(KeyFigure("kept text on disk", format_bytes(text.bytes), note))
        return figures
    figures.append(KeyFigure("tokens", format_count(report.total.tokens)))
    for what in ("text", "stored"):
        value, sign, error = _ratio(report, what).partition(" ±")
        figures.append(KeyFigure(f"{what} bytes per token", value, sign + error))
    return [*figures, KeyFigure("dataset", format_bytes(report.dataset.bytes))]


def _ratio(report: Report, of: str) -> str:
    """Bytes per token.  of: "text" or "stored"."""
    name = f"{of}_bytes_per_token"
    return with_error(getattr(report.total, name), getattr(report.total, f"{name}_se"))


def _plots(report: Report) -> list[str]:
    """Where documents and text went, why, how long documents are, clusters, sources."""
    plots = [_documents_plot(report), _text_plot(report)]
    if any(report.length_bins):
        edges = "UTF-8 bytes, log scale"
        bins = report.length_bins
        drawn = charts.histogram("lengths", "Document lengths", DOCUMENTS, bins, edges)
        plots.append(figure("Document lengths", f"of those that {report.reached}", drawn))
    sources = [Bar(k, m.tokens or 0) for k, m in report.measurement.items() if k != TOTAL]
    if any(bar.value for bar in sources):
        drawn = charts.bars("sources", "Tokens by source", TOKENS, sources)
        plots.append(figure("Tokens by source", "", drawn))
    if any(row.removed or row.failed for row in report.ledger):
        plots.append(_reasons_plot(report))
    plots += cluster_plot(report)
    return plots


def _documents_plot(report: Report) -> str:
    """A waterfall of documents; a stage that takes and makes none has no row."""
    rows = report.ledger
    changes = []
    for row in rows:
        bars = (
            Bar(f"{row.stage}: created", -row.docs_created),
            Bar(row.stage, sum(row.removed.values()), "gone"),
            Bar(f"{row.stage}: failed", sum(row.failed.values()), "failed"),
        )
        changes += [bar for bar in bars if bar.value]
    start = Bar(f"into {rows[0].stage}", rows[0].docs_in)
    end = f"out of {rows[-1].stage}"
    drawn = charts.waterfall("documents", "Documents by stage", DOCUMENTS, start, changes, end)
    return figure("Documents by stage", "from those read to those kept; outlined: failed", drawn)


def _text_plot(report: Report) -> str:
    series = (Series("passed on", "main"), Series("removed or edited away", "gone"))
    stacks = [
        Stack(row.stage, (row.bytes_out, max(row.bytes_removed + row.bytes_edited, 0)))
        for row in report.ledger
    ]
    drawn = charts.stacked("text", "Bytes of text by stage", TEXT, series, stacks)
    return figure(
        "Text by stage", "what each stage took in; the figure is what it passed on", drawn
    )


def _reasons_plot(report: Report) -> str:
    """Bars by reason; one that several stages give is told apart by its stage."""
    rows = report.documents_that_left()
    stages = Counter(reason for _, _, reason, _ in rows)
    labelled = (
        (reason if stages[reason] == 1 else f"{reason} · {stage}", outcome, n)
        for stage, outcome, reason, n in rows
    )
    return reasons_plot("reasons", DOCUMENTS, labelled)


def _storage(report: Report) -> list[str]:
    """How to learn what storage training asks for; nothing, where there is nothing to train on."""
    if not report.total.stored_bytes_per_token:
        alone = "Documents are kept as text alone: without tokens nothing is to be sized."
        return [alone] if report.total.tokens is None else []
    return [
        f"{storage_way(report)}; where prepare was given the plan, requirements.html beside this"
        " report tells."
    ]


def storage_way(report: Report) -> str:
    """How to learn what storage training asks for, once there is a plan of it."""
    run = report.dataset.path.removesuffix("/dataset") if report.dataset else "RUN"
    return f"tokenmill size PLAN --corpus {run} says what storage it takes to train on this dataset"


def _against(against: Against | None) -> list[str | Table]:
    """Sentences and a table; none of a run that stands alone."""
    if against is None:
        return []
    runs = [(run.path, f"{run.docs:,}") for run in against.runs]
    return [
        *against_lines(against),
        table("Earlier runs, oldest first", ("`run", ">documents held"), runs),
    ]


def against_lines(against: Against) -> list[str]:
    """How many documents went because an earlier run holds them, and what to know of that."""
    by_step = against.duplicates
    listed = ", ".join(f"{step} {n:,}" for step, n in by_step.items())
    return [
        f"Duplicates of documents that earlier runs hold: {sum(by_step.values()):,}"
        + (f" ({listed})." if listed else "."),
        *(f"{remark[0].upper()}{remark[1:]}." for remark in against.remarks),
    ]


RULES = {  # of actions whose name does not say all
    "paragraph": " Dropped are paragraphs of at least 13 words with at least half of their n-grams"
    " from benchmarks."
}
LEFT = (
    "Only n-gram overlaps count here: edited copies of items stay unless edited is set. Search the"
    " run with tokenmill contamination to see what is left, if it kept its text."
)


def write_report(out: Path, report: Report) -> None:
    """Write report.json, report.md and report.html into `out`, each atomically."""
    write_json(out / "report.json", report.to_json())
    title, parts = f"Report of the run {report.name}", sections(report)
    write_text(out / "report.md", markdown(title, parts))
    sheets = contact_sheet(out / "thumbnails", report.ledger)
    write_text(out / "report.html", report_page(title, parts, report, sheets))


def sections(report: Report) -> list[Section]:
    """What a reader wants to know, in the order in which it is asked."""
    contamination = report.found_items
    return [
        Section("summary", "In short", [headline(report), *_warnings(report)]),
        Section("ledger", "Where documents and bytes went", _ledger(report)),
        Section("plots", "Plots", []),
        Section("measurement", "Measurement", _measurement(report)),
        *mixture_sections(report.mixture),
        Section("images", "Images", image_blocks(report)),
        Section("duplicates", "Duplicates", [*duplicate_blocks(report), *_against(report.against)]),
        *(
            Section(f"step-{name}", name.replace("_", " ").capitalize(), [rows])
            for name, rows in further_tables(report).items()
        ),
        Section("decontaminate", "Benchmark items", _decontaminate(report)),
        *(found_sections(contamination) if contamination else []),
        Section("storage", "Storage to train on it", _storage(report)),
        Section("failures", "Failed and damaged", [*_failed(report), *failure_blocks(report)]),
        Section("time", "Time", _time(report)),
        Section("origin", "How it was made", _origin(report)),
    ]


def _warnings(report: Report) -> list[str]:
    more = len(report.warnings) - MOST_SOURCES
    told = [f"Warning: {line}." for line in report.warnings[:MOST_SOURCES]]
    return told + [f"{count(more, 'further warning')} in report.json."] * (more > 0)


def further_tables(report: Report) -> dict[str, Table]:
    """What each further step tells, key by key; of a list the first MOST_LISTED."""
    return {
        name: table(f"What {name} tells", ("what", ">value"), _cells(facts))
        for name, facts in (report.sections or {}).items()
    }


def _cells(facts: Mapping[str, JsonValue], within: str = "") -> Iterator[tuple[str, str]]:
    """A row for each value; the keys of one inside others are joined.

    >>> list(_cells({"docs": 1234, "hosts": {"most": ["a", 9]}, "share": None}))
    [('docs', '1,234'), ('hosts, most', 'a, 9'), ('share', '—')]
    """
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _cells(value, f"{within}{name}, ")
        else:
            yield f"{within}{name}".replace("_", " "), _cell(value)


def _cell(value: JsonValue) -> str:
    if value is None:
        return NONE
    if isinstance(value, list):
        more = [f"{len(value) - MOST_LISTED:,} more"] if len(value) > MOST_LISTED else []
        return ", ".join([*map(_cell, value[:MOST_LISTED]), *more])
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def headline(report: Report) -> str:
    """The run in one paragraph: in, out, tokens, bytes per token, dataset, failures."""
    inputs, rows, total, mixture = report.inputs, report.ledger, report.total, report.mixture
    last = [row for row in rows if row.stage not in ("mix", "pack") or mixture is None][-1]
    docs_in, docs_out = rows[0].docs_in, last.docs_out
    kept = f" ({100 * docs_out / docs_in:.1f} %)" if docs_in else ""
    sentences = [
        f"Of {count(docs_in, 'document')} in {count(inputs.files, 'input file')}"
        f" ({format_bytes(inputs.bytes)}, {count(inputs.shards, 'shard')}),"
        f" {docs_out:,} came out{kept}: {format_bytes(last.bytes_out)} of text"
        + (f", {count(total.tokens, 'token')}." if total.tokens is not None else ".")
    ]
    if total.tokens is None:
        sentences.append("The run has no tokenizer: tokens, and bytes of one, are not known.")
    elif total.text_bytes_per_token is None:
        sentences.append("Nothing reached the tokenizer, so there are no bytes per token.")
    elif total.stored_bytes_per_token is None:
        sentences.append("No sequence was filled: the dataset has no tokens.")
    else:
        of_text, other = (" of text", ", any token") if total.images else ("", " and")
        sentences.append(
            f"A token{of_text} stands for {_ratio(report, 'text')} bytes of"
            f" UTF-8 text{other} takes {_ratio(report, 'stored')} bytes in the"
            f" dataset (± one standard error over {count(total.shards, 'shard')})."
        )
    if mixture is not None:
        sentences.append(mixed_in_short(mixture))
    dataset = report.dataset
    if dataset is not None and not report.made_nothing:
        sentences.append(f"The dataset takes {format_bytes(dataset.bytes)} in {dataset.path}.")
    if report.text is not None and not report.made_nothing:
        text = report.text
        sentences.append(
            f"The text of {count(text.docs, 'document')} is kept in {text.path}: {text.format},"
            f" zstd level {text.zstd_level}, {format_bytes(text.bytes)}."
        )
    sentences += absent_columns(report)
    images = sum(n for _, how, _, n in report.images_that_left() if how == "failed")
    failed = failed_in_short(report, sum(report.failed_documents().values()), images)
    return " ".join([*sentences, failed])


def _failed(report: Report) -> list[str | Table]:
    first = report.first_failed
    rows = [(c, f"{n:,}", first.get(c, NONE)) for c, n in report.failed_documents().items()]
    columns = ("cause", ">documents", "`the first of them")
    failed = [table("Documents that failed", columns, rows)] if rows else []
    of = report.inputs
    return [*failed, *passed_over(of.skipped, MOST_LISTED, of.other_format or ())]


def _ledger(report: Report) -> list[str | Table]:
    rows = report.ledger
    stages = [row.stage for row in rows]
    docs = [row.counts for row in rows]
    text = [(r.bytes_in, r.bytes_removed, r.bytes_edited, r.bytes_out) for r in rows]
    d, b = whole(docs), whole(text)
    more, less = max(-b[2], 0), max(b[2], 0)  # copies of a mixture are text that was added
    left = sorted(report.documents_that_left(), key=lambda r: (stages.index(r[0]), -r[3]))
    reasons = [(stage, reason, outcome, f"{n:,}") for stage, outcome, reason, n in left]
    columns = ("stage", "reason", "outcome", ">documents")
    return [
        f"Documents: {d[0]:,} in + {d[1]:,} created {_equal(d[0] + d[1], d[2] + d[3] + d[4])}"
        f" {d[2]:,} removed + {d[3]:,} failed + {d[4]:,} out.",
        f"Bytes of text (UTF-8): {b[0]:,} in{f' + {more:,} added' if more else ''}"
        f" {_equal(b[0] + more, b[1] + less + b[3])}"
        f" {b[1]:,} removed + {less:,} edited away + {b[3]:,} out.",
        _counts("Documents by stage", ("in", "created", "removed", "failed", "out"), stages, docs),
        _counts("Bytes of text by stage", ("in", "removed", "edited away", "out"), stages, text),
        table("Documents that left, by reason", columns, reasons),
        *_left_by_source(report),
        *notes_table(report.notes),
    ]


def _left_by_source(report: Report) -> list[str | Table]:
    """The MOST_LISTED reasons for which most left, of the MOST_SOURCES of which most did; nothing
    of one source alone.
    """
    by_source = report.left_by_source()
    if len(by_source) < 2:
        return []
    most = sorted(by_source, key=lambda name: -sum(left[3] for left in by_source[name]))
    more = len(most) - MOST_SOURCES
    rows = [
        (source, stage, reason, outcome, f"{n:,}", percent(n / came))
        for source in most[:MOST_SOURCES]
        for stage, outcome, reason, n, came in by_source[source][:MOST_LISTED]
    ]
    columns = ("source", "stage", "reason", "outcome", ">documents", ">of those that came to it")
    title = f"Documents that left, by source: {MOST_LISTED} reasons each"
    rest = f"Of {count(more, 'further source')} fewer left, see ledger_by_source in report.json."
    return [table(title, columns, rows), *[rest] * (more > 0)]


def _measurement(report: Report) -> list[str | Table]:
    of_text = "text token" if report.total.images else "token"  # those of images have no text
    columns = (
        *("source", ">shards", ">documents", ">characters", ">text bytes", ">tokens"),
        *(f">text bytes per {of_text}", ">se (text)", ">stored bytes per token", ">se (stored)"),
    )[: None if report.tokenizer else 5]
    sources = [(k, m) for k, m in report.measurement.items() if k != TOTAL]
    rows = [
        (
            source,
            *(or_none(n) for n in (m.shards, m.docs, m.chars, m.text_bytes, m.tokens)),
            *(fixed(r) for r in (m.text_bytes_per_token, m.text_bytes_per_token_se)),
            *(fixed(r) for r in (m.stored_bytes_per_token, m.stored_bytes_per_token_se)),
        )[: len(columns)]
        for source, m in [*sources, ("all sources", report.total)]
    ]
    splits = [
        (name, *(or_none(n) for n in (s.docs, s.tokens, s.sequences, s.files)))
        for name, s in (report.dataset.splits if report.dataset else {}).items()
    ]
    layout = ("split", ">documents", ">tokens", ">sequences", ">files")
    stored = [(name, f"{n:,}", format_bytes(n)) for name, n in report.stored_bytes.items()]
    return [
        f"Counted over the documents that {report.reached}. Text bytes are UTF-8"
        + (
            "; stored bytes are those of the dataset's files, format included. A standard error"
            " (se) is over shards, so a source in one shard has none."
            if report.tokenizer
            else "."
        ),
        table("Measured by source", columns, rows, sums=True),
        *([table("Splits", layout, splits)] if report.dataset else []),
        table("Written by folder", ("folder", ">bytes", ">about"), stored, folded=True),
    ]


def _decontaminate(report: Report) -> list[str | Table]:
    """What was done about benchmark items; what was found follows in sections of its own."""
    row = next((row for row in report.ledger if row.stage == "decontaminate"), None)
    contamination = report.found_items
    if row is None or contamination is None:
        return []
    action = str(contamination.settings.action)
    edited = getattr(contamination.settings, "edited", None)
    copies = f", of edited copies {edited}" if edited else ""
    left = ", ".join(f"{reason} {n:,}" for reason, n in row.removed.items()) or "none"
    return [
        f"Action {action}{copies}: {count(row.docs_in, 'document')} in, {row.docs_created:,} more"
        f" made by cutting, {row.docs_out:,} out; dropped: {left}."
        f" Of {format_bytes(row.bytes_in)} of text {format_bytes(row.bytes_edited)} was cut out and"
        f" {format_bytes(row.bytes_removed)} dropped."
        " What follows was found before that, in"
        " documents as the step took them in. For items under 8 words nothing is cut."
        f"{RULES.get(action, '')}",
        " ".join([*([] if edited else [LEFT]), *warnings(contamination)]),
    ]


def _time(report: Report) -> list[str | Table]:
    rows = [
        (s.step, f"{s.works:,}", f"{s.wall_s:,.2f}", f"{s.cpu_s:,.2f}", _mb_per_s(report, s))
        for s in report.steps
    ]
    whole = "" if report.seconds is None else f"The whole run took {report.seconds:,.1f} s. "
    return [
        f"{whole}Wall and CPU time are added up over the works of a step, which run side by side;"
        " CPU time is that of a work's own thread, without threads that libraries start. MB/s is"
        " the text that goes into a step over its wall time: of one worker, that is.",
        table("Steps", ("step", ">works", ">wall, s", ">CPU, s", ">text, MB/s a worker"), rows),
    ]


def _mb_per_s(report: Report, step: StepTime) -> str:
    """MB of text that go into a step, per second of a worker; a dash for steps that see no text."""
    kind, _, index = step.step.partition("-")
    rows = {row.stage: row.bytes_in for row in report.ledger}
    taken = None
    if kind == "pass" and index == "0":
        taken = rows.get("read")
    elif kind == "pass":  # it begins by dropping what the corpus-wide steps before it found
        done = {done.step for done in report.steps}
        before = [name for name in rows if f"{name}-{int(index) - 1}" in done]
        taken = rows[before[0]] if before else None
    if taken is None or not step.wall_s:
        return NONE
    return f"{taken / 1e6 / step.wall_s:,.2f}"


def _origin(report: Report) -> list[str | Table]:
    tokenizer, dataset, machine = report.tokenizer, report.dataset, report.machine
    rows = [("run identity", report.identity)]
    if tokenizer is not None:
        rows += [
            ("tokenizer", tokenizer.path),
            ("tokenizer digest", tokenizer.digest),
            ("tokenizer engine", tokenizer.engine),
            *_engines(tokenizer),
            ("largest token id", f"{tokenizer.largest_id:,}"),
        ]
    if dataset is not None:
        rows += [("token type", dataset.dtype), ("sequence length", or_none(dataset.seq_len))]
    rows += [
        ("system", machine.system),
        ("Python", machine.python),
        *machine.libraries.items(),
        ("report version", report.report),
    ]
    texts = texts_table(report.inputs)
    return [*([texts] if texts.rows else ()), table("Made with", ("what", "`value"), rows)]


def _engines(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    """Which engine encoded what, and why not the fast one."""
    by_engine = tokenizer.docs_by_engine.items()
    rows = [(f"documents encoded by {name}", f"{docs:,}") for name, docs in by_engine]
    if tokenizer.why:
        rows.append(("why no faster engine", tokenizer.why))
    return rows + [
        (f"shard {m.key}", f"{m.message}; encoded exactly") for m in tokenizer.mismatches
    ]


def _counts(
    caption: str, names: Iterable[str], stages: list[str], rows: Sequence[tuple[int, ...]]
) -> Table:
    """A ledger table of counts by stage, the whole run last."""
    cells = [
        (stage, *(f"{n:,}" for n in row))
        for stage, row in zip([*stages, "whole run"], [*rows, whole(rows)], strict=True)
    ]
    return table(caption, ("stage", *(f">{name}" for name in names)), cells, sums=True)


def _equal(left: int, right: int) -> str:
    return "=" if left == right else "≠"
