"""The end of a run: what every report says of the inputs, and the manifest by which it is known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.data import Data
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.runs.manifest import COMPLETE, PARTIAL_RUN, read_manifest
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished, Job
from tokenmill.pipelines.storage import mirror


class Inventory(Data):
    """What was to be read.  skipped: paths of files whose names say no format."""

    files: int
    bytes: int
    shards: int
    skipped: tuple[str, ...]


class UnreadInput(Data):
    """An input file that could not be cut into shards."""

    path: str
    cause: str
    message: str
    bytes: int


class FailedShard(Data):
    """A piece of work that failed."""

    step: str
    key: str
    error: str


class DamagedShard(Data):
    """A shard whose file turned out damaged while it was read: documents behind it are missing."""

    key: str
    message: str


def inventory(plan: Plan) -> dict[str, Any]:
    """What was to be read."""
    return {
        "files": len(plan.files),
        "bytes": sum(f.bytes for f in plan.files),
        "shards": len(plan.shards),
        "skipped": list(plan.skipped),
    }


def failures(plan: Plan, finished: Finished, reading: str) -> dict[str, Any]:
    """What could not be read or worked on; reading: the step that reads the shards."""
    return {
        "failed_inputs": [
            {"path": f.path, "cause": f.cause, "message": f.message, "bytes": f.bytes}
            for f in plan.failed
        ],
        "failed_shards": [vars(f) for f in finished.failures],
        # their file turned out damaged while it was read: documents behind it are missing
        "damaged_shards": [
            {"key": r.key, "message": message}
            for r in finished.of(reading)
            for message in r.facts.get("damage", ())
        ],
    }


def manifest(job: Job, report: dict[str, Any], finished: Finished) -> dict[str, Any]:
    """Everything about the run, as JSON: identity, receipts, report."""
    identity = (read_manifest(job.out) or {})["identity"]
    return {
        "status": PARTIAL_RUN if finished.failures else COMPLETE,
        "identity": identity,
        "receipts": [receipt.to_json() for receipt in finished.receipts],
        "report": report,
    }


def read_report(out: Path, stays: Callable[[str], bool]) -> dict[str, Any] | None:
    """The report of a run, if it has finished and its files that stay are all there and whole.

    stays: whether a file stays when the run has finished, by its path below `out`.
    """
    found = read_manifest(out) or {}
    if found.get("status") != COMPLETE:
        return None
    for receipt in map(Receipt.from_json, found["receipts"]):
        for name, size, _ in receipt.files:
            if stays(name) and mirror.size(out / name) != size:
                return None
    report: dict[str, Any] = found["report"]
    return report
