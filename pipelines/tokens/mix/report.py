"""What a report says of a mixture: as data, and as a section."""

from pydantic import Field

from tokenmill.pipelines.core.data import Data, Number
from tokenmill.sizing.document.section import NONE, Section, count, table

COLUMNS = (
    *("source", ">documents", ">tokens once", ">weight", ">epochs"),
    *(">tokens in dataset", ">share"),
)


class MixedSource(Data):
    """A source of the training split."""

    docs: int = Field(description="Documents once, without copies")
    tokens: int = Field(description="Of these")
    weights: list[Number] = Field(description="Of its shards: mean copies a document, an epoch")
    dataset_docs: int = Field(description="Documents in the dataset, copies included")
    dataset_tokens: int = Field(description="Of these")
    epochs: float | None = Field(description="Tokens in the dataset for each once; None without")
    share: float | None = Field(description="Fraction of the split's tokens; None without any")


class MixedTotal(Data):
    """The whole dataset, copies included; packing leaves the end of a split out of it."""

    docs: int = Field(description="Documents")
    text_bytes: int = Field(description="UTF-8 bytes of their text")
    tokens: int = Field(description="Tokens, of text and images")


class Mixture(Data):
    """How often the documents of each source stand in the dataset."""

    epochs: int = Field(description="As the recipe has it")
    seed: int = Field(description="What decides which documents, and in which order")
    sources: dict[str, MixedSource] = Field(description="Of the training split")
    total: MixedTotal = Field(description="Of all splits")


def mixture_sections(mixture: Mixture | None) -> list[Section]:
    """A section; none of a run that mixed nothing."""
    if mixture is None:
        return []
    note = (
        "Of the training split. Weight: copies of a document in an epoch, on average. Epochs:"
        " tokens in the dataset for each that there is once. Share: of the tokens of the split."
        f" Which documents, and their order, follow from their ids and seed {mixture.seed}."
    )
    shown = table("Mixture", COLUMNS, mixture_rows(mixture))
    return [Section(key="mixture", title="Mixture", blocks=(mixed_in_short(mixture), note, shown))]


def mixed_in_short(mixture: Mixture) -> str:
    """What goes into the dataset, in a sentence; packing leaves the end of a split out of it."""
    return (
        f"Shuffled and mixed, {count(mixture.total.docs, 'document')} and"
        f" {count(mixture.total.tokens, 'token')} go into the dataset, copies included, in"
        f" {count(mixture.epochs, 'epoch')}."
    )


def mixture_rows(mixture: Mixture) -> list[tuple[str, ...]]:
    """A row of COLUMNS for each source."""
    return [
        (
            source,
            f"{row.docs:,}",
            f"{row.tokens:,}",
            " and ".join(f"{weight:.4g}" for weight in row.weights),
            NONE if row.epochs is None else f"{row.epochs:.3f}",
            f"{row.dataset_tokens:,}",
            NONE if row.share is None else f"{100 * row.share:.2f} %",
        )
        for source, row in mixture.sources.items()
    ]
