"""The pages of a TIFF, each made a file of its own; nothing is decoded.

    header ─ page ─ page ─ page   ──►   header ─ page,   header ─ page,   header ─ page

A page is its tags, their values, and the strips or tiles that they point to, copied byte for byte.
Reduced copies of a page (thumbnails, pyramids) and masks are no pages.
Formats: TIFF 6.0 (1992); BigTIFF, as libtiff 4 writes it.
"""

import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.read.batch import Lost, SourceDocument, SourceImage
from tokenmill.pipelines.read.images.headers import Data

# Of a file, of a page, of a page, of all pages; of the file's bytes in all pages: no honest one
# has more.
MOST_PAGES, MOST_TAGS, MOST_PIECES, MOST_ALL_TAGS, MOST_TIMES = 10_000, 1_000, 2**17, 2**18, 4
_ORDERS = {b"II": "<", b"MM": ">"}
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 16: 8}
_CODES = {3: "H", 4: "I", 16: "Q"}  # of the types that are whole numbers
_SUBFILE, _OLD_SUBFILE = 254, 255
_REDUCED_OR_MASK, _OLD_REDUCED = 1 | 4, 2
_PIECES = {273: 279, 324: 325}  # where strips or tiles begin, and the tag of how long they are
# What points to other tags, which are left out; and pictures that stand outside of strips.
_POINTERS, _OLD_JPEG = frozenset((330, 34665, 34853, 40965)), 513


class _Value(NamedTuple):
    """The value of a tag: bytes of `n` things of a type."""

    type: int
    n: int
    data: Data


_ZERO = _Value(0, 0, b"")
_Tags = dict[int, _Value]


class _DamagedError(ValueError):
    """A file whose pages cannot be told from one another."""


class _File:
    """A TIFF, and how its numbers are written."""

    def __init__(self, data: Data, order: str, big: bool) -> None:
        self._data, self._order, self.big = memoryview(data), order, big
        self._word = "Q" if big else "I"  # of offsets and counts
        self.word_bytes = 8 if big else 4
        self._head = struct.Struct(order + ("HHQ" if big else "HHI"))
        self._entry = self._head.size + self.word_bytes

    def unpack(self, codes: str, at: int) -> tuple[int, ...]:
        return struct.unpack_from(self._order + codes, self._data, at)

    def pack(self, codes: str, *values: int) -> bytes:
        return struct.pack(self._order + codes, *values)

    def chain(self) -> list[tuple[int, int]]:
        """Of each page, in order, how many tags it has and where they begin.

        _DamagedError: it goes in a circle or on and on.
        struct.error: it leads out of the file.
        """
        found: dict[int, int] = {}
        (at,) = self.unpack(self._word, 8 if self.big else 4)
        while at:
            begin, n, at = self._link(at)
            if begin in found or len(found) == MOST_PAGES or n > MOST_TAGS:
                raise _DamagedError(f"pages in a circle, or more than {MOST_PAGES}, or of {n} tags")
            found[begin] = n
        if sum(found.values()) > MOST_ALL_TAGS:
            raise _DamagedError(f"pages of {sum(found.values())} tags")
        return [(n, begin) for begin, n in found.items()]

    def is_whole(self) -> bool:
        """Whether the tags of the first page are there; if not, Pillow tells why."""
        try:
            return bool(self._link(*self.unpack(self._word, 8 if self.big else 4)))
        except (struct.error, OverflowError):
            return False

    def _link(self, at: int) -> tuple[int, int, int]:
        """Where the tags of a page begin, how many they are, and where the next page is."""
        (n,) = self.unpack("Q" if self.big else "H", at)
        begin = at + (8 if self.big else 2)
        (following,) = self.unpack(self._word, begin + n * self._entry)
        return begin, n, following

    def tags(self, n: int, begin: int) -> _Tags:
        """The tags of a page; those of types that nobody knows are left out."""
        found: _Tags = {}
        for at in range(begin, begin + n * self._entry, self._entry):
            tag, kind, count = self._head.unpack_from(self._data, at)
            size, inline = _SIZES.get(kind, 0) * count, at + self._head.size
            if size > self.word_bytes:
                (inline,) = self.unpack(self._word, inline)
            if inline + size > len(self._data):
                raise _DamagedError(f"a value of {size} bytes at byte {inline}, behind the end")
            if size:
                found[tag] = _Value(kind, count, self._data[inline : inline + size])
        return found

    def numbers(self, value: _Value | None) -> Sequence[int]:
        code = _CODES.get(value.type) if value is not None else None
        if value is None or code is None or value.n > MOST_PIECES:
            return ()
        return struct.unpack(f"{self._order}{value.n}{code}", value.data)

    def is_page(self, tags: _Tags) -> bool:
        values = (tags.get(tag, _ZERO) for tag in (_SUBFILE, _OLD_SUBFILE))
        kind, old = (self.numbers(v)[0] if v.n == 1 and v.type in _CODES else 0 for v in values)
        return not kind & _REDUCED_OR_MASK and old != _OLD_REDUCED

    def alone(self, tags: _Tags, most_bytes: int) -> bytes | None:
        """A file of one page; None if it takes more than `most_bytes`."""
        starts = next((tag for tag in _PIECES if tag in tags), None)
        if starts is None or _OLD_JPEG in tags:
            raise _DamagedError("neither strips nor tiles")
        room = most_bytes - sum(len(value.data) for value in tags.values())
        if room < 0:
            return None
        begins, sizes = self.numbers(tags[starts]), self.numbers(tags.get(_PIECES[starts]))
        if not begins or len(begins) != len(sizes):
            raise _DamagedError(f"{len(begins)} strips and {len(sizes)} sizes of them")
        if sum(sizes) > room:
            return None
        pieces = [self._data[a : a + n] for a, n in zip(begins, sizes, strict=True)]
        kept = {tag: value for tag, value in tags.items() if tag not in _POINTERS}
        kept[_PIECES[starts]] = self._words([len(p) for p in pieces])
        kept[starts] = self._words([0] * len(pieces))
        start = self._written(kept)
        places = accumulate((len(p) for p in pieces), initial=len(start))
        kept[starts] = self._words([place for place, _ in zip(places, pieces, strict=False)])
        return b"".join([self._written(kept), *pieces])

    def _words(self, values: Sequence[int]) -> _Value:
        kind = 16 if self.big else 4
        return _Value(kind, len(values), self.pack(f"{len(values)}{self._word}", *values))

    def _written(self, tags: _Tags) -> bytes:
        """Header, tags and their values."""
        mark = b"II" if self._order == "<" else b"MM"
        start = mark + (self.pack("HHHQ", 43, 8, 0, 16) if self.big else self.pack("HI", 42, 8))
        entries = [self.pack("Q" if self.big else "H", len(tags))]
        at = len(start) + len(entries[0]) + len(tags) * self._entry + self.word_bytes
        values: list[bytes] = []
        for tag, (kind, count, data) in sorted(tags.items()):
            inline = bytes(data[: self.word_bytes]).ljust(self.word_bytes, b"\0")
            if len(data) > self.word_bytes:
                values.append(bytes(data) + b"\0" * (len(data) % 2))
                inline, at = self.pack(self._word, at), at + len(values[-1])
            entries.append(self._head.pack(tag, kind, count) + inline)
        return b"".join([start, *entries, b"\0" * self.word_bytes, *values])


def tiff_pages(data: Data, most_bytes: int) -> list[bytes] | Lost:
    """The pages of a TIFF that has several; none of what is no TIFF, or has but one page.

    Causes: "damaged_header"; "too_large" where they are more than `most_bytes` together, or have
    the file's bytes again and again: a batch has as many files as fit, whose pages must fit too.
    """
    order = _ORDERS.get(bytes(data[:2]))
    magic = bytes(data[2:4])[:: -1 if order == "<" else 1]
    if order is None or magic not in (b"\0\x2a", b"\0\x2b"):
        return []
    most_bytes = min(most_bytes, MOST_TIMES * len(data))
    file, pages, left = _File(data, order, magic == b"\0\x2b"), [], most_bytes
    try:
        chain = file.chain() if file.is_whole() else []
        if len(chain) < 2:
            return []
        first, *others = chain
        shown = [first, *(place for place in others if file.is_page(file.tags(*place)))]
        for place in shown if len(shown) > 1 else ():
            page = file.alone(file.tags(*place), left)
            if page is None:
                return Lost("too_large", f"{len(shown)} pages take more than {most_bytes} bytes")
            pages.append(page)
            left -= len(page)
    except (struct.error, OverflowError, _DamagedError) as e:
        return Lost("damaged_header", f"TIFF of several pages: {e}")
    return pages


def pages_of(image: SourceImage, most_bytes: int) -> list[SourceImage]:
    """An image as its pages, if it has several."""
    pages = [] if image.data is None or image.lost else tiff_pages(image.data, most_bytes)
    if isinstance(pages, Lost):
        lost = pages._replace(detail=f"{image.where}: {pages.detail}", bytes=len(image.data or b""))
        return [image._replace(lost=lost)]
    return [
        image._replace(
            path=f"{image.path}#{number}",
            where=f"{image.where} page {number}",
            data=page,
            source_offset=None,
        )
        for number, page in enumerate(pages)
    ] or [image]


def with_pages(document: SourceDocument, most_bytes: int) -> SourceDocument:
    """A document whose images have a page each; pages follow one another where their image was."""
    may_have = any(image.data and image.data[0] in b"IM" for image in document.images)
    if document.lost is not None or not may_have:
        return document
    pages = [pages_of(image, most_bytes) for image in document.images]
    if all(of[0] is image for of, image in zip(pages, document.images, strict=True)):
        return document
    text = document.text
    if len(pages) < sum(map(len, pages)) and PLACEHOLDER in text:
        before, *pieces = text.split(PLACEHOLDER)
        places = (PLACEHOLDER * len(of) for of in pages)
        text = type(text)(before + "".join(next(places) + piece for piece in pieces))
    return document._replace(text=text, images=[page for of in pages for page in of])
