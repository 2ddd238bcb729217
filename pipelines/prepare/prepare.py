"""Prepare a corpus: plan, do the work, check the ledger, report. The caller brings the executor."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.core.shard import RUN, EarlierRun, InputFile, Plan, versions_of
from tokenmill.pipelines.corpus.passes import corpus_steps
from tokenmill.pipelines.prepare.against import (
    check_other,
    earlier_runs,
    index_in_manifest,
    index_wanting,
)
from tokenmill.pipelines.prepare.job import PrepareJob, open_job
from tokenmill.pipelines.prepare.phases import phases
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.read.images.stored import check_shards
from tokenmill.pipelines.read.stream import parking
from tokenmill.pipelines.runs.drive import drive
from tokenmill.pipelines.runs.finished import manifest, read_report, written
from tokenmill.pipelines.runs.folder import INDEX
from tokenmill.pipelines.runs.manifest import (
    COMPLETE,
    FAILED,
    TEXT,
    check_apart,
    held,
    read_manifest,
    refuse_runs,
    write_manifest,
)
from tokenmill.pipelines.runs.packs import unspend
from tokenmill.pipelines.runs.work import Execute, Finished, do
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import sweep_partials
from tokenmill.pipelines.storage.inputs import OutageError

AnyJob = TypeVar("AnyJob", bound=PrepareJob)

SCRATCH = "[0-9][0-9]-*"  # folders that go
REPORTS = ("report.json", "report.md", "report.html")
# folders that stay when a run has finished, besides those of steps
KEPT = ("dataset", TEXT, "webdataset", "removed", "removed-images", "thumbnails", INDEX.name)


def run_recipe(recipe: Recipe, out: Place, execute: Execute, plan: Plan | None = None) -> Report:
    """Run `recipe` into `out`, or continue the run that is there; return its report.

    plan: of `plan_run`, where the caller has made it already.
    ConfigError: the recipe, the inputs or `out` cannot be used; nothing was half-written.
    LedgerError: documents or bytes do not add up.
    """
    started = time.perf_counter()
    plan = plan or plan_run(recipe)
    with opened(recipe, out, plan) as job:
        earlier = finished_report(job)
        if earlier is not None:
            return earlier
        finished = drive(job, phases(job, plan), execute)
        _sweep_strays(job, finished)
        sweep_partials(job.out / "receipts")  # of workers that died while the run went on
        # here and below: what reads or predicts a run has no use for these
        from tokenmill.pipelines.prepare.report.summary import summarize

        report = summarize(job, plan, finished)
        report = report.model_copy(update={"seconds": time.perf_counter() - started})
        _publish_report(job, report)
        write_manifest(
            job.out, manifest(job, report.to_json(), finished) | index_in_manifest(finished)
        )
        if not finished.failures:
            clean(job)
    return report


@contextlib.contextmanager
def opened(recipe: Recipe, out: Place, plan: Plan) -> Iterator[PrepareJob]:
    """Hold `out` for this recipe; what cannot be written there is told in one line.

    What its steps need (benchmarks) is read before anything is written.
    ConfigError: see `run_recipe`.
    """
    check_apart(recipe.inputs, out)
    check_other(recipe, Path(out))
    run = recipe.run
    with held(out, scratch=run.scratch, scratch_bytes=run.scratch_bytes) as folder:
        job = open_ready(folder, recipe, lambda: open_job(folder, recipe, plan))
        with parking(job.identity):
            yield job


def open_ready(folder: Path, recipe: Recipe, open_it: Callable[[], AnyJob]) -> AnyJob:
    """Open a job by `open_it`; what its steps need is built before that, where it is new."""
    steps = [step for step in corpus_steps(recipe.steps) if step.makes_ready]
    built = [(s, s.build()) for s in steps if read_manifest(folder) is None]
    job = open_it()
    for step, made in built:
        work = step.setup(job, made)
        if work is not None:
            do(job, work)
    return job


def known_plan(recipe: Recipe, out: Place) -> Plan | None:
    """The plan of the run that has finished in `out`, without its shards.

    Its files are listed, and were not cut again: None where one is not what it was, or where
    damage was met when they were cut.
    ConfigError: see `plan_run`.
    """
    with mirror.viewed(out) as folder:
        found = read_manifest(folder) or {}
    there = found.get("identity", {})
    if found.get("status") != COMPLETE or "recipe" not in there or there.get(FAILED):
        return None
    against = _checked(recipe)
    files = recipe.list_inputs()
    if versions_of(files) != there.get("inputs"):
        return None
    return Plan(shards=(), files=tuple(files), against=against, cut=there.get("shards"))


def plan_run(recipe: Recipe, among: Callable[[InputFile], bool] | None = None) -> Plan:
    """Cut the inputs into shards.

    among: which of their files are read; there may be none then, and so no shards.
    ConfigError: no input can be read at all, the first cause is named; or one is a run
        directory, without `from: run`; or a benchmark is not there, or is a file of the
        inputs; or images cannot be referenced where they are; or an earlier run cannot be
        stood against.
    """
    refuse_runs(given for given in recipe.inputs if given.format != RUN)
    against = _checked(recipe)
    try:
        plan = recipe.plan(against=against, among=among)
    except OutageError as e:
        raise ConfigError(str(e)) from e
    if not plan.shards and (among is None or plan.failed):
        empty = f": no files in {', '.join(i.path for i in recipe.inputs)}"
        cause = f": {plan.failed[0].message}" if plan.failed else empty
        raise ConfigError(f"{recipe.name}: no input can be read{cause}")
    check_shards(recipe.images, plan.shards)
    return plan


def _checked(recipe: Recipe) -> tuple[EarlierRun, ...]:
    """The runs that a recipe stands against, if its steps can take its inputs."""
    against = earlier_runs(recipe)
    for step in corpus_steps(recipe.steps):
        step.check(recipe.inputs)
    return against


def clean(job: PrepareJob) -> None:
    """Delete the intermediates of a finished run, unless the recipe keeps them."""
    if job.recipe.run.keep_intermediates:
        return
    mirror.remove_folders(job.out, SCRATCH)
    unspend(job.out)


def finished_report(job: PrepareJob) -> Report | None:
    """The report of the run if it has finished, and all that it made to stay is still there.

    What its end lacks (intermediates to delete, the report's files) is made up for.
    ConfigError: it should have an index, which cannot be made any more.
    """
    stay = {*_stays(job)} - {INDEX.name}
    data = read_report(job.out, lambda top: top in stay)
    if data is None or index_wanting(job):
        return None
    report = Report.read(data, str(job.out))
    if not all(mirror.size(job.out / name) is not None for name in REPORTS):
        _publish_report(job, report)
    clean(job)
    return report


def _stays(job: PrepareJob) -> tuple[str, ...]:
    """Folders that stay when a run has finished, those of side tables of its steps too."""
    steps = corpus_steps(job.recipe.steps)
    tables = dict.fromkeys(table.folder.name for step in steps for table in step.side_tables)
    return (*KEPT, *tables)


def _sweep_strays(job: PrepareJob, finished: Finished) -> None:
    """Delete files of an earlier attempt that this run's receipts do not know."""
    stays = _stays(job)
    known = {name for name, _ in written(finished) if name.partition("/")[0] in stays}
    mirror.look_anew(job.out)  # workers elsewhere wrote too
    paths = (path for folder in stays for path in mirror.files(job.out / folder))
    mirror.remove(p for p in paths if p.relative_to(job.out).as_posix() not in known)


def _publish_report(job: PrepareJob, report: Report) -> None:
    from tokenmill.pipelines.prepare.report.sections import write_report

    write_report(job.out, report)
    for name in REPORTS:
        mirror.publish(job.out / name)
