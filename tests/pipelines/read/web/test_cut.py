"""Where web archives are cut: at records, by the file alone, and never inside of one."""

import gzip
import random

import pytest

from tests.pipelines.read.web.archives import (
    PACK,
    SUFFIX,
    archive,
    http,
    page,
    read,
    record,
    response,
    words,
)
from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.web.warc import cut_warc, packing_of
from tokenmill.pipelines.storage.inputs import expand

CUTTABLE = (None, "gzip", "zstd")


def noise(n, seed=0):
    return random.Random(seed).randbytes(n)


def pieces(path, shard_bytes):
    (file,) = expand(str(path))
    return cut_warc(file, shard_bytes=shard_bytes, limits=Limits())


def begins(records, packing):
    """The bytes of the file at which records begin."""
    at, found = 0, []
    for r in records:
        found.append(at)
        at += len(PACK[packing](r))
    return found


@pytest.mark.long_but("gzip", "None")  # packed and plain
@pytest.mark.parametrize("packing", CUTTABLE)
def test_every_piece_begins_with_a_record_and_none_is_lost(tmp_path, packing):
    made = [response(i, http(noise(3000 + 500 * (i % 7), i), type="image/png")) for i in range(300)]
    made = [r if i % 3 else page(i, words(i)) for i, r in enumerate(made)]
    path = tmp_path / f"crawl.warc{SUFFIX[packing]}"
    path.write_bytes(archive(made, packing))
    found = pieces(path, 150_000)
    assert len(found) >= 4
    assert found[0].start == 0
    assert {p.start for p in found} <= set(begins(made, packing))
    assert [p.stop for p in found] == [*(p.start for p in found[1:]), None]
    whole, parts = read(path), read(path, shard_bytes=150_000)
    assert len(parts.plan.shards) == len(found)
    assert parts.texts == whole.texts
    assert parts.notes == whole.notes
    assert [d["id"] for d in parts.documents] == [d["id"] for d in whole.documents]


@pytest.mark.parametrize("length", [200, 201])
def test_a_plain_archive_is_cut_at_the_first_records_from_equal_places_on(tmp_path, length):
    made = [record("metadata", b"x" * length) for _ in range(24)]
    path = tmp_path / "crawl.warc"
    path.write_bytes(archive(made, None))
    whole, starts = path.stat().st_size, begins(made, None)
    for n in (1, 2, 3, 5, 8, 24, 30):
        found = pieces(path, whole // n)
        n = whole // (whole // n)
        wanted = {min((b for b in starts if b * n >= i * whole), default=0) for i in range(n)}
        assert [p.start for p in found] == sorted(wanted)


def test_no_piece_of_a_plain_archive_begins_with_a_damaged_record(tmp_path):
    made = [record("metadata", b"x" * 200) for _ in range(24)]
    made[12] = made[12].replace(b"Content-Length: ", b"Content-Length: x")
    path = tmp_path / "crawl.warc"
    path.write_bytes(archive(made, None))
    starts = begins(made, None)
    assert starts[12] * 2 >= path.stat().st_size - 1
    assert [p.start for p in pieces(path, path.stat().st_size // 2)] == [0, starts[13]]


def test_an_archive_inside_of_a_record_is_no_place_to_cut(tmp_path):
    picture = http(noise(2000), type="image/png")
    inner = archive(response(i, picture) for i in range(90))
    made = [response(i, picture) for i in range(20)]
    made[7] = response(99, http(inner, type="application/warc"))
    packed = [
        gzip.compress(r, 0 if i == 7 else 9) for i, r in enumerate(made)
    ]  # 0: stored as it is
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(b"".join(packed))
    assert path.read_bytes().count(inner[:4]) > 100
    sound = {sum(map(len, packed[:i])) for i in range(20)}
    starts = [p.start for size in (10_000, 30_000, 60_000) for p in pieces(path, size)]
    assert len(starts) > 5
    assert set(starts) <= sound
    assert read(path, shard_bytes=10_000).kinds == {"response": 20}


def test_a_file_packed_as_one_is_one_piece(tmp_path):
    path = tmp_path / "crawl.warc.gz"
    made = [response(i, http(noise(3000, i), type="image/png")) for i in range(100)]
    path.write_bytes(gzip.compress(b"".join(made)))
    assert [(p.start, p.stop) for p in pieces(path, 10_000)] == [(0, None)]
    path.write_bytes(PACK["lz4"](b"".join(made)))
    assert [(p.start, p.stop) for p in pieces(path, 10_000)] == [(0, None)]


def test_files_are_told_by_what_they_hold_whatever_their_names(tmp_path):
    for packing in PACK:
        path = tmp_path / "crawl.warc.gz"
        path.write_bytes(archive([page(1, words(1))], packing))
        assert packing_of(str(path)) == packing
        assert list(read(path).texts) == ["<urn:uuid:0001>"]


@pytest.mark.parametrize(
    "name",
    [
        "a.warc",
        "a.warc.gz",
        "A.WARC.ZST",
        "a.warc.lz4",
        "a.arc",
        "a.arc.gz",
        "a.wet",
        "a.warc.wet.gz",
    ],
)
def test_web_archives_are_told_by_their_names(tmp_path, name):
    (tmp_path / name).write_bytes(record("warcinfo", b""))
    (tmp_path / "a.wat.gz").write_bytes(b"")
    plan = plan_inputs([Input(path=str(tmp_path))], 1 << 20, html=True)
    assert [(s.format, s.names, s.chain) for s in plan.shards] == [("warc", (name,), "")]
    assert plan.skipped == (str(tmp_path / "a.wat.gz"),)


def test_a_file_that_is_no_web_archive_is_a_failed_input(tmp_path):
    path = tmp_path / "page.warc"
    path.write_bytes(b"<html>")
    with pytest.raises(InputError) as e:
        pieces(path, 100)
    assert str(e.value) == (
        f"{path}: not a web archive, it begins with b'<html>';"
        " a WARC file begins with WARC/1.0 or the like"
    )
    path.write_bytes(b"\x1f\x8b\x08\x00" + bytes(30))
    with pytest.raises(InputError) as e:
        pieces(path, 100)
    assert e.value.cause == "damaged_gzip"


def test_an_empty_file_is_an_archive_of_nothing(tmp_path):
    (tmp_path / "a.warc.gz").write_bytes(b"")
    got = read(tmp_path / "a.warc.gz")
    assert (len(got.plan.shards), got.documents, got.failed) == (1, [], [])


def test_damage_costs_the_member_that_it_lies_in_and_no_other(tmp_path):
    picture = http(noise(30_000), type="image/png")
    made = [r for i in range(60) for r in (page(i, words(i)), response(1000 + i, picture))]
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(archive(made))
    start = next(p.start for p in pieces(path, 300_000) if p.start > 1 << 20)
    lost = begins(made, "gzip").index(start)
    data = bytearray(archive(made))
    data[start - 5000 : start - 4900] = bytes(100)
    path.write_bytes(data)
    got = read(path, shard_bytes=300_000)
    assert got.damage == []
    assert list(got.reasons.values()) == ["damaged_member"]
    ids = [f"<urn:uuid:{i:04}>" for i in range(60)]
    assert set(ids[: lost // 2 - 1] + ids[-(-lost // 2) :]) <= set(got.texts)
