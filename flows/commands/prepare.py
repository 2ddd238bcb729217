"""`tokenmill prepare`: a recipe in, a run directory out."""

import argparse
from pathlib import Path
from typing import Any

from tokenmill.flows.asked import AskedRun, ask_run, read_recipe, whole
from tokenmill.flows.cli import OK
from tokenmill.flows.contamination_tables import benchmarks_table
from tokenmill.flows.image_tables import image_tables
from tokenmill.flows.measure_tables import show_compared
from tokenmill.flows.mixture_table import mixture_tables
from tokenmill.flows.progress import watching
from tokenmill.flows.server import embedded_server
from tokenmill.flows.settings import run_settings, setting
from tokenmill.flows.show import as_json, console, printable, table
from tokenmill.flows.troubles import MOST_FAILURES, bounded, exit_code, failures
from tokenmill.pipelines.contamination.report_found import warnings
from tokenmill.pipelines.core.places import Place, below, is_remote, place
from tokenmill.pipelines.measure.compare import compare, find_estimate, load_estimate
from tokenmill.pipelines.measure.run import n_cores
from tokenmill.pipelines.prepare.dry_run import dry_run
from tokenmill.pipelines.prepare.recipe import Recipe, find_recipe
from tokenmill.pipelines.prepare.report.images import WAY_TO_IMAGES, sources_without
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import against_lines, further_tables
from tokenmill.pipelines.runs.manifest import read_manifest
from tokenmill.pipelines.storage.mirror import viewed
from tokenmill.pipelines.tokens.mix.report import mixed_in_short
from tokenmill.sizing.corpus import Estimate
from tokenmill.sizing.units import format_bytes

MOST_REQUIREMENTS = 7


def run(args: argparse.Namespace) -> int:
    """Prepare a corpus, or show what would be done."""
    settings = dict(setting(text) for text in args.set) | run_settings(args)
    out = place(args.out)
    recipe = read_recipe(args.recipe, settings)
    found = estimate_for(recipe, args)
    if args.dry_run:
        planned = dry_run(recipe, out)
        as_json(planned) if args.json else show_plan(planned)
        return OK
    with viewed(out) as folder:
        workers = n_cores(recipe) if read_manifest(folder) is None else None
    asked = ask_run(recipe, args.out)
    shown = {"recipe": str(find_recipe(args.recipe).absolute()), "settings": settings or None}
    report = prepare_with_progress(asked, shown, quiet=args.json)
    rows = compare(found[1], report, workers=workers) if found else []
    if args.json:
        predicted = {"predicted": [row.to_json() for row in rows]} if found else {}
        as_json({**report.to_json(), **predicted})
    else:
        show_report(report, out)
        show_compared(rows, found[0] if found else None)
        if found and found[1].cores != n_cores(recipe):
            console().print(
                f"wall time was predicted for {found[1].cores} cores, the run has"
                f" {n_cores(recipe)}: not compared"
            )
    return exit_code(report)


def estimate_for(recipe: Recipe, args: argparse.Namespace) -> tuple[Path, Estimate] | None:
    """The estimate that is named, or an estimate.json made for this recipe that lies at hand.

    That is in the run directory, beside it, or beside the recipe, in this order.

    Raises:
        ConfigError: the one that is named cannot be used.
    """
    if args.estimate:
        path = Path(args.estimate)
        return path, load_estimate(path, recipe)
    beside = (Path(args.recipe).absolute().parent,)
    if not is_remote(args.out):
        out = Path(args.out).absolute()
        beside = (out, out.parent, *beside)
    return find_estimate(recipe, beside)


def prepare_with_progress(asked: AskedRun, shown: dict[str, Any], *, quiet: bool) -> Report:
    """Run the flow against the user's Prefect server, or against one of its own.

    shown: the flow's parameters but `out`, as Prefect's UI has them.
    """
    if asked.found is not None:
        return asked.found
    with watching(quiet=quiet), embedded_server():
        from tokenmill.flows.prepare import (
            prepare_flow,  # Prefect reads its settings when it is imported
        )
        from tokenmill.flows.run_here import run_here

        found = run_here(prepare_flow, asked, out=whole(asked.out), **shown)
        return Report.model_validate(found)


def show_report(report: Report, out: Place) -> None:
    """Print what a run did, in the order a reader asks."""
    show = console()
    cut = any(row.docs_created for row in report.ledger)
    how = "by cutting" if report.mixture is None else "by cutting or repeating"
    rows = [
        (
            row.stage,
            row.docs_in,
            *([row.docs_created] if cut else []),
            sum(row.removed.values()),
            sum(row.failed.values()),
            row.docs_out,
            format_bytes(row.bytes_out),
        )
        for row in report.ledger
    ]
    created = [f">made {how}"] if cut else []
    columns = ("stage", ">docs in", *created, ">removed", ">failed", ">docs out", ">text out")
    show.print(table(f"{report.name}: where the documents went", columns, rows))
    reasons = report.documents_that_left()
    if reasons:
        show.print()
        show.print(table("why", ("stage", "outcome", "reason", ">docs"), reasons))
    told = [table(t.caption, ("what", ">value"), t.rows) for t in further_tables(report).values()]
    for further in (*mixture_tables(report.mixture), *image_tables(report), *told):
        show.print()
        show.print(further)
    show.print()
    for line in headline(report):
        show.print(line)
    if (summary := report.found_items) is not None:
        title = "benchmark items in the corpus, before cutting"
        show.print()
        show.print(benchmarks_table(summary.benchmarks, title))
        for line in warnings(summary):
            show.print(printable(f"warning: {line}"))
    if report.requirements:
        first = report.requirements[:MOST_REQUIREMENTS]
        needed = [(row.name, row.shown, row.rests_on) for row in first]
        show.print()
        title = "storage to train on it (assumed; tokenmill size takes your plan)"
        show.print(table(title, ("requirement", ">value", "rests on"), needed))
    show.print()
    for line in troubles(report):
        show.print(printable(line))
    for source in sources_without(report)[:MOST_FAILURES]:
        show.print(printable(f"no image was read from {source}; {WAY_TO_IMAGES}"))
    if report.inputs.skipped:
        names = ", ".join(report.inputs.skipped[:MOST_FAILURES])
        show.print(printable(f"not read, for their names tell no format: {names}"))
    show.print(f"dataset  {report.dataset.path}")
    show.print(f"report   {below(out, 'report.html')}")


def headline(report: Report) -> list[str]:
    """The figures that matter first, in sentences."""
    total = report.total
    lines = [f"{total.docs:,} documents, {total.tokens:,} tokens"]
    if report.mixture is not None:
        lines.append(mixed_in_short(report.mixture))
    if total.text_bytes_per_token is not None:
        text = _with_error(total.text_bytes_per_token, total.text_bytes_per_token_se)
        stored = _with_error(total.stored_bytes_per_token, total.stored_bytes_per_token_se)
        lines += [f"text bytes per token    {text}", f"stored bytes per token  {stored}"]
    return [*lines, *(against_lines(report.against) if report.against else ())]


def troubles(report: Report) -> list[str]:
    """A line for each input or shard that failed."""
    lines = failures(report)
    if report.failed_shards:
        lines.append(
            "documents removed as duplicates of one in a failed shard are missing too:"
            " the same command tries the failed shards again"
        )
    return bounded(lines, "report.md")


def show_plan(planned: dict[str, Any]) -> None:
    """Print what a run would do."""
    show = console()
    files = [(f["path"], format_bytes(f["bytes"])) for f in planned["files"][:MOST_FAILURES]]
    more = len(planned["files"]) - len(files)
    show.print(table(f"{len(planned['files'])} input files", ("path", ">bytes"), files))
    if more:
        show.print(f"and {more:,} more")
    for failed in planned["failed_inputs"]:
        show.print(printable(f"cannot be read: {failed['message']}"))
    for name in planned["skipped"][:MOST_FAILURES]:
        show.print(printable(f"not read, its name tells no format: {name}"))
    for path in planned.get("without_images", ())[:MOST_FAILURES]:
        show.print(printable(f"read as text, without images: {path}; {WAY_TO_IMAGES}"))
    show.print()
    whole = planned["text_bytes"] + planned.get("illustrated_bytes", 0)
    show.print(f"shards   {planned['shards']:,} of about {format_bytes(whole)} in all")
    show.print(f"steps    {' → '.join(['read', *planned['steps'], 'tokenize'])}")
    show.print(f"tokens   {planned['tokenizer']['path']}, {planned['tokenizer']['dtype']}")
    for line in planned.get("mixture", ()):
        show.print(printable(f"mixture  {line}"))
    for earlier in planned.get("against", {}).get("runs", ()):
        index = format_bytes(earlier["index_bytes"])
        show.print(f"against  {earlier['path']}, {earlier['docs']:,} documents, index {index}")
    for remark in planned.get("against", {}).get("remarks", ()):
        show.print(printable(f"         {remark}"))
    show_disk(planned)
    assumed = planned["assumptions"]
    for line in (
        *(f"limit    {limit}, at run.memory_budget" for limit in planned["limits"]),
        f"assumed  {assumed['text_bytes_per_token']} bytes of text a token,"
        f" {assumed['bytes_per_doc']} bytes a document",
    ):
        show.print(printable(line))


def show_disk(planned: dict[str, Any]) -> None:
    """Print what disk a run would take, and whether there is as much."""
    show = console()
    for name, size in planned["disk_needed_bytes"].items():
        show.print(f"disk     {format_bytes(size)} for {name}")
    total, free = planned["disk_needed_total_bytes"], planned["disk_free_bytes"]
    if free is None:
        show.print(f"         {format_bytes(total)} in all, in the object store")
    else:
        verdict = "enough" if free >= total else "NOT ENOUGH"
        show.print(f"         {format_bytes(total)} in all, {format_bytes(free)} free: {verdict}")


def _with_error(ratio: float | None, error: float | None) -> str:
    return f"{ratio:.3f}" + (f" ± {error:.3f} (standard error)" if error is not None else "")
