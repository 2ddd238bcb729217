"""A report as one page of HTML: its sections, with plots; no script, nothing loaded from elsewhere.

Readable in light and dark, on paper, and by a screen reader. All text is escaped.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pipelines import charts
from pipelines.charts import Axis, Bar, Series, Stack, escaped
from pipelines.report_markdown import Section, Table, count, with_error
from pipelines.summary import removed_by_reason
from sizing.units import format_bytes, format_count

Report: TypeAlias = Mapping[str, Any]

OPEN_ROWS = 40  # a longer table is folded
MOST_CLUSTERS = 15

DOCUMENTS = Axis("documents", lambda n: f"{n:,.0f}")
TOKENS = Axis("tokens", format_count)
TEXT = Axis("UTF-8 bytes of text", format_bytes)

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #59636e; --line: #dde1e6;
  --accent: #0b6e99; --gone: #b9c1ca; --wash: #f5f7f9; --warn: #9a3412;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e4e8ec; --soft: #9aa5b1;
  --line: #2e363f; --accent: #4fb3dd; --gone: #56616d; --wash: #1b2027; --warn: #fdba74; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 74rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 var(--sans); }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 3rem 0 .75rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }
p { max-width: 48rem; margin: .6rem 0; overflow-wrap: anywhere; }
a { color: var(--accent); }
nav { margin: 1rem 0; font-size: .9rem; }
nav a { margin-right: 1rem; display: inline-block; }
#summary h2 { display: none; }
#summary p { font-size: 1.1rem; max-width: 54rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: .75rem;
  margin: 1.5rem 0; }
dl div { background: var(--wash); border-radius: 6px; padding: .7rem .9rem; }
dt { color: var(--soft); font-size: .8rem; }
dd { margin: 0; font: 600 1.35rem/1.3 var(--sans); font-variant-numeric: tabular-nums; }
dd small { font-size: .8rem; font-weight: 400; color: var(--soft); display: inline-block; }
dl .trouble { box-shadow: inset 3px 0 var(--warn); }
.tables { display: flex; flex-wrap: wrap; gap: 0 3rem; }
.wide { overflow-x: auto; margin: 1rem 0; max-width: 100%; }
table { border-collapse: collapse; font-size: .87rem; }
caption, summary { text-align: left; font-weight: 600; font-size: .95rem; padding-bottom: .35rem; }
summary { cursor: pointer; margin-top: .8rem; }
th, td { padding: .28rem .8rem .28rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); unicode-bidi: isolate; }
tr > :last-child { padding-right: 0; }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; }
tbody th { font-weight: 500; }
td { overflow-wrap: break-word; max-width: 40rem; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums;
  padding-left: .8rem; }
.number + :not(.number) { padding-left: 1.2rem; }
tbody .code { font-family: var(--mono); font-size: .82rem; overflow-wrap: anywhere;
  min-width: 12rem; }
thead .number { white-space: normal; }
tr.sum th, tr.sum td { font-weight: 650; border-top: 2px solid var(--soft); }
mark { background: var(--wash); color: inherit; border: 1px solid var(--line);
  border-radius: 9px; padding: 0 .5rem; white-space: nowrap; font-size: .8rem; }
mark.measured { border-color: var(--accent); color: var(--accent); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr));
  gap: 2rem 2.5rem; margin: 1.2rem 0; align-items: start; }
figure { margin: 0; break-inside: avoid; max-width: 40rem; }
figcaption { font-weight: 600; font-size: .95rem; margin-bottom: .4rem; }
figcaption small { display: block; font-weight: 400; color: var(--soft); font-size: .82rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
@media print { body { font-size: 10pt; max-width: none; padding: 0; } nav { display: none; }
  h2 { break-after: avoid; margin-top: 1.5rem; } tr { break-inside: avoid; }
  .wide { overflow: visible; } table { font-size: 8pt; } th, td { padding-right: .4rem; }
  .plots { grid-template-columns: 1fr 1fr; gap: 1.2rem; }
  ::details-content { content-visibility: visible; block-size: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""

# the page can run and load nothing, even if an escape were forgotten
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, sections: Sequence[Section], report: Report) -> str:
    """The document as HTML, with plots of the report's figures in their sections."""
    figures = {"plots": _plots(report), "requirements": _requirement_plots(report)}
    shown = [s for s in sections if s.blocks or figures.get(s.key)]
    links = "".join(
        f'<a href="#{s.key}">{escaped(s.title)}</a>' for s in shown if s.key != "summary"
    )
    parts = []
    for section in shown:
        parts.append(_section(section, figures.get(section.key, [])))
        if section.key == "summary":
            parts.append(f'{_key_figures(report)}<nav aria-label="Sections">{links}</nav>')
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}{charts.STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{escaped(title)}</h1>\n{''.join(parts)}</main>\n"
        "<footer>The same figures as data: report.json; as text: report.md.</footer>\n"
        "</body>\n</html>\n"
    )


def _section(section: Section, figures: Sequence[str]) -> str:
    """Its words, the tables that stand open, the plots, then what is folded."""
    words = [f"<p>{escaped(b)}</p>\n" for b in section.blocks if isinstance(b, str)]
    tables = [b for b in section.blocks if isinstance(b, Table)]
    parts = (
        "".join(words),
        _group("tables", [_table(t) for t in tables if not _folded(t)]),
        _group("plots", figures),
        "".join(_table(t) for t in tables if _folded(t)),
    )
    return (
        f'<section id="{section.key}">\n<h2>{escaped(section.title)}</h2>\n'
        f"{''.join(parts)}</section>\n"
    )


def _group(css: str, parts: Sequence[str]) -> str:
    return f'<div class="{css}">\n{"".join(parts)}</div>\n' if parts else ""


def _folded(table: Table) -> bool:
    return table.folded or len(table.rows) > OPEN_ROWS


def _table(table: Table) -> str:
    caption = escaped(table.caption)
    if not table.rows:
        return f"<p><strong>{caption}:</strong> none</p>\n"
    folded = _folded(table)
    head = "".join(
        f'<th scope="col" class="{column.kind}">{escaped(column.name)}</th>'
        for column in table.columns
    )
    body = "".join(
        _row(table, row, last=table.sums and i == len(table.rows) - 1)
        for i, row in enumerate(table.rows)
    )
    begun = f'<table aria-label="{caption}">' if folded else f"<table><caption>{caption}</caption>"
    rows = f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>"
    drawn = f'<div class="wide">{begun}{rows}</table></div>\n'
    if not folded:
        return drawn
    size = count(len(table.rows), "row")
    return f"<details><summary>{caption} ({size})</summary>{drawn}</details>\n"


def _row(table: Table, row: Sequence[str], *, last: bool) -> str:
    cells = []
    for i, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
        text = escaped(cell)
        if column.kind == "mark":
            text = f'<mark class="{"measured" if cell == "measured" else "other"}">{text}</mark>'
        name, scope = ("th", ' scope="row"') if i == 0 else ("td", "")
        cells.append(f'<{name}{scope} class="{column.kind}">{text}</{name}>')
    sums = ' class="sum"' if last else ""
    return f"<tr{sums}>{''.join(cells)}</tr>\n"


def _key_figures(report: Report) -> str:
    """The figures that matter first, large."""
    total, rows = report["measurement"]["total"], report["ledger"]
    figures = [
        ("documents out", f"{rows[-1]['docs_out']:,}", f"of {rows[0]['docs_in']:,}"),
        ("tokens", format_count(total["tokens"]), ""),
    ]
    for name in ("text_bytes_per_token", "stored_bytes_per_token"):
        value, sign, error = with_error(total, name).partition(" ±")
        figures.append((name.replace("_", " "), value, sign + error))
    figures.append(("dataset", format_bytes(report["dataset"]["bytes"]), ""))
    cells = [
        f"<div><dt>{label}</dt><dd>{value} <small>{note}</small></dd></div>"
        for label, value, note in figures
    ]
    return f"<dl>{''.join(cells)}{_troubles(report)}</dl>\n"


def _troubles(report: Report) -> str:
    """A figure more, where inputs or shards failed or were damaged."""
    files, shards = len(report["failed_inputs"]), len(report["failed_shards"])
    damaged = len({d["key"] for d in report["damaged_shards"]})
    if not files + shards + damaged:
        return ""
    counts = {"input file": files, "shard": shards, "damaged shard": damaged}
    note = ", ".join(count(n, noun) for noun, n in counts.items() if n)
    return (
        '<div class="trouble"><dt><a href="#failures">failed or damaged</a></dt>'
        f"<dd>{files + shards + damaged:,} <small>{note}</small></dd></div>"
    )


def _figure(title: str, note: str, drawn: str) -> str:
    small = f"<small>{escaped(note)}</small>" if note else ""
    return f"<figure><figcaption>{escaped(title)}{small}</figcaption>{drawn}</figure>\n"


def _plots(report: Report) -> list[str]:
    """Where documents and text went, why, how long documents are, clusters, sources."""
    made = [_documents_plot(report), _text_plot(report)]
    if any(report["length_bins"]):
        edges = "UTF-8 bytes, log scale"
        bins = report["length_bins"]
        drawn = charts.histogram("lengths", "Document lengths", DOCUMENTS, bins, edges)
        made.append(_figure("Document lengths", "of those that reached the tokenizer", drawn))
    sources = [Bar(k, m["tokens"]) for k, m in report["measurement"].items() if k != "total"]
    if any(bar.value for bar in sources):
        drawn = charts.bars("sources", "Tokens by source", TOKENS, sources)
        made.append(_figure("Tokens by source", "", drawn))
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
    return _figure("Documents by stage", "from those read to those kept; outlined: failed", drawn)


def _text_plot(report: Report) -> str:
    series = (Series("passed on", "main"), Series("removed or edited away", "gone"))
    stacks = [
        Stack(row["stage"], (row["bytes_out"], row["bytes_removed"] + row["bytes_edited"]))
        for row in report["ledger"]
    ]
    drawn = charts.stacked("text", "Bytes of text by stage", TEXT, series, stacks)
    return _figure(
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
    return _figure("Why documents left", note, drawn)


def _cluster_plot(duplicates: Mapping[str, Any]) -> list[str]:
    """The largest clusters of near duplicates, or of exact ones where there was no near step."""
    step = "near" if "near" in duplicates else "exact"
    largest = duplicates.get(step, {}).get("largest", [])[:MOST_CLUSTERS]
    if not largest:
        return []
    title = f"Largest {step}-duplicate clusters"
    clusters = [Bar(str(doc_id), size) for doc_id, size in largest]
    drawn = charts.bars("clusters", title, DOCUMENTS, clusters)
    return [_figure(title, "by the id of their first document", drawn)]


def _requirement_plots(report: Report) -> list[str]:
    """What has to be stored, all of it in bytes."""
    wanted = [r for r in report.get("requirements") or [] if r["unit"] == "bytes"]
    if not wanted:
        return []
    stored = [Bar(r["name"], r["value"]) for r in wanted]
    drawn = charts.bars("stored", "Bytes to store", Axis("bytes", format_bytes), stored)
    return [_figure("Capacity", "each requirement in bytes", drawn)]
