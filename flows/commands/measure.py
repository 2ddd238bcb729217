"""`tokenmill measure`: a recipe in, a prediction of its run out."""

import argparse

from tokenmill.flows.asked import ask_measuring, measuring_of, read_recipe
from tokenmill.flows.commands.shared import result_of, server_ahead, settings_of
from tokenmill.flows.exits import OK, PARTIAL
from tokenmill.flows.show import as_json
from tokenmill.pipelines.prepare.recipe import find_recipe

# options of this command alone
OWN = ("probes", "sample", "budget", "quick", "grow_to", "seed", "cores")


def run(args: argparse.Namespace) -> int:
    """Predict a run, and show what it will give."""
    settings = settings_of(args)
    own = {name: getattr(args, name) for name in OWN}
    measuring = measuring_of(read_recipe(args.recipe, settings), **own)
    with server_ahead() as server:
        from tokenmill.flows.doing.measure import measure
        from tokenmill.flows.measure_tables import show_estimate, unread
        from tokenmill.pipelines.measure.run import Outcome, to_json

        asked = ask_measuring(measuring, args.out)
        shown = {
            "recipe": str(find_recipe(args.recipe).absolute()),
            "settings": settings or None,
            **own,
        }
        outcome: Outcome = result_of(
            *("measure-corpus", asked, lambda: measure(asked), shown),
            quiet=args.json,
            server=server,
        )
    if args.json:
        as_json(to_json(outcome.estimate))
    else:
        show_estimate(outcome, asked.out)
    return PARTIAL if unread(outcome) else OK
