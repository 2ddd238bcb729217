"""Predict a run before it is made: a Prefect task for each piece of work, and artifacts."""

from pathlib import Path
from typing import Any

from tokenmill.flows.asked import Asked, ask_measuring, measuring_of, read_recipe, whole
from tokenmill.flows.measure_tables import HEADS, figure_rows, unread
from tokenmill.flows.prefect.executing import executing
from tokenmill.flows.prefect.flow_run import (
    Ended,
    FileOrName,
    Named,
    Shown,
    asked_by,
    key_of,
    our_flow,
)
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.measure.job import DEFAULT_PROBES, Measuring
from tokenmill.pipelines.measure.run import measure_corpus


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
        sample: what goes through all steps of the inputs, a share or bytes, as `5GB`; 20 %, and
            64 MB at most, if it is not said
        budget: what may be read of them, as `50%` or `5GB`; of less than all, unique is a model
            or bounds
        quick: an answer in a minute, from 256 MB at most
        grow_to: unique documents of a larger corpus, `1.5x` of this one, or documents, as `30M`
        seed: of what is drawn
        cores: of the run that is predicted; those it has
        run: who does the work, in place of the recipe's own section
    """

    def ask() -> Asked[Measuring, Path]:
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
        return ask_measuring(measuring, out)

    asked = asked_by(ask)
    made, name = asked.what.recipe, asked.what.recipe.name
    title = f"measure {name}, {whole(asked.out)}"
    with executing(made.run, asked.out.parent, name=title, label=name) as execute:
        outcome = measure_corpus(asked.what, asked.out, execute, asked.plan)
    lost = unread(outcome)
    told = f"{name}: from {outcome.estimate.corpus.sample}, in {asked.out}"
    if lost:
        told = f"{len(lost):,} inputs or parts of them were not read ({lost[0]}); {told}"
    table = [dict(zip(HEADS, row, strict=True)) for row in figure_rows(outcome)]
    shown = Shown(key_of("estimate", name), table, outcome.estimate.corpus.sample)
    return Ended(outcome, told, failed=bool(lost), artifacts=(shown,))
