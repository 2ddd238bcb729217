"""`tokenmill measure`: a recipe in, a prediction of its run out."""

import argparse
from pathlib import Path

from flows.cli import OK, PARTIAL
from flows.measure_tables import show_estimate, unread
from flows.progress import watching
from flows.server import embedded_server
from flows.settings import run_settings, setting
from flows.show import as_json
from pipelines.errors import ConfigError
from pipelines.estimate.growth import FURTHEST
from pipelines.estimating.job import Measuring
from pipelines.estimating.run import Outcome, n_cores, opened, sample_of, to_json
from pipelines.prepare import plan_run
from pipelines.recipe import find_recipe, load_recipe
from sizing.units import UnitError, parse_bytes, parse_count


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
    sample = sample_of(measuring, plan)
    with opened(measuring, out, sample.plan):
        pass  # the user's mistakes, before a server is started
    with watching(quiet=quiet), embedded_server():
        from flows.measure import measure_flow  # Prefect reads its settings when it is imported

        return measure_flow(measuring, out)


def parse_measuring(args: argparse.Namespace) -> Measuring:
    """What the command line asks for.

    Raises:
        ConfigError: one line that names the option and the way out.
    """
    settings = dict(setting(text) for text in args.set) | run_settings(args)
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
        sample=_share("--sample", args.sample),
        budget=_share("--budget", args.budget),
        seed=args.seed,
        cores=args.cores or n_cores(recipe),
        grow_to=None if args.grow_to is None else _grow_to(args.grow_to),
    )


def _grow_to(text: str) -> float:
    """Times as many documents up to 2, as 1.5x, or documents, as 30M.

    >>> _grow_to("1.5x"), _grow_to("30M")
    (1.5, 30000000.0)
    """
    try:
        found = float(text[:-1]) if text.endswith("x") else parse_count(text)
    except (ValueError, UnitError):
        found = 0.0
    if not 1 <= found < float("inf") or (found <= FURTHEST) != text.endswith("x"):
        raise ConfigError(
            f"--grow-to {text!r}: write times as many documents (1.5x), {FURTHEST:g}x at most,"
            " beyond which no model of growth can be trusted; or documents (30M)"
        )
    return found


def _share(option: str, text: str) -> float:
    """A share of the bytes up to 1, as 0.2 or 20%, or bytes, as 5GB.

    >>> _share("--sample", "20%"), _share("--budget", "5 GB")
    (0.2, 5000000000.0)
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
        raise ConfigError(f"{option} {text!r}: write a share of the bytes (20%), or bytes (5GB)")
    return found
