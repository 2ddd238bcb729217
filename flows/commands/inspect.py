"""`tokenmill inspect`: documents, images, removals and their reasons, duplicates side by side."""

import argparse

from tokenmill.flows.exits import OK
from tokenmill.flows.show import as_json, show
from tokenmill.pipelines.core.places import place
from tokenmill.pipelines.runs.collected import run_names
from tokenmill.pipelines.runs.finished import prepared_run
from tokenmill.pipelines.storage.mirror import viewed


def run(args: argparse.Namespace) -> int:
    """Show what the arguments ask for."""
    with viewed(place(args.run)) as out:
        if run_names(out) is None:
            prepared_run(out)  # that there is none is told before what shows one is imported
        from tokenmill.flows.inspected import answer

        data, blocks = answer(out, args)
        as_json(data) if args.json else show(*blocks)
    return OK
