"""Files of some kB that claim, expand to or stand for gigabytes, by what they do."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

MB = 1 << 20
LONG = "x" * MB
GOOD = b'{"text": "good"}\n'


def arrow(path, table, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table)


def parquet(path, batches, **options):
    """All in one row group, whatever it would take at once."""
    options = {"compression": "zstd", "store_schema": False, "write_statistics": False, **options}
    pq.write_table(pa.Table.from_batches(batches), path, row_group_size=1 << 26, **options)


def one_often(n, *, kind=np.int8):
    """A column of one long text, `n` times."""
    return pa.DictionaryArray.from_arrays(np.zeros(n, kind), [LONG])


def texts(n):
    return pa.array(["x"] * n)


def blocks(n, **columns):
    """`n` times a batch of rows."""
    return (pa.record_batch(columns) for _ in range(n))


def zeros(n_bytes):
    """A text of so many zero bytes."""
    offsets = pa.py_buffer(np.array([0, n_bytes], np.int64))
    return pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(bytes(n_bytes)))


def views(n):
    """(n,) views of one long text."""
    heads = np.tile(np.array([MB, int.from_bytes(b"xxxx", "little"), 0, 0], np.int32), n)
    buffers = [None, pa.py_buffer(heads), pa.py_buffer(LONG.encode())]
    return pa.Array.from_buffers(pa.string_view(), n, buffers)


def runs(n):
    return pa.RunEndEncodedArray.from_arrays(pa.array([n], pa.int32()), pa.array([LONG]))


def nothings(n):
    """One list of `n` nulls."""
    return pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), pa.nulls(n))


def lists(n):
    """One list of `n` times a long text."""
    return pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), one_often(n, kind=np.int32))


def claimed(path, **claims):
    """A Parquet file whose page says that it unpacks to other than it does."""
    parquet(path, blocks(1, text=pa.array([2 * LONG])), use_dictionary=False)
    data = bytearray(path.read_bytes())
    assert data[4:7] == b"\x15\x00\x15"  # kind, then bytes as a varint of four bytes
    doubled = 2 * claims["bytes"]
    data[7:11] = bytes(doubled >> 7 * i & 0x7F | (0x80 if i < 3 else 0) for i in range(4))
    path.write_bytes(data)


def packed(path, data):
    gz = path.suffix == ".gz"
    path.write_bytes(gzip.compress(data, 1) if gz else zstandard.compress(data))


# name: (how the file is named, what writes it, causes of failures among the first batches)
FILES = {
    "a page of zeros": (
        "d.parquet",
        lambda p: parquet(p, blocks(1, text=zeros(320 * MB)), use_dictionary=False),
        {"expands_too_far"},
    ),
    "a page of zeros in gzip": (
        "d.parquet",
        lambda p: parquet(
            p,
            blocks(1, text=zeros(1 << 28)),
            use_dictionary=False,
            compression="gzip",
            compression_level=1,
        ),
        {"expands_too_far"},
    ),
    "a page that claims 120 MB": (
        "d.parquet",
        lambda p: claimed(p, bytes=120 * MB),
        {"expands_too_far"},
    ),
    "a page that claims nothing": ("d.parquet", lambda p: claimed(p, bytes=9), {"damaged_parquet"}),
    "a text that comes a million times": (
        "d.parquet",
        lambda p: parquet(p, blocks(1, text=one_often(1_000_000, kind=np.int32))),
        set(),
    ),
    "ids that come a million times": (
        "d.parquet",
        lambda p: parquet(p, blocks(1, id=one_often(100_000, kind=np.int32), text=texts(100_000))),
        set(),
    ),
    "common beginnings": (
        "d.parquet",
        lambda p: parquet(
            p,
            blocks(40, text=pa.array([LONG] * 20)),
            use_dictionary=False,
            column_encoding={"text": "DELTA_BYTE_ARRAY"},
        ),
        set(),
    ),
    "long ids": (
        "d.parquet",
        lambda p: parquet(
            p, blocks(40, id=pa.array([LONG] * 20), text=texts(20)), use_dictionary=False
        ),
        set(),
    ),
    "a list of nulls": (
        "d.parquet",
        lambda p: parquet(p, blocks(1, id=nothings(1 << 25), text=texts(1))),
        {"expands_too_far"},
    ),
    "zeros in zstd": (
        "d.arrow",
        lambda p: arrow(p, pa.table({"text": zeros(320 * MB)}), "zstd"),
        {"expands_too_far"},
    ),
    "zeros in lz4": (
        "d.arrow",
        lambda p: arrow(p, pa.table({"text": zeros(320 * MB)}), "lz4"),
        {"expands_too_far"},
    ),
    "an Arrow text that comes a million times": (
        "d.arrow",
        lambda p: arrow(p, pa.table({"text": one_often(1_000_000)}), "zstd"),
        set(),
    ),
    "dictionaries of zeros": (
        "d.arrow",
        lambda p: arrow(
            p,
            pa.table(
                {
                    str(i) if i else "text": pa.DictionaryArray.from_arrays(
                        np.zeros(1, np.int8), zeros(30 * MB)
                    )
                    for i in range(12)
                }
            ),
            "zstd",
        ),
        {"expands_too_far"},
    ),
    "Arrow ids that come often": (
        "d.arrow",
        lambda p: arrow(p, pa.table({"id": one_often(9000), "text": texts(9000)})),
        set(),
    ),
    "runs of an id": (
        "d.arrow",
        lambda p: arrow(p, pa.table({"id": runs(9000), "text": texts(9000)})),
        set(),
    ),
    "views of a text": ("d.arrow", lambda p: arrow(p, pa.table({"text": views(9000)})), set()),
    "a list of 1e9 nulls": (
        "d.arrow",
        lambda p: arrow(p, pa.table({"id": nothings(10**9), "text": texts(1)})),
        {"expands_too_far"},
    ),
    "lists of a text": (
        "d.arrow",
        lambda p: arrow(p, pa.table({"id": lists(5000), "text": texts(1)})),
        {"expands_too_far"},
    ),
    "empty lines": ("d.jsonl.zst", lambda p: packed(p, b"\n" * (1 << 23) + GOOD), set()),
    "empty objects": (
        "d.jsonl.zst",
        lambda p: packed(p, GOOD + b"{}\n" * (1 << 23)),
        {"missing_text"},
    ),
    "a line of empty lists": (
        "d.jsonl.zst",
        lambda p: packed(p, b'{"text": "", "x": [' + b"[]," * 10_000_000 + b"[]]}\n" + GOOD),
        {"too_many_values"},
    ),
    "a line of empty lists in gzip": (
        "d.jsonl.gz",
        lambda p: packed(p, b'{"text": "", "x": [' + b"[]," * 10_000_000 + b"[]]}\n" + GOOD),
        {"too_many_values"},
    ),
}

BENCHMARKS = {
    "spaces": ("d.jsonl.zst", lambda p: packed(p, b" " * (320 * MB))),
    "spaces in gzip": ("d.json.gz", lambda p: packed(p, b" " * (1 << 28))),
    "empty lists": ("d.json.gz", lambda p: packed(p, b"[" + b"[]," * 10_000_000 + b"[]]")),
    "rows of a letter": ("d.csv.zst", lambda p: packed(p, b"a\n" * 2_000_000)),
    **{
        f"{what}, {name}": (name, write)
        for what, (name, write, _) in FILES.items()
        if what
        in (
            "a page of zeros",
            "a text that comes a million times",
            "common beginnings",
            "long ids",
            "a list of nulls",
        )
    },
}

ILLUSTRATED = {
    "lists of a text in Parquet": (
        "d.parquet",
        lambda p: parquet(p, blocks(1, text=lists(5000), images=pa.array([["a.png"]]))),
        "images",
    ),
    "lists of a text in Arrow": (
        "d.arrow",
        lambda p: arrow(p, pa.table({"text": lists(5000), "images": pa.array([["a.png"]])})),
        "images",
    ),
    "a list of 1e9 images": (
        "d.arrow",
        lambda p: arrow(
            p,
            pa.table(
                {
                    "text": texts(1),
                    "images": pa.ListArray.from_arrays(
                        pa.array([0, 10**9], pa.int32()),
                        pa.StructArray.from_arrays([pa.nulls(10**9)], ["bytes"]),
                    ),
                }
            ),
        ),
        "images",
    ),
    "captions that come often": (
        "d.parquet",
        lambda p: parquet(
            p,
            blocks(
                1,
                text=one_often(4000, kind=np.int32),
                image=pa.array(["a.png"] * 4000),
            ),
        ),
        "image",
    ),
}
