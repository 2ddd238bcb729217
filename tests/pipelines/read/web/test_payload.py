"""Payloads: what is told to be a page and is none leaves by the name of what it is."""

import gzip
import random

import pytest

from tests.pipelines.read.web.archives import archive, html, http, read_bytes, response, words
from tokenmill.pipelines.read.web.pages import LOOK_BYTES, payload_type

TEXT = words(1)
NOT_PAGES = {
    "application/pdf": b"%PDF-1.7\n%\xe2\xe3\n1 0 obj",
    "image/png": b"\x89PNG\r\n\x1a\n" + bytes(40),
    "image/jpeg": b"\xff\xd8\xff\xe0" + bytes(40),
    "application/zip": b"PK\x03\x04" + bytes(40),
    "video/mp4": b"\0\0\0\x20ftypisom" + bytes(40),
    "binary": random.Random(1).randbytes(4000),
    "application/json": b'\n{"rows": [1, 2, 3], "text": "<p>words</p>"}',
    "application/xml": b"<?xml version='1.0'?>\n<!-- feed --><rss version='2.0'></rss>",
    "script": b"/* menu */ // of the page\n(function () { document.write('<p>') })()",
}


def told(body, identified="", *, html=True, wide=False):
    return payload_type(body, identified, html=html, wide=wide)


@pytest.mark.parametrize("kind", NOT_PAGES)
def test_what_is_labelled_html_leaves_by_what_it_is(tmp_path, kind):
    got = read_bytes(
        tmp_path, archive([response(1, http(NOT_PAGES[kind])), response(2, http(html(TEXT)))])
    )
    assert list(got.texts.values()) == [TEXT]
    assert got.notes[f"skipped_payload_{kind}"] == 1


@pytest.mark.parametrize(
    "body",
    [
        html(TEXT),
        b"\xef\xbb\xbf \n<!-- a --><!-- b -->\n<!DOCTYPE html>" + bytes(500),
        b"<?xml version='1.0'?><html>",
        b"{{ a template }} of words",
        b"Plain words (and more).",
        b"function of a river: to flow </p>",
        b"function flow(water) is what a river has. </p>",
        "Привет".encode("utf-16"),
    ],
)
def test_pages_are_pages(body):
    assert told(body) is None


def test_data_that_is_told_to_be_plain_text_is_text():
    assert told(NOT_PAGES["application/json"], html=False) is None
    assert told(NOT_PAGES["script"], html=False) is None
    assert told(NOT_PAGES["binary"], html=False) == "binary"


def test_nul_bytes_are_text_where_they_are_told_to_be():
    wide = "words of a page".encode("utf-16-le")
    assert told(wide) == "binary"
    assert told(wide, wide=True) is None


def test_what_the_crawler_identified_counts_unless_the_bytes_are_html(tmp_path):
    kind = {"WARC_Identified_Payload_Type": "application/msword"}
    made = [
        response(1, http(b"Words of a letter"), **kind),
        response(2, http(html(TEXT)), **kind),
        response(3, http(b"Words", type="text/plain"), WARC_Identified_Payload_Type="text/x-log"),
    ]
    got = read_bytes(tmp_path, archive(made))
    assert list(got.texts.values()) == [TEXT, "Words"]
    assert got.notes["skipped_payload_application/msword"] == 1


def test_gzip_that_no_header_tells_of_is_unpacked_within_bounds(tmp_path):
    made = [
        response(1, http(gzip.compress(html(TEXT)))),
        response(2, http(gzip.compress(b"%PDF-1.7"))),
        response(3, http(gzip.compress(gzip.compress(html(TEXT))))),
        response(4, http(gzip.compress(bytes(10_000_000)))),
        response(5, http(gzip.compress(html(TEXT))[:12] + b"\xff" * 50)),
    ]
    got = read_bytes(tmp_path, archive(made))
    assert list(got.texts.values()) == [TEXT]
    assert got.reasons == {
        "<urn:uuid:0004>": "too_large",
        "<urn:uuid:0005>": "damaged_coding",
    }
    assert got.notes["undeclared_gzip"] == 1
    assert got.notes["skipped_payload_application/pdf"] == 1
    assert got.notes["skipped_payload_application/gzip"] == 1


def test_gzip_that_the_crawler_identified_is_unpacked_too(tmp_path):
    body = http(gzip.compress(b"Plain words"), type="text/plain")
    made = [response(1, body, WARC_Identified_Payload_Type="application/gzip")]
    assert list(read_bytes(tmp_path, archive(made)).texts.values()) == ["Plain words"]


@pytest.mark.parametrize("piece", [b"<!-- -->", b"/**/", b"//\n", b" ", b"<?x?>", b"a.", b"<?xml "])
def test_no_body_takes_long_to_look_at(piece):
    assert told(piece * (LOOK_BYTES // len(piece))) is None
