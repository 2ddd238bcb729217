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
from tokenmill.pipelines.read.web.http import decoded_body, media_type, parse_response

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
