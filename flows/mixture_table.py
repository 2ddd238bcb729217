"""The mixture of a run as a table in the terminal."""

from rich.table import Table

from tokenmill.flows.show import table
from tokenmill.pipelines.tokens.mix.report import COLUMNS, Mixture, mixture_rows


def mixture_tables(mixture: Mixture | None) -> list[Table]:
    """What the dataset has of each source; nothing for a run that mixed nothing."""
    if mixture is None:
        return []
    return [table("mixture of the training split", COLUMNS, mixture_rows(mixture))]
