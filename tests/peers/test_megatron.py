"""megatron-core reads back what was exported for it, and its own builder writes the same bytes."""

import numpy as np
import pytest

from tests.peers.exporting import exported, made, rows_of, run  # noqa: F401 - `run` is a fixture
from tests.peers.loaded import loaded
from tokenmill.pipelines.tokens.export.megatron import slug

torch = loaded("torch")
megatron = loaded("megatron.core.datasets.indexed_dataset")
pytestmark = pytest.mark.peers


def read(prefix):
    dataset = megatron.IndexedDataset(str(prefix))
    return [dataset[i].tolist() for i in range(len(dataset))]


def test_every_row_is_read_back(run, tmp_path):  # noqa: F811
    out = exported(run, tmp_path / "out", "megatron")
    for split, rows in rows_of(run).items():
        assert read(out / split) == [row["input_ids"] for row in rows]


def test_parts_of_rows_are_read_without_the_map_too(run, tmp_path):  # noqa: F811
    out = exported(run, tmp_path / "out", "megatron")
    dataset = megatron.IndexedDataset(str(out / "train"), mmap=False)
    for i, row in enumerate(rows_of(run)["train"]):
        wanted = row["input_ids"][1:]
        assert dataset.get(i, offset=min(1, len(row["input_ids"]))).tolist() == wanted


def test_each_source_is_read_back(tmp_path):
    run = made(tmp_path)  # noqa: F811
    out = exported(run, tmp_path / "out", "megatron", by_source=True)
    for split, rows in rows_of(run).items():
        for source in ("web", "my books"):
            wanted = [row["input_ids"] for row in rows if row["source"] == source]
            assert read(out / f"{split}-{slug(source)}") == wanted


def test_its_own_builder_writes_the_same_bytes(run, tmp_path):  # noqa: F811
    out = exported(run, tmp_path / "out", "megatron")
    builder = megatron.IndexedDatasetBuilder(str(tmp_path / "theirs.bin"), dtype=np.uint16)
    for row in rows_of(run)["train"]:
        builder.add_item(torch.from_numpy(np.array(row["input_ids"], np.int32)))
        builder.end_document()
    builder.finalize(str(tmp_path / "theirs.idx"))
    for ending in ("bin", "idx"):
        ours = (out / f"train.{ending}").read_bytes()
        assert ours == (tmp_path / f"theirs.{ending}").read_bytes()
