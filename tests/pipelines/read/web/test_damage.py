"""Damage: what is intact behind it comes out, and each loss is named."""

import random

import pytest
import zstandard

from tests.pipelines.read.web.archives import (
    PACK,
    SUFFIX,
    archive,
    http,
    page,
    read_bytes,
    response,
    words,
)
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.stream import GZIP_PIECE_BYTES
from tokenmill.pipelines.read.web import records

PACKED = {
    "gzip": PACK["gzip"],
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "lz4": PACK["lz4"],
}


def flipped(member, at):
    made = bytearray(member)
    made[at] ^= 1 << at % 8
    return bytes(made)


@pytest.mark.parametrize("seed", range(3))
def test_of_200_members_with_a_bit_flipped_in_some_all_others_come_out(tmp_path, seed):
    rng = random.Random(seed)
    made = [PACK["gzip"](page(i, words(i))) for i in range(200)]
    bad = set(rng.sample(range(199), 25))
    data = [
        flipped(m, rng.randrange(10, len(m) - 9)) if i in bad else m for i, m in enumerate(made)
    ]
    got = read_bytes(tmp_path, b"".join(data))
    assert set(got.texts.values()) == {words(i) for i in range(200) if i not in bad}
    assert sorted(got.reasons.values()) == ["damaged_member"] * len(bad)
    assert got.damage == []
    assert all("packed bytes are passed over" in f["detail"] for f in got.failed)


@pytest.mark.parametrize("packing", ["zstd", "lz4"])
def test_frames_that_are_damaged_cost_their_own_records(tmp_path, packing):
    made = [PACKED[packing](page(i, words(i))) for i in range(9)]
    for i in (0, 4):
        made[i] = made[i][:60] + bytes(b ^ 255 for b in made[i][60:])
    got = read_bytes(tmp_path, b"".join(made), f"crawl.warc{SUFFIX[packing]}")
    assert set(got.texts.values()) == {words(i) for i in range(9) if i not in (0, 4)}
    assert len(got.reasons) == 2


def test_a_flipped_bit_that_only_the_checksum_tells_of_costs_its_record(tmp_path):
    made = [
        PACK["gzip"](page(i, words(i) + random.Random(i).randbytes(60_000).hex())) for i in range(3)
    ]
    made[1] = flipped(made[1], len(made[1]) - 6)
    got = read_bytes(tmp_path, b"".join(made))
    assert [text[:6] for text in got.texts.values()] == ["word0x", "word2x"]
    assert got.reasons == {"<urn:uuid:0001>": "damaged_member"}


def test_a_record_that_was_unpacked_before_its_checksum_is_read_is_not_kept(tmp_path):
    made = [PACK["gzip"](page(i, words(i))) for i in range(3)]
    made[1] = flipped(made[1], len(made[1]) - 6)
    # a field of the header moves the checksum to where the next piece of the file begins
    n = -(len(made[0]) + 2 + len(made[1]) - 8) % GZIP_PIECE_BYTES
    head, rest = made[0][:3] + b"\x04" + made[0][4:10], made[0][10:]
    made[0] = head + n.to_bytes(2, "little") + bytes(n) + rest
    got = read_bytes(tmp_path, b"".join(made))
    assert list(got.texts.values()) == [words(0), words(2)]
    assert got.reasons == {"<urn:uuid:0001>": "damaged_member"}


def test_what_is_lost_is_told_in_bytes(tmp_path):
    made = [PACK["gzip"](page(i, words(i))) for i in range(4)]
    made[1], made[2] = b"\x1f\x8b\x08" + b"\xff" * 500, b"\0" * 700
    got = read_bytes(tmp_path, b"".join(made))
    assert list(got.texts.values()) == [words(0), words(3)]
    (lost,) = got.failed
    assert lost["detail"].endswith("1203 packed bytes are passed over")


def test_a_window_over_the_bound_is_no_damage_to_be_passed_over(tmp_path):
    wide = zstandard.ZstdCompressionParameters(window_log=24, write_content_size=False)
    packing = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    made = [PACK["zstd"](page(i, words(i))) for i in range(3)]
    made[1] = packing.compress(page(1, words(1))) + packing.flush()
    limits = Limits(max_window_bytes=1 << 20)
    got = read_bytes(tmp_path, b"".join(made), "crawl.warc.zst", limits=limits)
    assert list(got.texts.values()) == [words(0)]
    (told,) = got.damage
    assert told.startswith("window_too_large: ")
    assert told.endswith("raise limits.max_window_bytes")


def test_damage_with_nothing_behind_it_ends_the_file(tmp_path):
    made = [PACK["gzip"](page(i, words(i))) for i in range(2)]
    got = read_bytes(tmp_path, made[0] + made[1][:60] + b"\xff" * 90)
    assert list(got.texts.values()) == [words(0)]
    assert len(got.damage) == 1


def test_a_file_made_of_beginnings_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MOST_TRIES", 10)
    one = PACK["gzip"](page(0, words(0)))
    got = read_bytes(tmp_path, one + b"\x1f\x8b\x08" * 99 + one)
    assert [len(got.texts), list(got.reasons.values())] == [1, ["truncated_gzip"]]


@pytest.mark.parametrize("packing", [None, "gzip"])
def test_of_a_record_that_the_file_ends_in_a_part_is_kept_and_marked(tmp_path, packing):
    text = random.Random(1).randbytes(30_000).hex()
    made = [page(0, words(0)), response(1, http(f"<p>{text}".encode()))]
    data = archive(made, packing)
    got = read_bytes(tmp_path, data[:-9_000], f"crawl.warc{SUFFIX[packing]}")
    first, part = got.texts.values()
    assert first == words(0)
    assert text.startswith(part)
    assert 1000 < len(part) < len(text)
    assert (got.notes["cut_by_file_end"], got.notes["records_response"]) == (1, 2)
    assert (got.notes["records_damaged"], got.failed) == (0, []), "one record has one outcome"
    (told,) = got.damage
    assert told.startswith(f"truncated_{packing or 'warc'}: ")
    assert ": record 1 of the shard: " in told


def test_damage_is_told_where_what_the_file_ends_in_is_no_document(tmp_path):
    made = [page(0, words(0)), response(1, http(bytes(30_000), status="404 Not Found"))]
    got = read_bytes(tmp_path, archive(made, None)[:-9_000], "crawl.warc")
    assert (got.notes["records_response"], got.notes["skipped_status_404"]) == (2, 1)
    assert (len(got.texts), got.failed, len(got.damage)) == (1, [], 1)
