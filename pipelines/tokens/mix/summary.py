"""What a run has to say of its mixture: of each source, how much there is and how often."""

from collections.abc import Mapping, Sequence
from typing import Any

from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished
from tokenmill.pipelines.tokens.mix.spill import STAGE, SpillFacts
from tokenmill.pipelines.tokens.mix.weights import weighed
from tokenmill.pipelines.tokens.run import TokenRun


def mixed_stats(finished: Finished) -> list[tuple[str, StageStats]]:
    """The account of mixing; nothing where nothing was mixed."""
    found = [stats for receipt in finished.of(STAGE) for _, stats in receipt.stats]
    return [(STAGE, sum(found, StageStats()))] if found else []


def mixture(job: TokenRun, made: Sequence[Receipt], finished: Finished) -> dict[str, Any]:
    """As JSON: of each source documents and tokens once, and in the dataset with all copies.

    Sources are told of the training split; `total` is of the whole dataset. Nothing where nothing
    was mixed.

    made: receipts of the last pass.
    """
    output, mixed = job.tokenizing.output, finished.of(STAGE)
    if not mixed:
        return {}
    width = job.tokenizing.engine().dtype.itemsize
    sources: dict[str, dict[str, Any]] = {}
    for shard, receipt in zip(weighed(job, finished.shards, made), made, strict=True):
        once = receipt.facts["measured"]
        row = sources.setdefault(shard.source, {"docs": 0, "tokens": 0, "weights": []})
        row["docs"] += once["docs"]["train"]
        row["tokens"] += once["tokens"]["train"]
        row["weights"] = sorted({*row["weights"], shard.weight})
    split = {receipt.key: receipt.key.rpartition("-")[0] for receipt in mixed}
    of_dataset = _added([r for r in mixed if split[r.key] == "train"])
    whole = sum(of["id_bytes"] for of in of_dataset.values())
    for name, row in sources.items():
        found = of_dataset[name]
        tokens = found["id_bytes"] // width
        row["dataset_docs"], row["dataset_tokens"] = found["docs"], tokens
        row["epochs"] = tokens / row["tokens"] if row["tokens"] else None
        row["share"] = found["id_bytes"] / whole if whole else None
    everything = list(_added(mixed).values())
    total = {name: sum(of[name] for of in everything) for name in ("docs", "text_bytes")}
    total["tokens"] = sum(of["id_bytes"] for of in everything) // width
    settings = {"epochs": output.epochs, "seed": output.seed}
    return {"mixture": {**settings, "sources": sources, "total": total}}


def tokens_once(report: Mapping[str, Any], tokens: int) -> float:
    """Tokens of documents that stand once in a dataset, for each one that it has."""
    found = report.get("mixture")
    return tokens / found["total"]["tokens"] if found and found["total"]["tokens"] else 1.0


def _added(receipts: Sequence[Receipt[SpillFacts]]) -> dict[str, dict[str, int]]:
    made: dict[str, dict[str, int]] = {}
    for receipt in receipts:
        for source, counts in receipt.facts.sources.items():
            of_source = made.setdefault(source, dict.fromkeys(counts, 0))
            for name, n in counts.items():
                of_source[name] += n
    return made
