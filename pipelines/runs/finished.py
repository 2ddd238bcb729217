"""The end of a run: what every report says of the inputs, and the manifest by which it is known.

The manifest of a run that has ended does not grow with its shards. It says of each step how many
works it had, and of each folder, or file, of the run directory what it holds:

    {"files": 10000, "bytes": 123456789, "listing": "9f86d081…"}

"listing" is a digest over the names and sizes of the files, whatever their order. So a folder is
whole if a listing of it gives the same; receipts are read only where it does not.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash
from pydantic import Field

from tokenmill.pipelines.core.data import Data
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.measured import TOTAL
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.runs.manifest import COMPLETE, PARTIAL_RUN, read_manifest
from tokenmill.pipelines.runs.packs import receipts_of
from tokenmill.pipelines.runs.work import FailedShard, Finished, Job
from tokenmill.pipelines.storage import mirror
from tokenmill.sizing.document.section import count
from tokenmill.sizing.units import format_quantity


class Inventory(Data):
    """What was to be read."""

    files: int = Field(description="Input files, but for those of `skipped`")
    bytes: int = Field(description="Of all of them")
    shards: int = Field(description="Into how many shards they were cut")
    skipped: list[str] = Field(description="Paths not read, for what their names tell of format")
    other_format: list[str] | None = Field(
        None,
        description="Of these, where the input names another, or a saved dataset's folder has them",
    )
    texts: dict[str, dict[str, int]] | None = None
    """By source, of how many files which column is the text; absent where none has columns."""


class UnreadInput(Data):
    """An input file that cannot be cut into shards."""

    path: str = Field(description="Where it lies")
    cause: str = Field(description="As in the ledger")
    message: str = Field(description="What is wrong with it, and where")
    bytes: int = Field(description="Of the file")


class DamagedShard(Data):
    """A shard whose file turned out damaged while it was read: what lies behind is missing."""

    key: str = Field(description="Names the shard")
    message: str = Field(description="The damage, and where it begins")


class FailedSource(Data):
    """A source of which so much failed that what is left is hardly what was meant."""

    source: str = Field(description='Its name; "total" of all')
    message: str = Field(description="What is missing, and the causes")


class Failures(Data):
    """What could not be read or worked on."""

    failed_inputs: list[UnreadInput] = Field(description="Input files that cannot be read")
    failed_shards: list[FailedShard] = Field(description="Shards that failed: run again to retry")
    damaged_shards: list[DamagedShard] = Field(description="Shards in part missing")

    failed_sources: list[FailedSource] = Field([], description="Of which much failed")

    @property
    def none(self) -> bool:
        return not any(getattr(self, kind) for kind in Failures.model_fields)


def inventory(plan: Plan, texts: dict[str, dict[str, int]]) -> Inventory:
    read = plan.read
    return Inventory(
        files=len(read),
        bytes=sum(f.bytes for f in read),
        shards=len(plan.shards),
        skipped=list(plan.skipped),
        other_format=list(plan.other_format) or None,
        texts=texts or None,
    )


def failures(
    plan: Plan,
    finished: Finished,
    damage: Mapping[str, Sequence[str]],
    sources: Sequence[FailedSource] = (),
) -> Failures:
    """damage: by shard, what was wrong with a file that could not be read to its end."""
    return Failures(
        failed_sources=list(sources),
        failed_inputs=[
            UnreadInput(path=f.path, cause=f.cause, message=f.message, bytes=f.bytes)
            for f in plan.failed
        ],
        failed_shards=finished.failures,
        damaged_shards=[
            DamagedShard(key=key, message=message)
            for key, messages in damage.items()
            for message in messages
        ],
    )


# What mends much that fails for one cause.
_WAYS = {"outside_input": "; name the folders they lie in, as {path: …, roots: [FOLDER]}"}


def failed_sources(
    read: Iterable[tuple[str, StageStats]], left: int, failed_frac: float
) -> list[FailedSource]:
    """The sources of which such a share of the documents, or images, could not be read; and all
    of them, if nothing is left.

    read: the source of each shard, and what reading it gave.  left: documents at the end.
    """
    of: dict[str, StageStats] = {}
    for source, stats in read:
        of[source] = of.get(source, StageStats()) + stats
    found = []
    for source, stats in sorted(of.items()):
        counts = [("documents", stats.docs_in, stats.failed)]
        if stats.images is not None:
            counts.append(("images", stats.images.images_in, stats.images.failed))
        for what, n, causes in counts:
            lost = sum(causes.values())
            if lost and lost >= failed_frac * n:
                named = ", ".join(f"{c} {k:,}" for k, c in _most_first(causes))
                way = _WAYS.get(_most_first(causes)[0][1], "")
                message = f"{lost:,} of its {n:,} {what} failed: {named}{way}"
                found.append(FailedSource(source=source, message=message))
    n = sum(stats.docs_in for stats in of.values())
    if n and not left:
        message = f"nothing is left of {count(n, 'document')}"
        found.append(FailedSource(source=TOTAL, message=message))
    return found


if TYPE_CHECKING:  # its pyarrow.compute takes a sixth of what `inspect` imports
    from tokenmill.pipelines.core.step import Step

MOST_REMOVED, FEW_DOCS = 0.9, 10  # of fewer documents no share is told


def mostly_removed(
    by_source: Mapping[str, Mapping[str, StageStats]],
    steps: Iterable["Step"],
    of: str = "the {:,} documents",
) -> Iterator[str]:
    """A line for each source and filter that removes over MOST_REMOVED of what comes to it: of
    duplicates it may be what was asked for, as of a source that another has too.

    by_source: what each stage did to a source.  of: how its documents are called.
    """
    hints = {step.stage_name: step.hint for step in steps if not step.corpus_wide}
    for source, stages in sorted(by_source.items()):
        for name, stats in stages.items():
            n = sum(stats.removed.values())
            if name not in hints or stats.docs_in < FEW_DOCS or n <= MOST_REMOVED * stats.docs_in:
                continue
            reason = _most_first(stats.removed)[0][1]
            hint = hints[name](reason)
            yield (
                f"{name} removed {format_quantity(n / stats.docs_in, 'fraction')} of"
                f" {of.format(stats.docs_in)} of {source}, mostly {reason}"
                + (f": {hint}" if hint else "")
            )


def _most_first(causes: Mapping[str, int]) -> list[tuple[int, str]]:
    return sorted(((n, cause) for cause, n in causes.items()), key=lambda c: (-c[0], c[1]))


def manifest(job: Job, report: dict[str, Any], finished: Finished) -> dict[str, Any]:
    """Everything about the run, as JSON: identity, works of each step, what it wrote, report."""
    identity = (read_manifest(job.out) or {})["identity"]
    works = Counter(receipt.step for receipt in finished.receipts)
    return {
        "status": PARTIAL_RUN if finished.failures else COMPLETE,
        "identity": identity,
        "steps": [{"step": step, "works": n} for step, n in works.items()],
        "files": {top: of.to_json() for top, of in listings(written(finished)).items()},
        "report": report,
    }


def written(finished: Finished) -> Iterator[tuple[str, int]]:
    """(path below the run directory, bytes) of each file; they are never all in memory."""
    return ((name, size) for receipt in finished.receipts for name, size, _ in receipt.files)


@dataclass
class Listing:
    """Files of a folder: how many, their bytes together, and a digest of their names and sizes."""

    files: int = 0
    bytes: int = 0
    digest: int = 0

    def add(self, name: str, size: int) -> None:
        """name: below the run directory."""
        self.files += 1
        self.bytes += size
        self.digest += xxhash.xxh3_128_intdigest(f"{name}\0{size}".encode())

    def to_json(self) -> dict[str, Any]:
        listing = f"{self.digest % 2**128:032x}"
        return {"files": self.files, "bytes": self.bytes, "listing": listing}


def listings(files: Iterable[tuple[str, int]]) -> dict[str, Listing]:
    """By the first part of their names. files: names below the run directory, and bytes."""
    found: dict[str, Listing] = {}
    for name, size in files:
        found.setdefault(name.partition("/")[0], Listing()).add(name, size)
    return found


def is_as_left(out: Path, manifest: Mapping[str, Any], top: str) -> bool:
    """Whether a folder, or file, holds what the run that has ended left there, and nothing else."""
    found = ((p.relative_to(out).as_posix(), size) for p, size in mirror.sizes(out / top))
    there = listings(found).get(top, Listing())
    return bool(there.to_json() == manifest["files"].get(top, Listing().to_json()))


def missing_file(
    out: Path, manifest: Mapping[str, Any], wanted: Callable[[str], bool]
) -> Path | None:
    """The first file of a run that has ended that is not there, or not of its size.

    wanted: which are looked at, by the first part of their names. Receipts are read only where a
    folder holds others than the run left there; where they are gone too, the folder is named.
    """
    changed = [t for t in manifest["files"] if wanted(t) and not is_as_left(out, manifest, t)]
    if not changed:
        return None
    n_read = 0
    for step in manifest["steps"]:
        for receipt in receipts_of(out, step["step"]):
            n_read += 1
            for name, size, _ in receipt.files:
                if name.partition("/")[0] in changed and mirror.size(out / name) != size:
                    return out / name
    is_known = n_read >= sum(step["works"] for step in manifest["steps"])
    return None if is_known else out / changed[0]  # a copy without its receipts


def read_report(out: Path, stays: Callable[[str], bool]) -> dict[str, Any] | None:
    """The report of a run, if it has finished and its files that stay are all there and whole.

    stays: whether a folder, or file, of `out` stays when the run has finished.
    """
    found = read_manifest(out) or {}
    if found.get("status") != COMPLETE or missing_file(out, found, stays) is not None:
        return None
    report: dict[str, Any] = found["report"]
    return report


def prepared_run(out: Path, where: str | None = None) -> dict[str, Any]:
    """The manifest of a run; ConfigError, behind `where`: there is none, or none of prepare's."""
    found, where = read_manifest(out), where or str(out)
    if found is None:
        raise ConfigError(
            f"{where}: no run here (no manifest.json); name a directory that prepare made"
        )
    if "check" in found["identity"]:
        raise ConfigError(
            f"{where}: made by contamination, not by prepare; see {out / 'contamination.html'}"
        )
    if "recipe" not in found["identity"] or "measuring" in found["identity"]:
        raise ConfigError(f"{where}: not made by prepare; name a directory that is")
    return found
