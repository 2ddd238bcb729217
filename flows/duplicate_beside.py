"""A removed document beside the one that was kept, with what differs marked.

On a terminal that has colours two panels; elsewhere one text, in which [-this-] is of the removed
document and {+this+} of the kept one. Where both are equal, some words around a change are shown.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from tokenmill.flows.cut_document import shortened
from tokenmill.flows.image_tables import with_numbers
from tokenmill.flows.show import printable
from tokenmill.pipelines.prepare.inspect import Kind, Stretch, difference

MOST_COMPARED = 1_000_000  # characters of each document
AROUND = 160  # characters that are equal, before and after a change
MOST_CHANGED = 800  # characters of a change
MOST_CHANGES = 40
MARKS = {"removed": ("[-", "-]", "bold red"), "kept": ("{+", "+}", "bold green")}
FOLD = "dim"


class Shown(NamedTuple):
    """A stretch as it is shown. style: "" for one that both documents have."""

    kind: Kind
    text: str
    style: str


def show_beside(show: Console, removed: dict[str, Any], kept: dict[str, Any]) -> None:
    """Print two documents, the first having been removed in favour of the second."""
    ours, theirs = with_numbers(removed), with_numbers(kept)
    if ours == theirs:
        show.print(printable(f"\nremoved: {removed['id']}\nkept:    {kept['id']}"))
        show.print(f"the texts are equal, {len(ours):,} characters\n")
        show.print(printable(shortened(ours, 2 * MOST_CHANGED)))
        return
    if max(len(ours), len(theirs)) > MOST_COMPARED:
        show.print(f"  compared: the first {MOST_COMPARED:,} characters")
    stretches = difference(ours[:MOST_COMPARED], theirs[:MOST_COMPARED])
    show.print(f"  {account(stretches)}")
    shown = list(folded(stretches))
    if not show.is_terminal or show.no_color or show.color_system is None:
        show.print(printable(f"\nremoved: {removed['id']}\nkept:    {kept['id']}\n"))
        show.print(inline(shown), soft_wrap=True)
        return
    panels = [
        Panel(
            one_side(shown, kind),
            title=Text(printable(f"{kind}: {document['id']}")),
            width=show.width // 2 - 1,
        )
        for kind, document in (("removed", removed), ("kept", kept))
    ]
    show.print(Columns(panels, padding=(0, 1)))


def account(stretches: Sequence[Stretch]) -> str:
    """How much is equal, and how much only one of the two has."""
    n = {kind: sum(len(s.text) for s in stretches if s.kind == kind) for kind in MARKS}
    equal = sum(len(s.text) for s in stretches) - sum(n.values())
    return (
        f"characters: {equal:,} in both, {n['removed']:,} in the removed document only,"
        f" {n['kept']:,} in the kept one only"
    )


def folded(stretches: Sequence[Stretch]) -> Iterator[Shown]:
    """The stretches with what is long shortened, up to so many changes."""
    changes = [i for i, s in enumerate(stretches) if s.kind != "equal"]
    end = changes[MOST_CHANGES - 1] + 2 if len(changes) > MOST_CHANGES else len(stretches)
    for i, (kind, text) in enumerate(stretches[:end]):
        if kind == "equal":
            yield from _equal(text, before=i > 0, after=i + 1 < len(stretches))
        else:
            yield Shown(kind, printable(shortened(text, MOST_CHANGED)), MARKS[kind][2])
    left = sum(i >= end for i in changes)
    if left:
        yield Shown("equal", f"\n… {left:,} more changes …", FOLD)


def _equal(text: str, *, before: bool, after: bool) -> Iterator[Shown]:
    """What both have. before, after: there is a change on that side."""
    head, tail = AROUND * before, AROUND * after
    n = len(text) - head - tail
    if n <= AROUND // 2:
        yield Shown("equal", printable(text), "")
        return
    yield Shown("equal", printable(text[:head]), "")
    yield Shown("equal", f" … {n:,} equal characters … ", FOLD)
    yield Shown("equal", printable(text[len(text) - tail :]), "")


def inline(shown: Iterable[Shown]) -> Text:
    """Both documents as one text, with marks around what one has alone."""
    made = Text()
    for kind, text, style in shown:
        before, after, _ = MARKS.get(kind, ("", "", ""))
        made.append(f"{before}{text}{after}", style)
    return made


def one_side(shown: Iterable[Shown], side: str) -> Text:
    """One of the documents, with what it has alone in colour."""
    made = Text()
    for kind, text, style in shown:
        if kind in ("equal", side):
            made.append(text, style)
    return made
