"""`tokenmill measure`: a recipe in, a prediction of its run out."""

import argparse
from typing import Any

from tokenmill.flows.asked import AskedMeasuring, ask_measuring, measuring_of, read_recipe, whole
from tokenmill.flows.cli import OK, PARTIAL
from tokenmill.flows.measure_tables import show_estimate, unread
from tokenmill.flows.progress import watching
from tokenmill.flows.server import embedded_server
from tokenmill.flows.settings import run_settings, setting
from tokenmill.flows.show import as_json
from tokenmill.pipelines.measure.run import Outcome, to_json
from tokenmill.pipelines.prepare.recipe import find_recipe

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
