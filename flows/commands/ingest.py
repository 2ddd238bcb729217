"""`tokenmill ingest`: what is new of a recipe's inputs, as the next run of a collection."""

import argparse

from tokenmill.flows.asked import ingesting, read_recipe
from tokenmill.flows.commands.shared import result_of, server_ahead, settings_of
from tokenmill.flows.exits import OK, PARTIAL
from tokenmill.flows.show import as_json, show
from tokenmill.flows.troubles import bounded
from tokenmill.pipelines.core.places import below
from tokenmill.pipelines.prepare.recipe import find_recipe


def run(args: argparse.Namespace) -> int:
    """Ingest, and show how the collection grew."""
    settings = settings_of(args)
    recipe = read_recipe(args.recipe, settings)
    # a mistake is told by then; what works and shows takes longer to import than the recipe
    from tokenmill.pipelines.prepare.growth import growth_table, in_short, write_growth

    with ingesting(recipe, args.into, again=args.again) as asked:
        if asked.asked is None:
            found = write_growth(asked.collection)
            found |= {"made": [], "told": asked.collection.told, "failed": False}
        else:
            shown = {
                "recipe": str(find_recipe(args.recipe).absolute()),
                "settings": settings or None,
                "again": args.again,
            }
            with server_ahead() as server:
                from tokenmill.flows.doing.prepare import ingest

                found = result_of(
                    *("ingest-collection", asked, lambda: ingest(asked), shown),
                    quiet=args.json,
                    server=server,
                )
    if args.json:
        as_json(found)
        return PARTIAL if found["failed"] else OK
    page = below(asked.out, "report.html")
    new = f"new: {', '.join(found['made'])}" if found["made"] else "nothing new"
    some = "some inputs or shards failed: the reports of these runs tell which"
    show(
        growth_table(found),
        [
            *bounded(found["told"], "--json"),
            *([some] if found["failed"] else []),
            f"{new}; {in_short(found)}",
            f"report   {page}",
        ],
    )
    return PARTIAL if found["failed"] else OK
