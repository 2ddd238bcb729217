"""Messages of Arrow files, made by hand and by pyarrow; of all writers: read/test_tables.py."""

import struct
from itertools import accumulate

import pyarrow as pa
import pytest

from tokenmill.pipelines.storage.bounds import FREE_BYTES, ExpandsError
from tokenmill.pipelines.storage.ipc import (
    BATCH,
    DICTIONARY,
    MAGIC,
    SCHEMA,
    CutShortError,
    check_blocks,
    check_message,
    header_bytes,
    layout_of,
    messages,
    stream_start,
)


def found_in(data: bytes, start: int | None = None, stop: int | None = None) -> list:
    """The messages, and where the file is cut short."""
    found = []
    try:
        found += messages(pa.BufferReader(data), start, stop)
    except CutShortError as e:
        found += [e.start]
    return found


@pytest.mark.parametrize(
    ("footer_bytes", "whole"), [(5, True), (6, False), (0, False), (-1, False)]
)
def test_a_footer_may_take_all_behind_the_first_mark_and_no_more(footer_bytes, whole):
    data = MAGIC + bytes(2) + bytes(5) + struct.pack("<i6s", footer_bytes, MAGIC)
    assert found_in(data) == [8] * (not whole)


WORDS = [
    pa.DictionaryArray.from_arrays(pa.array([0] * 400, pa.int8()), pa.array([letter * length]))
    for letter, length in (("a", 990), ("b", 980))
]
TABLE = pa.table({"n": range(400), "text": ["abc"] * 400, "a": WORDS[0], "b": WORDS[1]})
ROWS = 256  # of the first batch of two: buffers of slices are written up to a multiple of 64 bytes
# bytes of the buffers that have any: n, text's offsets and letters, indices of the dictionaries
BUFFERS = [[8 * n, 4 * (n + 1), 3 * n, n, n] for n in (ROWS, 400 - ROWS)]


def written(new, **options) -> bytes:
    sink = pa.BufferOutputStream()
    with new(sink, TABLE.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(TABLE, ROWS)
    return sink.getvalue().to_pybytes()


WAYS = [
    {"compression": compression, "use_legacy_format": legacy}
    for compression in (None, "lz4")
    for legacy in (False, True)
]


@pytest.mark.parametrize("ways", WAYS, ids=str)
@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_messages_lie_where_pyarrow_reads_them(new, ways):
    data = written(new, **ways)
    reader = pa.BufferReader(data)
    begin = stream_start(reader)
    reader.seek(begin)
    theirs, ends = list(pa.ipc.MessageReader.open_stream(reader)), []
    for message in theirs:
        head = len(message.metadata) + (4 if ways["use_legacy_format"] else 8)
        ends.append(head + len(message.body or b""))
    places = list(accumulate(ends, initial=begin))
    kinds = [SCHEMA, DICTIONARY, DICTIONARY, BATCH, BATCH]
    ours = found_in(data)
    assert [(m.kind, m.start) for m in ours] == list(zip(kinds, places[:-1], strict=True))
    assert [m.stop for m in ours] == places[1:]
    assert [m.rows for m in ours] == [0, 0, 0, ROWS, 400 - ROWS]
    assert found_in(data, places[2], places[4]) == ours[2:4]
    assert found_in(data, places[2], places[4] + 1) == ours[2:]
    for message, found in zip(theirs, ours, strict=True):
        size = found.stop - found.start - len(message.body or b"")
        assert header_bytes(data[found.start : found.start + 8]) == size
    for message, sizes in zip(ours[3:], BUFFERS, strict=True):
        layout = layout_of(data[message.start : message.stop])
        head = data[message.start : message.start + layout.body]
        assert layout_of(head) == layout
        for cut in (0, 7, 8, layout.body - 1):
            with pytest.raises(CutShortError, match="no header of a record batch"):
                layout_of(head[:cut])
        assert layout.compressed == (ways["compression"] is not None)
        stored = [(start, size) for start, size in layout.buffers if size]
        at = message.start + layout.body
        claimed = [struct.unpack_from("<q", data, at + start)[0] for start, _ in stored]
        assert (claimed if layout.compressed else [size for _, size in stored]) == sizes
        assert layout.compressed or data[at + stored[2][0] :].startswith(b"abcabc")
    unpacked = [check_message(message) for message in theirs]
    assert unpacked[3:] == ([0, 0] if ways["compression"] is None else list(map(sum, BUFFERS)))


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_what_was_cut_short_has_the_messages_before_the_cut(new, legacy):
    """The end of the messages is a mark of 8 bytes, of old 4, which a stream may lack."""
    data, mark = written(new, use_legacy_format=legacy), 4 if legacy else 8
    ours = found_in(data)
    around = {message.stop + more for message in ours for more in range(-9, 10)}
    for stop in sorted({*range(ours[0].start, len(data), 7), *around} & {*range(len(data))}):
        whole = [message for message in ours if message.stop <= stop]
        at = whole[-1].stop if whole else ours[0].start
        beyond = stop - ours[-1].stop
        known = mark <= beyond <= 8 if new is pa.ipc.new_file else beyond == mark or stop == at
        assert found_in(data[:stop]) == [*whole, *([] if known else [at])], stop


def claiming(*claims: int) -> bytes:
    """A file whose two dictionaries and two batches each claim to unpack to so much."""
    data = bytearray(written(pa.ipc.new_file, compression="lz4"))
    rest = (8, 8, sum(BUFFERS[0][1:]), sum(BUFFERS[1][1:]))  # of the other buffers
    sizes = (990, 980, BUFFERS[0][0], BUFFERS[1][0])
    found = found_in(bytes(data))[1:]
    for message, size, claim, others in zip(found, sizes, claims, rest, strict=True):
        at = data.rindex(struct.pack("<q", size), message.start, message.stop)
        data[at : at + 8] = struct.pack("<q", claim - others)
    return bytes(data)


HALF = FREE_BYTES // 2


@pytest.mark.parametrize(
    ("claims", "wanted", "held"),
    [
        ((HALF, HALF, FREE_BYTES, FREE_BYTES), range(2), True),
        ((HALF, HALF + 1, 900, 900), range(2), False),
        ((HALF + 1, HALF, 900, 900), range(0), False),
        ((1000, 1000, FREE_BYTES + 1, 900), range(2), False),
        ((1000, 1000, 900, FREE_BYTES + 1), range(2), False),
        ((1000, 1000, 900, FREE_BYTES + 1), range(1), True),
        ((1000, 1000, FREE_BYTES + 1, 900), range(1, 2), True),
        ((1000, 1000, FREE_BYTES + 1, 900), range(2, 9), True),
    ],
)
def test_dictionaries_together_and_each_wanted_batch_claim_no_more_than_they_may(
    claims, wanted, held
):
    data = memoryview(claiming(*claims))
    asked = []
    if held:
        check_blocks(data, lambda n: asked.append(n) or wanted)
        assert asked == [2]
    else:
        told = f"a record batch of {len(data):,} bytes unpacks to {FREE_BYTES + 1:,}"
        with pytest.raises(ExpandsError, match=told):
            check_blocks(data, lambda _: wanted)


def test_a_footer_that_points_elsewhere_is_told():
    data = bytearray(claiming(1000, 1000, 900, 900))
    (size,) = struct.unpack_from("<i", data, len(data) - 10)
    start = found_in(bytes(data))[3].start
    at = data.index(struct.pack("<q", start), len(data) - 10 - size)
    data[at : at + 8] = struct.pack("<q", len(data))
    with pytest.raises(ValueError, match="a message lies outside the file: "):
        check_blocks(memoryview(data), lambda _: range(2))
