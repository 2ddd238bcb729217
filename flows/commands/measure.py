"""`tokenmill measure`: a recipe in, a prediction of its run out."""

import argparse
from typing import Any

from tokenmill.flows.asked import AskedMeasuring, ask_measuring, read_recipe, whole
from tokenmill.flows.cli import OK, PARTIAL
from tokenmill.flows.measure_tables import show_estimate, unread
from tokenmill.flows.progress import watching
from tokenmill.flows.server import embedded_server
from tokenmill.flows.settings import run_settings, setting
from tokenmill.flows.show import as_json
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.growth import FURTHEST
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import Outcome, n_cores, to_json
from tokenmill.pipelines.prepare.recipe import Recipe, find_recipe
from tokenmill.sizing.units import UnitError, parse_bytes, parse_count

OWN = ("probes", "sample", "budget", "grow_to", "seed", "cores")  # options of this command alone


def run(args: argparse.Namespace) -> int:
    """Predict a run, and show what it will give."""
    settings = dict(setting(text) for text in args.set) | run_settings(args)
    own = {name: getattr(args, name) for name in OWN}
    asked = ask_measuring(measuring_of(read_recipe(args.recipe, settings), **own), args.out)
    recipe = str(find_recipe(args.recipe).absolute())
    outcome = measure_with_progress(
        asked, {"recipe": recipe, "settings": settings or None, **own}, quiet=args.json
    )
    if args.json:
        as_json(to_json(outcome.estimate))
    else:
        show_estimate(outcome, asked.out)
    return PARTIAL if unread(outcome) else OK


def measure_with_progress(asked: AskedMeasuring, shown: dict[str, Any], *, quiet: bool) -> Outcome:
    """Run the flow against the user's Prefect server, or against one of its own.

    shown: the flow's parameters but `out`, as Prefect's UI has them.
    """
    with watching(quiet=quiet), embedded_server():
        from tokenmill.flows.measure import (
            measure_flow,  # Prefect reads its settings when it is imported
        )
        from tokenmill.flows.run_here import run_here

        outcome: Outcome = run_here(measure_flow, asked, out=whole(asked.out), **shown)
        return outcome


def measuring_of(
    recipe: Recipe,
    *,
    probes: int,
    sample: str,
    budget: str,
    grow_to: str | None,
    seed: int,
    cores: int | None,
) -> Measuring:
    """What is asked for, as the command's options say it.

    Raises:
        ConfigError: one line that names the option and the way out.
    """
    for name, value in (("probes", probes), ("cores", cores)):
        if value is not None and value < 1:
            raise ConfigError(f"--{name} {value}: must be 1 at least")
    if seed < 0:
        raise ConfigError(f"--seed {seed}: must be 0 at least")
    return Measuring(
        recipe=recipe,
        probes=probes,
        sample=_share("--sample", sample),
        budget=_share("--budget", budget),
        seed=seed,
        cores=cores or n_cores(recipe),
        grow_to=None if grow_to is None else _grow_to(grow_to),
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
