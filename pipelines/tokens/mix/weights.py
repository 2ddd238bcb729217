"""The weight of each token shard: as its input says, or as the shares of the sources ask for."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.read.readers import reader_named
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished
from tokenmill.pipelines.tokens.mix.groups import CUTS, GROUPS, Grouping
from tokenmill.pipelines.tokens.options import MOST_COPIES, Mix
from tokenmill.pipelines.tokens.run import TokenRun


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """A token shard to be mixed.

    weight: how often each of its documents stands in an epoch, on average.
    grouping: tells the weight of each, where they differ.
    tokens: by split.
    salt: tells documents apart, in their places, whose files use the same ids.
    """

    key: str
    source: str
    weight: float
    tokens: Mapping[str, int]
    salt: str
    grouping: Grouping | None = None


def weighed(job: TokenRun, made: Sequence[Receipt], finished: Finished) -> tuple[Weighed, ...]:
    """The token shards of a run and their weights.

    made: receipts of the last pass, which make the token shards.
    finished: has the receipts of `groups`, where documents differ by group.
    ConfigError: see `weights`.
    """
    settings, by_key = job.tokenizing, {shard.key: shard for shard in finished.shards}
    shards = [by_key[receipt.key] for receipt in made]
    grouping: Grouping | None = None
    if settings.grouped:
        grouping, means = _grouped(job, finished)
        of_shards = [means[shard.key] for shard in shards]
    else:
        of_source: dict[str, float] = {}
        if settings.mix is not None:
            tokens = dict.fromkeys(settings.mix.shares, 0)
            for shard, receipt in zip(shards, made, strict=True):
                tokens[shard.source] += receipt.facts["measured"]["tokens"]["train"]
            of_source = weights(settings.mix, tokens, epochs=settings.output.epochs)
        of_shards = [of_source.get(s.source, settings.weights[s.input]) for s in shards]
    return tuple(
        Weighed(
            key=shard.key,
            source=shard.source,
            weight=weight,
            tokens=receipt.facts["measured"]["tokens"],
            # the file, where ids may be of that alone; files read whole have their name as id
            salt="" if reader_named(shard.format).whole else str(PurePosixPath(shard.names[0])),
            grouping=grouping,
        )
        for shard, weight, receipt in zip(shards, of_shards, made, strict=True)
    )


def _grouped(job: TokenRun, finished: Finished) -> tuple[Grouping, dict[str, float]]:
    """What tells documents' weights, and the mean of each shard, by which buckets are made."""
    mix = job.tokenizing.mix
    assert mix is not None
    counted = {receipt.key: receipt.facts for receipt in finished.of(GROUPS)}
    cuts: Mapping[str, Sequence[float]] = next(
        (receipt.facts.cuts for receipt in finished.of(CUTS)), {}
    )
    tokens = Counter(dict.fromkeys(mix.named, 0))
    for facts in counted.values():
        tokens.update({name: n for name, n in facts.tokens.items() if name in mix.named})
    n_docs = sum(sum(facts.docs.values()) for facts in counted.values())
    if mix.shares and n_docs and not any(tokens.values()):
        raise ConfigError(
            f"mix.shares: none of {n_docs:,} documents has a share: of {' and '.join(mix.by)} they"
            f" have other values than {', '.join(mix.named)}"
        )
    found = weights(mix, tokens, epochs=job.tokenizing.output.epochs) if mix.shares else {}
    grouping = Grouping(mix=mix, cuts=cuts, weights=found)
    means = {}
    for key, of in counted.items():
        asked = sum(n * found.get(name, 0.0) for name, n in of.tokens.items())
        asked = asked if mix.shares else sum(of.wanted.values())
        means[key] = asked / max(sum(of.tokens.values()), 1)
    return grouping, means


def weights(mix: Mix, tokens: Mapping[str, int], *, epochs: int = 1) -> dict[str, float]:
    """The weight of each source, from its share and how many tokens it has.

    A source of which nothing is left weighs 1, and the others share what there is.
    ConfigError: a source would be repeated beyond all bounds.

    >>> weights(Mix(shares={"crawl": 0.6, "books": 0.4}), {"crawl": 900, "books": 100})
    {'crawl': 0.16666666666666666, 'books': 1.0}
    """
    shares = {name: share for name, share in mix.named.items() if tokens[name]}
    total = sum(shares.values())
    whole = mix.tokens
    if whole is None:
        whole = min((tokens[name] * total / share for name, share in shares.items()), default=0.0)
    made = dict.fromkeys(mix.named, 1.0)
    for name, share in shares.items():
        made[name] = share / total * whole / tokens[name]
        if made[name] * epochs > MOST_COPIES:
            raise ConfigError(
                f"mix: {' and '.join(mix.by)} {name!r} has {tokens[name]:,} tokens, and would be"
                f" repeated {made[name] * epochs:,.0f} times; lower its share, or mix.tokens"
            )
    return made
