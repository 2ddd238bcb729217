"""What a report says of a mixture."""

from collections.abc import Mapping
from typing import Any

from tokenmill.sizing.document.section import NONE, Section, count, table

COLUMNS = (
    *("source", ">documents", ">tokens once", ">weight", ">epochs"),
    *(">tokens in dataset", ">share"),
)


def mixture_sections(report: Mapping[str, Any]) -> list[Section]:
    """A section; none of a run that mixed nothing."""
    if "mixture" not in report:
        return []
    found = report["mixture"]
    note = (
        "Of the training split. Weight: copies of a document in an epoch, on average. Epochs:"
        " tokens in the dataset for each that there is once. Share: of the tokens of the split."
        f" Which documents, and their order, follow from their ids and seed {found['seed']}."
    )
    shown = table("Mixture", COLUMNS, mixture_rows(report))
    return [Section(key="mixture", title="Mixture", blocks=(mixed_in_short(report), note, shown))]


def mixed_in_short(report: Mapping[str, Any]) -> str:
    """What goes into the dataset, in a sentence; packing leaves the end of a split out of it."""
    found = report["mixture"]
    total = found["total"]
    return (
        f"Shuffled and mixed, {count(total['docs'], 'document')} and"
        f" {count(total['tokens'], 'token')} go into the dataset, copies included, in"
        f" {count(found['epochs'], 'epoch')}."
    )


def mixture_rows(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """A row of COLUMNS for each source; nothing for a run that mixed nothing."""
    return [
        (
            source,
            f"{row['docs']:,}",
            f"{row['tokens']:,}",
            " and ".join(f"{weight:.4g}" for weight in row["weights"]),
            NONE if row["epochs"] is None else f"{row['epochs']:.3f}",
            f"{row['dataset_tokens']:,}",
            NONE if row["share"] is None else f"{100 * row['share']:.2f} %",
        )
        for source, row in report.get("mixture", {}).get("sources", {}).items()
    ]
