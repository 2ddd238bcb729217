"""Parquet files hold every row, of every type, and are cut by what they take on the disk."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings

from tests.pipelines.tokens.export.datasets_made import DATASETS, documents, sequences
from tests.strategies import examples
from tokenmill.pipelines.tokens.export import parquet
from tokenmill.pipelines.tokens.export.parquet import write_parquet


def written(out, tokens, batches, shard_bytes=10**9, first=0):
    found = write_parquet(out, "train", tokens, iter(batches), shard_bytes=shard_bytes, first=first)
    return list(found)


@settings(max_examples=examples(30))  # each writes and syncs files
@given(DATASETS)
def test_every_row_is_read_back_with_its_type(dataset):
    rows, tokens, batches = dataset
    with tempfile.TemporaryDirectory() as folder:
        (part,) = written(Path(folder), tokens, batches)
        found = pq.read_table(Path(folder) / "train-00000.parquet")
        assert found.schema.remove_metadata() == tokens.schema
        assert found.to_pylist() == pa.Table.from_batches(batches, tokens.schema).to_pylist()
        assert (part.rows, part.tokens) == (len(rows), sum(len(ids) for ids, _ in rows))


def test_packed_rows_are_of_fixed_size(tmp_path):
    tokens, batches = sequences([[1, 2, 3], [4, 5, 6]], 3)
    written(tmp_path, tokens, batches)
    found = pq.read_table(tmp_path / "train-00000.parquet")
    assert found.schema.field("input_ids").type == pa.list_(pa.uint16(), 3)
    assert found["input_ids"].to_pylist() == [[1, 2, 3], [4, 5, 6]]


def test_a_file_ends_with_the_row_group_in_which_it_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1000)
    rows = [([i % 7] * (i % 90), "web") for i in range(400)]
    tokens, batches = documents(rows, cuts=range(0, 400, 3))
    parts = written(tmp_path, tokens, batches, 4000)
    assert len(parts) > 3
    tables = [pq.read_table(tmp_path / p.files[0].name) for p in parts]
    assert pa.concat_tables(tables)["input_ids"].to_pylist() == [ids for ids, _ in rows]
    for part in parts[:-1]:
        groups = pq.ParquetFile(tmp_path / part.files[0].name).metadata.num_row_groups
        assert groups > 1
        assert 4000 <= part.files[0].bytes < 16_000


def test_files_smaller_than_a_row_group_are_as_asked_for(tmp_path):
    rows = [([(i * j) % 997 for j in range(500)], "web") for i in range(100)]
    tokens, batches = documents(rows, cuts=range(100))
    parts = written(tmp_path, tokens, batches, 10_000)
    assert all(part.files[0].bytes < 20_000 for part in parts)


def test_a_split_without_rows_has_a_file_of_its_columns(tmp_path):
    tokens, _ = documents([])
    (part,) = written(tmp_path, tokens, [])
    assert (part.rows, part.tokens) == (0, 0)
    assert pq.read_table(tmp_path / part.files[0].name).num_rows == 0
    assert written(tmp_path, tokens, [], first=1) == []
