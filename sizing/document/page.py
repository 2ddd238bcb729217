"""A document as one page of HTML, with plots; no script, nothing loaded from elsewhere.

Readable in light and dark, on paper, and by a screen reader. All text is escaped.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tokenmill.sizing.document import passages
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
STYLE = Path(__file__).with_name("page.css")
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
    """The document as HTML; plots: drawn by `figure`, by the key of their section."""
    shown = [s for s in sections if s.blocks or plots.get(s.key)]
    links = "".join(f'<a href="#{s.key}">{escaped(s.title)}</a>' for s in shown if s.key != SUMMARY)
    parts = []
    for section in shown:
        drawn = plots.get(section.key, ())
        if section.key == SUMMARY:
            figures = _key_figures(key_figures) + _group("plots", drawn)
            links = f'<nav aria-label="Sections">{links}</nav>'
            parts += [_section(section, ()), figures, links]
        else:
            parts.append(_section(section, drawn))
    style = "\n" + STYLE.read_text(encoding="utf-8")
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
