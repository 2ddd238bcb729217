"""A document: sections of paragraphs, tables and other blocks, made into pages and Markdown.

Every cell and paragraph is plain text, some of it untrusted (paths, sources, reasons, names):
whoever renders it escapes it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

ColumnKind: TypeAlias = Literal["text", "number", "code", "mark"]

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


class Given(NamedTuple):
    """What went into a figure.  mark: one of few words.  source: who says so."""

    name: str
    shown: str
    mark: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """How one figure was computed.  shown: the figure.  equation: in the names of `given`."""

    name: str
    shown: str
    equation: str
    given: tuple[Given, ...]
    source: str


@dataclass(frozen=True, kw_only=True)
class Derivations:
    """Those of one table, for readers who ask; shown whole where nothing can be folded."""

    caption: str
    rows: tuple[Derivation, ...]


class Piece(NamedTuple):
    """A stretch of a text.  marked: it is what the reader looks for."""

    text: str
    marked: bool = False


class Passage(NamedTuple):
    """Text of someone else's, of any length and any characters.  name: says whose."""

    name: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two texts side by side, with what they have in common marked.  facts: a few words each."""

    title: str
    facts: tuple[str, ...]
    sides: tuple[Passage, Passage]


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """Some of what there is to compare.

    n_open: rows for every reader, the first; the others are for those who ask, and left out
        where nothing can be folded.
    n_all: how many `noun`s there are, of which these are some.
    """

    caption: str
    rows: tuple[Comparison, ...]
    n_open: int
    n_all: int
    noun: str

    def heading(self, shown: int) -> str:
        """The caption with how many there are, and how many of them are shown."""
        bounded = "" if shown == self.n_all else f", {shown:,} shown"
        return f"{self.caption}: {count(self.n_all, self.noun)}{bounded}"


Block: TypeAlias = str | Table | Derivations | Comparisons


@dataclass(frozen=True)
class Section:
    """key: names it inside a document.  blocks: in order.

    A paragraph begins with a word of ours, so that it begins no list and no heading.
    """

    key: str
    title: str
    blocks: Sequence[Block]


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[tuple[str, ...]],
    *,
    sums: bool = False,
    folded: bool = False,
    unless_empty: Sequence[int] = (),
) -> Table:
    """A table whose columns tell their kind (`KINDS`) first; unless_empty: left out if they are."""
    given = list(rows)
    empty = {n for n in unless_empty if all(row[n] == NONE for row in given)}

    def kept(line: Sequence[str]) -> tuple[str, ...]:
        return tuple(cell for n, cell in enumerate(line) if n not in empty)

    made = tuple(
        Column(name[1:], KINDS[name[0]]) if name[0] in KINDS else Column(name)
        for name in kept(columns)
    )
    cells = tuple(map(kept, given))
    return Table(caption=caption, columns=made, rows=cells, sums=sums, folded=folded)


def count(n: int, noun: str) -> str:
    """A count and what is counted.

    >>> count(1, "shard"), count(4733, "document")
    ('1 shard', '4,733 documents')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
