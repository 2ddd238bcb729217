"""Prepare a corpus: plan, do the work, check the ledger, report. The caller brings the executor."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipelines.apart import check_apart
from pipelines.atomic import write_json
from pipelines.benchmark.inside import inside
from pipelines.drive import Execute, Finished, drive
from pipelines.errors import ConfigError
from pipelines.finished import manifest, read_report
from pipelines.identity import open_job
from pipelines.images.stored import check_shards
from pipelines.manifest import held
from pipelines.passes import decontamination
from pipelines.plan import plan_inputs
from pipelines.prepare_job import PrepareJob
from pipelines.read.parked import parking
from pipelines.recipe import Recipe
from pipelines.report import write_report
from pipelines.run import phases
from pipelines.shard import Plan
from pipelines.summary import summarize

REPORTS = ("report.json", "report.md", "report.html")
# folders that stay when a run has finished
KEPT = (
    "dataset",
    "webdataset",
    "removed",
    "removed-images",
    "removed-paragraphs",
    "thumbnails",
    "overlaps",
    "pieces",
)


def prepare(recipe: Recipe, out: Path, execute: Execute) -> dict[str, Any]:
    """Run `recipe` into `out`, or continue the run that is there; return its report.

    Raises:
        ConfigError: the recipe, the inputs or `out` cannot be used; nothing was half-written.
        LedgerError: documents or bytes do not add up.
    """
    started = time.perf_counter()
    plan = plan_run(recipe)
    with opened(recipe, out, plan) as job:
        found = finished_report(job)
        if found is not None:
            return found
        finished = drive(job, phases(job, plan), execute)
        _sweep_strays(job, finished)
        report = summarize(job, plan, finished)
        report["seconds"] = time.perf_counter() - started
        write_report(job.out, report)
        write_json(job.manifest, manifest(job, report, finished))
        if not finished.failures:
            clean(job)
    return report


@contextlib.contextmanager
def opened(recipe: Recipe, out: Path, plan: Plan) -> Iterator[PrepareJob]:
    """Hold `out` for this recipe; what cannot be written there is told in one line.

    Raises:
        ConfigError: see `prepare`.
    """
    check_apart(recipe.inputs, out)
    with held(out):
        job = open_job(out, recipe, plan)
        with parking(job.identity):
            yield job


def plan_run(recipe: Recipe) -> Plan:
    """Cut the inputs into shards.

    Raises:
        ConfigError: no input can be read at all, the first cause is named; or a benchmark is not
            there, or is a file of the inputs; or images cannot be referenced where they are.
    """
    step = decontamination(recipe.steps)
    for mistake in inside(step.benchmarks, [i.path for i in recipe.inputs]) if step else ():
        raise ConfigError(str(mistake))
    plan = plan_inputs(
        recipe.inputs, recipe.shard_bytes, limits=recipe.limits, images=recipe.images is not None
    )
    if not plan.shards:
        empty = f": no files in {', '.join(i.path for i in recipe.inputs)}"
        cause = f": {plan.failed[0].message}" if plan.failed else empty
        raise ConfigError(f"{recipe.name}: no input can be read{cause}")
    check_shards(recipe.images, plan.shards)
    return plan


def clean(job: PrepareJob) -> None:
    """Delete the intermediates of a finished run, unless the recipe keeps them."""
    if job.recipe.run.keep_intermediates:
        return
    for folder in job.out.glob("[0-9][0-9]-*"):
        shutil.rmtree(folder)


def finished_report(job: PrepareJob) -> dict[str, Any] | None:
    """The report of the run if it has finished, and all that it made to stay is still there.

    What its end lacks (intermediates to delete, the report's files) is made up for.
    """
    report = read_report(job.out, lambda name: name.partition("/")[0] in KEPT)
    if report is None:
        return None
    if not all((job.out / name).is_file() for name in REPORTS):
        write_report(job.out, report)
    clean(job)
    return report


def _sweep_strays(job: PrepareJob, finished: Finished) -> None:
    """Delete files of an earlier attempt that this run's receipts do not know."""
    known = {name for receipt in finished.receipts for name, _, _ in receipt.files}
    for folder in KEPT:
        for path in (job.out / folder).rglob("*"):
            if path.is_file() and path.relative_to(job.out).as_posix() not in known:
                path.unlink()
