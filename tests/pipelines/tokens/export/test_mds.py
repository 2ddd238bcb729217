"""MDS shards hold every row, and are cut where MDSWriter would cut them."""

import json
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.tokens.export.datasets_made import DATASETS, documents, sequences
from tests.reference.exports import read_mds
from tests.strategies import examples
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.tokens.export import exported, mds
from tokenmill.pipelines.tokens.export.mds import Shape, write_index, write_mds


def written(out, tokens, batches, shard_bytes=1 << 26):
    parts = list(write_mds(out, "train", tokens, iter(batches), shard_bytes=shard_bytes, first=0))
    write_index(out, "train", Shape(tokens, shard_bytes), parts)
    return parts


def plain(batches):
    """Rows as a reader of MDS has them."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    for row in rows:
        row["tokens"] = row.pop("input_ids")
        if "date" in row:
            row["date"] = (
                row["date"].isoformat().replace("500000+00:00", "500Z") if row["date"] else ""
            )
            row["url"] = row["url"] or ""
    return rows


@settings(max_examples=examples(30))  # each writes and syncs files
@given(DATASETS, st.sampled_from([1, 300, 1000, 1 << 26]))
def test_every_row_is_read_back(dataset, shard_bytes):
    rows, tokens, batches = dataset
    with tempfile.TemporaryDirectory() as folder:
        parts = written(Path(folder), tokens, batches, shard_bytes)
        assert read_mds(Path(folder) / "train") == plain(batches)
        assert sum(p.rows for p in parts) == len(rows)
        assert sum(p.tokens for p in parts) == sum(len(ids) for ids, _ in rows)
        assert all(p.is_there(Path(folder)) for p in parts)
        assert all(p.rows == 1 or p.files[0].bytes <= shard_bytes + 4 for p in parts)


@settings(max_examples=examples(30))  # each writes and syncs files
@given(DATASETS, st.integers(300, 2000))
def test_a_shard_ends_before_the_first_sample_that_does_not_fit(dataset, shard_bytes):
    _, tokens, batches = dataset
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), tokens, batches, shard_bytes)
        paths = sorted((Path(folder) / "train").glob("*.mds"))
        shards = [path.read_bytes() for path in paths]
        for shard, after in pairwise(shards):
            first, second = (int.from_bytes(after[4 * i : 4 * i + 4], "little") for i in (1, 2))
            assert len(shard) + 4 + second - first > shard_bytes


def test_packed_rows_have_no_shape_of_their_own(tmp_path):
    tokens, batches = sequences([[1, 2, 3], [4, 5, 70_000]], 3, "uint32")
    (part,) = written(tmp_path, tokens, batches)
    index = json.loads((tmp_path / "train" / "index.json").read_text())
    assert index["shards"][0]["column_encodings"] == ["uint64", "int", "ndarray:uint32:3"]
    assert index["shards"][0]["column_sizes"] == [8, 8, 12]
    assert read_mds(tmp_path / "train") == plain(batches)
    assert part.files[0].bytes == 4 + 3 * 4 + len(Shape(tokens, 1 << 26).header) + 2 * (8 + 8 + 12)


@pytest.mark.parametrize("n", [0, 255, 256, 65_535, 65_536])
def test_lengths_take_the_bytes_they_need(tmp_path, n):
    tokens, batches = documents([([7] * n, "s")])
    written(tmp_path, tokens, batches)
    assert read_mds(tmp_path / "train") == plain(batches)


def test_a_document_that_no_shard_can_hold_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(exported.MOST_BYTES, "mds", 500)
    tokens, batches = documents([([1], "s"), ([1] * 600, "s")])
    with pytest.raises(ConfigError, match=r"a document of 1,\d\d\d bytes is beyond 500, the most"):
        written(tmp_path, tokens, batches, 400)


def test_a_split_can_be_continued_at_any_shard(tmp_path):
    rows = [([i] * (i % 50), "web") for i in range(200)]
    tokens, batches = documents(rows)
    whole = written(tmp_path / "whole", tokens, batches, 1000)
    assert len(whole) > 5
    for n in (1, 3, len(whole)):
        skip = sum(p.rows for p in whole[:n])
        _, rest = documents(rows, cuts=[skip])
        rest = [b for b in rest if b["doc_id"][0].as_py() & 0xFFFF >= skip]
        more = mds.write_mds(
            tmp_path / str(n), "train", tokens, iter(rest), shard_bytes=1000, first=n
        )
        assert list(more) == whole[n:]
