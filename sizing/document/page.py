"""A document as one page of HTML, with plots; no script, nothing loaded from elsewhere.

Readable in light and dark, on paper, and by a screen reader. All text is escaped.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tokenmill.sizing.document import passages, pictures, svg
from tokenmill.sizing.document.section import (
    Comparisons,
    Derivation,
    Derivations,
    Section,
    Table,
    count,
)
from tokenmill.sizing.document.svg import escaped

OPEN_ROWS = 40  # a longer table is folded
SUMMARY = "summary"  # key of the section that needs no heading: the key figures follow it

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
mark.measured, mark.enough { border-color: var(--accent); color: var(--accent); }
mark.short, mark.unverified { border-color: var(--warn); color: var(--warn); }
.derivation { margin: 1rem 0 1.4rem; }
.derivation h3 { font-size: .95rem; margin: 0; }
.derivation p, .derivation .wide { margin: .3rem 0; }
code { font-family: var(--mono); font-size: .82rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr));
  gap: 2rem 2.5rem; margin: 1.2rem 0; align-items: start; }
figure { margin: 0; break-inside: avoid; max-width: 40rem; }
figcaption { font-weight: 600; font-size: .95rem; margin-bottom: .4rem; }
figcaption small { display: block; font-weight: 400; color: var(--soft); font-size: .82rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) { tbody th { min-width: 8.5rem; } }
@media (min-width: 40rem) { caption { white-space: nowrap; } }
@media print { #derivations { display: none; }
  body { font-size: 10pt; max-width: none; padding: 0; } nav { display: none; }
  h2 { break-after: avoid; margin-top: 1.5rem; } tr { break-inside: avoid; }
  .wide { overflow: visible; } table { font-size: 8pt; } th, td { padding-right: .4rem; }
  .plots { grid-template-columns: 1fr 1fr; gap: 1.2rem; }
  ::details-content { content-visibility: visible; block-size: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""

# the page can run and load nothing but pictures within it, even if an escape were forgotten
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class KeyFigure(NamedTuple):
    """A figure set large.  trouble: the section that tells of what went wrong, if it is that."""

    label: str
    value: str
    note: str = ""
    trouble: str | None = None


def page(
    title: str,
    sections: Sequence[Section],
    *,
    key_figures: Sequence[KeyFigure],
    plots: Mapping[str, Sequence[str]],
    footer: str,
) -> str:
    """The document as HTML.

    plots: drawn by `figure`, by the key of the section that they belong to.
    """
    shown = [s for s in sections if s.blocks or plots.get(s.key)]
    links = "".join(f'<a href="#{s.key}">{escaped(s.title)}</a>' for s in shown if s.key != SUMMARY)
    parts = []
    for section in shown:
        parts.append(_section(section, plots.get(section.key, ())))
        if section.key == SUMMARY:
            parts.append(f'{_key_figures(key_figures)}<nav aria-label="Sections">{links}</nav>')
    style = STYLE + svg.STYLE + passages.STYLE + pictures.STYLE
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{escaped(title)}</h1>\n{''.join(parts)}</main>\n"
        f"<footer>{escaped(footer)}</footer>\n</body>\n</html>\n"
    )


def figure(title: str, note: str, drawn: str) -> str:
    """A chart with what it shows."""
    small = f"<small>{escaped(note)}</small>" if note else ""
    return f"<figure><figcaption>{escaped(title)}{small}</figcaption>{drawn}</figure>\n"


def _section(section: Section, figures: Sequence[str]) -> str:
    """Its words, the tables that stand open, the plots, passages, then what is folded."""
    words = [f"<p>{escaped(b)}</p>\n" for b in section.blocks if isinstance(b, str)]
    tables = [b for b in section.blocks if isinstance(b, Table)]
    open_tables = [_table(t, section.title) for t in tables if not _folded(t)]
    parts = (
        "".join(words),
        _group("tables", open_tables),
        _group("plots", figures),
        "".join(passages.drawn(b) for b in section.blocks if isinstance(b, Comparisons)),
        "".join(_table(t, section.title) for t in tables if _folded(t)),
        "".join(_derivations(b) for b in section.blocks if isinstance(b, Derivations)),
    )
    return (
        f'<section id="{section.key}">\n<h2>{escaped(section.title)}</h2>\n'
        f"{''.join(parts)}</section>\n"
    )


def _group(css: str, parts: Sequence[str]) -> str:
    return f'<div class="{css}">\n{"".join(parts)}</div>\n' if parts else ""


def _derivations(block: Derivations) -> str:
    size = count(len(block.rows), "figure")
    return (
        f"<details><summary>{escaped(block.caption)} ({size})</summary>\n"
        f"{''.join(_derivation(row) for row in block.rows)}</details>\n"
    )


def _derivation(of: Derivation) -> str:
    given = "".join(
        f'<tr><th scope="row" class="code">{escaped(g.name)}</th>'
        f'<td class="number">{escaped(g.shown)}</td><td>{_mark(g.mark)}</td>'
        f"<td>{escaped(g.source)}</td></tr>"
        for g in of.given
    )
    return (
        f'<div class="derivation"><h3>{escaped(of.name)} = {escaped(of.shown)}</h3>'
        f"<p><code>{escaped(of.equation)}</code></p>"
        f'<div class="wide"><table aria-label="{escaped(of.name)}"><tbody>{given}</tbody></table>'
        f"</div><p><small>Formula: {escaped(of.source)}.</small></p></div>\n"
    )


def _mark(text: str) -> str:
    """A word of few; what it means stands in it, its colour only repeats that."""
    first = text.split(" ")[0]
    css = first if text in ("measured", "enough") or first in ("short", "unverified") else "other"
    return f'<mark class="{css}">{escaped(text)}</mark>' if text else ""


def _folded(table: Table) -> bool:
    return table.folded or len(table.rows) > OPEN_ROWS


def _table(table: Table, title: str) -> str:
    """With its caption, unless that only repeats the title of the section."""
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
    begun = f"<table><caption>{caption}</caption>"
    if folded or table.caption == title:
        begun = f'<table aria-label="{caption}">'
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
            text = _mark(cell)
        name, scope = ("th", ' scope="row"') if i == 0 else ("td", "")
        cells.append(f'<{name}{scope} class="{column.kind}">{text}</{name}>')
    sums = ' class="sum"' if last else ""
    return f"<tr{sums}>{''.join(cells)}</tr>\n"


def _key_figures(figures: Sequence[KeyFigure]) -> str:
    cells = []
    for one in figures:
        label, css = escaped(one.label), ""
        if one.trouble is not None:
            label, css = f'<a href="#{one.trouble}">{label}</a>', ' class="trouble"'
        shown = f"{escaped(one.value)} <small>{escaped(one.note)}</small>"
        cells.append(f"<div{css}><dt>{label}</dt><dd>{shown}</dd></div>")
    return f"<dl>{''.join(cells)}</dl>\n" if cells else ""
