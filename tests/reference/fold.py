"""Folding, slowly: one document as a list of characters that know where they came from."""

import re
from html import unescape
from html.entities import html5
from typing import NamedTuple

from tokenmill.dedup.text.fold import BREAK_TAGS, COMMANDS, FOLDINGS, HYPHENS, INLINE_TAGS
from tokenmill.dedup.text.fold_tables import invisible, lookalikes, signs, tables
from tokenmill.dedup.text.unicode import ALPHA, WORD, flags_of

NUMERIC = re.compile("&#(?:[0-9]+|[xX][0-9a-fA-F]+);?")


class Cell(NamedTuple):
    """A character of folded text, or "" where one was deleted; its source bytes; foldings."""

    char: str
    start: int
    end: int
    kinds: frozenset[str] = frozenset()


def fold(text, folding):
    cells, at = [], 0
    for char in text:
        cells.append(Cell(char, at, at + len(char.encode())))
        at = cells[-1].end
    for name, places in (
        ("entities", entities),
        ("line_breaks", line_breaks),
        ("compat", singly(tables().compat)),
        ("invisible", singly(invisible())),
        ("signs", singly(signs())),
        ("marks", singly(tables().marks)),
        ("confusables", singly(tables().twins)),
        ("confusables", confusables),
        ("markup", markup),
    ):
        if getattr(folding, name):
            cells = rewritten(cells, places(text_of(cells)), name)
    return cells


def text_of(cells):
    return "".join(cell.char for cell in cells)


def kinds_of(cells):
    """Bits of all foldings that changed anything."""
    held = frozenset().union(*(cell.kinds for cell in cells))
    return sum(1 << FOLDINGS.index(name) for name in held)


def source_span(cells, start, end):
    """First and last byte, and foldings, of what became the characters `start:end`.

    Of a character that became several the foldings are those of all of them, also of deleted ones.
    """
    live = [i for i, cell in enumerate(cells) if cell.char]
    part = cells[live[start] : live[end - 1] + 1]
    whole = [c for c in cells if c[1:3] in (part[0][1:3], part[-1][1:3])]
    return min(c.start for c in part), max(c.end for c in part), kinds_of([*part, *whole])


def rewritten(cells, places, name):
    """Cells in which characters `start:end` of each place have become its text."""
    live = [i for i, cell in enumerate(cells) if cell.char]
    for start, end, text in reversed(places):
        first, stop = live[start], live[end - 1] + 1
        old = cells[first:stop]
        kinds = frozenset().union(*(c.kinds for c in old)) | {name}
        source = min(c.start for c in old), max(c.end for c in old)
        cells = cells[:first] + [Cell(c, *source, kinds) for c in text or [""]] + cells[stop:]
    return cells


def reference_at(text, i):
    """What the character reference at `i` means, and where it ends; None if there is none."""
    if found := NUMERIC.match(text, i):
        return unescape(found[0]), found.end()
    for end in range(min(len(text), i + 40), i + 1, -1):
        if text[i] == "&" and text[i + 1 : end] in html5:
            return html5[text[i + 1 : end]], end
    return None


def entities(text):
    places, i = [], 0
    while i < len(text):
        if found := reference_at(text, i):
            char, end = found
            while char == "&" and (again := reference_at("&" + text[end:], 0)):
                char, end = again[0], end + again[1] - 1
            places.append((i, end, char))
            i = end
        else:
            i += 1
    return places


def markup(text):
    tag = re.compile(r"</?([a-zA-Z0-9]+)([ \t-\r]*/?>|[ \t-\r]+[a-zA-Z0-9-]*=[^<>]*>)")
    commands = re.finditer(r"\\([a-zA-Z0-9]+)(?=\{)", text)
    places = [(*c.span(), "") for c in commands if c[1].lower() in COMMANDS]
    i = 0
    while found := tag.search(text, i):
        name, rest = found[1].lower(), found[2]
        i = found.start() + 1
        if name in {*INLINE_TAGS, *BREAK_TAGS} and len(rest.encode()) <= 256:
            places.append((*found.span(), " " if name in BREAK_TAGS else ""))
            i = found.end()
    return apart(sorted(places))


def apart(places):
    """Without those that begin within one before."""
    kept = []
    for place in places:
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept


def is_word(char):
    return bool(flags_of(ord(char)) & WORD) or char in tables().inner


def line_breaks(text):
    found = re.finditer(f"[{HYPHENS}]\r?\n[ \t]*", text)
    return [
        (*place.span(), "")
        for place in found
        if place.start() > 0 and place.end() < len(text)
        if is_word(text[place.start() - 1]) and is_word(text[place.end()])
    ]


def singly(chars):
    return lambda text: [(i, i + 1, chars[c]) for i, c in enumerate(text) if c in chars]


def letter(char):
    """ "latin", "lookalike", "other", "inner", or None for what ends a run of letters."""
    if char in lookalikes():
        return "lookalike"
    if char in tables().latin:
        return "latin"
    if char in tables().inner:
        return "inner"
    return "other" if flags_of(ord(char)) & ALPHA else None


def confusables(text):
    kinds = [letter(char) for char in text]
    sure = [(i, kind) for i, kind in enumerate(kinds) if kind in ("latin", "other")]
    places, start = [], 0
    for i, kind in enumerate([*kinds, None]):
        if kind is None:
            if stands_for_latin(start, i, kinds[start:i], sure):
                run = range(start, i)
                places += [
                    (k, k + 1, lookalikes()[text[k]]) for k in run if text[k] in lookalikes()
                ]
            start = i + 1
    return places


def stands_for_latin(start, end, run, sure):
    if "lookalike" not in run or "other" in run:
        return False
    before = [kind for i, kind in sure if i < start][-1:]
    after = [kind for i, kind in sure if i >= end][:1]
    return "latin" in run or set(before + after) == {"latin"}
