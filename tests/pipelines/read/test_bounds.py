"""Files that claim, expand to or stand for gigabytes take no more memory than others."""

import json
import subprocess
import sys

import pytest

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
PEAK = """
import json, sys

def peak_bytes():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
"""
READ = """
from itertools import islice
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

def read(path):
    column = sys.argv[3] if path == sys.argv[2] else ""
    plan = plan_inputs([Input(path=path, images=column or None)], 10**12, images=bool(column))
    how = {"images": Images()} if column else {}
    causes = {f.cause for f in plan.failed}
    details = [f.message for f in plan.failed]
    for shard in plan.shards:
        for batch in islice(read_shard(shard, limits=Limits(), **how), 30):
            causes |= set(batch.failed["reason"].to_pylist())
            details += batch.failed["detail"].to_pylist()[:3]
    return sorted(causes), details[:3]
"""
ROWS = """
from tokenmill.pipelines.contamination.items.rows import read_rows

def read(path):
    try:
        return len(read_rows(path)), ""
    except Exception as e:
        return 0, f"{type(e).__name__}: {e}"
"""
WHOLE = """
from pathlib import Path
import pyarrow.parquet as pq
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.read.parquet import bounded
from tokenmill.pipelines.storage.files import open_arrow

def read(path):
    try:
        if path.endswith(".arrow"):
            return sum(b.num_rows for b in open_arrow(Path(path))[0]), ""
        return pq.read_table(bounded(Path(path))).num_rows, ""
    except ShardError as e:
        return 0, str(e)
"""
SAID = """
read(sys.argv[1])
before = peak_bytes()
found = read(sys.argv[2])
print(json.dumps([*found, peak_bytes() - before]))
"""


def peak_of(program, tmp_path, path, column=""):
    """What a program says of a file, and what it takes beside what it takes of a good one."""
    good = tmp_path / "good.jsonl"
    good.write_text('{"text": "good"}\n')
    done = subprocess.run(
        [sys.executable, "-c", PEAK + program + SAID, str(good), str(path), column],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", FILES)
def test_a_hostile_file_takes_no_memory(tmp_path, what):
    name, write, causes = FILES[what]
    path = tmp_path / name
    write(path)
    assert path.stat().st_size < 3 * MB
    found, details, peak = peak_of(READ, tmp_path, path)
    assert peak < MOST
    assert set(found) == causes
    assert all(str(path) in detail and "\n" not in detail for detail in details)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", BENCHMARKS)
def test_a_hostile_benchmark_takes_no_memory(tmp_path, what):
    name, write = BENCHMARKS[what]
    path = tmp_path / name
    write(path)
    rows, said, peak = peak_of(ROWS, tmp_path, path)
    assert peak < MOST
    assert rows == 0
    assert "expands" in said.lower() or "unpack" in said
    assert "\n" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", WHOLE_FILES)
def test_a_hostile_file_of_an_earlier_run_takes_no_memory(tmp_path, what):
    name, write, _ = FILES[what]
    path = tmp_path / name
    write(path)
    rows, said, peak = peak_of(WHOLE, tmp_path, path)
    assert peak < MOST
    assert rows == 0
    assert str(path) in said
    assert "delete it and rerun" in said


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", ILLUSTRATED)
def test_a_hostile_table_of_images_takes_no_memory(tmp_path, what):
    name, write, column = ILLUSTRATED[what]
    path = tmp_path / name
    write(path)
    _, details, peak = peak_of(READ, tmp_path, path, column)
    assert peak < MOST
    assert all(str(path) in detail and "\n" not in detail for detail in details)
