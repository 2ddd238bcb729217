"""Files that claim, expand to or stand for gigabytes take no more memory than others."""

import json
import subprocess
import sys

import pytest

from tests.pipelines.read.hostile import FILES, MB

MOST = 256 * 10**6
READ = """
import gc, json, sys
from itertools import islice
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

def peak_bytes():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024

def read(path):
    plan = plan_inputs([Input(path=path)], 10**12)
    causes = {f.cause for f in plan.failed}
    details = [f.message for f in plan.failed]
    for shard in plan.shards:
        for batch in islice(read_shard(shard, limits=Limits()), 30):
            causes |= set(batch.failed["reason"].to_pylist())
            details += batch.failed["detail"].to_pylist()[:3]
    return sorted(causes), details[:3]

read(sys.argv[1])
before = peak_bytes()
found = read(sys.argv[2])
print(json.dumps([*found, peak_bytes() - before]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", FILES)
def test_a_hostile_file_takes_no_memory(tmp_path, what):
    name, write, causes = FILES[what]
    path = tmp_path / name
    write(path)
    assert path.stat().st_size < 3 * MB
    (tmp_path / "good").mkdir()
    good = tmp_path / "good" / "d.jsonl"
    good.write_text('{"text": "good"}\n')
    done = subprocess.run(
        [sys.executable, "-c", READ, str(good), str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found, details, peak = json.loads(done.stdout)
    path.unlink()
    assert peak < MOST
    assert set(found) == causes
    assert all(str(path) in detail and "\n" not in detail for detail in details)
