"""Records of web archives: the same as a slow parser finds, and what is left of damaged ones."""

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from fastwarc import ArchiveIterator
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.read.web.archives import PACK, archive, http, record, response
from tests.reference import warc as reference
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.web.members import read_members
from tokenmill.pipelines.read.web.records import MADE_OF, Walk, begins_record
from tokenmill.pipelines.read.web.warc import packing_of

KINDS = ("warcinfo", "request", "response", "resource", "metadata", "revisit", "conversion")
NAMES = st.sampled_from(("X_Test", "WARC_Target_URI", "WARC_Record_ID", "Content_Type"))
VALUES = st.text(st.characters(codec="ascii", categories=("L", "N", "P")), max_size=20)
BLOCKS = st.one_of(
    st.binary(max_size=80),
    st.sampled_from(
        (b"\r\n\r\n", b"WARC/1.0\r\nWARC-Type: response\r\n\r\n", b"\nWARC/1.1\r\n", b"a" * 70_000)
    ),
)


@st.composite
def records(draw):
    return record(
        draw(st.sampled_from(KINDS)), draw(BLOCKS), **draw(st.dictionaries(NAMES, VALUES))
    )


def walk(path: Path, **settings):
    packing = packing_of(str(path))
    settings = {"stop": None, "most_bytes": 1 << 20} | settings
    pieces = read_members(str(path), packing, start=settings.pop("start", 0), limits=Limits())
    return list(Walk(pieces, plain=packing is None, **settings))


def walked(tmp_path: Path, data: bytes, **settings):
    path = tmp_path / "crawl.warc"
    path.write_bytes(data)
    return walk(path, **settings)


@given(st.lists(records(), max_size=8), st.sampled_from(list(PACK)), st.integers(1, 3))
@example([record("response", b"x" * 5)], "gzip", 1)
def test_records_are_those_of_the_reference(tmp_path_factory, made, packing, together):
    folder = tmp_path_factory.mktemp("warc")
    groups = [b"".join(made[i : i + together]) for i in range(0, len(made), together)]
    found = walked(folder, b"".join(PACK[packing](g) for g in groups))
    expected = reference.records(b"".join(made))
    assert [r.cause for r in found] == [""] * len(made)
    assert [r.number for r in found] == list(range(len(made)))
    assert [(r.kind, dict(r.headers)) for r in found] == [
        (e["kind"], e["headers"]) for e in expected
    ]
    assert [r.length for r in found] == [len(e["block"]) for e in expected]
    blocks = [e["block"] if e["kind"] in MADE_OF else b"" for e in expected]
    assert [r.block for r in found] == blocks


@given(st.lists(records(), max_size=8), st.sampled_from(list(PACK)))
def test_records_are_those_that_fastwarc_reads(tmp_path_factory, made, packing):
    path = tmp_path_factory.mktemp("warc") / "crawl.warc"
    path.write_bytes(archive(made, packing))
    theirs = [
        (str(r.record_type), r.content_length, r.reader.read())
        for r in ArchiveIterator(str(path), parse_http=False)
    ]
    ours = walk(path)
    assert [(r.kind, r.length) for r in ours] == [t[:2] for t in theirs]
    blocks = [block for kind, _, block in theirs if kind in MADE_OF]
    assert [r.block for r in ours if r.kind in MADE_OF] == blocks


@given(st.lists(records(), min_size=1, max_size=6), st.data())
def test_pieces_may_end_anywhere(made, data):
    whole = b"".join(made)
    ends = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    cuts = [0, *ends, len(whole)]
    pieces = [(0 if i == 0 else None, whole[a:b]) for i, (a, b) in enumerate(pairwise(cuts))]
    found = list(Walk(iter(pieces), stop=None, plain=True, most_bytes=1 << 20))
    assert [(r.kind, r.place.offset) for r in found] == [
        (e["kind"], e["at"]) for e in reference.records(whole)
    ]


@given(st.lists(records(), min_size=1, max_size=6), st.data())
def test_walks_that_stop_at_a_member_share_a_file(tmp_path_factory, made, data):
    packing = data.draw(st.sampled_from(list(PACK)))
    path = tmp_path_factory.mktemp("warc") / "crawl.warc"
    path.write_bytes(archive(made, packing))
    sizes = [len(PACK[packing](r)) for r in made]
    at = sum(sizes[: data.draw(st.integers(0, len(made)))])
    before, behind = walk(path, stop=at), walk(path, start=at)
    whole = walk(path)
    assert [r.headers for r in before + behind] == [r.headers for r in whole]
    assert [r.place for r in before] == [r.place for r in whole[: len(before)]]


def test_a_place_is_the_member_and_the_byte_in_it(tmp_path):
    a, b, c = (record("metadata", bytes(n)) for n in (3, 5, 7))
    first = gzip.compress(a + b)
    found = walked(tmp_path, first + gzip.compress(c))
    assert [str(r.place) for r in found] == ["0", f"0+{len(a)}", f"{len(first)}"]


def test_arc_files_have_a_header_and_responses(tmp_path):
    block = http(b"<p>hello")
    lines = b"1 0 Someone\nURL IP-address Archive-date Content-type Archive-length\n"
    data = b"filedesc://a.arc 0.0.0.0 20140216050221 text/plain %d\n" % len(lines) + lines + b"\n"
    data += b"http://a.org/b c?d=e f 1.2.3.4 20140102030405 text/html %d\n" % len(block) + block
    two = b"http://a.org/2 1.2.3.4 20140102030406 text/html 200 - - 77 a.arc %d\n" % len(block)
    for body in (data + b"\n" + two + block + b"\n", data + two + block):
        header, one, other = walked(tmp_path, body)
        assert (header.kind, one.kind, other.kind) == ("arc_header", "response", "response")
        assert one.headers["warc-target-uri"] == "http://a.org/b c?d=e f"
        assert one.headers["warc-date"] == "20140102030405"
        assert one.block == other.block == block


def test_lines_may_end_in_ways_that_no_standard_has(tmp_path):
    data = record("response", b"ab\r\n\r\ncd")
    head, rest = data.split(b"\r\n\r\n", 1)
    for end in (b"\n", b"\r\r\n"):
        (found,) = walked(tmp_path, head.replace(b"\r\n", end) + end + end + rest)
        assert (found.kind, found.block) == ("response", b"ab\r\n\r\ncd")


def test_headers_are_folded_and_the_first_of_two_counts(tmp_path):
    data = b"WARC/1.0\r\nWARC-Type: Response\r\nX-A: 1\r\n\t2\r\nx-a: 3\r\n 4\r\n"
    data += b"Content-Length: 0\r\n\r\n"
    (found,) = walked(tmp_path, data)
    assert found.kind == "response"
    assert found.headers["x-a"] == "1 2"


@pytest.mark.parametrize("packing", [None, "gzip", "zstd", "lz4"])
def test_a_file_that_is_cut_short_says_in_which_record(tmp_path, packing):
    made = [response(i, http(bytes(300))) for i in range(4)]
    data = archive(made, packing)
    *whole, last = walked(tmp_path, data[:-70])
    assert [(r.cause, r.cut) for r in whole] == [("", False)] * 3
    assert last.cause == f"truncated_{ {None: 'warc'}.get(packing, packing) }"
    begin = len(archive(made[:3], packing))
    assert str(last.place) == (f"0+{begin}" if packing is None else f"{begin}")
    assert last.number == 3
    assert last.cut == bool(last.block)
    if packing is None:
        assert made[3].count(last.block) == 1


def test_a_header_that_is_cut_short_ends_the_file(tmp_path):
    for cut in (3, 12, 60):
        (found,) = walked(tmp_path, record("response", b"abc")[:cut])
        assert (found.cause, found.damage) == ("truncated_warc", "the file ends inside it")


def test_damaged_packing_ends_the_file_behind_what_is_good(tmp_path):
    made = [gzip.compress(response(i, http(bytes(range(256)) * 9))) for i in range(3)]
    bad = made[1][:40] + b"\xff" * 30 + made[1][70:]
    first, *rest = walked(tmp_path, made[0] + bad + made[2])
    assert first.cause == ""
    assert [r.cause for r in rest] == ["damaged_gzip"]
    assert str(rest[0].place) == f"{len(made[0])}"
    assert rest[0].damage.endswith(f"in packed byte {len(made[0] + bad + made[2])} or before")


@pytest.mark.parametrize("packing", ["gzip", "zstd", "lz4"])
def test_a_record_that_claims_too_much_ends_where_the_next_begins(tmp_path, packing):
    bad = response(1, http(b"<p>one")).replace(b"Content-Length: ", b"Content-Length: 9")
    made = [response(0, http(b"<p>nought")), bad, response(2, http(b"<p>two"))]
    found = walked(tmp_path, archive(made, packing), most_bytes=1 << 30)
    assert [(r.kind, r.cause) for r in found] == [
        ("response", ""),
        ("response", "damaged_record"),
        ("response", ""),
    ]
    assert found[1].damage.startswith("claims 9")


@pytest.mark.parametrize("packing", [None, "gzip"])
def test_what_stands_between_records_is_passed_over(tmp_path, packing):
    made = [record("metadata", b"a"), b"stray bytes\r\nWARC/x\r\n", record("metadata", b"b")]
    found = walked(tmp_path, archive(made, packing))
    assert [(r.kind, r.cause) for r in found] == [
        ("metadata", ""),
        ("damaged", "damaged_record"),
        ("metadata", ""),
    ]
    assert found[1].damage == f"no record begins with {(made[1] + made[2])[:40]!r}" or packing


def test_a_record_without_a_length_is_passed_over_as_far_as_the_next(tmp_path):
    for claimed in ("", "-1", "ten", "1" * 30):
        bad = (
            b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: %s\r\n\r\nabc\r\n\r\n"
            % claimed.encode()
        )
        found = walked(tmp_path, bad + record("metadata", b""))
        assert [r.cause for r in found] == ["damaged_record", ""]
        assert found[0].damage == f"a record whose Content-Length is {claimed[:40]!r}"


def test_garbage_at_the_end_ends_the_file(tmp_path):
    found = walked(tmp_path, record("metadata", b"") + b"no record, and no more")
    assert [r.cause for r in found] == ["", "damaged_warc"]


def test_blocks_that_are_too_large_are_known_by_their_beginning(tmp_path):
    block = http(bytes(3_000_000))
    found = walked(tmp_path, response(0, block) + record("metadata", b""), most_bytes=1000)
    assert [r.kind for r in found] == ["response", "metadata"]
    assert found[0].length == len(block)
    assert found[0].block == block[:1000]


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (b"WARC/1.0\r\n", True),
        (b"http://a.org/ 1.2.3.4 20140102030405 text/html 12\n", True),
        (b"http://a.org/ 1.2.3.4 today text/html 12\n", False),
        (b"<html>", False),
        (b"", False),
    ],
)
def test_what_begins_a_record(data, is_one):
    assert begins_record(data) is is_one


@pytest.mark.parametrize("packing", list(PACK))
def test_a_walk_stops_at_the_first_record_at_or_behind_its_end(tmp_path, packing):
    """Of packed files: in a member that begins there or behind it."""
    made = [record("metadata", bytes(n)) for n in (3, 5, 7)]
    path = tmp_path / "crawl.warc"
    path.write_bytes(archive(made, packing))
    whole = walk(path)
    places = [r.place.offset if packing is None else r.place.member for r in whole]
    assert places[0] == 0
    for at in places:
        for stop in (at - 1, at, at + 1):
            assert walk(path, stop=stop) == [
                r for r, p in zip(whole, places, strict=True) if p < stop
            ]


@pytest.mark.parametrize("more", [0, 1])
def test_a_header_has_up_to_a_mebibyte(tmp_path, more):
    plain = record("metadata", b"abc")
    long = record(
        "metadata", b"abc", Long="x" * (2**20 + more + 7 - len(plain) - len("Long: \r\n"))
    )
    assert long.index(b"\r\n\r\n") + 4 == 2**20 + more
    first, other = walked(tmp_path, long + plain)
    assert (other.kind, other.cause) == ("metadata", "")
    told = f"a header of more than {2**20} bytes" if more else ""
    assert (first.cause, first.damage) == ("damaged_record" if more else "", told)


@pytest.mark.parametrize(
    ("claimed", "cause"),
    [("3", ""), ("003", ""), ("9" * 18, "truncated_warc")]
    + [(odd, "damaged_record") for odd in ("9" * 19, "-1", "", "1.0", "²")],
)
def test_a_length_is_of_18_digits_at_most(tmp_path, claimed, cause):
    data = record("metadata", b"abc").replace(b"Length: 3", f"Length: {claimed}".encode())
    found = walked(tmp_path, data + record("metadata", b"abc"))
    assert found[0].cause == cause
    if cause == "damaged_record":
        assert found[0].damage == f"a record whose Content-Length is {claimed[:40]!r}"


@pytest.mark.parametrize("most", [4, 5, 6])
def test_of_a_block_as_much_is_kept_as_was_asked_for(tmp_path, most):
    data = record("response", b"abcde") + record("request", b"abcde")
    found = walked(tmp_path, data, most_bytes=most)
    assert [(r.block, r.length) for r in found] == [(b"abcde"[:most], 5), (b"", 5)]
