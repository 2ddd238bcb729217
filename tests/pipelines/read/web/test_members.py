"""The plain bytes of packed files, and where their members begin, from any of these on."""

import random

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.read.web.archives import PACK
from tests.strategies import examples
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.stream import DamagedError
from tokenmill.pipelines.read.web.members import DICTIONARY, Feed, read_members
from tokenmill.pipelines.read.web.warc import packing_of

MEMBERS = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=50), st.sampled_from((bytes(3_000_000), b"ab" * 50_000))
    ),
    max_size=6,
)


def members(path, packing, start=0, limits=None):
    found = []
    for begin, data in read_members(str(path), packing, start=start, limits=limits or Limits()):
        if begin is not None:
            found.append([begin, b""])
        found[-1][1] += data
    return [tuple(f) for f in found]


@given(MEMBERS, st.sampled_from([p for p in PACK if p]), st.data())
def test_members_come_out_as_they_went_in(tmp_path_factory, plain, packing, data):
    path = tmp_path_factory.mktemp("members") / "file"
    packed = [PACK[packing](p) for p in plain]
    path.write_bytes(b"".join(packed))
    begins = [sum(map(len, packed[:i])) for i in range(len(packed))]
    expected = list(zip(begins, plain, strict=True))
    assert members(path, packing) == expected
    if expected:
        i = data.draw(st.integers(0, len(expected) - 1))
        assert members(path, packing, begins[i]) == expected[i:]


def test_a_plain_file_is_one_member(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 40_000)
    assert members(path, None) == [(0, path.read_bytes())]
    assert members(path, None, 100) == [(100, path.read_bytes()[100:])]


def test_padding_between_gzip_members_is_passed_over(tmp_path):
    path = tmp_path / "file"
    one, two = PACK["gzip"](b"one"), PACK["gzip"](b"two")
    path.write_bytes(one + bytes(20_000) + two + bytes(9))
    assert members(path, "gzip") == [(0, b"one"), (len(one) + 20_000, b"two")]


@pytest.mark.parametrize("packed", [False, True])
def test_frames_may_need_the_dictionary_that_the_file_begins_with(tmp_path, packed):
    texts = [b"WARC/1.0\r\nWARC-Type: response\r\nnumber %d\r\n" % i * 3 for i in range(2000)]
    trained = zstandard.train_dictionary(4000, texts)
    pack = zstandard.ZstdCompressor(dict_data=trained).compress
    data = PACK["zstd"](trained.as_bytes()) if packed else trained.as_bytes()
    head = DICTIONARY + len(data).to_bytes(4, "little") + data
    one, two = pack(texts[0]), pack(texts[1])
    path = tmp_path / "file"
    path.write_bytes(head + one + two)
    assert packing_of(str(path)) == "zstd"
    assert [data for _, data in members(path, "zstd")] == texts[:2]
    assert members(path, "zstd", len(head) + len(one)) == [(len(head) + len(one), texts[1])]
    path.write_bytes(head[:-9])
    with pytest.raises(DamagedError) as e:
        members(path, "zstd")
    assert str(e.value) == f"its dictionary claims {len(data)} bytes"


@pytest.mark.parametrize("packing", ["gzip", "zstd", "lz4"])
def test_damage_is_named(tmp_path, packing):
    noise = random.Random(1).randbytes(300_000)
    data = PACK[packing](noise)
    path = tmp_path / "file"
    path.write_bytes(data[:-5])
    with pytest.raises(DamagedError) as e:
        members(path, packing)
    assert e.value.cause == f"truncated_{packing}"
    assert str(e.value) == f"the file ends inside of a {packing} member, at byte {len(data) - 5}"
    path.write_bytes(data + b"no member at all")
    with pytest.raises(DamagedError) as e:
        members(path, packing)
    assert e.value.cause == f"damaged_{packing}"
    assert str(e.value).endswith(f"in packed byte {len(data) + 16} or before")


def test_a_window_may_be_too_large(tmp_path):
    path = tmp_path / "file"
    parameters = zstandard.ZstdCompressionParameters(window_log=24)
    packer = zstandard.ZstdCompressor(compression_params=parameters)
    path.write_bytes(packer.compress(bytes(1 << 24)))
    with pytest.raises(DamagedError) as e:
        members(path, "zstd", limits=Limits(max_window_bytes="1MiB"))
    assert e.value.cause == "window_too_large"


def test_memory_does_not_follow_what_a_member_claims(tmp_path):
    path = tmp_path / "file"
    for packing in ("gzip", "zstd", "lz4"):
        path.write_bytes(PACK[packing](bytes(100_000_000)))
        largest = max(len(d) for _, d in read_members(str(path), packing, limits=Limits()))
        assert largest <= 64 * 1024**2


MARKS = (b"\n\r\n", b"\n\n", b"\n\r\r\n")


@given(
    st.lists(st.sampled_from([b"x" * 1021, b"x" * 8190, b"\n", b"\r", b"a"]), max_size=12),
    st.sampled_from([10, 1024, 1030, 9000, 2**20]),
)
def test_the_first_mark_is_found_wherever_it_lies(parts, most):
    data = b"".join(parts)
    ends = [data[:most].find(mark) + len(mark) for mark in MARKS if mark in data[:most]]
    assert Feed(iter([(0, data)])).through(MARKS, most) == (min(ends) if ends else None)


class Twin:
    """A feed of stretches of pieces, with damage behind each, behind the last for good or not."""

    def __init__(self, stretches, goes_on):
        self.pieces, self.members, self.ends, self.whole = [], [], [], b""
        for stretch in stretches:
            for begins, data in stretch:
                at = len(self.whole)
                begin = 1000 + 7 * at if begins or at in (0, *self.ends) else None
                self.members += [(at, begin)] if begin is not None else []
                self.pieces.append((begin, data))
                self.whole += data
            self.pieces.append(DamagedError("odd", str(len(self.ends))))
            self.ends.append(len(self.whole))
        self.goes_on, self.at, self.now, self.last = goes_on, 0, 0, len(stretches) - 1

    def given_out(self):
        yield from self.pieces[:-1]
        if self.goes_on:
            yield self.pieces[-1]
        else:
            raise self.pieces[-1]

    def peek(self, size):
        return self.whole[self.at : self.ends[self.now]][:size]

    def take(self, size):
        taken = self.peek(size)
        self.at += len(taken)
        return taken

    def skip(self, size):
        self.take(size)

    def has_ended(self, within):
        return len(self.peek(within)) < within

    def next_member(self, within):
        ahead = [plain - self.at for plain, _ in self.members if plain < self.ends[self.now]]
        return next((size for size in ahead if 0 < size <= within), None)

    def place(self):
        ends = self.ends[self.now]
        plain, begin = [m for m in self.members if m[0] <= self.at and m[0] < ends][-1]
        return begin, self.at - plain

    def go_on(self):
        more = self.now < self.last or self.goes_on
        if more:
            self.at, self.now = self.ends[self.now], self.now + 1
            self.ends += self.ends[-1:]
        return more


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("more", [0, 1])
def test_a_dictionary_has_up_to_16_mib(tmp_path, packed, more):
    size = 16 * 2**20 + more
    data = PACK["zstd"](bytes(size)) if packed else bytes(size)
    path = tmp_path / "file"
    path.write_bytes(DICTIONARY + len(data).to_bytes(4, "little") + data + PACK["zstd"](b"one"))
    if not more:
        assert [data for _, data in members(path, "zstd")] == [b"one"]
        return
    told = "its dictionary expands to too much" if packed else f"its dictionary claims {size} bytes"
    with pytest.raises(DamagedError, match=told) as e:
        members(path, "zstd")
    assert e.value.cause == "damaged_zstd"


PARTS = st.lists(
    st.tuples(st.booleans(), st.binary(min_size=1, max_size=9)), min_size=1, max_size=5
)
ASKED = ("peek", "take", "skip", "has_ended", "next_member", "place", "go_on")


@settings(max_examples=examples(400, 60))
@given(
    st.lists(PARTS, min_size=1, max_size=3),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(ASKED), st.integers(0, 20)), max_size=25),
)
def test_a_feed_is_the_bytes_of_its_pieces_up_to_what_is_damaged(stretches, goes_on, asked):
    twin = Twin(stretches, goes_on)
    feed = Feed(twin.given_out())
    for what, size in asked:
        if what == "go_on":
            assert feed.has_ended(1000)
            assert str(feed.broken) == str(min(twin.now, len(stretches) - 1))
            assert feed.go_on() == twin.go_on()
            if twin.now == len(stretches):
                return
        elif what == "place":
            feed.peek(1)  # else a member that begins here is not known yet
            assert feed.place() == twin.place()
        elif what == "next_member":
            feed.peek(size + 1)  # likewise of one that begins behind so many bytes
            assert feed.next_member(size) == twin.next_member(size)
        else:
            assert getattr(feed, what)(size) == getattr(twin, what)(size)
        assert feed.at == twin.at
