"""Web archives as documents: which records are some, what is known of each, and the rest."""

import gzip
from collections import Counter
from datetime import UTC, datetime

import pytest
import zstandard

from tests.pipelines.read.web.archives import (
    archive,
    html,
    http,
    page,
    read_bytes,
    record,
    response,
    words,
)
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import CRAWLED
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.options import Html, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.read.web.pages import NAMED_TYPES, parse_date

TEXT = words(1)


def test_a_page_is_a_document_with_what_the_crawl_knew_of_it(tmp_path):
    got = read_bytes(tmp_path, archive([page(7, TEXT)]))
    assert got.documents == [
        {
            "doc_id": 0,
            "id": "<urn:uuid:0007>",
            "url": "http://example.org/7",
            "text": TEXT,
            "date": datetime(2024, 2, 29, 12, 30, tzinfo=UTC),
            "content_type": "text/html",
        }
    ]
    assert got.notes == {"records_response": 1}


def test_an_id_that_is_not_there_is_the_place_of_the_record(tmp_path):
    block = http(html(TEXT))
    made = [record("response", block, Content_Type="application/http") for _ in range(3)]
    first = gzip.compress(made[0] + made[1])
    got = read_bytes(tmp_path, first + gzip.compress(made[2]))
    assert [d["id"] for d in got.documents] == [
        "crawl.warc.gz#0",
        f"crawl.warc.gz#0+{len(made[0])}",
        f"crawl.warc.gz#{len(first)}",
    ]
    assert {d["url"] for d in got.documents} == {None}


def test_what_is_no_document_is_counted_by_why(tmp_path):
    made = [
        record("warcinfo", b"software: x"),
        record("request", b"GET / HTTP/1.1\r\n\r\n", Content_Type="application/http"),
        record("metadata", b"a: b"),
        record("revisit", http(b""), Content_Type="application/http"),
        record("continuation", b"x"),
        record("no-such-type", b"x"),
        response(1, http(html(TEXT), status="404 Not Found")),
        response(2, http(b"", status="301 Moved")),
        response(3, http(html(TEXT), status="999 What")),
        response(4, http(b"\x89PNG", type="image/png")),
        response(5, http(b"who knows", type=None)),
        response(6, http(b" \r\n")),
        record("response", b"a. 60 A 1.2.3.4", Content_Type="text/dns", WARC_Target_URI="dns:a"),
        record("resource", b"log", Content_Type="text/plain", WARC_Target_URI="metadata://x/log"),
        record("resource", b"{}", Content_Type="application/json", WARC_Target_URI="http://a/"),
        page(7, TEXT),
    ]
    got = read_bytes(tmp_path, archive(made))
    assert list(got.texts.values()) == [TEXT]
    assert {k: n for k, n in got.notes.items() if k[:8] == "skipped_"} == {
        "skipped_warcinfo": 1,
        "skipped_request": 1,
        "skipped_metadata": 1,
        "skipped_revisit": 1,
        "skipped_continuation": 1,
        "skipped_other_type": 1,
        "skipped_status_404": 1,
        "skipped_status_301": 1,
        "skipped_status_other": 1,
        "skipped_image/png": 1,
        "skipped_no_type": 1,
        "skipped_empty": 1,
        "skipped_text/dns": 1,
        "skipped_not_of_the_web": 1,
        "skipped_application/json": 1,
    }
    assert got.kinds == Counter(
        {
            **{"warcinfo": 1, "request": 1, "metadata": 1, "revisit": 1, "continuation": 1},
            **{"other_type": 1, "response": 8, "resource": 2},
        }
    )


def test_types_passed_over_are_named_up_to_a_bound(tmp_path):
    n = NAMED_TYPES + 20
    made = [response(i, http(b"x", type=f"x/{i}" + "y" * 99)) for i in range(n)]
    notes = read_bytes(tmp_path, archive(made)).notes
    assert notes["skipped_other_types"] == 20
    assert sum(name.startswith("skipped_x/") for name in notes) == NAMED_TYPES
    assert max(map(len, notes)) < 60


def test_text_that_others_made_is_taken_as_it_is(tmp_path):
    text = "One line\n<p>no tag</p>\n\nécole"
    made = [
        record(
            "conversion",
            text.encode(),
            WARC_Record_ID="<a>",
            WARC_Target_URI="http://a/",
            Content_Type="text/plain",
        ),
        response(1, http(b"plain text\nof a page", type="text/plain; charset=utf-8")),
        record(
            "resource",
            html(TEXT),
            WARC_Record_ID="<b>",
            WARC_Target_URI="<http://b/>",
            Content_Type="text/html",
        ),
    ]
    got = read_bytes(tmp_path, archive(made), "crawl.warc.wet.gz")
    assert list(got.texts.values()) == [text, "plain text\nof a page", TEXT]
    assert [d["content_type"] for d in got.documents] == ["text/plain", "text/plain", "text/html"]
    assert got.documents[2]["url"] == "http://b/"


def test_what_should_be_a_document_and_cannot_be_has_failed(tmp_path):
    made = [
        response(1, http(html(TEXT), Content_Encoding="compress")),
        response(2, http(b"\x1f\x8b\x08" + b"\xff" * 40, Content_Encoding="gzip")),
        response(3, http(gzip.compress(bytes(20_000_000)), Content_Encoding="gzip")),
        response(4, http(b"<div>" * 1000)),
        response(5, http(b"<script>var a;</script>")),
        response(6, http(html(TEXT) * 2000)),
        response(7, http(html(TEXT))).replace(b"Content-Length: ", b"Content-Length: 7", 1),
        page(8, TEXT),
    ]
    path = tmp_path / "crawl.warc.gz"
    options = Html(max_bytes=1_000_000, types=["text/html"])
    got = read_bytes(tmp_path, archive(made), options=options)
    assert got.reasons == {
        "<urn:uuid:0001>": "unknown_coding",
        "<urn:uuid:0002>": "damaged_coding",
        "<urn:uuid:0003>": "too_large",
        "<urn:uuid:0004>": "too_deep",
        "<urn:uuid:0005>": "no_text",
        "<urn:uuid:0006>": "too_large",
        "<urn:uuid:0007>": "damaged_record",
    }
    assert list(got.texts.values()) == [TEXT]
    assert got.damage == []
    assert [f["url"] for f in got.failed] == [f"http://example.org/{n}" for n in range(1, 8)]
    details = {f["id"]: f["detail"] for f in got.failed}
    at = len(archive(made[:4]))
    assert details["<urn:uuid:0005>"] == (
        f"{path} byte {at}: record 4 of the shard:"
        " http://example.org/5: nothing is left of the page"
    )


def test_a_record_over_the_limit_of_documents_is_a_document_only_by_its_type(tmp_path):
    made = [
        response(1, http(bytes(300_000), type="video/mp4")),
        response(2, http(b"<p>" + b"x" * 300_000)),
        record("request", bytes(300_000)),
        page(3, TEXT),
    ]
    got = read_bytes(tmp_path, archive(made), limits=Limits(max_document_bytes=200_000))
    assert got.notes["skipped_video/mp4"] == 1
    assert got.reasons == {"<urn:uuid:0002>": "too_large"}
    assert list(got.texts.values()) == [TEXT]


def test_a_bomb_in_a_member_is_passed_over_in_bounded_memory(tmp_path):
    bomb = response(1, http(bytes(40_000_000), type="image/png"))
    lie = response(2, http(b"")) + bytes(40_000_000)
    for pack in (gzip.compress, zstandard.ZstdCompressor().compress):
        data = pack(page(0, TEXT)) + pack(bomb) + pack(lie) + pack(page(3, TEXT))
        got = read_bytes(tmp_path, data)
        assert list(got.texts) == ["<urn:uuid:0000>", "<urn:uuid:0003>"]
        assert [f["reason"] for f in got.failed] == ["damaged_record"]


def test_pages_that_were_cut_are_documents_and_counted(tmp_path):
    made = [
        response(1, http(html(TEXT)[:-20]), WARC_Truncated="length"),
        response(2, http(html(TEXT)), WARC_Truncated="whatever"),
    ]
    notes = read_bytes(tmp_path, archive(made)).notes
    assert (notes["cut_length"], notes["cut_otherwise"]) == (1, 1)


def test_charsets_that_lie_lose_no_page(tmp_path):
    russian = "Привет! Это страница на русском языке, и она достаточно длинная для проверки. " * 3
    made = [
        response(i, http(html(russian.strip()).decode().encode(written), type=f"text/html{said}"))
        for i, (written, said) in enumerate(
            [
                ("utf-8", "; charset=utf-8"),
                ("windows-1251", "; charset=utf-8"),
                ("koi8-r", "; charset=no-such"),
                ("utf-8", "; charset=utf-16"),
                ("utf-16", "; charset=iso-8859-1"),
            ]
        )
    ]
    assert set(read_bytes(tmp_path, archive(made)).texts.values()) == {russian.strip()}


def test_an_arc_file_gives_documents_too(tmp_path):
    block = http(html(TEXT))
    data = b"filedesc://a.arc 0.0.0.0 20140216050221 text/plain 0\n\n"
    data += b"http://a.org/ 1.2.3.4 20140102030405 text/html %d\n" % len(block) + block + b"\n"
    data += b"dns:a.org 1.2.3.4 20140102030405 text/dns 3\nabc\n"
    got = read_bytes(tmp_path, data, "a.arc")
    (document,) = got.documents
    assert document["date"] == datetime(2014, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert (document["url"], document["text"]) == ("http://a.org/", TEXT)
    assert got.kinds == {"arc_header": 1, "response": 2}


def test_a_file_that_breaks_off_says_how_far_it_was_read(tmp_path):
    made = [page(i, TEXT) for i in range(3)]
    data = archive(made)
    got = read_bytes(tmp_path, data[:-30])
    at = len(archive(made[:2]))
    where = f"{tmp_path / 'crawl.warc.gz'} byte {at}: record 2 of the shard"
    assert got.damage == [
        f"truncated_gzip: {where}: the file ends inside of a gzip member, at byte {len(data) - 30}"
    ]
    assert [text == TEXT for text in got.texts.values()] == [True, True, False]
    assert TEXT.startswith(list(got.texts.values())[2])


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("2024-02-29T12:00:00Z", datetime(2024, 2, 29, 12, tzinfo=UTC)),
        ("2024-02-29T12:00:00.123456Z", datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=UTC)),
        ("2024-02-29T12:00:00+02:00", datetime(2024, 2, 29, 10, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("20140102030405", datetime(2014, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("201404010000000000", datetime(2014, 4, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", None),
        ("2023-02-29T12:00:00Z", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates(value, date):
    assert parse_date(value) == date


def test_without_the_section_web_archives_are_no_input(tmp_path):
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(archive([page(1, TEXT)]))
    for wanted in (Input(path=str(path)), Input(path=str(path), format="warc")):
        with pytest.raises(ConfigError) as e:
            plan_inputs([wanted], 100)
        assert str(e.value) == (
            f"inputs.0: {path}: web archives in 'crawl.warc.gz'; add html: {{}} to the recipe"
        )
    (tmp_path / "docs.jsonl").write_text('{"text": "a"}\n')
    plan = plan_inputs([Input(path=str(tmp_path))], 100)
    assert ([s.format for s in plan.shards], plan.skipped) == (["jsonl"], (str(path),))


def test_where_nothing_else_can_be_read_web_archives_are_told_first(tmp_path):
    for i in range(4):
        (tmp_path / f"{i}.warc.gz").write_bytes(archive([page(1, TEXT)]))
    (tmp_path / "expected.tsv").write_text("file\trecords\n0.warc.gz\t1\n")
    with pytest.raises(ConfigError) as e:
        plan_inputs([Input(path=str(tmp_path))], 100)
    assert str(e.value) == (
        f"inputs.0: {tmp_path}: web archives in '0.warc.gz', '1.warc.gz', '2.warc.gz' and 1 more;"
        f" add html: {{}} to the recipe; of the others, {tmp_path}/expected.tsv: no text column"
        " among: file, records; name the text column in the recipe, as {path: …, text: NAME},"
        " or header: [NAME, …] if line 1 is a row"
    )
    for wanted in (Input(path=str(tmp_path), format="tsv"), Input(path=f"{tmp_path}/*.tsv")):
        *_, failed = plan_inputs([wanted], 100).failed
        assert "no text column among: file, records" in failed.message


def test_other_inputs_of_such_a_recipe_have_no_date(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "a", "url": "http://a/"}\nno json\n')
    (shard,) = plan_inputs([Input(path=str(tmp_path))], 100, html=True).shards
    batches = list(read_shard(shard, limits=Limits(), html=Html()))
    assert {b.documents.schema for b in batches} == {CRAWLED}
    (row,) = [r for b in batches for r in b.documents.to_pylist()]
    assert (row["url"], row["date"], row["content_type"]) == ("http://a/", None, None)
