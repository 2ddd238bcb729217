"""`tokenmill measure`: a recipe in, a prediction of its run out."""

import argparse
from pathlib import Path

from flows.cli import OK, PARTIAL
from flows.measure_tables import show_estimate, unread
from flows.progress import watching
from flows.server import embedded_server
from flows.settings import setting
from flows.show import as_json
from pipelines.errors import ConfigError
from pipelines.estimating.job import Measuring
from pipelines.estimating.run import Outcome, n_cores, opened, to_json
from pipelines.estimating.sample import draw_sample
from pipelines.prepare import plan_run
from pipelines.recipe import find_recipe, load_recipe
from sizing.units import UnitError, parse_bytes


def run(args: argparse.Namespace) -> int:
    """Predict a run, and show what it will give."""
    measuring, out = parse_measuring(args), Path(args.out)
    outcome = measure_with_progress(measuring, out, quiet=args.json)
    if args.json:
        as_json(to_json(outcome.estimate))
    else:
        show_estimate(outcome, out)
    return PARTIAL if unread(outcome) else OK


def measure_with_progress(measuring: Measuring, out: Path, *, quiet: bool) -> Outcome:
    """Run the flow against the user's Prefect server, or against one of its own."""
    plan = plan_run(measuring.recipe)
    sample = draw_sample(measuring.recipe, plan, budget=measuring.budget, seed=measuring.seed)
    with opened(measuring, out, sample.plan):
        pass  # the user's mistakes, before a server is started
    with watching(quiet=quiet), embedded_server():
        from flows.measure import run_measure  # Prefect reads its settings when it is imported

        return run_measure(measuring, out)


def parse_measuring(args: argparse.Namespace) -> Measuring:
    """What the command line asks for.

    Raises:
        ConfigError: one line that names the option and the way out.
    """
    settings = dict(setting(text) for text in args.set)
    if args.workers is not None:
        settings["run.workers"] = args.workers
    recipe = load_recipe(find_recipe(args.recipe), settings)
    for name in ("probes", "cores"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise ConfigError(f"--{name} {value}: must be 1 at least")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}: must be 0 at least")
    return Measuring(
        recipe=recipe,
        probes=args.probes,
        budget=_budget(args.budget),
        seed=args.seed,
        cores=args.cores or n_cores(recipe),
    )


def _budget(text: str) -> float:
    """A share of the bytes up to 1, as 0.2 or 20%, or bytes, as 5GB.

    >>> _budget("20%"), _budget("0.5"), _budget("5 GB")
    (0.2, 0.5, 5000000000.0)
    """
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = None
    try:
        found = float(parse_bytes(text)) if share is None else share
    except UnitError:
        found = 0.0
    if not 0 < found < float("inf") or (text.endswith("%") and found > 1):
        raise ConfigError(f"--budget {text!r}: write a share of the bytes (20%), or bytes (5GB)")
    return found
