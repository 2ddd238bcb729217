"""Datasets on disk, and what is not one."""

import json

import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.probe.corpora import documents, packed, write_shards
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.shards import WAY_OUT, open_dataset


def test_a_packed_dataset(tmp_path):
    shards = open_dataset(packed(tmp_path / "d"))
    assert (shards.rows, shards.seq_len, shards.dtype, shards.width) == (192, 64, "uint16", 2)
    assert len(shards.files) == 3
    assert shards.bytes == sum(p.stat().st_size for p in (tmp_path / "d").glob("*.arrow"))


def test_a_dataset_of_documents(tmp_path):
    shards = open_dataset(documents(tmp_path / "d", [5, 0, 9, 100, 1] * 4))
    assert (shards.rows, shards.seq_len) == (20, None)
    assert [b.rows for b in shards.batches] == [8, 8, 4]


def test_a_run_directory_and_its_splits(tmp_path):
    packed(tmp_path / "run" / "dataset" / "train", batches=2)
    packed(tmp_path / "run" / "dataset" / "validation", batches=1)
    names = {"splits": ["train", "validation"]}
    (tmp_path / "run" / "dataset" / "dataset_dict.json").write_text(json.dumps(names))
    assert open_dataset(tmp_path / "run").rows == 64
    assert open_dataset(tmp_path / "run", "validation").rows == 32
    with pytest.raises(ConfigError, match="no split 'test'; it has train, validation"):
        open_dataset(tmp_path / "run", "test")


def test_a_folder_of_arrow_files_is_enough(tmp_path):
    (packed(tmp_path / "d") / "state.json").unlink()
    assert open_dataset(tmp_path / "d").rows == 192
    with pytest.raises(ConfigError, match="has no splits"):
        open_dataset(tmp_path / "d", "train")


def test_an_empty_folder_and_none(tmp_path):
    with pytest.raises(ConfigError) as e:
        open_dataset(tmp_path)
    told = f"{tmp_path}: not a dataset: no state.json and no .arrow files; {WAY_OUT}"
    assert str(e.value) == told
    with pytest.raises(ConfigError, match="no such folder"):
        open_dataset(tmp_path / "none")


@pytest.mark.parametrize("name", ["../d/x.arrow", "/etc/passwd", 7, None])
def test_a_file_elsewhere_is_refused(tmp_path, name):
    folder = packed(tmp_path / "d")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    with pytest.raises(ConfigError, match="is no name of a file in this folder"):
        open_dataset(folder)


def test_a_file_in_place_of_a_folder(tmp_path):
    path = packed(tmp_path / "d") / "state.json"
    with pytest.raises(ConfigError) as e:
        open_dataset(path)
    assert str(e.value) == f"{path}: a file, not a folder; {WAY_OUT}"


def test_a_shard_without_bytes(tmp_path):
    path = packed(tmp_path / "d") / "data-00001-of-00003.arrow"
    path.write_bytes(b"")
    with pytest.raises(ConfigError) as e:
        open_dataset(tmp_path / "d")
    assert str(e.value) == f"{path}: has 0 bytes; fetch or write it again"


def test_a_file_that_is_missing(tmp_path):
    folder = packed(tmp_path / "d")
    (folder / "data-00001-of-00003.arrow").unlink()
    with pytest.raises(ConfigError, match="data-00001-of-00003.arrow: no such file"):
        open_dataset(folder)


@pytest.mark.parametrize(
    ("keep", "why"),
    [
        (1, r"not an Arrow IPC file or stream \(.+\); give"),
        (40, r"not an Arrow IPC file or stream \(.+\); give"),
        (500, r"damaged at byte \d+ \(a header of \d+ bytes\); fetch"),
        (4000, r"damaged at byte \d+ \(a body of \d+ bytes in a file of 4000\); fetch"),
        (-1, r"damaged at byte \d+ \(the file ends inside a header \(.+\)\); fetch"),
    ],
)
def test_a_file_that_was_cut_short(tmp_path, keep, why):
    folder = packed(tmp_path / "d")
    path = folder / "data-00000-of-00003.arrow"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ConfigError, match=f"data-00000-of-00003.arrow: {why}"):
        open_dataset(folder)


def test_text_in_place_of_ids(tmp_path):
    table = pa.table({"text": ["a", "b"]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as f, pa.ipc.new_stream(f, table.schema) as w:
        w.write_table(table)
    with pytest.raises(ConfigError, match="has no column 'input_ids', but text"):
        open_dataset(tmp_path)


def test_compressed_batches(tmp_path):
    rows = [[np.zeros(64, np.uint16)] * 100]
    write_shards(tmp_path / "d", rows, seq_len=64, compression="zstd")
    with pytest.raises(ConfigError, match="is compressed; write the dataset without"):
        open_dataset(tmp_path / "d")


def test_a_dataset_without_rows(tmp_path):
    write_shards(tmp_path / "d", [[]], seq_len=64)
    with pytest.raises(ConfigError, match="has no rows"):
        open_dataset(tmp_path / "d")


def test_offsets_that_lead_elsewhere(tmp_path):
    folder = documents(tmp_path / "d", [3, 4, 5])
    path = folder / "data-00000-of-00001.arrow"
    data, wanted = path.read_bytes(), np.array([0, 3, 7, 12], np.int32).tobytes()
    assert data.count(wanted) == 1
    path.write_bytes(data.replace(wanted, np.array([0, 99, 7, 12], np.int32).tobytes()))
    with pytest.raises(ConfigError, match="offsets of rows lie outside the ids"):
        open_dataset(folder)
