"""Parquet and Arrow: damage, nulls, odd types and large values."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.read.corpus import read_all, write_arrow_file, write_arrow_stream
from tests.strategies import THOROUGH, examples
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.parquet import bounded
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.storage import ipc

TEXTS = [f"text number {i}" for i in range(100)]


def write(path, table):
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=10)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=10)
    return path


both = pytest.mark.parametrize("name", ["d.parquet", "d.arrow"])


@both
def test_nulls_and_large_values_fail_alone(tmp_path, name):
    path = write(
        tmp_path / name, pa.table({"text": ["a", None, "x" * 50, "b"], "url": list("stuv")})
    )
    got = read_all(path, limits=Limits(max_document_bytes=49))
    assert [f["url"] for f in got.failures] == ["t", "u"]
    assert got.texts == ["a", "b"]
    assert got.reasons == ["missing_text", "too_large"]
    assert [f["text_bytes"] for f in got.failures] == [0, 50]
    assert got.failures[0]["detail"] == f"{path} row 1: 'text' is null"
    assert got.ids + [f["id"] for f in got.failures] == [f"{name}#{i}" for i in (0, 3, 1, 2)]


@both
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.large_string()])
def test_every_type_of_text_is_read(tmp_path, name, kind):
    texts = ["é", "", "東京"]
    path = write(tmp_path / name, pa.table({"text": pa.array(texts).cast(kind)}))
    assert read_all(path).texts == texts


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_views_are_read(tmp_path, kind):
    texts = ["é", "", "a text of more than twelve bytes"]
    views = pa.array(texts, pa.string_view()).cast(kind)
    assert read_all(write(tmp_path / "d.arrow", pa.table({"text": views}))).texts == texts


@both
def test_bytes_that_are_not_utf8_fail_alone(tmp_path, name):
    values = [b"good", b"\xff\xfe", b"\xed\xa0\x80", b"fine"]
    as_binary = pa.array(values)
    for column in (as_binary, as_binary.view(pa.string()), as_binary.view(pa.string()).slice(1)):
        got = read_all(write(tmp_path / name, pa.table({"text": column})))
        assert got.texts == ["good", "fine"][-len(column) // 2 :][4 - len(column) :]
        assert got.reasons == ["invalid_utf8"] * 2
        assert "byte 0 of the text" in got.failures[0]["detail"]


@both
def test_ids_of_any_type_become_strings(tmp_path, name):
    for ids, shown in [
        ([1, 2**62], ["1", str(2**62)]),
        (["a", None], ["a", f"{name}#1"]),
        ([{"x": 1}, {"x": 2}], ["{'x': 1}", "{'x': 2}"]),
        ([b"a", b"\xff"], ["a", "\ufffd"]),
    ]:
        path = write(tmp_path / name, pa.table({"id": ids, "text": ["s", "t"]}))
        assert read_all(path).ids == shown


@both
def test_a_column_that_is_no_text_is_listed(tmp_path, name):
    path = write(tmp_path / name, pa.table({"text": [1, 2]}))
    (failed,) = read_all(path).plan.failed
    assert failed.cause == "text_not_string"
    assert "column 'text' is int64, not text" in failed.message
    path = write(tmp_path / name, pa.table({"a": ["x", "y"]}))
    (failed,) = read_all(path).plan.failed
    assert failed.cause == "missing_column"
    assert failed.docs == (2 if name == "d.parquet" else None)


@both
def test_no_rows_are_no_documents(tmp_path, name):
    path = write(tmp_path / name, pa.table({"text": pa.array([], pa.string())}))
    got = read_all(path)
    assert (got.texts, got.failures, got.plan.failed) == ([], [], ())


@pytest.mark.parametrize("size", [0, 3, 100, -9])
def test_a_parquet_file_cut_short_is_listed(tmp_path, size):
    path = write(tmp_path / "d.parquet", pa.table({"text": TEXTS}))
    path.write_bytes(path.read_bytes()[:size])
    (failed,) = read_all(path).plan.failed
    assert failed.cause == "damaged_parquet"
    assert failed.message.startswith(f"{path}: not a whole Parquet file (")
    assert "\n" not in failed.message


def test_a_damaged_page_ends_its_shard_only(tmp_path):
    path = tmp_path / "d.parquet"
    pq.write_table(
        pa.table({"text": TEXTS}),
        path,
        row_group_size=10,
        compression=None,
        write_page_checksum=True,
    )
    data = bytearray(path.read_bytes())
    data[data.index(b"text number 35")] ^= 1
    path.write_bytes(data)
    got = read_all(path, shard_bytes=1)
    assert got.texts == TEXTS[:30] + TEXTS[40:]
    assert got.reasons == ["damaged_parquet"]
    assert f"{path} row 30: " in got.failures[0]["detail"]
    assert read_all(path).texts == TEXTS[:30]


@pytest.mark.parametrize("write_it", [write_arrow_file, write_arrow_stream])
def test_an_arrow_file_cut_short_is_read_up_to_the_cut(tmp_path, write_it):
    path = write_it(tmp_path, TEXTS)
    whole = path.read_bytes()
    for size in range(len(whole) - 1, 600, -examples(1001, 2003)):
        path.write_bytes(whole[:size])
        for shard_bytes in (1, 1 << 30):
            got = read_all(path, shard_bytes=shard_bytes)
            assert got.texts == TEXTS[: len(got.texts)]
            if got.texts != TEXTS:
                assert len(got.failures) == 1
                assert got.reasons[0] in {"truncated_arrow", "damaged_arrow"}
                assert TEXTS[len(got.texts) - 1] in got.texts[-1:] or not got.texts


@pytest.mark.parametrize(
    "data", [b"", b"ARROW1", b"ARROW1\0\0", b"hello world, no arrow here", bytes(99)]
)
def test_what_is_not_arrow_is_listed(tmp_path, data):
    (tmp_path / "d.arrow").write_bytes(data)
    assert [f.cause for f in read_all(tmp_path / "d.arrow").plan.failed] == ["damaged_arrow"]


def test_flipped_bytes_neither_crash_nor_repeat_a_document(tmp_path):
    path = write(tmp_path / "d.arrow", pa.table({"text": TEXTS}))
    whole = path.read_bytes()
    for at in range(0, len(whole), 13 if THOROUGH else 61):
        damaged = bytearray(whole)
        damaged[at] ^= 0x41
        path.write_bytes(damaged)
        got = read_all(path, shard_bytes=1000)  # checks ids and batches
        assert got.texts.count(TEXTS[50]) <= 1


@pytest.mark.parametrize("write_it", [write_arrow_file, write_arrow_stream])
def test_headers_tell_what_pyarrow_reads(tmp_path, write_it):
    path = write_it(tmp_path, TEXTS)
    with pa.OSFile(str(path)) as file:
        start = ipc.stream_start(file)
        found = [m for m in ipc.messages(file, start) if m.kind == ipc.BATCH]
        file.seek(start)
        batches = list(pa.ipc.open_stream(file))
    assert [m.rows for m in found] == [b.num_rows for b in batches]
    assert [m.stop for m in found[:-1]] == [m.start for m in found[1:]]


def test_an_arrow_file_cut_between_batches_still_lacks_its_footer(tmp_path):
    path = write(tmp_path / "d.arrow", pa.table({"text": TEXTS}))
    whole = path.read_bytes()
    with pa.OSFile(str(path)) as file:
        third = list(ipc.messages(file, ipc.stream_start(file)))[3]
    path.write_bytes(whole[: third.stop])
    for shard_bytes in (1, 1 << 30):
        got = read_all(path, shard_bytes=shard_bytes)
        assert got.texts == TEXTS[:30]
        assert got.reasons == ["truncated_arrow"]


@pytest.mark.parametrize("mark", [b"\xff" * 4 + b"\0" * 4, b"\0" * 8])
@pytest.mark.parametrize("shard_bytes", [1, 1_000_000])
@pytest.mark.parametrize("more", [{}, {"kind": pa.array(["a"] * 100).dictionary_encode()}])
def test_an_arrow_file_that_ends_before_its_footer_was_cut_short(tmp_path, mark, shard_bytes, more):
    path = write(tmp_path / "d.arrow", pa.table({"text": TEXTS, **more}))
    with pa.OSFile(str(path)) as file:
        batches = [m for m in ipc.messages(file, 8) if m.kind == ipc.BATCH]
    data = bytearray(path.read_bytes())
    data[batches[4].start : batches[4].start + 8] = mark
    path.write_bytes(data)
    got = read_all(path, shard_bytes=shard_bytes)
    assert got.texts == TEXTS[:40]
    assert got.reasons == ["truncated_arrow"]


@both
def test_batches_of_long_texts_are_bounded_by_bytes(tmp_path, name):
    texts = [f"{i} " * (250_000 // len(f"{i} ")) for i in range(100)]
    table = pa.table({"text": texts})
    path = tmp_path / name
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    (shard,) = plan_inputs([Input(path=str(path))], 1 << 30).shards
    docs = [b.documents.num_rows for b in read_shard(shard, limits=Limits())]
    assert sum(docs) == 100
    assert all(30 <= n <= 34 for n in docs[:-1])


LISTS = [["a", "é"], None, [], ["c", None, "d"]]
DICTIONARY = pa.array(["a", None, "", "a"]).dictionary_encode()


@both
@pytest.mark.parametrize(
    ("column", "join", "texts"),
    [
        (DICTIONARY, None, ["a", "", "a"]),
        (DICTIONARY.cast(pa.dictionary(pa.int8(), pa.large_string())), None, ["a", "", "a"]),
        (pa.array(["a", None, "", "b" * 20], pa.string_view()), None, ["a", "", "b" * 20]),
        (pa.array(LISTS), "|", ["a|é", "", "c|d"]),
        (pa.array(LISTS, pa.large_list(pa.large_string())), "|", ["a|é", "", "c|d"]),
    ],
    ids=lambda v: str(v.type) if isinstance(v, pa.Array) else "",
)
def test_texts_of_dictionaries_views_and_lists_are_read(tmp_path, name, column, join, texts):
    table = pa.table({"id": list("wxyz"), "text": column})
    got = read_all(write(tmp_path / name, table), join=join)
    assert (got.texts, got.ids, got.reasons) == (texts, ["w", "y", "z"], ["missing_text"])


def test_texts_of_which_few_stand_for_many_are_read_from_lists(tmp_path):
    lists = [[letter * 1000 for letter in f"{i % 7}{i % 3}" * 10] for i in range(400)]
    path = write(tmp_path / "d.parquet", pa.table({"text": lists}))
    assert path.stat().st_size < 400_000
    assert read_all(path, join="\n").texts == ["\n".join(texts) for texts in lists]


def test_a_table_that_is_read_whole_may_take_96_mib_however_small_its_file(tmp_path):
    """More only where the file is a part of it that is not tiny."""
    path, n_bytes = tmp_path / "t.parquet", 96 * 1024
    kind = pa.binary(n_bytes)
    for rows in (1024, 1025):
        values = pa.py_buffer(bytes(rows * n_bytes))
        pq.write_table(pa.table([pa.Array.from_buffers(kind, rows, [None, values])], ["a"]), path)
        if rows == 1024:
            assert bounded(path) == path
    with pytest.raises(ShardError, match="its rows would take 100,761,600 bytes; write it again"):
        bounded(path)
