"""Files that claim, expand to or stand for gigabytes take no more memory than others."""

import json
import sys
from functools import cache

import pytest

from tests.apart import apart
from tests.pipelines.read import peaks
from tests.pipelines.read.hostile import BENCHMARKS, FILES, ILLUSTRATED, MB

MOST = 256 * 10**6
WHOLE_FILES = (
    "a page of zeros",
    "a text that comes a million times",
    "common beginnings",
    "a list of nulls",
    "zeros in lz4",
    "dictionaries of zeros",
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file of a name, written once."""
    folder = tmp_path_factory.mktemp("hostile")

    @cache
    def write_once(name, write):
        path = folder / f"{len(list(folder.iterdir()))}-{name}"
        write(path)
        return path

    return write_once


def peak_of(reader, tmp_path, path, column=""):
    """What a reader finds in a file, and what it takes beside what it takes of a good one."""
    good = tmp_path / "good.jsonl"
    good.write_text('{"text": "good"}\n')
    done = apart(peaks.main, reader.__name__, str(good), str(path), column)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", FILES)
def test_a_hostile_file_takes_no_memory(written, tmp_path, what):
    name, write, causes = FILES[what]
    path = written(name, write)
    assert path.stat().st_size < 3 * MB
    found, details, peak = peak_of(peaks.documents, tmp_path, path)
    assert peak < MOST
    assert set(found) == causes
    assert all(str(path) in detail and "\n" not in detail for detail in details)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", BENCHMARKS)
def test_a_hostile_benchmark_takes_no_memory(written, tmp_path, what):
    name, write = BENCHMARKS[what]
    path = written(name, write)
    rows, said, peak = peak_of(peaks.benchmark, tmp_path, path)
    assert peak < MOST
    assert rows == 0
    assert "expands" in said.lower() or "unpack" in said
    assert "\n" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", WHOLE_FILES)
def test_a_hostile_file_of_an_earlier_run_takes_no_memory(written, tmp_path, what):
    name, write, _ = FILES[what]
    path = written(name, write)
    rows, said, peak = peak_of(peaks.of_a_run, tmp_path, path)
    assert peak < MOST
    assert rows == 0
    assert str(path) in said
    assert "delete it and rerun" in said


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", ILLUSTRATED)
def test_a_hostile_table_of_images_takes_no_memory(written, tmp_path, what):
    name, write, column = ILLUSTRATED[what]
    path = written(name, write)
    _, details, peak = peak_of(peaks.documents, tmp_path, path, column)
    assert peak < MOST
    assert all(str(path) in detail and "\n" not in detail for detail in details)
