"""Ingest into a collection, as a Prefect flow: what is new of a recipe's inputs, night by night."""

from typing import Any

from tokenmill.flows.asked import ingesting, read_recipe
from tokenmill.flows.doing.prepare import ingest
from tokenmill.flows.ended import Ended
from tokenmill.flows.prefect.flow_run import FileOrName, Named, our_flow
from tokenmill.pipelines.core.options import RunOptions

# stands alone: a deployment of this flow names it by this module


@our_flow("ingest-collection", "ingest {into}")
def ingest_flow(
    recipe: FileOrName | dict[str, Any],
    into: Named,
    settings: dict[str, Any] | None = None,
    run: RunOptions | None = None,
    again: bool = False,
) -> Ended:
    """Take the files that no run of a collection has taken, as its next run; or find nothing new.

    Args:
        recipe: a recipe file by its path, or the name of one that ships, as `fineweb`; or the
            whole recipe; its inputs are read anew each time
        into: the collection by its whole path: a folder of runs, which is made
        settings: in place of the recipe's, by key, as `{"output.seq_len": 2048}`
        run: who does the work, in place of the recipe's own section
        again: whether files that changed since they were taken are taken once more
    """
    with ingesting(read_recipe(recipe, settings, run), into, again=again) as asked:
        return ingest(asked)
