"""What commands print: paragraphs and tables on stdout, in plain width where it is no terminal."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.protocol import is_renderable
from rich.table import Table
from rich.text import Text

from tokenmill.sizing.document import section

PIPED_WIDTH = 110
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline
MOST_WIDE = 6  # columns of a document's table whose names stand in one line
MATCH = "bold black on yellow"
AROUND_CHARS, MATCH_CHARS = 80, 240  # shown of a text, beside what is marked, and of that


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `main`, whose exit code is 0, where rich's own is 1."""
        raise


def console() -> Console:
    """Stdout; documents and ids are untrusted text, so markup in them is never obeyed."""
    wide = None if sys.stdout.isatty() else PIPED_WIDTH
    return _Console(markup=False, highlight=False, emoji=False, width=wide)


def as_json(value: Any) -> None:
    """Print a value as JSON, and nothing else; dates as ISO 8601."""
    text = json.dumps(value, indent=1, ensure_ascii=False, default=datetime.isoformat)
    sys.stdout.write(f"{text}\n")


def show(*blocks: Any) -> None:
    """Print blocks with an empty line between them.

    A block is a paragraph, a table of ours or of a document, whatever else Rich can print, a
    function that prints to a console, or some of these with no line between them. None, and a list
    of nothing, is left out.
    """
    to, is_first = console(), True
    for block in blocks:
        parts = block if isinstance(block, list | tuple) else [block]
        parts = [part for part in parts if part is not None]
        if parts and not is_first:
            to.print()
        for part in parts:
            part(to) if callable(part) else to.print(_drawn(part))
            is_first = False


def _drawn(part: Any) -> RenderableType:
    if isinstance(part, section.Table):
        names = [f">{c.name}" if c.kind == "number" else c.name for c in part.columns]
        rows = [[*map(_in_line, row, part.columns)] for row in part.rows]
        widths = [
            max(map(len, cells if cells[0].startswith(">") else cells[:1]))  # text folds
            for cells in zip(names, *rows, strict=True)
        ]
        if len(names) > MOST_WIDE or sum(widths) + len(names) * len("  ") > console().width:
            names = [name.replace(" ", "\n") for name in names]
        made, to = table(part.caption, names, rows), console()
        if to.measure(made, options=to.options.update_width(sys.maxsize)).minimum > to.width:
            made.padding = (0, 1, 0, 0)  # numbers are never cut: names would be left no room
        return made
    return Text(printable(part)) if isinstance(part, str) else part


def _in_line(cell: str, of: section.Column) -> str:
    """A cell without line breaks; of a long text, which a name with no space is not, the first."""
    line = " ".join(cell.split())
    is_long = of.kind == "code" and " " in line and len(line) > AROUND_CHARS
    return f"{line[:AROUND_CHARS]}…" if is_long else line


def filled(of: Table) -> Table | None:
    """The table, if it has rows."""
    return of if of.row_count else None


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """A table; columns whose name begins with ">" are numbers, set to the right."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        right = column.startswith(">")
        made.add_column(
            column.removeprefix(">"),
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=right,
        )
    for row in rows:
        made.add_row(
            *[Text(_cell(v)) if isinstance(v, str) or not is_renderable(v) else v for v in row]
        )
    return made


def of_page(page: Iterable[section.Section], shown: Mapping[str, slice]) -> Iterator[section.Table]:
    """Tables of a page that stand open and have rows.  shown: which, by keys of their sections."""
    for part in page:
        tables = [b for b in part.blocks if isinstance(b, section.Table)]
        shown_here = tables[shown.get(part.key, slice(0))]
        yield from (of for of in shown_here if of.rows and not of.folded)


def beside(of: section.Comparison) -> Group:
    """Two texts in columns, some of each around what is marked."""
    sides = Table(box=None, pad_edge=False, expand=True)
    for side in of.sides:
        sides.add_column(Text(printable(side.name), style="bold"), ratio=1, overflow="fold")
    sides.add_row(*(marked(side.pieces) for side in of.sides))
    facts = Text(printable(" · ".join(of.facts)), style="dim")
    return Group(Text(printable(of.title), style="bold"), sides, facts)


def marked(pieces: Sequence[section.Piece]) -> Text:
    """A text in one line, what is marked as such, shortened where it is long."""
    made = Text()
    for n, piece in enumerate(pieces):
        text = printable(re.sub(r"\s+", " ", piece.text))
        head = tail = MATCH_CHARS // 2
        if not piece.marked:
            head = AROUND_CHARS * (n > 0 or len(pieces) == 1)
            tail = AROUND_CHARS * (n + 1 < len(pieces))
        if len(text) > head + tail:
            text = f"{text[:head]}…{text[len(text) - tail :]}"
        made.append(text, MATCH if piece.marked else "")
    return made


def printable(text: str) -> str:
    """Text with control characters made visible: a document cannot steer the terminal."""
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return printable(str(value))
