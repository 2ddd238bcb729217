"""A run of many works that cost nothing: two phases of N that write a file each, and a last."""

import hashlib
from typing import Any

from tests.running import one_by_one
from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.runs.drive import drive
from tokenmill.pipelines.runs.finished import manifest, read_report
from tokenmill.pipelines.runs.manifest import held, open_run, write_manifest
from tokenmill.pipelines.runs.work import (
    Done,
    Execute,
    Finished,
    Job,
    Phase,
    Phases,
    Work,
    do_phase,
)
from tokenmill.pipelines.storage import mirror

STATS = StageStats(docs_in=9, docs_out=8, removed={"short": 1}, bytes_in=70, bytes_out=70)


def written(job: Job, step: str, key: str, failing: str) -> Done:
    if key == failing:
        raise ShardError(f"{key}: fails")
    path = job.out / step / f"part-{key}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(hashlib.sha256(f"{step} {key}".encode()).digest())
    return Done(files=[path], stats=[(name, STATS) for name in ("read", "exact")])


def gathered(job: Job, keys: tuple[str, ...]) -> Done:
    path = job.out / "all" / "bytes"
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = (mirror.present(job.out / "second" / f"part-{key}").read_bytes() for key in keys)
    path.write_bytes(b"".join(parts))
    return Done(files=[path])


def phases(job: Job, n: int, failing: str = "") -> Phases[Finished]:
    finished = Finished()
    keys = tuple(f"{number:05d}-of-{n:05d}" for number in range(n))
    inputs = job.identity
    for step in ("first", "second"):
        works = tuple(
            Work(step=step, key=k, inputs=inputs, call=written, args=(step, k, failing))
            for k in keys
        )
        made = yield from do_phase(Phase(name=step, works=works), finished)
        keys = tuple(made)
        inputs = digest_of([inputs, *(receipt.digest for receipt in made.values())])
    last = Work(step="all", key="all", inputs=inputs, call=gathered, args=(keys,))
    yield from do_phase(Phase(name="all", works=(last,), whole=True), finished)
    return finished


def run(
    out: Place, n: int, failing: str = "", execute: Execute = one_by_one
) -> dict[str, Any] | None:
    """As a command does: the report of a finished run, else None once its works are done."""
    with held(out) as folder:
        job = Job(
            out=folder,
            identity=open_run(folder, {"n": n}),
            remote=mirror.remote_of(folder),
        )
        report = read_report(folder, lambda _top: True)
        if report is None:
            finished = drive(job, phases(job, n, failing), execute)
            write_manifest(folder, manifest(job, {"works": n}, finished))
        return report
