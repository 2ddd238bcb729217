"""What reading a file takes at most, told by a process that reads nothing else."""

import json
import logging
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pyarrow.parquet as pq

from tokenmill.pipelines.contamination.items.rows import read_rows
from tokenmill.pipelines.core.errors import ShardError, TokenmillError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.images.facts import image_facts
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.parquet import bounded
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.storage.files import open_arrow

BATCHES = 30  # that are read of each shard


def documents(path: str, column: str) -> list[object]:
    """Causes of what failed, and the first details.  column: of images, where there are some."""
    plan = plan_inputs([Input(path=path, images=column or None)], 10**12, images=bool(column))
    how = {"images": Images()} if column else {}
    causes = {f.cause for f in plan.failed}
    details = [f.message for f in plan.failed]
    for shard in plan.shards:
        for batch in islice(read_shard(shard, limits=Limits(), **how), BATCHES):
            causes |= set(batch.failed["reason"].to_pylist())
            details += batch.failed["detail"].to_pylist()[:3]
    return [sorted(causes), details[:3]]


def counts(path: str, _: str) -> list[object]:
    """Documents of all of a file, and rows that are none."""
    docs = failed = 0
    for shard in plan_inputs([Input(path=path)], 10**12).shards:
        for batch in read_shard(shard, limits=Limits()):
            docs += batch.documents.num_rows
            failed += batch.failed.num_rows
    return [docs, failed]


def benchmark(path: str, _: str) -> list[object]:
    """Rows, and why there are none."""
    try:
        return [len(read_rows(path)), ""]
    except (TokenmillError, ValueError) as e:
        return [0, f"{type(e).__name__}: {e}"]


def of_a_run(path: str, _: str) -> list[object]:
    """Rows of a table that an earlier run left, and why there are none."""
    try:
        if path.endswith(".arrow"):
            return [sum(b.num_rows for b in open_arrow(Path(path))[0]), ""]
        return [pq.read_table(bounded(Path(path))).num_rows, ""]
    except ShardError as e:
        return [0, str(e)]


READERS: dict[str, Callable[[str, str], list[object]]] = {
    read.__name__: read for read in (documents, counts, benchmark, of_a_run)
}


def main(reader: str, good: str, path: str, column: str) -> None:
    """Print what a reader finds, and the bytes that it takes beside those of a good file."""
    READERS[reader](good, "")
    before = _peak_bytes()
    found = READERS[reader](path, column)
    sys.stdout.write(json.dumps([*found, _peak_bytes() - before]))


def of_images(*paths: str) -> None:
    """Print why images are none, where all that is logged is on stderr."""
    logging.basicConfig()
    for path in paths:
        found = image_facts(Path(path).read_bytes(), Images(verify=True))
        sys.stdout.write(f"{found.cause}\n")


def _peak_bytes() -> int:
    line = next(s for s in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in s)
    return int(line.split()[1]) * 1024
