"""Prepare a corpus, as a Prefect flow: ingest to Arrow dataset."""

from typing import Any

from tokenmill.flows.asked import ask_run, read_recipe
from tokenmill.flows.doing.prepare import prepare
from tokenmill.flows.ended import Ended
from tokenmill.flows.prefect.flow_run import FileOrName, Named, our_flow
from tokenmill.flows.sheets import plan_within
from tokenmill.pipelines.core.options import RunOptions

# stands alone: a deployment of this flow names it by this module


@our_flow("prepare-corpus", "prepare {out}")
def prepare_flow(
    recipe: FileOrName | dict[str, Any],
    out: Named,
    settings: dict[str, Any] | None = None,
    run: RunOptions | None = None,
    plan: FileOrName | None = None,
) -> Ended:
    """Turn the inputs of a recipe into a dataset; run again, it continues, or finds all done.

    Args:
        recipe: a recipe file by its path, or the name of one that ships, as `fineweb`; or the
            whole recipe
        out: the run directory, by its whole path
        settings: in place of the recipe's, by key, as `{"output.seq_len": 2048}`
        run: who does the work, in place of the recipe's own section
        plan: a plan file by its path, or the name of an example that ships: what storage it takes
            to train on the dataset is told too, and written to requirements.html beside the report
    """
    if plan is not None:
        plan_within(plan)
    return prepare(ask_run(read_recipe(recipe, settings, run), out), plan)
