"""Random ids as a dataset, and their removal."""

import zlib

import numpy as np
import pytest
from datasets import load_from_disk

from tests.pipelines.probe.corpora import packed
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.fill import fill, is_filler, remove_filler
from tokenmill.pipelines.probe.shards import open_dataset


@pytest.mark.parametrize(("width", "dtype"), [(2, "uint16"), (4, "int32")])
def test_a_dataset_that_datasets_opens(tmp_path, width, dtype):
    folder = fill(tmp_path / "new" / "fill", 3_000_000, width=width, seq_len=128)
    shards = open_dataset(folder)
    assert (shards.dtype, shards.seq_len) == (dtype, 128)
    assert 0.99 < shards.bytes / 3_000_000 < 1.2
    opened = load_from_disk(str(folder))
    assert len(opened) == shards.rows
    assert min(opened[0]["input_ids"]) >= 0


def test_it_cannot_be_compressed(tmp_path):
    fill(tmp_path, 2_000_000, width=2, seq_len=1024)
    data = (tmp_path / "data-00000-of-00001.arrow").read_bytes()
    assert len(zlib.compress(data)) > 0.97 * len(data)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    packed(tmp_path)
    with pytest.raises(ConfigError, match="something is there; --fill needs a new or an empty"):
        fill(tmp_path, 1000, width=2, seq_len=8)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="something is there"):
        fill(tmp_path / "file", 1000, width=2, seq_len=8)


def test_room_is_checked_first(tmp_path):
    with pytest.raises(ConfigError, match="are free, 1 EB were asked for; give a smaller --fill"):
        fill(tmp_path / "new" / "fill", 10**18, width=2, seq_len=8)
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_target(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        fill(tmp_path / "file" / "below", 1000, width=2, seq_len=8)


def test_it_is_removed_and_nothing_else(tmp_path):
    folder = fill(tmp_path / "fill", 100_000, width=2, seq_len=8)
    (folder / "notes.txt").touch()
    assert is_filler(folder)
    remove_filler(folder)
    assert [p.name for p in folder.iterdir()] == ["notes.txt"]
    again = fill(tmp_path / "again", 100_000, width=2, seq_len=8)
    remove_filler(again)
    assert not again.exists()


def test_what_is_there_of_the_same_size_is_taken_as_it_is(tmp_path):
    folder = fill(tmp_path / "fill", 100_000, width=2, seq_len=8)
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    fill(folder, 100_000, width=2, seq_len=8)
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == before
    for n_bytes, width in ((90_000, 2), (200_000, 4)):
        with pytest.raises(ConfigError, match="an earlier --fill wrote 201 kB there, in rows of 8"):
            fill(folder, n_bytes, width=width, seq_len=8)


def test_another_dataset_is_never_removed(tmp_path):
    packed(tmp_path / "d")
    with pytest.raises(ConfigError, match="was not written by --fill; delete it yourself"):
        remove_filler(tmp_path / "d")
    assert open_dataset(tmp_path / "d").rows == 192


def test_ids_differ_from_row_to_row(tmp_path):
    folder = fill(tmp_path, 100_000, width=4, seq_len=64)
    rows = np.array(load_from_disk(str(folder))["input_ids"])
    assert len(np.unique(rows)) > 0.99 * rows.size
