"""Predict a run that is asked about, and show what it will give."""

from pathlib import Path

from tokenmill.flows.asked import Asked, whole
from tokenmill.flows.ended import Ended, Shown, key_of
from tokenmill.flows.executing import executing
from tokenmill.flows.measure_tables import HEADS, figure_rows, unread
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus


def measure(asked: Asked[Measuring, Path]) -> Ended:
    """Make the estimate; its outcome is the result."""
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
