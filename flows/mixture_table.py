"""The mixture of a run as a table in the terminal."""

from typing import Any

from rich.table import Table

from tokenmill.flows.show import table
from tokenmill.pipelines.tokens.mix.report import COLUMNS, mixture_rows


def mixture_tables(report: dict[str, Any]) -> list[Table]:
    """What the dataset has of each source; nothing for a run that mixed nothing."""
    rows = mixture_rows(report)
    return [table("mixture of the training split", COLUMNS, rows)] if rows else []
