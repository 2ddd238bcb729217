"""`tokenmill prepare`: a recipe in, a run directory out."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill.flows.asked import Asked, ask_run, read_recipe, whole
from tokenmill.flows.commands.shared import result_of, server_ahead, settings_of
from tokenmill.flows.ended import Ended
from tokenmill.flows.exits import NO, OK, PARTIAL
from tokenmill.flows.show import as_json, show
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place, is_remote, place
from tokenmill.pipelines.prepare.recipe import Recipe, find_recipe
from tokenmill.pipelines.runs.manifest import COMPLETE, forget_unbegun, read_manifest
from tokenmill.pipelines.storage.mirror import viewed

if TYPE_CHECKING:
    from tokenmill.flows.prefect.server import OwnServer
    from tokenmill.pipelines.prepare.report.model import Report
    from tokenmill.sizing.corpus import Estimate


def run(args: argparse.Namespace) -> int:
    """Prepare a corpus, or show what would be done."""
    settings = settings_of(args)
    out = place(args.out)
    recipe = read_recipe(args.recipe, settings)
    sys.stderr.writelines(f"warning: {line}\n" for line in recipe.warnings)
    if args.plan is not None:
        from tokenmill.flows.sheets import plan_within

        plan_within(args.plan)
    with viewed(out) as folder:
        manifest = read_manifest(folder) or {}
    if args.dry_run and not args.json and manifest.get("status") == COMPLETE:
        told_finished(out)
    is_run = recipe.run.runner != "array" and not args.dry_run
    is_there = is_remote(out) or Path(out).exists()
    try:
        with server_ahead(wanted=is_run and manifest.get("status") != COMPLETE) as server:
            return _run(args, recipe, out, settings, is_new=not manifest, server=server)
    except ConfigError:
        if recipe.run.has_jobs and not is_there and not args.dry_run:
            forget_unbegun(Path(out))
        raise


def _run(
    args: argparse.Namespace,
    recipe: Recipe,
    out: Place,
    settings: dict[str, Any],
    *,
    is_new: bool,
    server: "OwnServer | None",
) -> int:
    """settings, server: as of `result_of`.  is_new: there is no run yet."""
    # a mistake is told by then; what works and shows takes longer to import than the recipe
    from tokenmill.flows.commands.prepare_tables import is_enough, plan_blocks, show_report
    from tokenmill.flows.measure_tables import compared_lines, predicted_disk
    from tokenmill.flows.pools.choose import jobs_of_slurm
    from tokenmill.flows.sheets import size_run
    from tokenmill.flows.troubles import exit_code
    from tokenmill.pipelines.measure.compare import compare
    from tokenmill.pipelines.prepare.dry_run import dry_run
    from tokenmill.sizing.report.data import sheet_json

    found = estimate_for(recipe, args)
    if args.dry_run:
        planned = dry_run(recipe, out) | ({"predicted": predicted_disk(*found)} if found else {})
        planned |= {"slurm": jobs_of_slurm(recipe.run, out)} if recipe.run.has_jobs else {}
        as_json(planned) if args.json else show(*plan_blocks(planned))
        if not is_enough(planned):
            return NO
        return PARTIAL if planned["failed_inputs"] else OK
    workers = recipe.run.n_workers if is_new else None
    is_array = recipe.run.runner == "array"
    if is_array:
        from tokenmill.flows.pools.array import check_idle, name_of, submit_run
        from tokenmill.flows.pools.choose import logs_of

        if args.log_json is not None:
            raise ConfigError(f"--log-json: jobs of an array write their own, in {logs_of(out)}")
        check_idle(whole(out))
    asked = ask_run(recipe, args.out)
    if is_array and asked.report is None:
        job = submit_run(recipe, asked.plan, whole(out), logs_of(out))
        told = (
            f"submitted as job {job} of SLURM; tokenmill status {out} tells how far it is,"
            f" scancel --name {name_of(whole(out))} ends it"
        )
        as_json({"submitted": job}) if args.json else show(told)
        return OK
    if asked.report is not None and not args.json:
        told_finished(out)
    shown = {
        "recipe": str(find_recipe(args.recipe).absolute()),
        "settings": settings or None,
        "plan": args.plan,
    }
    report = prepared(asked, shown, quiet=args.json, log=args.log_json, server=server)
    is_sized = args.plan is not None and report.total.stored_bytes_per_token
    sheet = size_run(args.plan, out) if is_sized else None
    rows = compare(found[1], report, workers=workers) if found else []
    if args.json:
        predicted = {"predicted": [row.to_json() for row in rows]} if found else {}
        sized = {} if sheet is None else {"requirements": sheet_json(sheet)}
        as_json({**report.to_json(), **predicted, **sized})
    else:
        compared = compared_lines(rows, found[0]) if found else []
        if found and found[1].cores != recipe.run.n_workers:
            compared.append(
                f"the prediction is for {found[1].cores} cores, the run has"
                f" {recipe.run.n_workers}: wall time is not compared"
            )
        show_report(report, out, compared, sheet)
    return exit_code(report)


def told_finished(out: Place) -> None:
    """Say that there is nothing to do, and how there would be."""
    sys.stderr.write(
        f"{out}: this run has finished, so it is not made again. To make it anew, give another"
        " --out or delete this one\n"
    )


def estimate_for(recipe: Recipe, args: argparse.Namespace) -> "tuple[Path, Estimate] | None":
    """The estimate that is named, or an estimate.json made for this recipe that lies at hand.

    That is in the run directory, beside it, or beside the recipe, in this order.
    ConfigError: the one that is named cannot be used.
    """
    from tokenmill.pipelines.measure.compare import find_estimate, load_estimate

    if args.estimate:
        path = Path(args.estimate)
        return path, load_estimate(path, recipe)
    beside: tuple[Path, ...] = (Path(args.recipe).absolute().parent,)
    if not is_remote(args.out):
        out = Path(args.out).absolute()
        beside = (out, out.parent, *beside)
    return find_estimate(recipe, beside, sys.stderr.write)


def prepared(
    asked: Asked[Recipe, Place],
    shown: dict[str, Any],
    *,
    quiet: bool,
    log: str | None = None,
    server: "OwnServer | None",
) -> "Report":
    """The report of a run, which is made unless it was before; see `result_of`."""
    from tokenmill.flows.doing.prepare import prepare
    from tokenmill.pipelines.prepare.report.model import Report

    report: Report | None = asked.report
    if report is not None:
        return report

    def make() -> Ended:
        return prepare(asked, shown["plan"])

    found = result_of("prepare-corpus", asked, make, shown, quiet=quiet, log=log, server=server)
    return Report.model_validate(found)
