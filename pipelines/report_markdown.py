"""A report as a document: sections of paragraphs and tables; and that document as Markdown.

Every cell and paragraph is plain text, some of it untrusted (paths, sources, reasons, names):
whoever renders it escapes it.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

ColumnKind: TypeAlias = Literal["text", "number", "code", "mark"]

# what Markdown or the HTML in it would obey; an underscore inside a word is none of it
_OBEYED = re.compile(r"[\\`*\[\]|~]|(?<!\w)_|_(?!\w)")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]+")


KINDS: dict[str, ColumnKind] = {">": "number", "`": "code", "*": "mark"}
NONE = "—"  # in a cell: there is no such figure


class Column(NamedTuple):
    """kind: numbers stand to the right; code is set in one width; a mark is one of few words."""

    name: str
    kind: ColumnKind = "text"


@dataclass(frozen=True, kw_only=True)
class Table:
    """caption: says what the rows are.  sums: the last row is the whole of the others.

    folded: only for readers who ask for it; shown whole where nothing can be folded.

    Raises:
        ValueError: a row has not as many cells as there are columns.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    sums: bool = False
    folded: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.caption}: {len(row)} cells in {len(self.columns)} columns")


@dataclass(frozen=True, kw_only=True)
class Section:
    """key: names it inside a document.  blocks: paragraphs and tables, in order.

    A paragraph begins with a word of ours, so that it begins no list and no heading.
    """

    key: str
    title: str
    blocks: tuple[str | Table, ...]


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[tuple[str, ...]],
    *,
    sums: bool = False,
    folded: bool = False,
) -> Table:
    """A table whose columns say by their first character of which kind they are (`KINDS`)."""
    made = tuple(
        Column(name[1:], KINDS[name[0]]) if name[0] in KINDS else Column(name) for name in columns
    )
    return Table(caption=caption, columns=made, rows=tuple(rows), sums=sums, folded=folded)


def count(n: int, noun: str) -> str:
    """A count and what is counted.

    >>> count(1, "shard"), count(4733, "document")
    ('1 shard', '4,733 documents')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def fixed(value: float | None) -> str:
    """A ratio in a column of ratios."""
    return NONE if value is None else f"{value:,.4f}"


def with_error(measured: Mapping[str, Any], name: str) -> str:
    """The figure `name` with its standard error to two significant digits, if it has one.

    >>> with_error({"r": 3.72998, "r_se": 0.05379}, "r")
    '3.730 ± 0.054'
    """
    value, se = measured[name], measured[f"{name}_se"]
    if value is None:
        return NONE
    if not se:
        return f"{value:,.3f}"
    digits = max(0, 1 - math.floor(math.log10(se)))
    return f"{value:,.{digits}f} ± {se:,.{digits}f}"


def markdown(title: str, sections: Sequence[Section]) -> str:
    """The document as GitHub-flavoured Markdown; a section without blocks is left out."""
    parts = [f"# {_plain(title)}"]
    for section in sections:
        if section.blocks:
            parts.append(f"## {_plain(section.title)}")
            parts += [_plain(b) if isinstance(b, str) else _table(b) for b in section.blocks]
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    if not table.rows:
        return f"**{_plain(table.caption)}:** none"
    rule = ["---:" if column.kind == "number" else "---" for column in table.columns]
    lines = [[_plain(column.name) for column in table.columns], rule]
    lines += [[_plain(cell) for cell in row] for row in table.rows]
    if table.sums:
        lines[-1] = [f"**{cell}**" if cell else "" for cell in lines[-1]]
    drawn = "\n".join(_line(line) for line in lines)
    return f"**{_plain(table.caption)}**\n\n{drawn}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line.

    >>> _plain("a|b <script> too_few_words *x*")
    'a\\\\|b &lt;script&gt; too_few_words \\\\*x\\\\*'
    """
    text = text.encode("utf-8", "replace").decode()  # half characters, of paths that are not UTF-8
    text = _BLANK.sub(" ", text).strip()
    text = _OBEYED.sub(lambda found: f"\\{found[0]}", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
