"""Reading on behind a member that is damaged, at the next one that begins with a record.

member | member | dam~ged | member | …        what is damaged is told, with the bytes passed over
                          └ found by its first bytes, and by a record that they unpack to
"""

from collections.abc import Generator
from itertools import pairwise

from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.stream import Codec, DamagedError, pieces
from tokenmill.pipelines.read.web.members import MAGIC, Piece, codec_for, read_members
from tokenmill.pipelines.read.web.records import begins_record
from tokenmill.pipelines.storage.inputs import open_input

LOOK_BYTES = 1024**2  # of the file, looked at in turn
HELD_BYTES = 256 * 1024  # of a member, that are enough to unpack its first bytes
FIRST_BYTES = 256  # of it, unpacked at a time
ENOUGH_BYTES = 256  # of a record, that tell that it is one
MOST_TRIES = 100_000  # places that look like a member: a file made of such is given up


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
