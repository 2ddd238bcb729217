"""What pages of Parquet say of the size of a column, before any of it is made."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenmill.pipelines.read.pages import LEVEL_BYTES, chunk_bytes


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
