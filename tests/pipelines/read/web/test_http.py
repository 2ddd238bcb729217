"""HTTP responses: header, chunks, codings, and what is made of those that are not as they claim."""

import gzip
import random
import re
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.web.archives import http
from tests.reference import warc as reference
from tokenmill.pipelines.read.stream import UnreadableError
from tokenmill.pipelines.read.web.http import (
    decoded_body,
    header_fields,
    media_type,
    parse_response,
)

BODY = b"<p>" + b"hello, world! " * 500


def raw_deflate(data):
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


CODINGS = {
    "gzip": gzip.compress,
    "x-gzip": lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:]),
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def decode(block, most=1 << 20):
    return decoded_body(parse_response(block), most)


def chunked(pieces):
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces if p) + b"0\r\n\r\n"


@given(
    st.lists(st.binary(max_size=50)), st.dictionaries(st.sampled_from(("A", "B_C")), st.just("x"))
)
def test_a_sound_response_is_what_the_reference_says(pieces, more):
    block = http(chunked(pieces), Transfer_Encoding="chunked", **more)
    status, headers, body = reference.body(block)
    response = parse_response(block)
    assert (response.status, dict(response.headers), response.body) == (status, headers, body)
    assert decode(block) == (reference.dechunked(body), [])


@pytest.mark.parametrize("coding", CODINGS)
def test_codings_are_undone(coding):
    packed = CODINGS[coding](BODY)
    assert decode(http(packed, Content_Encoding=coding)) == (BODY, [])
    both = http(
        chunked([packed[:9], packed[9:]]), Content_Encoding=coding, Transfer_Encoding="chunked"
    )
    assert decode(both) == (BODY, [])


def test_deflate_comes_without_its_wrapping_too():
    assert decode(http(raw_deflate(BODY), Content_Encoding="deflate")) == (BODY, [])


def test_codings_add_up_in_order():
    twice = gzip.compress(brotli.compress(BODY))
    assert decode(http(twice, Content_Encoding="br, gzip")) == (BODY, [])
    assert decode(http(twice, Content_Encoding="br", content_encoding="gzip")) == (BODY, [])


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_that_is_not_coded_is_taken_as_it_is(coding):
    assert decode(http(BODY, Content_Encoding=coding)) == (BODY, ["not_compressed"])
    assert decode(http(b"", Content_Encoding=coding)) == (b"", [])


def test_a_body_that_is_not_chunked_is_taken_as_it_is():
    for body in (BODY, b"no number\r\n" + BODY, b"-5\r\nabcde"):
        assert decode(http(body, Transfer_Encoding="chunked")) == (body, ["not_chunked"])


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_of_a_body_that_breaks_off_what_came_before_is_taken(coding):
    data = random.Random(1).randbytes(400_000)
    packed = CODINGS[coding](data)
    body, odd = decode(http(packed[: len(packed) // 2], Content_Encoding=coding))
    assert data.startswith(body)
    assert odd == ["cut_coding"]
    assert len(body) > 100_000


def test_of_chunks_that_break_off_what_came_before_is_taken():
    body = chunked([b"abc", b"defgh"])
    assert decode(http(body[:13], Transfer_Encoding="chunked")) == (b"abcde", ["cut_chunks"])
    assert decode(http(body.replace(b"5\r\n", b"?\r\n"), Transfer_Encoding="chunked")) == (
        b"abc",
        ["cut_chunks"],
    )


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_given_up_at_the_bound(coding):
    packed = CODINGS[coding](bytes(20_000_000))
    with pytest.raises(UnreadableError) as e:
        decode(http(packed, Content_Encoding=coding))
    assert e.value.cause == "too_large"
    assert str(e.value).endswith("expand to more than html.max_bytes, 1048576")


@pytest.mark.parametrize(
    ("coding", "body", "cause"),
    [
        ("gzip", b"\x1f\x8b\x08\x00" + b"\xff" * 50, "damaged_coding"),
        ("br", b"\xff\xff\xff\xff", "damaged_coding"),
        ("compress", BODY, "unknown_coding"),
    ],
)
def test_what_cannot_be_undone_is_named(coding, body, cause):
    with pytest.raises(UnreadableError) as e:
        decode(http(body, Content_Encoding=coding))
    assert e.value.cause == cause


def test_a_body_over_the_bound_is_refused():
    with pytest.raises(UnreadableError) as e:
        decode(http(bytes(2000)), 1000)
    assert str(e.value) == "2000 bytes, html.max_bytes is 1000"


@pytest.mark.parametrize(
    ("block", "status", "body"),
    [
        (b"", None, b""),
        (b"<p>no status", None, b"<p>no status"),
        (b"HTTP/1.0 200\r\n\r\nx", 200, b"x"),
        (b"HTTP/1.0 200 OK\nA: b\n\nx\r\n\r\ny", 200, b"x\r\n\r\ny"),
        (b"http/1.1 404 Not Found\r\n\r\n", 404, b""),
        (b"HTTP/1.1 abc\r\n\r\nx", None, b"x"),
        (b"HTTP/1.1 200 OK\r\nA: b", 200, b""),
    ],
)
def test_responses_may_be_less_than_the_standard_asks_for(block, status, body):
    found = parse_response(block)
    assert (found.status, found.body) == (status, body)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("", ("", None)),
        ("text/html", ("text/html", None)),
        (" Text/HTML ; charset = UTF-8 ", ("text/html", "UTF-8")),
        ("text/html;a=b;charset='x';c", ("text/html", "x")),
        ("text/html; charset=", ("text/html", None)),
    ],
)
def test_types_of_content(value, found):
    assert media_type(value) == found


@given(st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a: b"]), max_size=12).map(b"".join))
def test_a_header_ends_at_the_first_empty_line(rest):
    block = b"HTTP/1.1 200 OK" + rest
    end = re.search(rb"\r\n\r\n|\n\n|\n\r\r\n", block)
    body = b"" if end is None else block[end.end() :]
    head = (block if end is None else block[: end.start()]).replace(b"\r", b"")
    found = parse_response(block)
    assert found.body == body
    assert ("a" in found.headers) == (b"\na:" in head)


@pytest.mark.parametrize("coding", [*CODINGS, "identity"])
def test_a_body_may_be_as_large_as_its_bound(coding):
    packed = CODINGS.get(coding, bytes)(BODY)
    for most, fits in ((len(BODY) - 1, False), (len(BODY), True), (len(BODY) + 1, True)):
        if fits:
            assert decode(http(packed, Content_Encoding=coding), most) == (BODY, [])
            continue
        with pytest.raises(UnreadableError, match=f"html.max_bytes(, | is ){most}$") as e:
            decode(http(packed, Content_Encoding=coding), most)
        assert e.value.cause == "too_large"


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_cut_anywhere_gives_what_came_before(coding):
    packed = CODINGS[coding](BODY)
    found = []
    for size in range(len(packed)):
        try:
            body, odd = decode(http(packed[:size], Content_Encoding=coding))
        except UnreadableError as e:
            found.append(e.cause)
            continue
        found.append("".join(odd))
        given = packed[:size] if odd == ["not_compressed"] else BODY
        assert given.startswith(body)
        assert body or not size
    assert found[0] == ""
    whole = found[1:].count("")  # of two members the first, and with a byte of the other
    assert whole == (2 if coding == "x-gzip" else 0)
    assert {*found[1:]} - {""} <= {"not_compressed", "damaged_coding", "cut_coding"}
    assert ("not_compressed" in found) == (coding in ("gzip", "x-gzip", "zstd"))
    if coding != "br":
        assert decode(http(packed + b"behind", Content_Encoding=coding)) == (BODY, [])


@pytest.mark.parametrize("coding", CODINGS)
def test_bodies_are_unpacked_whatever_number_of_pieces_they_are(coding):
    noise = random.Random(2).randbytes(9000)
    for size in (*range(4060, 4100, 8), *range(8150, 8200, 12)):
        packed = CODINGS[coding](noise[:size])
        assert decode(http(packed, Content_Encoding=coding)) == (noise[:size], [])


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", (b"abc0123456789", [])),
        (b"3;x=1\r\nabc\r\n 2 \r\nde\r\n0\r\nX: trailer\r\n\r\n", (b"abcde", [])),
        (b"3\nabc\n2\nde\n0\n", (b"abcde", [])),
        (b"3\nabc2\nde0\n", (b"abcde", [])),
        (b"3\r\nab", (b"ab", ["cut_chunks"])),
        (b"3\r\nabc", (b"abc", ["cut_chunks"])),
        (b"3\r\nabc\r\n+2\r\nde\r\n0\r\n", (b"abc", ["cut_chunks"])),
        (b"0\r\n\r\nbehind", (b"", [])),
        (b"", (b"", [])),
        (b"3", (b"3", ["not_chunked"])),
        (b"1" + b" " * 1021 + b"\r\na\r\n0\r\n", (b"a", [])),
        (b"1" + b" " * 1022 + b"\r\na\r\n0\r\n", None),
    ],
)
def test_chunks_are_put_together(body, found):
    expected = (body, ["not_chunked"]) if found is None else found
    assert decode(http(body, Transfer_Encoding="gzip, Chunked")) == expected


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_header_is_looked_for_in_the_first_256_kib(more):
    begin = b"HTTP/1.1 200 OK\r\nA: b\r\nLong: "
    block = begin + b"x" * (256 * 1024 + more - len(begin) - 4) + b"\r\n\r\nbody"
    found = parse_response(block)
    assert found.body == (b"body" if more <= 0 else b"")
    assert (found.status, found.headers["a"]) == (200, "b")


def test_fields_of_a_header():
    lines = [
        "A: 1",
        " 2",
        "\t3",
        "b :x",
        ": nameless",
        " left out",
        "no colon",
        " out",
        "c:",
        "A: 4",
    ]
    assert header_fields(lines) == [("a", "1 2 3"), ("b", "x"), ("c", ""), ("a", "4")]
    block = "HTTP/1.1 200\r\nA: 1\r\na: 2\r\nX-Encoding: u\r\nx-encoding: v\r\n\r\n"
    assert parse_response(block.encode()).headers == {"a": "2", "x-encoding": "u, v"}
