"""Seeing through disguises: documents and benchmark items folded alike before gram words.

text --> needs (uint8 a document) --> the few that need it: entities, line breaks, characters,
confusables --> folded text, and the way back from its bytes to those of the source

Foldings are bits, applied in this order:
    entities     HTML character references, as `html.unescape` reads them; an escaped ampersand
                 that begins a reference again is unescaped with it ("&amp;quot;").
    line_breaks  a hyphen between two letters or digits, at the end of a line, goes with the
                 break and the indent ("exam-\\nple"). The gram word of "well-known" has no
                 hyphen anyway, so joining is wrong only for "pre-\\nand postwar".
    compat       NFKC of each character (full width, mathematical letters, ligatures,
                 superscripts) where gram words notice; not of accents on a space. Characters
                 are not composed: "e" and a combining acute stay two.
    invisible    default-ignorable code points (soft hyphen, zero width, bidi marks, variation
                 selectors, tags) are deleted.
    signs        what stands for ASCII punctuation without being punctuation to Unicode is
                 deleted, as punctuation is: acute accents and modifier letters as apostrophes,
                 the minus sign. Curly quotes, dashes and primes are punctuation.
    marks        diacritics are deleted. Off unless asked for.
    confusables  letters of other alphabets that look like a Latin letter become that letter
                 in runs of letters that have a Latin letter and none that is neither; and in
                 runs of lookalikes alone if the nearest other letters on both sides (at the
                 end of a text, on the one side) are Latin. Small capitals always.
    markup       HTML tags of the names below are deleted, with attributes of up to 256 bytes of
                 which the first has a "="; those that part words become a space. Of LaTeX's
                 COMMANDS before "{" the names go: braces and dollars are punctuation anyway.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from functools import cache, partial
from html import unescape
from html.entities import html5
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, U8, TextBuffers, large_strings, read_only, text_buffers
from tokenmill.dedup.kernels import fold as kernels
from tokenmill.dedup.kernels.edits import Edits, Found, splice, unsplice
from tokenmill.dedup.kernels.fold_entities import Entities, find_entities, mark_documents
from tokenmill.dedup.kernels.fold_markup import BASE, BREAK, INLINE, Tags, find_markup, mark_markup
from tokenmill.dedup.text.fold_tables import invisible, lookalikes, signs, tables
from tokenmill.dedup.text.unicode import ALPHA, N_CODE_POINTS, PAGE, WORD
from tokenmill.dedup.text.unicode import tables as unicode_tables

BYTES_AN_EDIT, FRESH_BYTES = 24, 12  # of text and of what comes, for which there is room at first
HYPHENS = "-\u2010\u00ad"
# names of tags that stand within a line, and that part words; of LaTeX's commands
INLINE_TAGS, BREAK_TAGS, COMMANDS = (
    " ".join(names).split()
    for names in json.loads(Path(__file__).with_name("markup.json").read_bytes()).values()
)


@dataclass(frozen=True, kw_only=True)
class Folding:
    """Which foldings to apply; the module says what each does."""

    entities: bool = True
    line_breaks: bool = True
    compat: bool = True
    invisible: bool = True
    signs: bool = True
    marks: bool = False
    confusables: bool = True
    markup: bool = True

    @property
    def bits(self) -> int:
        return sum(on << bit for bit, on in enumerate(astuple(self)))


FOLDINGS = tuple(field.name for field in fields(Folding))  # of bits 1, 2, 4, ...


def names_of(bits: int) -> tuple[str, ...]:
    """The foldings of a bit mask.

    >>> names_of(9)
    ('entities', 'invisible')
    """
    return tuple(name for bit, name in enumerate(FOLDINGS) if bits >> bit & 1)


class SourceSpans(NamedTuple):
    """Where spans of folded text come from.

    starts, ends: (n_spans,) int64, UTF-8 bytes from the beginning of the source document.
    foldings: (n_spans,) uint8, bits of the foldings that changed something between them.
    """

    starts: I64
    ends: I64
    foldings: U8


class Step(NamedTuple):
    """One folding of the documents that needed any, and what undoes it."""

    offsets: I64
    edits: Edits
    out: TextBuffers
    out_ends: I64


@dataclass(frozen=True, eq=False)
class Folded:
    """Folded documents and the way back.

    text: (n_docs,) large_string; the source's own buffer if no document was changed.
    rows: (n_rows,) int64, documents that were changed, ascending.
    steps: in the order in which they were applied to the documents `rows`.
    """

    text: pa.Array
    rows: I64
    steps: tuple[Step, ...]

    def source_spans(self, docs: I64, starts: I64, ends: I64) -> SourceSpans:
        """Turn spans of folded documents into spans of their sources.

        docs, starts, ends: (n_spans,) int64, rows of `text` and bytes from the document's
            beginning, at characters, starts < ends. What was deleted at the edge of a span
            is not part of it.
        """
        spans = np.stack([starts, ends], axis=1).astype(np.int64)
        kinds = np.zeros(len(docs), np.uint8)
        if self.steps:
            at = np.searchsorted(self.rows, docs).clip(max=len(self.rows) - 1)
            edited = np.where(self.rows[at] == docs, at, -1)
            for step in reversed(self.steps):
                made = step.out.offsets, step.out_ends
                unsplice(step.offsets, step.edits, *made, edited, spans, kinds)
        return SourceSpans(spans[:, 0], spans[:, 1], kinds)


def needs_folding(text: pa.Array, folding: Folding) -> U8:
    """Tell which foldings would change each document.

    text: (n_docs,) string column, no nulls.
    Returns (n_docs,) uint8 bits of FOLDINGS, 0 exactly where nothing would change. There may be
    a bit too many, never one too few: a document with an HTML entity has them all, one with
    lookalikes that needs another folding has that of confusables, and any that of markup.
    """
    given, needs = text_buffers(text), np.zeros(len(text), np.uint8)
    if folding.entities:
        mark_documents(*given, entities(), folding.bits, needs)
    kernels.find_needs(*given, char_foldings(folding), needs)
    if folding.markup:
        needs[needs != 0] |= np.uint8(kernels.MARKUP)
        mark_markup(*given, tags(), kernels.MARKUP, needs)
    return needs


def fold(text: pa.Array, folding: Folding) -> Folded:
    """Fold the documents of a (n_docs,) string column without nulls that need it."""
    text = text.cast(pa.large_string())
    needs = needs_folding(text, folding)
    if not needs.any():
        return Folded(text, np.empty(0, np.int64), ())
    rows = np.flatnonzero(needs)
    given = text_buffers(text.take(pa.array(rows)))
    steps = tuple(_steps(given, needs[rows], folding))
    changed = large_strings(*(steps[-1].out if steps else given))
    replaced = pc.replace_with_mask(text, pa.array(needs != 0), changed)
    return Folded(replaced, rows, steps)


def _steps(given: TextBuffers, needs: U8, folding: Folding) -> Iterator[Step]:
    """Apply the foldings one after the other; those that no document needs are left out."""
    chars = char_foldings(folding)
    passes: tuple[tuple[int, Callable[..., Found], tuple[Any, ...]], ...] = (
        (kernels.ENTITIES, find_entities, (entities(), kernels.ENTITIES)),
        (kernels.LINE_BREAKS, kernels.find_line_breaks, (chars,)),
        (kernels.CHARS, kernels.find_chars, (chars,)),
        (kernels.CONFUSABLES, kernels.find_confusables, (chars,)),
        (kernels.MARKUP, find_markup, (tags(), kernels.MARKUP)),
    )
    for bits, find, known in passes:
        wanted = read_only(needs & np.uint8(bits))
        if wanted.any():
            edits = _edits(partial(find, *given, wanted, *known), given)
            if len(edits.spots):
                step = spliced(given, edits)
                yield step
                given = step.out


def _edits(find: Callable[[Edits], Found], given: TextBuffers) -> Edits:
    """What `find` finds; where that is more than there is room for at first, it is run again."""
    n_docs, first = len(given.offsets) - 1, given.n_bytes // BYTES_AN_EDIT + 1
    found, room = Found(first, first * FRESH_BYTES), Found(0, 0)
    while room.edits < found.edits or room.fresh < found.fresh:
        room = found
        ends, fresh = np.empty(n_docs, np.int64), np.empty(room.fresh, np.uint8)
        edits = Edits(ends, np.empty((room.edits, 4), np.int64), fresh)
        found = find(edits)
    return Edits(ends, edits.spots[: found.edits], fresh[: found.fresh])


def spliced(given: TextBuffers, edits: Edits) -> Step:
    removed = int((edits.spots[:, 1] - edits.spots[:, 0]).sum())
    size = given.n_bytes - removed + len(edits.fresh)
    out, offsets = np.empty(size, np.uint8), np.empty(len(given.offsets), np.int64)
    out_ends = np.empty(len(edits.spots), np.int64)
    splice(*given, edits, out, offsets, out_ends)
    made = TextBuffers(read_only(out), read_only(offsets))
    return Step(given.offsets, edits, made, read_only(out_ends))


@cache
def char_foldings(folding: Folding) -> kernels.Foldings:
    """What the kernels do with each character."""
    becomes, alike = char_maps(folding), lookalikes()
    actions, letters = np.zeros(N_CODE_POINTS, np.uint16), np.zeros(N_CODE_POINTS, np.uint8)
    props = _props()
    for char, letter in alike.items():
        letters[ord(char)] = ord(letter)
        props[ord(char)] = kernels.LOOKALIKE | kernels.MAYBE | (props[ord(char)] & kernels.WORD)
    for action, (char, (to, _)) in enumerate(becomes.items(), 1):
        actions[ord(char)] = action
        props[ord(char)] |= kernels.MAYBE if alike.keys() & set(to) else 0
    kinds = np.array([0, *(kinds for _, kinds in becomes.values())], np.uint8)
    changed = kinds[actions].astype(np.uint16) << np.uint16(kernels.KINDS_AT)
    fresh = [to.encode() for to, _ in becomes.values()]
    all_props = props | changed
    return kernels.Foldings(
        folding.bits,
        read_only(actions),
        read_only(kinds),
        read_only(np.frombuffer(b"".join(fresh), np.uint8)),
        read_only(np.array([0, *accumulate(map(len, fresh))], np.int64)),
        read_only(all_props),
        read_only(letters),
        read_only(np.bitwise_or.reduce(all_props.reshape(-1, 64), axis=1)),
    )


def char_maps(folding: Folding) -> dict[str, tuple[str, int]]:
    """What each character becomes by itself, and the foldings that make it so."""
    maps = [
        (bit, str.maketrans(chars))
        for bit, chars in (
            (kernels.COMPAT, tables().compat),
            (kernels.INVISIBLE, invisible()),
            (kernels.SIGNS, signs()),
            (kernels.MARKS, tables().marks),
            (kernels.CONFUSABLES, tables().twins),
        )
        if folding.bits & bit
    ]
    becomes = {}
    for char in map(chr, sorted(set().union(*(chars for _, chars in maps)))):
        text, kinds = char, 0
        for bit, chars in maps:
            folded = text.translate(chars)
            kinds |= bit if folded != text else 0
            text = folded
        becomes[char] = text, kinds
    return becomes


def _props() -> U8:
    """(0x110000,) uint8, the properties of code points, lookalikes taken as other letters."""
    known = unicode_tables()
    slots = known.pages.repeat(PAGE).astype(np.int64) * PAGE + np.arange(N_CODE_POINTS) % PAGE
    flags = known.flags[slots]
    props = np.where(flags & ALPHA, kernels.OTHER, 0).astype(np.uint8)
    props[(flags & WORD) != 0] |= np.uint8(kernels.WORD)
    props[[ord(c) for c in tables().latin]] = kernels.LATIN | kernels.WORD
    props[[ord(c) for c in tables().inner]] = kernels.INNER | kernels.WORD
    props[[ord(c) for c in HYPHENS]] |= np.uint8(kernels.HYPHEN)
    return props


@cache
def tags() -> Tags:
    """HTML tags, and LaTeX's commands, by their names."""
    known = dict.fromkeys(INLINE_TAGS, INLINE) | dict.fromkeys(BREAK_TAGS, BREAK)
    numbered = sorted((_number(name), kind) for name, kind in known.items())
    names, kinds = zip(*numbered, strict=True)
    return Tags(
        read_only(np.array(names, np.int64)),
        read_only(np.array(kinds, np.uint8)),
        read_only(np.array(sorted(map(_number, COMMANDS)), np.int64)),
    )


def _number(name: str) -> int:
    number = 0
    for char in name:
        number = number * BASE + int(char, 36) + 1
    return number


@cache
def entities() -> Entities:
    """Named and numeric HTML character references."""
    named = sorted((name.encode(), [ord(c) for c in chars]) for name, chars in html5.items())
    low = [unescape(f"&#{number};") for number in range(0xA0)]
    return Entities(
        read_only(np.frombuffer(b"".join(name for name, _ in named), np.uint8)),
        read_only(np.array([*accumulate(len(name) for name, _ in named)], np.int64)),
        read_only(np.array([(*chars, -1)[:2] for _, chars in named], np.int32)),
        read_only(np.array([ord(char) if char else -1 for char in low], np.int32)),
    )
