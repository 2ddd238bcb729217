r"""The records of a web archive, in order: WARC 0.17 to 1.1, and ARC.

    WARC/1.0\r\n                           http://a.org/ 1.2.3.4 20140102030405 text/html 99\n
    WARC-Type: response\r\n                (99 bytes)\n
    Content-Length: 99\r\n\r\n
    (99 bytes)\r\n\r\n

Behind a member that is damaged reading goes on at the next one that begins with a record, which its
first bytes and what they unpack to tell; what is damaged is told, with the bytes passed over.

Formats: ISO 28500:2017 (WARC 1.1); Internet Archive, "Arc File Format", versions 1 and 2.
"""

import re
from collections.abc import Generator, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.stream import Codec, DamagedError, UnreadableError, pieces
from tokenmill.pipelines.read.web.http import header_fields
from tokenmill.pipelines.read.web.members import MAGIC, Feed, Piece, Place, codec_for, read_members
from tokenmill.pipelines.storage.inputs import open_input

ARC_HEADER, DAMAGED, OTHER = "arc_header", "damaged", "other_type"
TYPES = frozenset(
    {
        *("warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion"),
        *("continuation", ARC_HEADER),
    }
)
MADE_OF = frozenset({"response", "resource", "conversion"})  # what documents may be made of
WARC = b"WARC/"
MOST_HEADER_BYTES = 1024**2
LONGEST_ARC_LINE = 16 * 1024
STEP_BYTES = 1024**2  # of a block, taken at a time
SHOWN = 40
DAMAGED_RECORD, TRUNCATED, DAMAGED_FILE = "damaged_record", "truncated_warc", "damaged_warc"
DAMAGED_MEMBER = "damaged_member"
GOES_ON = frozenset({"", DAMAGED_RECORD, DAMAGED_MEMBER})
_VERSION_LINE = re.compile(rb"\nWARC/\d\.\d+\r*\n")
_BLANK_LINES = (b"\n\r\n", b"\n\n", b"\n\r\r\n")  # the last of files mangled on the way
_BETWEEN = 5  # bytes, more than stand between two records
_MARGIN = 32  # bytes, more than such a line has
_ARC_LINE = re.compile(
    rb"(?P<url>[a-zA-Z][\w+.-]*:.*) (?P<ip>\S+) (?P<date>\d{8,}) (?P<type>\S*)"
    rb"(?: \d{3} \S+ \S+ \d+ \S+)? (?P<length>\S+)\r?\n"
)
LOOK_BYTES = 1024**2  # of the file, looked at in turn
HELD_BYTES = 256 * 1024  # of a member, that are enough to unpack its first bytes
FIRST_BYTES = 256  # of it, unpacked at a time
ENOUGH_BYTES = 256  # of a record, that tell that it is one
MOST_TRIES = 100_000  # places that look like a member: a file made of such is given up


class Record(NamedTuple):
    """kind: its WARC-Type, "arc_header", "other_type"; or "damaged", where it is no record.

    headers: by name in small letters; of an ARC record those of WARC that say the same.
    number: in its walk, from 0.  length: of the block, as its header claims.
    block: as much of it as was asked for; None where it is damaged.
    cause: why it is damaged; "" if it is not. All but "damaged_record" and "damaged_member" end
        the file.
    damage: what is wrong.
    cut: the file ends inside of the block, of which this is a part: `cause` is why.
    """

    kind: str
    headers: Mapping[str, str]
    number: int
    place: Place
    length: int
    block: bytes | None
    cause: str = ""
    damage: str = ""
    cut: bool = False


def begins_record(data: bytes) -> bool:
    """Whether a record begins with these bytes, as far as they tell."""
    return data.startswith(WARC) or _ARC_LINE.match(data) is not None


class Walk:
    """The records of a file from one of its members on.

    Behind one that is damaged it goes on at the next line that says "WARC/1.0", or the next member
    that begins with a record.
    """

    def __init__(
        self,
        pieces: Iterator[Piece | DamagedError],
        *,
        stop: int | None,
        plain: bool,
        most_bytes: int,
    ) -> None:
        """Begin where the pieces do.

        stop: byte of the file; records in members that begin there or behind it are another's.
            Of a plain file, records that begin there.
        most_bytes: of the block of a record that documents may be made of.
        """
        self._feed = Feed(pieces)
        self._stop, self._plain, self._most = stop, plain, most_bytes
        self._number = 0

    def __iter__(self) -> Iterator[Record]:
        """Each record; what breaks the file off is the last."""
        while self._at_record():
            record = self._next()
            yield record
            self._number += 1
            if record.cause not in GOES_ON:
                return

    def _next(self) -> Record:
        feed = self._feed
        record = Record(DAMAGED, {}, self._number, feed.place(), 0, None)  # before it is read
        if not feed.peek(1):
            return self._broken(record)
        try:
            record = self._head(record)
            record = self._with_block(record)
        except DamagedError:
            record = record._replace(cut=True)
        except UnreadableError as e:
            # the message stays when what went wrong behind it is of no more help
            cause = e.cause
            if not self._resume():
                cause = DAMAGED_FILE if feed.broken is None else feed.broken.cause
                cause = DAMAGED_MEMBER if feed.go_on() else cause
            return record._replace(cause=cause, damage=str(e))
        return self._broken(record) if record.cut or self._is_in_doubt() else record

    def _broken(self, record: Record) -> Record:
        """A record as lost by damage, or what there is of one that the file ends in.

        The feed is then behind the damage, if it goes on.
        """
        error = self._ended()
        if record.kind == DAMAGED and not record.length and error.member is not None:
            record = record._replace(place=Place(error.member, 0))
        cause = DAMAGED_MEMBER if self._feed.go_on() else error.cause
        cut = bool(record.block) and cause.startswith("truncated_")
        block = record.block if cut else None
        return record._replace(block=block, cut=cut, cause=cause, damage=str(error))

    def _at_record(self) -> bool:
        """Go to where the next record must begin, or damage; False at the end."""
        feed = self._feed
        while (lead := feed.peek(1)) and lead in b"\r\n":
            feed.skip(1)
        if not lead:
            broken = feed.broken
            return broken is not None and (
                self._stop is None or broken.member is None or broken.member < self._stop
            )
        if self._stop is None:
            return True
        place = feed.place()
        return place.member + (place.offset if self._plain else 0) < self._stop

    def _head(self, record: Record) -> Record:
        """The next record with its header, which is taken from the feed."""
        feed = self._feed
        if feed.peek(len(WARC)) == WARC:
            size = feed.through(_BLANK_LINES, MOST_HEADER_BYTES)
            if size is None and feed.has_ended(MOST_HEADER_BYTES):
                raise self._ended()
            if size is None:
                raise UnreadableError(
                    DAMAGED_RECORD, f"a header of more than {MOST_HEADER_BYTES} bytes"
                )
            return _warc_head(record, feed.take(size))
        line = feed.peek(LONGEST_ARC_LINE)
        match = _ARC_LINE.match(line)
        if match is None and len(line) < len(WARC) and WARC.startswith(line):
            raise self._ended()
        if match is None:
            raise UnreadableError(DAMAGED_RECORD, f"no record begins with {line[:SHOWN]!r}")
        feed.skip(match.end())
        record = _arc_head(record, match)
        if record.kind == ARC_HEADER and record.damage:  # its version and the names of the fields
            for _ in range(2):
                feed.skip(feed.through((b"\n",), LONGEST_ARC_LINE) or 0)
        return record

    def _with_block(self, record: Record) -> Record:
        """A record with its block, which is taken from the feed."""
        room = self._most if record.kind in MADE_OF else 0
        held, left, feed, damage = [], record.length, self._feed, record.damage
        while left and not damage:
            step = min(left, STEP_BYTES)
            data = feed.peek(step)
            ahead = feed.next_member(step)
            if ahead is not None and ahead < left:
                step = ahead
                if begins_record(feed.peek(step + LONGEST_ARC_LINE)[step:]):
                    size = record.length - left + step
                    damage = f"claims {record.length} bytes, of which there are {size}"
            if room:
                held.append(data[: min(step, room)])
                room -= len(held[-1])
            if ahead is None and len(data) < step:
                return record._replace(block=b"".join(held), cut=True)
            feed.skip(step)
            left -= step
        block = None if damage else b"".join(held)
        cause = DAMAGED_RECORD if damage else ""
        return record._replace(block=block, cause=cause, damage=damage)

    def _resume(self) -> bool:
        """Go to where a record begins again; False if nowhere."""
        feed = self._feed
        feed.skip(1)
        while data := feed.peek(STEP_BYTES):
            line = _VERSION_LINE.search(data)
            ahead = feed.next_member(len(data))
            if ahead is not None and (line is None or ahead <= line.start()):
                feed.skip(ahead)
                if begins_record(feed.peek(LONGEST_ARC_LINE).lstrip(b"\r\n")):
                    return True
                continue
            if line is not None:
                feed.skip(line.start() + 1)
                return True
            feed.skip(max(len(data) - _MARGIN, 1))
        return False

    def _is_in_doubt(self) -> bool:
        """Whether the member that the last record ends is not what was packed; its end tells."""
        feed = self._feed
        rest = feed.peek(_BETWEEN)
        broken = feed.broken
        if len(rest) == _BETWEEN or broken is None or not broken.cause.startswith("damaged_"):
            return False
        return not rest.strip(b"\r\n") and broken.member == feed.place().member

    def _ended(self) -> DamagedError:
        """Why there is no more of a record."""
        return self._feed.broken or DamagedError(TRUNCATED, "the file ends inside it")


def _warc_head(record: Record, data: bytes) -> Record:
    """The record, with what its header says; UnreadableError where that tells no length."""
    fields = header_fields(data.decode("utf-8", "replace").splitlines()[1:])
    headers = dict(reversed(fields))  # of one that comes twice the first counts
    claimed = headers.get("content-length", "")
    if not _is_length(claimed):
        message = f"a record whose Content-Length is {claimed[:SHOWN]!r}"
        raise UnreadableError(DAMAGED_RECORD, message)
    kind = headers.get("warc-type", "").lower()
    kind = kind if kind in TYPES else OTHER
    return record._replace(kind=kind, headers=headers, length=int(claimed))


def _arc_head(record: Record, match: re.Match[bytes]) -> Record:
    url, ip, date, kind, claimed = (
        match[name].decode("utf-8", "replace") for name in ("url", "ip", "date", "type", "length")
    )
    headers = {
        "warc-target-uri": url,
        "warc-date": date,
        "warc-ip-address": ip,
        "content-type": "application/http" if url[:4].lower() == "http" else kind,
        "arc-type": kind,
    }
    sound = _is_length(claimed)
    return record._replace(
        kind=ARC_HEADER if url.startswith("filedesc:") else "response",
        headers=headers,
        length=int(claimed) if sound else 0,
        damage="" if sound else f"its length is {claimed[:SHOWN]!r}",
    )


def _is_length(claimed: str) -> bool:
    return claimed.isascii() and claimed.isdigit() and len(claimed) < 19


def read_past_damage(
    path: str, packing: str | None, *, start: int = 0, limits: Limits
) -> Generator[Piece | DamagedError, None, None]:
    """As `read_members`, with the error in place of what is damaged where it goes on behind.

    DamagedError: nothing behind holds, or the file ends early.
    InputError, OSError: as `open_input`.
    """
    while True:
        try:
            yield from read_members(path, packing, start=start, limits=limits)
        except DamagedError as e:
            if packing is None or e.member is None or "window" in e.cause:
                raise
            found, lost = _next_member(path, packing, e.member + 1, limits)
            if found is None:
                raise
            for begin, end in pairwise([e.member, *lost, found]):
                message = f"{e}; {end - begin} packed bytes are passed over"
                told = DamagedError(f"damaged_{packing}", message)
                told.member = begin
                yield told
            start = found
        else:
            return


def _next_member(path: str, packing: str, at: int, limits: Limits) -> tuple[int | None, list[int]]:
    """The first byte from `at` on where a member with a record begins; None if there is none.

    Beside it where members seem to begin before it that are damaged too.
    """
    magic, lost, tries = MAGIC[packing], list[int](), 0
    with open_input(path) as file:
        codec = codec_for(file, packing, limits)
        while True:
            file.seek(at)
            data = bytes(file.read(LOOK_BYTES + HELD_BYTES))
            here = data.find(magic)
            while 0 <= here < LOOK_BYTES:
                begins = _begins(codec, data[here : here + HELD_BYTES])
                if begins:
                    return at + here, lost
                lost += [at + here] if begins is None else []
                tries += 1
                if tries > MOST_TRIES:
                    return None, lost
                here = data.find(magic, here + 1)
            if len(data) < LOOK_BYTES + HELD_BYTES:
                return None, lost
            at += LOOK_BYTES


def _begins(codec: Codec, data: bytes) -> bool | None:
    """Whether a member begins with these bytes, and a record with it; None if it is damaged."""
    head, member = b"", codec.begin()
    try:
        for piece in pieces(iter((data,)), FIRST_BYTES):
            for out in codec.unpack(member, piece):
                head += out[:ENOUGH_BYTES]
            if member.eof or len(head) >= ENOUGH_BYTES:
                return begins_record(head.lstrip(b"\r\n"))
    except codec.error:
        pass
    return begins_record(head.lstrip(b"\r\n")) or None
