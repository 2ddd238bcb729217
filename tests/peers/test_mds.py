"""mosaicml-streaming reads back what was exported for it, and writes the same bytes itself."""

import sys
import types

import numpy as np
import pytest

from tests.peers.exporting import exported, made, rows_of, run  # noqa: F401 - `run` is a fixture
from tests.peers.loaded import loaded

loaded("transformers")
# torchvision, which its image datasets need, asks for the very torch it was built with; we read ids
sys.modules.setdefault("streaming.vision", types.ModuleType("streaming.vision"))
streaming = loaded("streaming")
pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def clean():
    """It leaves shared memory behind, by which it takes two readers in turn for two at a time."""
    yield
    streaming.base.util.clean_stale_shared_memory()


def read(out, split):
    """The rows in order, by index, with the digests of all shards checked."""
    dataset = streaming.StreamingDataset(
        local=str(out), split=split, shuffle=False, batch_size=1, validate_hash="xxh3_128"
    )
    return [dataset[i] for i in range(len(dataset))], dataset


def plain(row):
    """A row of the dataset as one of MDS."""
    return {"tokens": row["input_ids"], **{k: v for k, v in row.items() if k != "input_ids"}}


@pytest.mark.parametrize("shard_bytes", [1 << 26, 5000])
def test_every_row_is_read_back(run, tmp_path, shard_bytes):  # noqa: F811
    out = exported(run, tmp_path / "out", "mds", shard_bytes=shard_bytes)
    for split, rows in rows_of(run).items():
        found, _ = read(out, split)
        assert all(row["tokens"].dtype == np.uint16 for row in found)
        assert [{**row, "tokens": row["tokens"].tolist()} for row in found] == [*map(plain, rows)]


def test_iterating_gives_every_row_once(run, tmp_path):  # noqa: F811
    out = exported(run, tmp_path / "out", "mds", shard_bytes=5000)
    _, dataset = read(out, "train")
    assert sorted(row["doc_id"] for row in dataset) == sorted(
        row["doc_id"] for row in rows_of(run)["train"]
    )


@pytest.mark.parametrize("shard_bytes", [1 << 26, 5000])
@pytest.mark.parametrize("output", [{}, {"seq_len": 64}], ids=["documents", "packed"])
def test_its_own_writer_writes_the_same_bytes(tmp_path, shard_bytes, output):
    run = made(tmp_path, **output)  # noqa: F811
    out = exported(run, tmp_path / "out", "mds", shard_bytes=shard_bytes)
    if output:
        columns = {"tokens": "ndarray:uint16:64", "doc_id": "uint64", "doc_offset": "int"}
    else:
        columns = {"tokens": "ndarray:uint16", "doc_id": "uint64", "id": "str", "source": "str"}
    with streaming.MDSWriter(
        out=str(tmp_path / "theirs"), columns=columns, hashes=["xxh3_128"], size_limit=shard_bytes
    ) as writer:
        for row in map(plain, rows_of(run)["train"]):
            writer.write({**row, "tokens": np.array(row["tokens"], np.uint16)})
    theirs = {p.name: p.read_bytes() for p in (tmp_path / "theirs").iterdir()}
    assert {p.name: p.read_bytes() for p in (out / "train").iterdir()} == theirs
    assert len(theirs) > (5 if shard_bytes == 5000 else 1)
