"""What a run has to say of its mixture: of each source, how much there is and how often."""

from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from tokenmill.pipelines.core.data import Data, Number
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.measured import added
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished
from tokenmill.pipelines.tokens.mix.groups import GROUPS
from tokenmill.pipelines.tokens.mix.spill import STAGE
from tokenmill.pipelines.tokens.mix.weights import weighed
from tokenmill.pipelines.tokens.options import BETWEEN
from tokenmill.pipelines.tokens.run import TokenRun
from tokenmill.sizing.document.section import NONE, Section, count, table

COLUMNS = (">documents", ">tokens once", ">weight", ">epochs", ">tokens in dataset", ">share")
NO_SHARE = "(no share)"  # as tables call what has none


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
    by: list[str] = Field(["source"], description="What the groups are told by")
    sources: dict[str, MixedSource] = Field(
        description='Of the training split: sources, or groups as "law / high"'
    )
    total: MixedTotal = Field(description="Of all splits")


def mixed_stats(finished: Finished) -> list[tuple[str, StageStats]]:
    """The account of mixing; nothing where nothing was mixed."""
    found = [stats for receipt in finished.of(STAGE) for _, stats in receipt.stats]
    return [(STAGE, sum(found, StageStats()))] if found else []


def mixture(job: TokenRun, made: Sequence[Receipt], finished: Finished) -> Mixture | None:
    """Documents and tokens once, and with all copies; None if unmixed. made: of the last pass."""
    output, mixed = job.tokenizing.output, finished.of(STAGE)
    if not mixed:
        return None
    width = job.tokenizing.engine().dtype.itemsize
    docs, tokens, weights = _once(job, made, finished)
    of_dataset = added([r.facts.sources for r in mixed if r.key.rpartition("-")[0] == "train"])
    whole = sum(of["id_bytes"] for of in of_dataset.values())
    sources = {}
    for name in weights:
        found = of_dataset.get(name) or dict.fromkeys(("docs", "id_bytes"), 0)
        dataset_tokens = found["id_bytes"] // width
        sources[name or NO_SHARE] = MixedSource(
            docs=docs[name],
            tokens=tokens[name],
            weights=sorted(weights[name]),
            dataset_docs=found["docs"],
            dataset_tokens=dataset_tokens,
            epochs=dataset_tokens / tokens[name] if tokens[name] else None,
            share=found["id_bytes"] / whole if whole else None,
        )
    everything = added([of for r in mixed for of in r.facts.sources.values()])
    return Mixture(
        epochs=output.epochs,
        seed=output.seed,
        by=["source"] if job.tokenizing.mix is None else list(job.tokenizing.mix.by),
        sources=sources,
        total=MixedTotal(
            docs=everything["docs"],
            text_bytes=everything["text_bytes"],
            tokens=everything["id_bytes"] // width,
        ),
    )


def _once(
    job: TokenRun, made: Sequence[Receipt], finished: Finished
) -> tuple[Counter[str], Counter[str], dict[str, set[float]]]:
    """Documents and tokens of the training split, each once, and weights; by source, or group."""
    docs, tokens, weights = Counter[str](), Counter[str](), dict[str, set[float]]()
    shards = weighed(job, made, finished)
    if job.tokenizing.grouped:
        wanted = Counter[str]()
        for receipt in finished.of(GROUPS):
            docs.update(receipt.facts.docs)
            tokens.update(receipt.facts.tokens)
            wanted.update(receipt.facts.wanted)
        grouping = next(shard.grouping for shard in shards if shard.grouping is not None)
        of = grouping.weights or {name: n / max(tokens[name], 1) for name, n in wanted.items()}
        names = sorted({*docs, *grouping.mix.named})  # of a share that no document has, too
        return docs, tokens, {name: {of.get(name, 0.0)} for name in names}
    for shard, receipt in zip(shards, made, strict=True):
        once = receipt.facts["measured"]
        docs[shard.source] += once["docs"]["train"]
        tokens[shard.source] += once["tokens"]["train"]
        weights.setdefault(shard.source, set()).add(shard.weight)
    return docs, tokens, weights


def tokens_once(mixed: Mixture | None, tokens: int) -> float:
    """Tokens of documents that stand once in a dataset, for each one that it has."""
    return tokens / mixed.total.tokens if mixed and mixed.total.tokens else 1.0


def mixture_sections(mixture: Mixture | None) -> list[Section]:
    """A section; none of a run that mixed nothing."""
    if mixture is None:
        return []
    note = (
        "Of the training split. Weight: copies of a document in an epoch, on average. Epochs:"
        " tokens in the dataset for each that there is once. Share: of the tokens of the split."
        f" Which documents, and their order, follow from their ids and seed {mixture.seed}."
    )
    shown = table("Mixture", columns_of(mixture), mixture_rows(mixture))
    return [Section("mixture", "Mixture", (mixed_in_short(mixture), note, shown))]


def mixed_in_short(mixture: Mixture) -> str:
    """What goes into the dataset, in a sentence; packing leaves the end of a split out of it."""
    return (
        f"Shuffled and mixed, {count(mixture.total.docs, 'document')} and"
        f" {count(mixture.total.tokens, 'token')} go into the dataset, copies included, in"
        f" {count(mixture.epochs, 'epoch')}."
    )


def columns_of(mixture: Mixture) -> tuple[str, ...]:
    """Heads of the columns of a table of it."""
    return (BETWEEN.join(mixture.by), *COLUMNS)


def mixture_rows(mixture: Mixture) -> list[tuple[str, ...]]:
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
