"""Prepare a corpus: plan, do the work, check the ledger, report. The caller brings the executor."""

import shutil
import time
from pathlib import Path
from typing import Any

from pipelines.atomic import write_json
from pipelines.errors import ConfigError
from pipelines.job import Job
from pipelines.manifest import COMPLETE, RUNNING, cannot_write, locked, open_job, read_manifest
from pipelines.plan import plan_inputs
from pipelines.recipe import Recipe
from pipelines.report import write_report
from pipelines.run import Execute, Finished, drive
from pipelines.shard import Plan
from pipelines.summary import summarize


def prepare(recipe: Recipe, out: Path, execute: Execute) -> dict[str, Any]:
    """Run `recipe` into `out`, or continue the run that is there; return its report.

    Raises:
        ConfigError: the recipe, the inputs or `out` cannot be used; nothing was half-written.
        LedgerError: documents or bytes do not add up.
    """
    started = time.perf_counter()
    plan = plan_run(recipe)
    with locked(out):
        try:
            job = open_job(out, recipe, plan)
            found = (read_manifest(out) or {}).get("report")
            if found is not None and _whole(job, found):
                clean(job)
                return dict(found)
            finished = drive(job, plan, execute)
            report = summarize(job, plan, finished)
            report["seconds"] = time.perf_counter() - started
            write_report(job.out, report)
            write_json(job.manifest, manifest(job, report, finished))
            clean(job)
        except OSError as e:
            raise cannot_write(out, e) from e
    return report


def plan_run(recipe: Recipe) -> Plan:
    """Cut the inputs into shards.

    Raises:
        ConfigError: no input can be read at all; the first cause is named.
    """
    plan = plan_inputs(recipe.inputs, recipe.shard_bytes, limits=recipe.limits)
    if not plan.shards:
        cause = f": {plan.failed[0].message}" if plan.failed else ""
        raise ConfigError(f"{recipe.name}: no input can be read{cause}")
    return plan


def manifest(job: Job, report: dict[str, Any], finished: Finished) -> dict[str, Any]:
    """Everything about the run, as JSON: identity, receipts, report."""
    identity = (read_manifest(job.out) or {})["identity"]
    whole = not report["failed_shards"]
    return {
        "status": COMPLETE if whole else RUNNING,
        "identity": identity,
        "receipts": [receipt.to_json() for receipt in finished.receipts],
        "report": report if whole else None,
    }


def clean(job: Job) -> None:
    """Delete the intermediates of a finished run, unless the recipe keeps them."""
    if job.recipe.run.keep_intermediates:
        return
    for folder in job.out.glob("[0-9][0-9]-*"):
        shutil.rmtree(folder)


def _whole(job: Job, report: dict[str, Any]) -> bool:
    """Whether the dataset that a finished run's manifest describes is still there."""
    for name, size in report["dataset"]["files"].items():
        path = job.out / name
        if not path.is_file() or path.stat().st_size != size:
            return False
    return True
