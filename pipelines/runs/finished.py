"""The end of a run: what every report says of the inputs, and the manifest by which it is known."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field

from tokenmill.pipelines.core.data import Data
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.runs.manifest import COMPLETE, PARTIAL_RUN, read_manifest
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished, Job
from tokenmill.pipelines.storage import mirror


class Inventory(Data):
    """What was to be read."""

    files: int = Field(description="Input files")
    bytes: int = Field(description="Of all of them")
    shards: int = Field(description="Into how many shards they were cut")
    skipped: list[str] = Field(description="Paths not read: their names tell no format")


class UnreadInput(Data):
    """An input file that cannot be cut into shards."""

    path: str = Field(description="Where it lies")
    cause: str = Field(description="As in the ledger")
    message: str = Field(description="What is wrong with it, and where")
    bytes: int = Field(description="Of the file")


class FailedShard(Data):
    """A shard whose work failed; the same command tries it again."""

    step: str = Field(description='Of the works, such as "pass-0"')
    key: str = Field(description="Names the shard")
    error: str = Field(description="Kind and message")


class DamagedShard(Data):
    """A shard whose file turned out damaged while it was read: what lies behind is missing."""

    key: str = Field(description="Names the shard")
    message: str = Field(description="The damage, and where it begins")


class Failures(Data):
    """What could not be read or worked on."""

    failed_inputs: list[UnreadInput] = Field(description="Input files that cannot be read")
    failed_shards: list[FailedShard] = Field(description="Shards that failed: run again to retry")
    damaged_shards: list[DamagedShard] = Field(description="Shards in part missing")

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Self:
        """Those of a report as data, whatever else it tells."""
        return cls.model_validate({name: report[name] for name in Failures.model_fields})

    @property
    def none(self) -> bool:
        return not (self.failed_inputs or self.failed_shards or self.damaged_shards)


def inventory(plan: Plan) -> Inventory:
    return Inventory(
        files=len(plan.files),
        bytes=sum(f.bytes for f in plan.files),
        shards=len(plan.shards),
        skipped=list(plan.skipped),
    )


def failures(plan: Plan, finished: Finished, reading: str) -> Failures:
    """reading: the step that reads the shards."""
    return Failures(
        failed_inputs=[
            UnreadInput(path=f.path, cause=f.cause, message=f.message, bytes=f.bytes)
            for f in plan.failed
        ],
        failed_shards=[FailedShard(**vars(f)) for f in finished.failures],
        damaged_shards=[
            DamagedShard(key=r.key, message=message)
            for r in finished.of(reading)
            for message in r.facts.get("damage", ())
        ],
    )


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
