"""Documents as `inspect` prints them: cut ones, duplicates beside what was kept, their images.

1  bytes 842 to 1,329, 487 characters: gsm8k:17 'Natalia sold clips to …'
… the text ⟦1: that went⟧ and that stayed …
piece 1 of 2: web/3#piece-1 (268435459), bytes 0 to 842, kept

A duplicate and the document that was kept are two panels on a terminal that has colours; elsewhere
one text, in which [-this-] is of the removed document and {+this+} of the kept one. Where both are
equal, some words around a change are shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tokenmill.flows.show import MATCH, filled, printable, table
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.prepare.inspect import CutOut, Kind, Stretch, difference
from tokenmill.sizing.units import format_bytes

CUT_CHARS, STAYS_CHARS, PIECE_CHARS = 240, 160, 600  # shown of each
MOST_ITEMS = 3
MOST_COMPARED = 1_000_000  # characters of each document
AROUND = 160  # characters that are equal, before and after a change
MOST_CHANGED = 800  # characters of a change
MOST_CHANGES = 40
MARKS = {"removed": ("[-", "-]", "bold red"), "kept": ("{+", "+}", "bold green")}
FOLD = "dim"

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


def cut_lines(stretches: Sequence[CutOut]) -> Iterator[str]:
    """A line for each stretch: where it is, how long, whose, and the words that tell."""
    for number, cut in enumerate(stretches, 1):
        more = len(cut.items) - MOST_ITEMS
        items = ", ".join(cut.items[:MOST_ITEMS]) + (f" and {more} more" if more > 0 else "")
        yield (
            f"  {number}  bytes {cut.start_byte:,} to {cut.end_byte:,}, {len(cut.text):,}"
            f" characters: {items} '{cut.excerpt}'"
        )


def marked(text: bytes, stretches: Sequence[CutOut]) -> Text:
    """A document with what was cut out between ⟦ and ⟧, by number; all of it shortened.

    text: as it came to the step that cut it.
    """
    made, end = Text(), 0
    for number, cut in enumerate(stretches, 1):
        made.append(_shown(text[end : cut.start_byte].decode(errors="replace"), STAYS_CHARS))
        made.append(f"⟦{number}: {_shown(cut.text, CUT_CHARS)}⟧", MATCH)
        end = cut.end_byte
    made.append(_shown(text[end:].decode(errors="replace"), STAYS_CHARS))
    return made


def piece_blocks(
    text: bytes, links: Sequence[Row], dropped: Mapping[int, str]
) -> Iterator[list[str]]:
    """The pieces of a document.

    links: rows of schema PIECE.  dropped: reasons for which pieces left, by doc_id.
    """
    for link in links:
        start, end = link["start_byte"], link["end_byte"]
        fate = dropped.get(link["doc_id"])
        yield [
            f"piece {link['piece']} of {link['pieces']}: {link['id']} ({link['doc_id']}), bytes"
            f" {start:,} to {end:,}, {f'removed: {fate}' if fate else 'kept'}",
            shortened(text[start:end].decode(errors="replace"), PIECE_CHARS),
        ]


def _shown(text: str, most: int) -> str:
    return printable(shortened(text, most))


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
    return Text.assemble(*((s.text, s.style) for s in shown if s.kind in ("equal", side)))


def removed_table(reason: str, rows: Sequence[Row]) -> Table | None:
    """Receipts of images that left for a reason; None if there are none."""
    columns = (">doc_id", ">image", "stage", ">value", "where it stands")
    cells = [
        (str(r["doc_id"]), r["number"], r["stage"], r["value"], _lines(r["path"], r["url"], r))
        for r in rows
    ]
    return filled(table(f"images, {reason}: the first {len(rows)}", columns, cells))


def fates_table(document: Row) -> Table | None:
    """The images of a document, as `pipelines.prepare.inspect` tells them; None if it has none."""
    columns = (">image", "format", ">pixels", ">bytes", "fate", "where it stands")
    cells = [
        (
            i["number"],
            i["format"],
            f"{i['width']:,} x {i['height']:,}" if i["width"] and i["height"] else None,
            format_bytes(i["bytes"]) if i["bytes"] else None,  # 0: not to be had
            _fate(i),
            _lines(i["path"], i["url"], i),
        )
        for i in document.get("images") or ()
    ]
    return filled(table(f"images of {document['id']}", columns, cells))


def with_numbers(document: Row) -> str:
    """The text of a document, with the number of an image where the image stands.

    Placeholders are those of images that could be read.
    """
    numbers = [i["number"] for i in document.get("images", ()) if i["stage"] != "read"]
    pieces: list[str] = document["text"].split(PLACEHOLDER)
    if len(pieces) != len(numbers) + 1:  # a sample has none; text alone is as it was written
        return str(document["text"])
    places = [f"[image {number}]" for number in numbers]
    return pieces[0] + "".join(p + t for p, t in zip(places, pieces[1:], strict=True))


def _fate(image: Row) -> str:
    fate = image["fate"].replace("_", " ")
    if image["reason"] is None:
        return str(fate)
    value = "" if image["value"] is None else f" ({image['value']:g})"
    return f"{fate} at {image['stage']}: {image['reason']}{value}"


def _lines(path: str, url: str | None, image: Row) -> str:
    """Path and URL of an image, what its receipt says, and which image it repeats."""
    repeats = image["duplicate_of"]
    of = None if repeats is None else f"repeats image {image['duplicate_number']} of {repeats}"
    told = dict.fromkeys(line for line in (path, url, image["detail"], of) if line)
    return "\n".join(told)
