"""Look for benchmark items in a corpus: plan, search, count, analyse, report.

The caller brings the executor.
"""

import contextlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenmill.pipelines.apart import check_apart, refuse_runs
from tokenmill.pipelines.atomic import write_json
from tokenmill.pipelines.benchmark.inside import inside
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.job import Check, ContaminationJob, open_job, pages_of
from tokenmill.pipelines.contamination.phases import SEARCH, index_work, phases
from tokenmill.pipelines.contamination.report import write_report
from tokenmill.pipelines.drive import Execute, Finished, drive
from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.finished import failures, inventory, manifest, read_report
from tokenmill.pipelines.job import do
from tokenmill.pipelines.ledger import StageStats
from tokenmill.pipelines.manifest import held, read_manifest
from tokenmill.pipelines.plan import plan_inputs
from tokenmill.pipelines.read.parked import parking
from tokenmill.pipelines.shard import Plan

PAGE, DOCUMENT, DATA = (f"contamination.{form}" for form in ("html", "md", "json"))
NOT_TEXT = {"missing_column", "text_not_string"}  # causes of a file that fails
SCRATCH = ("found", "copies")  # folders that go when a run has finished


def check_contamination(
    check: Check, out: Path, execute: Execute, plan: Plan | None = None
) -> dict[str, Any]:
    """Run `check` into `out`, or continue the run that is there; return its report.

    plan: of `plan_check`, where the caller has made it already.

    Raises:
        ConfigError: the benchmarks, the inputs or `out` cannot be used.
        LedgerError: documents or bytes do not add up.
    """
    started = time.perf_counter()
    plan = plan or plan_check(check)
    with opened(check, out, plan) as job:
        found = finished_report(job)
        if found is not None:
            return found
        finished = drive(job, phases(job, plan), execute)
        report = _report(job, plan, finished)
        report["seconds"] = time.perf_counter() - started
        write_report(job.out, report)
        write_json(job.manifest, manifest(job, report, finished))
        if not finished.failures:
            clean(job)
    return report


def plan_check(check: Check) -> Plan:
    """Cut the corpus into shards.

    Raises:
        ConfigError: nothing of it can be read, it is what a run made, or a benchmark is not there
            or lies in it.
    """
    refuse_runs(check.inputs)
    cut = plan_inputs(
        check.inputs, check.shard_bytes, limits=check.limits, in_recipe=False, html=True
    )
    plan = _in_words(cut)
    pages_of(plan)  # what reading them lacks is told before anything is written
    for found in inside(check.matching.benchmarks, [i.path for i in check.inputs]):
        raise ConfigError(str(found))
    if not plan.shards:
        raise ConfigError(f"no document can be read: {_cause(check, plan)}")
    return plan


def _in_words(plan: Plan) -> Plan:
    """The plan as told to someone who has no recipe to name a column in."""
    failed = []
    for lost in plan.failed:
        what = lost.message.rpartition(";")[0]
        if lost.cause in NOT_TEXT and what:
            way = "name the one that holds the text, as --text-column NAME"
            lost = replace(lost, message=f"{what}; {way}")
        failed.append(lost)
    return replace(plan, failed=tuple(failed))


def _cause(check: Check, plan: Plan) -> str:
    """Why there are no shards."""
    if plan.failed:
        return plan.failed[0].message
    what = "no documents there" if plan.files else "no files there"
    paths = ", ".join(given.path for given in check.inputs)
    return f"{paths}: {what}; name files, or folders with files, of text, JSONL, Parquet or Arrow"


@contextlib.contextmanager
def opened(check: Check, out: Path, plan: Plan) -> Iterator[ContaminationJob]:
    """Hold `out` for this check. Its benchmarks are read before anything is written.

    Raises:
        ConfigError: see `check_contamination`.
    """
    check_apart(check.inputs, out)
    with held(out):
        built = BenchmarkIndex.build(check.matching) if read_manifest(out) is None else None
        job = open_job(out, check, plan)
        if built is not None:
            do(job, index_work(job, built))
        with parking(job.identity):
            yield job


def finished_report(job: ContaminationJob) -> dict[str, Any] | None:
    """The report of the run if it has finished, and all that it made to stay is still there.

    What its end lacks (intermediates to delete, the report's files) is made up for.
    """
    report = read_report(job.out, lambda name: name.partition("/")[0] not in SCRATCH)
    if report is None:
        return None
    if not all((job.out / name).is_file() for name in (PAGE, DOCUMENT, DATA)):
        write_report(job.out, report)
    clean(job)
    return report


def clean(job: ContaminationJob) -> None:
    """Delete what a finished run needs no more."""
    for folder in SCRATCH:
        shutil.rmtree(job.out / folder, ignore_errors=True)


def _report(job: ContaminationJob, plan: Plan, finished: Finished) -> dict[str, Any]:
    """What was read, what of it failed, and what was found."""
    stats = sum((s for r in finished.of(SEARCH) for _, s in r.stats), StageStats())
    stats.check("read")
    failed = Counter(stats.failed)
    for lost in plan.failed:  # documents of files that could not even be cut into shards
        failed[lost.cause] += lost.docs or 0
    summary: dict[str, Any] = json.loads(job.summary.read_text(encoding="utf-8"))
    benchmarks = zip(summary["benchmarks"], job.benchmark_files, strict=True)
    return {
        **summary,
        "benchmarks": [{**benchmark, "files": list(files)} for benchmark, files in benchmarks],
        "identity": job.identity,
        "inputs": inventory(plan),
        "documents": {
            "read": stats.docs_out,
            "text_bytes": stats.bytes_out,
            "failed": {cause: n for cause, n in sorted(failed.items()) if n},
        },
        **failures(plan, finished, SEARCH),
        "files": {
            "report": PAGE,
            **{path.stem: path.name for path in (job.items, job.overlaps)},
        },
    }
