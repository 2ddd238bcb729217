"""JSON Lines: what is a document, what is not, and what is said about it."""

import gzip
import hashlib
import json
import sys
import zlib
from itertools import accumulate

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from tests.apart import apart
from tests.pipelines.read import peaks
from tests.pipelines.read.corpus import as_jsonl, in_parts, read_all, read_plan
from tests.strategies import few
from tokenmill.pipelines.read.batch import FILE_CAUSES
from tokenmill.pipelines.read.lines import (
    WIDE_BYTES,
    LineGroup,
    Lines,
    LostLine,
    in_limits,
    read_lines,
)
from tokenmill.pipelines.read.options import Limits

GOOD = b'{"text": "good"}\n'


def read_bytes(tmp_path, data, name="d.jsonl", **fields):
    (tmp_path / name).write_bytes(data)
    return read_all(tmp_path / name, **fields)


@pytest.mark.parametrize(
    ("line", "reason", "said"),
    [
        (b'{"text": "x"', "invalid_json", "unexpected end"),
        (
            b'{"text": NaN}',
            "invalid_json",
            "line 1 column 10 (char 9); NaN is not JSON: write null in its place",
        ),
        (
            b'{"a": [-Infinity], "text": "\\ud8',
            "invalid_json",
            "; -Infinity is not JSON: write null",
        ),
        (b'["text"]', "invalid_json", "not an array"),
        (b'"text"', "invalid_json", "not a string"),
        (b"1", "invalid_json", "not a number"),
        (b"null", "invalid_json", "not null"),
        (b'{"text": "\xff"}', "invalid_utf8", "byte 10 of the line, 0xff, is not UTF-8; `iconv"),
        (b'{"text": "\xed\xa0\x80"}', "invalid_utf8", "UTF-8"),
        (b'{"text": "\\ud800"}', "invalid_utf8", "surrogate"),
        (b'{"text": "\\ud800\\u0041"}', "invalid_utf8", "surrogate"),
        (b'{"text": "\\udc00"}', "invalid_utf8", "surrogate"),
        (b'{"text": "\\ud8"}', "invalid_json", ""),
        (b'{"other": "x"}', "missing_text", "not there"),
        (b'{"text": null}', "missing_text", "null"),
        (b'{"text": 1.5}', "text_not_string", "a number"),
        (b'{"text": ["x"]}', "text_not_string", "an array"),
        (b'{"text": false}', "text_not_string", "a boolean"),
        (b'{"text": {}}', "text_not_string", "an object"),
        (b'{"text": "x", "id": ' + b"7" * 20_000 + b"}", "invalid_json", "infinity"),
        (b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", "invalid_json", "depth"),
    ],
)
def test_a_bad_line_fails_alone_with_its_place(tmp_path, line, reason, said):
    got = read_bytes(tmp_path, GOOD + line + b"\n" + GOOD)
    assert got.texts == ["good", "good"]
    (failure,) = got.failures
    assert failure["reason"] == reason
    assert failure["stage"] == "read"
    assert failure["id"] == f"d.jsonl#{len(GOOD)}"
    assert failure["detail"].startswith(f"{tmp_path}/d.jsonl byte {len(GOOD)}: ")
    assert said in failure["detail"]
    assert [i & 0xFFFFFFFF for i in got.doc_ids] == [0, 2]
    assert failure["doc_id"] == 1


def test_a_line_without_text_is_told_with_its_address(tmp_path):
    line = b'{"text": 5, "url": "http://a"}\n{"text": null, "url": 7}\n'
    got = read_bytes(tmp_path, b'{"text": "good", "url": "http://b"}\n' + line)
    assert [f["url"] for f in got.failures] == ["http://a", None]


def test_blank_lines_are_no_documents(tmp_path):
    got = read_bytes(tmp_path, b"\n \r\n" + GOOD + b"\n\t\n" + GOOD[:-1] + b"\r\n\n")
    assert got.texts == ["good", "good"]
    assert got.failures == []
    assert got.doc_ids == [0, 1]


def test_a_byte_order_mark_is_dropped(tmp_path):
    got = read_bytes(tmp_path, b"\xef\xbb\xbf" + GOOD + GOOD)
    assert got.texts == ["good", "good"]


def test_only_a_newline_ends_a_line(tmp_path):
    text = "a\u2028b\u0085c\x0bd\x1ce"
    got = read_bytes(tmp_path, json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
    assert got.texts == [text]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('"x"', "x"),
        ('""', ""),
        ("7", "7"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.50", "1.50"),
        ("true", "true"),
        ('{"a": [1]}', '{"a": [1]}'),
        ("null", "d.jsonl#0"),
    ],
)
def test_an_id_is_kept_as_it_is_written(tmp_path, value, expected):
    got = read_bytes(tmp_path, f'{{"id": {value}, "text": "x"}}\n'.encode())
    assert got.ids == [expected]


def test_named_columns_win_over_common_names(tmp_path):
    line = b'{"text": "no", "passage": "yes", "id": "no", "key": "k", "link": "l"}\n'
    got = read_bytes(tmp_path, line, text="passage", id="key")
    assert (got.texts, got.ids) == (["yes"], ["k"])
    assert got.plan.shards[0].url == "link"


def test_a_file_without_a_text_column_is_listed_with_the_way_out(tmp_path):
    got = read_bytes(tmp_path, b'{"a": "x", "b": 1}\n')
    (failed,) = got.plan.failed
    assert failed.cause == "missing_column"
    assert failed.message == (
        f"{tmp_path}/d.jsonl: no text column among: a, b;"
        " name the text column in the recipe, as {path: …, text: NAME}"
    )
    got = read_bytes(tmp_path, GOOD, id="nr")
    assert "no column 'nr' among: text" in got.plan.failed[0].message


JQ = '([.] | flatten[])."text"? | arrays | flatten[]'
OBJECT, OTHERS = (
    "an object, not text",
    "an array with other things than strings; name another column",
)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ([{"lang": "en", "body": "words"}] * 2, f"{OBJECT}, of text.lang, text.body; name one"),
        ([{"n": 1, "of": {"m": [], "body": "b"}}], f"{OBJECT}, of text.n, text.of, text.of.m,"),
        ([{"n": 1, "of": {"m": [], "body": "b"}}], 'a.jsonl", text: text.of.body}'),
        ([[], {"body": "words"}], f"{OBJECT}, of text.body; name one in it in the recipe, as {{"),
        (
            [{"n": 1}],
            f"{OBJECT}, of text.n; name one in it in the recipe, as {{path: …, text: NAME}}",
        ),
        ([{}], f"{OBJECT}; name one in it in the recipe, as {{path: …, text: NAME}}"),
        ([["a", None], []], "an array, not text; say what stands between them, as {path: "),
        ([["a"], [3]], f"{OTHERS}, as {{path: …, text: NAME}}"),
        ([[{"body": "b"}], ["a"]], r'a.jsonl", text: text.body, join: "\n\n"}, or `jq -c '),
        ([[{"n": 3}], []], f"strings; `jq -c '{JQ}' FILE > NEW.jsonl` makes a line of each"),
    ],
)
def test_texts_that_are_objects_are_told_before_they_are_read(tmp_path, texts, told):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    plan = read_all(path).plan
    assert [(f.cause, told in f.message) for f in plan.failed] == [("text_not_string", True)]
    for more in ({"text": None}, {"text": "words"}):  # some may be: objects fail one by one
        with path.open("a") as file:
            file.write(json.dumps(more) + "\n")
        assert read_all(path).plan.failed == ()
    assert read_all(path).texts == ["words"]


def test_lists_that_join_does_not_join_are_not_told_to_join(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": [{"body": 3}]}\n')
    (failed,) = read_all(path, join="\n").plan.failed
    way = f"`jq -c '{JQ}' FILE > NEW.jsonl` makes a line of each object in it"
    what = OTHERS.partition(";")[0]
    assert failed.message == f"{path}: column 'text' is {what}; {way}"
    path.write_text(json.dumps({"text": [{"a" * 2**20: 3}]}))  # too wide to be kept till then
    (failure,) = read_all(path, join="\n").failures
    assert failure["detail"] == f"{path} byte 0: 'text' is an array with an object in it; {way}"


def test_a_string_that_does_not_end_is_looked_for_once(tmp_path):
    """It was looked for behind each quote in it, and then its marks were those of values."""
    line = b'{"text": "' + b"," * (2**20 + 1) + rb"\"" * 2000
    got = read_bytes(tmp_path, GOOD + line)
    assert (got.texts, got.reasons) == (["good"], ["invalid_json"])


@pytest.mark.parametrize("data", [b'[\n{"text": "a"}\n]\n'[:2], b"hello\nworld\n", b"1\n2\n"])
def test_what_is_not_json_lines_is_listed(tmp_path, data):
    got = read_bytes(tmp_path, data)
    assert [f.cause for f in got.plan.failed] == ["invalid_json"]
    assert "one object a line" in got.plan.failed[0].message


@pytest.mark.parametrize("name", ["d.jsonl", "d.jsonl.gz", "d.jsonl.zst"])
def test_an_empty_file_has_no_documents(tmp_path, name):
    got = read_bytes(tmp_path, b"", name)
    assert (got.texts, got.failures, got.plan.failed) == ([], [], ())
    assert [f.bytes for f in got.plan.files] == [0]


@given(cut=st.integers(1, 900), shard_bytes=st.integers(1, 3000))
@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_what_comes_before_a_cut_is_kept(tmp_path_factory, suffix, pack, cut, shard_bytes):
    texts = [f"{i} {zlib.crc32(bytes([i]))}" for i in range(60)]
    parts = in_parts(as_jsonl(texts), 3, pack)
    packed = b"".join(parts)
    kept = max(len(packed) - cut, 1)
    got = read_bytes(
        tmp_path_factory.mktemp("cut"), packed[:kept], f"d.jsonl.{suffix}", shard_bytes=shard_bytes
    )
    cause = "truncated_gzip" if suffix == "gz" else "truncated_zstd"
    assert got.texts == texts[: len(got.texts)]
    if kept in accumulate(
        map(len, parts)
    ):  # between two members nothing shows that more is missing
        assert got.reasons in ([], ["invalid_json"])
    elif got.plan.failed:
        assert [f.cause for f in got.plan.failed] == [cause]
    else:
        assert got.reasons == [cause]


def test_all_that_zlib_can_save_of_a_cut_gzip_is_kept(tmp_path):
    texts = [f"{i} {zlib.crc32(bytes([i]))}" for i in range(200)]
    packed = gzip.compress(as_jsonl(texts))
    for cut in range(1, len(packed) - 100, 37):
        whole = zlib.decompressobj(31).decompress(packed[:-cut])
        got = read_bytes(tmp_path, packed[:-cut], "d.jsonl.gz")
        assert got.texts == texts[: whole.count(b"\n")]
        cut_line = whole.rfind(b"\n") + 1
        assert got.failures[0]["id"] == f"d.jsonl.gz#{cut_line}"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_only_the_shard_of_the_cut_line_reports_it(tmp_path, pack):
    texts = [str(zlib.crc32(bytes([i]))) * 20 for i in range(200)]
    path = tmp_path / ("d.jsonl.gz" if pack is gzip.compress else "d.jsonl.zst")
    packed = b"".join(in_parts(as_jsonl(texts), 20, pack))
    for cut in (5, 150, len(packed) // 3, len(packed) - 200):
        path.write_bytes(packed)
        plan = read_all(path, shard_bytes=1000).plan
        path.write_bytes(packed[:-cut])
        got = read_plan(plan)  # shards that lie wholly behind the cut have nothing to tell
        assert len(plan.shards) > 15
        assert len(got.failures) == 1
        assert set(got.reasons) <= FILE_CAUSES
        assert got.texts == texts[: len(got.texts)]


def test_a_wrong_checksum_is_damage(tmp_path):
    texts = [hashlib.sha256(bytes([i % 256, i // 256])).hexdigest() for i in range(2000)]
    packed = bytearray(gzip.compress(as_jsonl(texts)))
    packed[-6] ^= 1
    got = read_bytes(tmp_path, bytes(packed), "d.jsonl.gz")
    assert got.reasons == ["damaged_gzip"]
    assert "checksum" in got.failures[0]["detail"]
    assert got.texts == texts[: len(got.texts)]
    assert len(got.texts) > 1000


@pytest.mark.parametrize(
    ("name", "cause"), [("d.jsonl.gz", "damaged_gzip"), ("d.jsonl.zst", "damaged_zstd")]
)
def test_a_file_that_is_not_compressed_as_named_is_listed(tmp_path, name, cause):
    got = read_bytes(tmp_path, GOOD, name)
    assert [f.cause for f in got.plan.failed] == [cause]
    assert "if the file is plain, take that ending off its name" in got.plan.failed[0].message


@pytest.mark.parametrize("form", ["utf-16-le", "utf-16-be"])
def test_a_file_of_utf_16_is_told_so(tmp_path, form):
    got = read_bytes(tmp_path, f"\ufeff{GOOD.decode()}".encode(form), "d.jsonl")
    (failed,) = got.plan.failed
    assert failed.cause == "invalid_json"
    assert "(it begins as UTF-16 does; `iconv -f utf-16 -t utf-8` makes it UTF-8)" in (
        failed.message
    )


@pytest.mark.parametrize(("pack", "name"), [(gzip.compress, "gz"), (zstandard.compress, "zst")])
def test_a_packed_file_without_the_ending_is_told_what_it_is(tmp_path, pack, name):
    (tmp_path / "d.jsonl").write_bytes(pack(GOOD))
    (failed,) = read_all(tmp_path / "d.jsonl").plan.failed
    assert f"end its name in .{name}" in failed.message


def test_gzip_padding_is_no_damage(tmp_path):
    packed = gzip.compress(GOOD) + bytes(20) + gzip.compress(GOOD) + bytes(700)
    assert read_bytes(tmp_path, packed, "d.jsonl.gz").texts == ["good", "good"]


def test_skippable_zstd_frames_are_skipped(tmp_path):
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
    packed = skippable + zstandard.compress(GOOD) + skippable + zstandard.compress(GOOD)
    assert read_bytes(tmp_path, packed, "d.jsonl.zst").texts == ["good", "good"]


def test_a_wide_zstd_window_is_refused_by_name(tmp_path):
    parameters = zstandard.ZstdCompressionParameters(window_log=22, compression_level=3)
    pack = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    packed = pack.compress(GOOD * 500_000) + pack.flush()
    got = read_bytes(tmp_path, packed, "d.jsonl.zst", limits=Limits(max_window_bytes=2**20))
    assert [f.cause for f in got.plan.failed] == ["window_too_large"]
    assert "raise limits.max_window_bytes" in got.plan.failed[0].message


@pytest.mark.parametrize("shard_bytes", [7, 60, 10_000])
def test_a_line_over_the_limit_fails_alone(tmp_path, shard_bytes):
    long = json.dumps({"text": "x" * 400}).encode() + b"\n"
    limits = Limits(max_document_bytes=100)
    got = read_bytes(tmp_path, GOOD + long + GOOD + long, limits=limits, shard_bytes=shard_bytes)
    assert got.texts == ["good", "good"]
    assert got.reasons == ["too_large", "too_large"]
    assert [f["text_bytes"] for f in got.failures] == [len(long) - 1] * 2
    assert [f["id"] for f in got.failures] == [f"d.jsonl#{17}", f"d.jsonl#{34 + len(long)}"]


cuts = st.tuples(st.integers(1, 30), st.integers(1, 4))


@given(st.lists(st.integers(0, 12), max_size=9), cuts, st.booleans())
@example([6, 7, 8, 9], (3, 1), True)
@example([6, 0, 8, 9, 0], (3, 4), True)
@example([1, 8, 7, 6], (30, 1), True)
@example([1, 7], (30, 1), True)
def test_lines_come_whole_up_to_the_limit_whatever_pieces_they_lie_in(lengths, cut, ended):
    """cut: bytes of a piece, and pieces of a block."""
    size, each = cut
    data = b"".join(bytes([97 + i]) * n + b"\n" for i, n in enumerate(lengths))
    data = data if ended else data[:-1]
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    blocks = (pieces[i : i + each] for i in range(0, len(pieces), each))
    got = []
    for item in read_lines(blocks, start=0, stop=None, max_bytes=7):
        if isinstance(item, LostLine):
            got.append((item.offset, item.cause, item.bytes))
        else:
            got += item.pairs()
    lines = data.split(b"\n")
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    expected = list(zip(starts, lines, strict=False))[: None if lines[-1] else -1]
    assert got == [(at, x) if len(x) <= 7 else (at, "too_large", len(x)) for at, x in expected]


@pytest.mark.parametrize("is_array", [False, True])
def test_lines_beside_a_wide_one_stay_together(is_array):
    lines = [b"a", b"", b"bc", b"d" * (WIDE_BYTES + 1), b"e" * WIDE_BYTES, b"f"]
    group = LineGroup(7, lines) if is_array else Lines(7, b"\n".join(lines))
    got = [list(some.pairs()) for some in in_limits(group, 10 * WIDE_BYTES)]
    assert [len(some) for some in got] == [3, 1, 2]
    assert [pair for some in got for pair in some] == list(group.pairs())


def test_ids_of_lines_that_only_orjson_can_parse(tmp_path):
    deep = b"[" * 1000 + b"]" * 1000
    lines = [b'{"text": "x", "id": 1.5, "n": %b}' % deep, b'{"text": "x", "id": %b}' % deep]
    got = read_bytes(tmp_path, b"\n".join(lines))
    assert got.ids == ["1.5", "[… nested too deep]"]


def peak_of_reading(path):
    first = path.parent / "first.jsonl"
    first.write_bytes(GOOD)
    done = apart(peaks.main, peaks.counts.__name__, str(first), str(path), "")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_depend_on_the_length_of_a_file(tmp_path):
    line = json.dumps({"text": "many words " * 200, "id": "x"}).encode() + b"\n"
    with (tmp_path / "long.jsonl").open("wb") as f:
        for _ in range(135):
            f.write(line * 1000)
    docs, failed, peak = peak_of_reading(tmp_path / "long.jsonl")
    assert (tmp_path / "long.jsonl").stat().st_size > 290e6
    (tmp_path / "long.jsonl").unlink()
    assert (docs, failed) == (135_000, 0)
    assert peak < 250e6


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_line_of_200_mb_is_never_held_whole(tmp_path):
    with (tmp_path / "wide.jsonl").open("wb") as f:
        f.write(GOOD + b'{"text": "')
        for _ in range(200):
            f.write(b"x" * 1_000_000)
        f.write(b'"}\n' + GOOD)
    docs, failed, peak = peak_of_reading(tmp_path / "wide.jsonl")
    (tmp_path / "wide.jsonl").unlink()
    assert (docs, failed) == (2, 1)
    assert peak < 200e6


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("pack", few([gzip.compress, zstandard.compress], 2), ids=["gzip", "zstd"])
def test_a_bomb_is_harmless(tmp_path, pack):
    name = "bomb.jsonl.gz" if pack is gzip.compress else "bomb.jsonl.zst"
    (tmp_path / name).write_bytes(pack(GOOD + bytes(1 << 28), 1) + pack(b"\n" + GOOD))
    docs, failed, peak = peak_of_reading(tmp_path / name)
    assert (docs, failed) == (2, 1)
    assert peak < 200e6
