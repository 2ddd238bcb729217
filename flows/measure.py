"""Predict a run before it is made, as a Prefect flow."""

from typing import Any

from tokenmill.flows.asked import ask_measuring, measuring_of, read_recipe
from tokenmill.flows.doing.measure import measure
from tokenmill.flows.ended import Ended
from tokenmill.flows.prefect.flow_run import FileOrName, Named, our_flow
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.measure.job import DEFAULT_PROBES

# stands alone: a deployment of this flow names it by this module


@our_flow("measure-corpus", "measure {out}")
def measure_flow(
    recipe: FileOrName | dict[str, Any],
    out: Named,
    settings: dict[str, Any] | None = None,
    probes: int = DEFAULT_PROBES,
    sample: str | None = None,
    budget: str = "100%",
    quick: bool = False,
    grow_to: str | None = None,
    seed: int = 0,
    cores: int | None = None,
    run: RunOptions | None = None,
) -> Ended:
    """Predict what a run of a recipe will give, before there is room for one.

    Args:
        recipe: a recipe file by its path, or the name of one that ships, as `fineweb`; or the
            whole recipe
        out: the estimate, a file by its whole path; `size-cluster` takes it as a corpus
        settings: in place of the recipe's, by key, as `{"output.seq_len": 2048}`
        probes: documents drawn, of which all duplicates are counted
        sample: what goes through all steps of the inputs, a share or bytes, as `5GB`; 32 MB, or
            all of less, if it is not said
        budget: what may be read of them, as `50%` or `5GB`; of less than all, unique is a model
            or bounds
        quick: an answer in a minute, from 256 MB at most
        grow_to: unique documents of a larger corpus, `1.5x` of this one, or documents, as `30M`
        seed: of what is drawn
        cores: of the run that is predicted; those it has
        run: who does the work, in place of the recipe's own section
    """
    measuring = measuring_of(
        read_recipe(recipe, settings, run),
        probes=probes,
        sample=sample,
        budget=budget,
        quick=quick,
        grow_to=grow_to,
        seed=seed,
        cores=cores,
    )
    return measure(ask_measuring(measuring, out))
