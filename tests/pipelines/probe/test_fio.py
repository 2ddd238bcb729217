"""Raw rates of the probe beside fio's, in one sitting, where fio is installed."""

import json
import shutil
import subprocess

import pytest

from tokenmill.pipelines.probe.fill import fill
from tokenmill.pipelines.probe.loader import Reading
from tokenmill.pipelines.probe.shards import open_dataset
from tokenmill.pipelines.probe.team import Team, Train

TURNS, SECONDS = 3, 1.0
SEQ_LEN, WIDTH, BYTES = 8192, 4, 256 * 10**6
MORE = 1.5  # than the spread: by as much they may miss each other where other work runs beside

pytestmark = [pytest.mark.long, pytest.mark.skipif(not shutil.which("fio"), reason="no fio here")]


def ours(team, shards):
    """Bytes/s of rows at random by pread, one process, on an emptied page cache."""
    shards.medium.evict(shards.files)
    reading = Reading(
        shards=shards, order="random", depth="raw", rank=0, ranks=1, seed=1, sequences=32,
        seq_len=SEQ_LEN, chunk_rows=1, buffer=1,
    )  # fmt: skip
    run = team.train([Train(reading=reading, compute_s=0.0)], steps=10**9, most_s=SECONDS)
    return run.logical_bytes / run.whole_s


def theirs(files):
    names = ":".join(map(str, files))
    done = subprocess.run(
        ["fio", "--name=rows", f"--filename={names}", "--rw=randread", f"--bs={SEQ_LEN * WIDTH}",
         "--ioengine=psync", "--invalidate=1", "--time_based", f"--runtime={SECONDS:g}",
         "--readonly", "--fadvise_hint=random", "--output-format=json"],
        check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return json.loads(done.stdout)["jobs"][0]["read"]["bw_bytes"]


def test_raw_reads_at_random_are_as_fast_as_fio_s_within_the_spread_of_both(tmp_path):
    folder = tmp_path / "filled"
    fill(folder, BYTES, width=WIDTH, seq_len=SEQ_LEN)
    shards = open_dataset(folder)
    with Team() as team:
        pairs = [
            (ours(team, shards), theirs([shards.medium.path / n for n in shards.files]))
            for _ in range(TURNS)
        ]
    own, fio = zip(*pairs, strict=True)
    assert min(own) <= MORE * max(fio), pairs
    assert min(fio) <= MORE * max(own), pairs
