"""The end of a run: what every report says of the inputs, and the manifest by which it is known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.runs.manifest import COMPLETE, PARTIAL_RUN, read_manifest
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished, Job
from tokenmill.pipelines.storage import mirror


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


def prepared_run(out: Path) -> dict[str, Any]:
    """The manifest of a run directory.

    Raises:
        ConfigError: there is none, or not one that prepare made.
    """
    found = read_manifest(out)
    if found is None:
        raise ConfigError(
            f"{out}: no run here (no manifest.json); name a directory that prepare made"
        )
    if "check" in found["identity"]:
        raise ConfigError(
            f"{out}: made by contamination, not by prepare; see {out / 'contamination.html'}"
        )
    if "recipe" not in found["identity"] or "measuring" in found["identity"]:
        raise ConfigError(f"{out}: not made by prepare; name a directory that is")
    return found
