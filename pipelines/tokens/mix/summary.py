"""What a run has to say of its mixture: of each source, how much there is and how often."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished
from tokenmill.pipelines.tokens.mix.report import MixedSource, MixedTotal, Mixture
from tokenmill.pipelines.tokens.mix.spill import STAGE, SpillFacts
from tokenmill.pipelines.tokens.mix.weights import weighed
from tokenmill.pipelines.tokens.run import TokenRun


def mixed_stats(finished: Finished) -> list[tuple[str, StageStats]]:
    """The account of mixing; nothing where nothing was mixed."""
    found = [stats for receipt in finished.of(STAGE) for _, stats in receipt.stats]
    return [(STAGE, sum(found, StageStats()))] if found else []


def mixture(job: TokenRun, made: Sequence[Receipt], finished: Finished) -> Mixture | None:
    """Documents and tokens once, and in the dataset with all copies; None if nothing was mixed.

    made: receipts of the last pass.
    """
    output, mixed = job.tokenizing.output, finished.of(STAGE)
    if not mixed:
        return None
    width = job.tokenizing.engine().dtype.itemsize
    docs, tokens = Counter[str](), Counter[str]()
    weights: dict[str, set[float]] = {}
    for shard, receipt in zip(weighed(job, finished.shards, made), made, strict=True):
        once = receipt.facts["measured"]
        docs[shard.source] += once["docs"]["train"]
        tokens[shard.source] += once["tokens"]["train"]
        weights.setdefault(shard.source, set()).add(shard.weight)
    of_dataset = _added([r for r in mixed if r.key.rpartition("-")[0] == "train"])
    whole = sum(of["id_bytes"] for of in of_dataset.values())
    sources = {}
    for name in weights:
        found = of_dataset[name]
        dataset_tokens = found["id_bytes"] // width
        sources[name] = MixedSource(
            docs=docs[name],
            tokens=tokens[name],
            weights=sorted(weights[name]),
            dataset_docs=found["docs"],
            dataset_tokens=dataset_tokens,
            epochs=dataset_tokens / tokens[name] if tokens[name] else None,
            share=found["id_bytes"] / whole if whole else None,
        )
    everything: Counter[str] = sum(_added(mixed).values(), Counter())
    return Mixture(
        epochs=output.epochs,
        seed=output.seed,
        sources=sources,
        total=MixedTotal(
            docs=everything["docs"],
            text_bytes=everything["text_bytes"],
            tokens=everything["id_bytes"] // width,
        ),
    )


def tokens_once(mixed: Mixture | None, tokens: int) -> float:
    """Tokens of documents that stand once in a dataset, for each one that it has."""
    return tokens / mixed.total.tokens if mixed and mixed.total.tokens else 1.0


def _added(receipts: Sequence[Receipt[SpillFacts]]) -> dict[str, Counter[str]]:
    made: dict[str, Counter[str]] = defaultdict(Counter)
    for receipt in receipts:
        for source, counts in receipt.facts.sources.items():
            made[source].update(counts)
    return made
