"""The members of a tar, in order, from a stream of blocks; each byte is read once.

    blocks ── Tape (bytes in order) ── members ──► Member: name, kind, place, size
                   ▲                                  │
                   └────────────── data(member) ──────┘   or the walk passes over it

ustar, GNU's long names and sizes, and pax headers. Nothing is ever extracted, links are not
followed. Members may be compressed themselves, as 000017.txt.gz (`unpacked`).
Formats: POSIX.1-2024 pax, GNU tar manual ("Basic Tar Format").
"""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from isal import isal_zlib

from tokenmill.pipelines.read.stream import GZIP_ERROR, GZIP_WBITS, DamagedError, UnreadableError

RECORD = 512  # bytes; headers and data begin at multiples of it
MOST_HEADER_BYTES = 1024**2  # of a long name or a pax header
_ZEROS = bytes(RECORD)
MOST_DIGITS = 8  # of the length of a record in it
MOST_BYTES = 1 << 62  # of a member
_FILES, _PAX, _LONG = frozenset(b"0\x007"), frozenset(b"xX"), frozenset(b"LK")
_KINDS = {
    ord("1"): "link", ord("2"): "link", ord("3"): "device", ord("4"): "device",
    ord("5"): "folder", ord("6"): "device", ord("S"): "sparse",
}  # fmt: skip
_WITHOUT_DATA = frozenset(b"123456")  # whatever size their headers claim


class Member(NamedTuple):
    """kind: "file", "folder", "link", "device", "sparse" or "unknown_type".

    at: byte of the uncompressed tar where its data begins.  size: of the data, in bytes.
    """

    name: str
    kind: str
    at: int
    size: int


class Tape:
    """Bytes of a stream of blocks, taken in order."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = memoryview(b"")
        self._here = 0  # in the block
        self._first = 0  # of the block, in the stream

    @property
    def at(self) -> int:
        """The next byte's place in the stream."""
        return self._first + self._here

    def take(self, size: int) -> memoryview:
        """The next bytes; fewer where the stream ends. Those of one block are not copied."""
        end = self._here + size
        if end <= len(self._block):
            taken = self._block[self._here : end]
            self._here = end
            return taken
        pieces = [self._block[self._here :]]
        missing = size - len(pieces[0])
        while missing and self._next():
            pieces.append(self._block[:missing])
            self._here = len(pieces[-1])
            missing -= self._here
        return memoryview(b"".join(pieces)) if len(pieces) > 1 else pieces[0]

    def skip(self, to: int) -> bool:
        """Go to a byte further on; False if the stream ends before it."""
        while to > self._first + len(self._block):
            self._here = len(self._block)
            if not self._next():
                return False
        self._here = to - self._first
        return True

    def _next(self) -> bool:
        block = next(self._blocks, None)
        if block is None:
            self._here = len(self._block)
            return False
        self._first += len(self._block)
        self._block, self._here = memoryview(block), 0
        return True


class Tar:
    """Walks a tar, data before the next member or never; notes: "joined_tars", "trailing_bytes"."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._tape = Tape(blocks)
        self._next = 0
        self.notes: list[str] = []

    @property
    def at(self) -> int:
        """How many bytes of the tar have been read."""
        return self._tape.at

    def __iter__(self) -> Iterator[Member]:
        """Each member.

        DamagedError: the tar is cut short ("truncated_tar"), what should be a header is
            none ("damaged_tar"), or it ends behind a member, as if more should come
            ("unended_tar"); or the stream itself is damaged.
        """
        long: dict[str, str] = {}
        while (found := self._header()) is not None:
            header, at = found
            kind, size = header[156], _size(header, at)
            if kind in _PAX:
                long |= _pax(self._long(at, size), at)
            elif kind in _LONG:
                name = bytes(self._long(at, size)).partition(b"\0")[0]
                long |= {"path": _text(name)} if kind == ord("L") else {}
            elif kind == ord("g"):
                self._long(at, size)
            else:
                member = self._member(header, long, size)
                self._next = _padded(member.at + member.size)
                long = {}
                yield member

    def data(self, member: Member) -> memoryview:
        """All bytes of a member; DamagedError where the tar ends before."""
        return self._take(member.size, f"inside of {member.name!r}")

    def beginning(self, member: Member, most: int) -> bytes:
        """The first bytes of a member, whose data is then not taken."""
        return bytes(self._tape.take(min(member.size, most)))

    def _take(self, size: int, where: str) -> memoryview:
        data = self._tape.take(size)
        if len(data) < size:
            raise _cut_short(where, self._tape.at)
        return data

    def _header(self) -> tuple[bytes, int] | None:
        """The next header and its place; None at the end."""
        ended = False
        while True:
            at = self._next
            if not self._tape.skip(at):
                raise _cut_short("inside of a member", self._tape.at)
            header = bytes(self._tape.take(RECORD))
            self._next = at + RECORD
            if header == _ZEROS:
                ended = True
                continue
            if ended and len(header) == 0:
                return None
            if len(header) == RECORD and _sum_is_right(header):
                self.notes += ["joined_tars"] if ended else []
                return header, at
            if ended:
                self.notes.append("trailing_bytes")
                return None
            if len(header) < RECORD:
                if len(header):
                    raise _cut_short("inside of a header", self._tape.at)
                raise DamagedError("unended_tar", f"no mark of its end at byte {at}, its last")
            raise DamagedError("damaged_tar", f"no header of a tar at byte {at}, where one must be")

    def _long(self, at: int, size: int) -> memoryview:
        if size > MOST_HEADER_BYTES:
            raise DamagedError("damaged_tar", f"a header of {size} bytes at byte {at}")
        data = self._take(size, "inside of a header")
        self._next = _padded(self._tape.at)
        return data

    def _member(self, header: bytes, long: dict[str, str], size: int) -> Member:
        kind = header[156]
        name = long["path"] if "path" in long else _name(header)
        size = int(long["size"]) if "size" in long else size
        what = "file" if kind in _FILES else _KINDS.get(kind, "unknown_type")
        if what == "file" and name.endswith("/"):
            what = "folder"  # as tars had it before there was a type for it
        elif long and any(key.startswith("GNU.sparse.") for key in long):
            what = "sparse"
        elif what == "sparse":
            more = header[482]  # records that go on with GNU's list of the file's extents
            while more:
                more = self._take(RECORD, "inside of a header")[504]
        return Member(name, what, self._tape.at, 0 if kind in _WITHOUT_DATA else size)


def _cut_short(where: str, at: int) -> DamagedError:
    return DamagedError("truncated_tar", f"the tar ends {where}, at byte {at}")


def _padded(size: int) -> int:
    return -(-size // RECORD) * RECORD


def _name(header: bytes) -> str:
    name = header[:100].partition(b"\0")[0]
    if header[345] and header[257:263] == b"ustar\0":
        name = header[345:500].partition(b"\0")[0] + b"/" + name
    return _text(name)


def _text(name: bytes) -> str:
    """A name as text; bytes that are not UTF-8 as \\xNN, so that two names never become one."""
    return name.decode("utf-8", "backslashreplace")


def _size(header: bytes, at: int) -> int:
    """The size in the header at byte `at`: octal digits, or base 256 where a bit says so."""
    field = header[124:136]
    size = int.from_bytes(field[1:]) if field[0] == 0x80 else _octal(field)
    if size is None or size > MOST_BYTES:
        raise DamagedError("damaged_tar", f"no size in the header at byte {at}: {field!r}")
    return size


def _octal(field: bytes) -> int | None:
    digits = field.partition(b"\0")[0].strip(b" ") or b"0"
    try:
        return int(digits, 8) if digits.isdigit() else None
    except ValueError:  # 8 or 9
        return None


def _sum_is_right(header: bytes) -> bool:
    """Compare the sum of a header's bytes, the field of the sum taken as blanks.

    The lower half of Adler-32 is that sum plus one, modulo 65,521, which no header of a tar
    reaches: most of it is zeros. It takes a tenth of the time of adding up in Python.
    """
    field = header[148:156]
    claimed = _octal(field)
    if claimed is None:
        return False
    total = claimed + sum(field) - 8 * 0x20
    if total + 1 == zlib.adler32(header) & 0xFFFF:
        return True
    rest = [*header[:148], *header[156:]]
    signed = sum(b - 256 if b > 127 else b for b in rest)  # as some old tars summed
    return claimed - 8 * 0x20 in (sum(rest), signed)


def _pax(data: memoryview, at: int) -> dict[str, str]:
    """The records "LENGTH KEY=VALUE\\n" of a pax header that say something of the next member."""
    rest, begin, found = bytes(data).rstrip(b"\0"), 0, {}
    while begin < len(rest):
        blank = rest.find(b" ", begin, begin + MOST_DIGITS)
        digits = rest[begin : max(blank, begin)]
        end = begin + (int(digits) if digits.isdigit() else 0)
        key, equals, value = rest[blank + 1 : end - 1].partition(b"=")
        if not (begin < blank < end <= len(rest) and equals and rest[end - 1] == ord("\n")):
            raise DamagedError("damaged_tar", f"a pax header that is none at byte {at}")
        if key == b"size" and not (value.isdigit() and len(value) < 19):
            raise DamagedError("damaged_tar", f"a pax header of size {value[:20]!r} at byte {at}")
        if key in (b"path", b"size") or key.startswith(b"GNU.sparse."):
            found[_text(key)] = _text(value)
        begin = end
    return found


def unpacked(data: bytes | memoryview, most_bytes: int) -> bytes:
    """What some gzip expands to; never more than `most_bytes`, however small it is packed.

    UnreadableError: it expands to more ("too_large"), breaks off, or is no gzip
        ("damaged_member").
    """
    rest, out = bytes(data), b""
    try:
        while rest:  # gzip members follow one another
            member = isal_zlib.decompressobj(GZIP_WBITS)
            out += member.decompress(rest, most_bytes + 1 - len(out))
            if len(out) > most_bytes:
                raise UnreadableError("too_large", f"expands to more than {most_bytes} bytes")
            if not member.eof:
                raise UnreadableError("damaged_member", "the gzip in it breaks off")
            rest = member.unused_data.lstrip(b"\0")
    except GZIP_ERROR as e:
        raise UnreadableError("damaged_member", f"not gzip: {e}") from None
    return out
