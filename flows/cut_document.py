"""A document that was cut, as `inspect` prints it: what went, for which items, and what is left.

1  bytes 842 to 1,329, 487 characters: gsm8k:17 'Natalia sold clips to …'
… the text ⟦1: that went⟧ and that stayed …
piece 1 of 2: web/3#piece-1 (268435459), bytes 0 to 842, kept
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tokenmill.flows.show import printable
from tokenmill.pipelines.prepare.inspect import CutOut

CUT_CHARS, STAYS_CHARS, PIECE_CHARS = 240, 160, 600  # shown of each
MOST_ITEMS = 3
CUT = "bold black on yellow"

Row = Mapping[str, Any]


def shortened(text: str, most: int) -> str:
    """The first and last characters of a text, and how many are left out between them.

    >>> shortened("abcdefgh", 4)
    'ab … 4 characters … gh'
    """
    half = most // 2
    if len(text) <= most:
        return text
    return f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"


def reasons(stretches: Sequence[CutOut]) -> list[str]:
    """A line for each stretch: where it is, how long, whose, and the words that tell."""
    lines = []
    for number, cut in enumerate(stretches, 1):
        more = len(cut.items) - MOST_ITEMS
        items = ", ".join(cut.items[:MOST_ITEMS]) + (f" and {more} more" if more > 0 else "")
        lines.append(
            f"{number}  bytes {cut.start_byte:,} to {cut.end_byte:,}, {len(cut.text):,}"
            f" characters: {items} '{cut.excerpt}'"
        )
    return lines


def marked(text: bytes, stretches: Sequence[CutOut]) -> Text:
    """A document with what was cut out between ⟦ and ⟧, by number; all of it shortened.

    text: as it came to the step that cut it.
    """
    made, end = Text(), 0
    for number, cut in enumerate(stretches, 1):
        made.append(_shown(text[end : cut.start_byte].decode(errors="replace"), STAYS_CHARS))
        made.append(f"⟦{number}: {_shown(cut.text, CUT_CHARS)}⟧", CUT)
        end = cut.end_byte
    made.append(_shown(text[end:].decode(errors="replace"), STAYS_CHARS))
    return made


def show_cut(show: Console, text: bytes, stretches: Sequence[CutOut]) -> None:
    """Print what was cut out of a document, or repeats benchmark items in it."""
    for line in reasons(stretches):
        show.print(printable(f"  {line}"))
    show.print()
    show.print(marked(text, stretches))


def show_pieces(
    show: Console, text: bytes, links: Sequence[Row], dropped: Mapping[int, str]
) -> None:
    """Print the pieces of a document.

    links: rows of schema PIECE.  dropped: reasons for which pieces left, by doc_id.
    """
    for link in links:
        start, end = link["start_byte"], link["end_byte"]
        fate = dropped.get(link["doc_id"])
        show.print()
        show.print(
            printable(
                f"piece {link['piece']} of {link['pieces']}: {link['id']} ({link['doc_id']}), bytes"
                f" {start:,} to {end:,}, {f'removed: {fate}' if fate else 'kept'}"
            )
        )
        show.print(_shown(text[start:end].decode(errors="replace"), PIECE_CHARS))


def _shown(text: str, most: int) -> str:
    return printable(shortened(text, most))
