"""A document as Markdown."""

import re
from collections.abc import Sequence

from tokenmill.sizing.document.passages import named
from tokenmill.sizing.document.section import (
    Block,
    Comparison,
    Comparisons,
    Derivation,
    Derivations,
    Passage,
    Section,
    Table,
)

# what Markdown or the HTML in it would obey; an underscore inside a word is none of it
_OBEYED = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
BRACKETS = "⟦⟧"  # around what is marked
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]+")


def markdown(title: str, sections: Sequence[Section]) -> str:
    """The document as GitHub-flavoured Markdown; a section without blocks is left out."""
    parts = [f"# {_plain(title)}"]
    for section in sections:
        if section.blocks:
            parts.append(f"## {_plain(section.title)}")
            parts += [_block(block, section.title) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block, title: str) -> str:
    if isinstance(block, Table):
        return _table(block, title)
    if isinstance(block, Comparisons):
        shown = block.rows[: block.n_open]
        parts = [f"### {_seen(block.heading(len(shown)))}", *map(_comparison, shown)]
        return "\n\n".join(parts)
    if isinstance(block, Derivations):
        parts = [f"### {_plain(block.caption)}", *(_derivation(row) for row in block.rows)]
        return "\n\n".join(parts)
    return _plain(block)


def _derivation(of: Derivation) -> str:
    given = [
        f"- {_code(g.name)} = {_plain(g.shown)} · **{_plain(g.mark)}** · {_plain(g.source)}"
        for g in of.given
    ]
    return "\n".join(
        (
            f"**{_plain(of.name)}** = {_plain(of.shown)}",
            "",
            _code(of.equation),
            "",
            *given,
            "",
            f"Formula: {_plain(of.source)}.",
        )
    )


def _comparison(of: Comparison) -> str:
    head = " · ".join((f"**{_seen(of.title)}**", *map(_seen, of.facts)))
    return "\n\n".join((head, *map(_passage, of.sides)))


def _passage(passage: Passage) -> str:
    """A quotation; what is marked stands in brackets that no text of others can hold."""
    pieces = [(named(p.text, BRACKETS), p.marked) for p in passage.pieces]
    text = "".join(f"⟦{text}⟧" if marked else text for text, marked in pieces)
    return f"> **{_seen(passage.name)}:** {_plain(text)}"


def _seen(text: str) -> str:
    """Text of others, as it is but for what cannot be seen and the brackets of `_passage`."""
    return _plain(named(text, BRACKETS))


def _code(text: str) -> str:
    """Text in one width, in which nothing is obeyed but a backtick and a line's end."""
    return f"`{_BLANK.sub(' ', text).replace('`', chr(39)).strip()}`"


def _table(table: Table, title: str) -> str:
    """With its caption, unless that only repeats the title of the section."""
    if not table.rows:
        return f"**{_plain(table.caption)}:** none"
    rule = ["---:" if column.kind == "number" else "---" for column in table.columns]
    lines = [[_plain(column.name) for column in table.columns], rule]
    lines += [[_plain(cell) for cell in row] for row in table.rows]
    if table.sums:
        lines[-1] = [f"**{cell}**" if cell else "" for cell in lines[-1]]
    drawn = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return drawn if table.caption == title else f"**{_plain(table.caption)}**\n\n{drawn}"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line.

    >>> _plain("a|b <script> too_few_words *x*")
    'a\\\\|b &lt;script&gt; too_few_words \\\\*x\\\\*'
    """
    text = text.encode("utf-8", "replace").decode()  # half characters, of paths that are not UTF-8
    text = _BLANK.sub(" ", text).strip()
    text = _OBEYED.sub(lambda found: f"\\{found[0]}", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
