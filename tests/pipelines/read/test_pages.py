"""What pages of Parquet say of the size of a column, before any of it is made."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenmill.pipelines.read.pages import (
    DATA_PAGE_V2,
    DICTIONARY_PAGE,
    LEVEL_BYTES,
    Bound,
    chunk_bound,
    chunk_bytes,
    chunk_place,
    pages,
)


def weighed(path, column, **how):
    pq.write_table(pa.table({"a": column}), path, **how)
    parquet, data = pq.ParquetFile(path), path.read_bytes()
    return chunk_bytes(
        lambda n, at: data[at : at + n],
        parquet.metadata.row_group(0).column(0),
        parquet.schema.column(0),
    )


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
def test_texts_that_come_often_are_weighed_one_by_one(tmp_path, version, codec):
    codes = np.random.default_rng(0).integers(0, 3, 300_000)
    texts = pa.DictionaryArray.from_arrays(
        pa.array(codes, pa.int32(), mask=codes == 2), ["x" * 1000, "y"]
    )
    found = weighed(tmp_path / "a.parquet", texts, compression=codec, data_page_version=version)
    size = 1000 * (codes == 0).sum() + (codes == 1).sum()
    assert size <= found <= size * 1.001


def test_values_of_lists_weigh_what_they_take_though_they_are_nothing(tmp_path):
    found = weighed(tmp_path / "a.parquet", pa.array([[None] * 10] * 1000, pa.list_(pa.int64())))
    assert found >= LEVEL_BYTES * 10_000


def opened(path, column, rows=None, **how):
    """The arguments of what looks into the first chunk of a file."""
    pq.write_table(pa.table({"a": column}), path, row_group_size=rows, **how)
    parquet, data = pq.ParquetFile(path), path.read_bytes()
    chunk = parquet.metadata.row_group(0).column(0)
    return (lambda n, at: data[at : at + n]), chunk, parquet.schema.column(0)


TEXTS = pa.array([None if i % 7 == 0 else f"{i % 50:>{1 + i % 900}}" for i in range(3000)])
NUMBERS = pa.array([i % 50 for i in range(3000)])
ENCODINGS = {
    "dictionary": {},
    "plain": {"use_dictionary": False},
    "delta": {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_pages_fill_their_chunk_and_hold_its_values(tmp_path, codec, version, encoding):
    how = {"compression": codec, "data_page_version": version, "data_page_size": 1000,
           "write_batch_size": 200}  # fmt: skip
    read_at, chunk, _ = opened(tmp_path / "a.parquet", TEXTS, **how, **ENCODINGS[encoding])
    found = list(pages(read_at, chunk))
    assert len(found) > 2
    start, stop = chunk_place(chunk)
    begins = [start, *(page.at + page.packed for page in found[:-1])]
    headers = [page.at - begin for page, begin in zip(found, begins, strict=True)]
    assert found[-1].at + found[-1].packed == stop
    assert stop - start == chunk.total_compressed_size
    assert sum(headers) + sum(p.unpacked for p in found) == chunk.total_uncompressed_size
    data = [page for page in found if page.kind != DICTIONARY_PAGE]
    assert sum(page.values for page in data) == chunk.num_values == len(TEXTS)
    assert (len(data) < len(found)) == (encoding == "dictionary")
    assert {page.kind for page in data} == {0 if version == "1.0" else DATA_PAGE_V2}
    if codec == "zstd" and version == "1.0":
        page = found[-1]
        plain = pa.Codec("zstd").decompress(read_at(page.packed, page.at), page.unpacked)
        assert len(plain) == page.unpacked


def test_what_a_chunk_takes_is_told_by_its_encoding(tmp_path):
    path = tmp_path / "a.parquet"
    for encoding, how in ENCODINGS.items():
        read_at, chunk, column = opened(path, TEXTS, **how)
        found = [page for page in pages(read_at, chunk) if page.kind != DICTIONARY_PAGE]
        taken = chunk_bytes(read_at, chunk, column)
        if encoding == "plain":
            assert taken == sum(page.unpacked for page in found)
        if encoding == "delta":
            assert taken == len(TEXTS) * max(page.unpacked for page in found)
    for column, width in ((NUMBERS, 12), (NUMBERS.cast(pa.int64()).slice(0, 1), 8),
                          (pa.array([b"x" * 20, b"y" * 20] * 9, pa.binary(20)), 20)):  # fmt: skip
        assert chunk_bytes(*opened(path, column)) == len(column) * width
    lists = pa.array([[1, 2], [3]] * 9)
    assert chunk_bytes(*opened(path, lists)) == 27 * (12 + LEVEL_BYTES)


LONG = "x" * 2**20


def coded(times, letters=LONG):
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), [letters])


@pytest.mark.parametrize(
    ("times", "rows", "bound"),
    [
        (32, 40, Bound(40)),  # all of them fit
        (33, 32, Bound(32)),
        (33, 33, Bound(32)),
        (90, 64, Bound(32)),
        (90, 1, Bound(1)),
    ],
)
def test_a_long_value_that_comes_often_bounds_the_rows_at_a_time(tmp_path, times, rows, bound):
    """32 MiB may come at once."""
    read_at, chunk, schema = opened(tmp_path / "a.parquet", coded(times), compression="zstd")
    assert chunk_bound(read_at, chunk, schema, rows) == bound


@pytest.mark.parametrize(("times", "is_coded"), [(64, False), (65, True)])
def test_a_long_value_that_comes_often_in_lists_stays_coded(tmp_path, times, is_coded):
    """Of which any row may have all."""
    lists = pa.array([["x" * 2**19]] * times)
    read_at, chunk, schema = opened(tmp_path / "b.parquet", lists, compression="zstd")
    assert chunk_bound(read_at, chunk, schema, 7) == Bound(7, is_coded)


def test_common_beginnings_bound_the_rows_at_a_time(tmp_path):
    column = pa.array([LONG[:-99] + str(i) for i in range(40)])
    how = ENCODINGS["delta"] | {"compression": "zstd"}
    read_at, chunk, schema = opened(tmp_path / "a.parquet", column, **how)
    (page,) = pages(read_at, chunk)
    most = 2**25 // page.unpacked
    assert chunk_bound(read_at, chunk, schema, most) == Bound(most)
    assert chunk_bound(read_at, chunk, schema, most + 1) == Bound(most)
