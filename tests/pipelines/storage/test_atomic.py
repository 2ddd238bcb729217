import os
import uuid

import pyarrow as pa
import pytest

from tokenmill.pipelines.storage.atomic import atomic_path, sweep_partials, write_json, write_text
from tokenmill.pipelines.storage.files import arrow_file, arrow_stream, parquet_file

SCHEMA = pa.schema({"n": pa.int64()})


def test_a_file_is_there_whole_once_the_block_ends(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    with atomic_path(path) as partial:
        partial.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert os.listdir(path.parent) == ["a.txt"]


@pytest.mark.parametrize("writer", [arrow_file, arrow_stream, parquet_file])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_nothing_behind_and_the_old_file_alone(tmp_path, writer, error):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(error), writer(path, SCHEMA) as out:
        out.write_batch(pa.record_batch({"n": [1]}, schema=SCHEMA))
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def by_text(path):
    write_text(path, "text")


def by_json(path):
    write_json(path, {"a": 1})


def by_writer(writer):
    def write(path):
        with writer(path, SCHEMA) as out:
            out.write_batch(pa.record_batch({"n": [1]}, schema=SCHEMA))

    return write


@pytest.mark.parametrize(
    "write", [by_text, by_json, *map(by_writer, (arrow_file, arrow_stream, parquet_file))]
)
def test_all_bytes_are_on_disk_before_the_name_and_the_name_when_it_is_written(
    tmp_path, monkeypatch, write
):
    done, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        fsync(descriptor)
        done.append(os.fstat(descriptor))

    def replaced(source, target):
        replace(source, target)
        done.append("named")

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write(tmp_path / "a")
    whole, named, folder = done
    assert os.path.samestat(whole, (tmp_path / "a").stat())
    assert whole.st_size == (tmp_path / "a").stat().st_size > 0
    assert named == "named"
    assert os.path.samestat(folder, tmp_path.stat())


def test_two_writers_of_one_file_do_not_meet(tmp_path):
    path = tmp_path / "a"
    with atomic_path(path) as first, atomic_path(path) as second:
        first.write_text("same")
        second.write_text("same")
    assert path.read_text() == "same"


def test_json_does_not_depend_on_the_order_of_keys(tmp_path):
    write_json(tmp_path / "a", {"b": 1, "a": "é"})
    write_json(tmp_path / "b", {"a": "é", "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_sweeping_takes_what_killed_writers_left_and_nothing_else(tmp_path):
    write_text(tmp_path / "keep", "x")
    (tmp_path / f"part.arrow.partial-{uuid.uuid4().hex}").write_text("half")
    (tmp_path / "movie.partial-001").write_text("somebody else's")
    assert sweep_partials(tmp_path) == 1
    assert sorted(os.listdir(tmp_path)) == ["keep", "movie.partial-001"]
