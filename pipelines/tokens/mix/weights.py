"""The weight of each token shard: as its input says, or as the shares of the sources ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.readers import reader_named
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.tokens.options import MOST_COPIES, Mix
from tokenmill.pipelines.tokens.run import TokenRun


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """A token shard to be mixed.

    weight: how often each of its documents stands in an epoch, on average.
    tokens: by split.
    salt: tells documents apart, in their places, whose files use the same ids.
    """

    key: str
    source: str
    weight: float
    tokens: Mapping[str, int]
    salt: str


def weighed(
    job: TokenRun, shards: Sequence[SourceShard], made: Sequence[Receipt]
) -> tuple[Weighed, ...]:
    """The token shards of a run and their weights.

    shards: of the plan.  made: receipts of the last pass, which make the token shards.

    Raises:
        ConfigError: see `weights`.
    """
    settings, by_key = job.tokenizing, {shard.key: shard for shard in shards}
    of_source: dict[str, float] = {}
    if settings.mix is not None:
        tokens = dict.fromkeys(settings.mix.shares, 0)
        for receipt in made:
            source = by_key[receipt.key].source
            tokens[source] += receipt.facts["measured"]["tokens"]["train"]
        of_source = weights(settings.mix, tokens, epochs=settings.output.epochs)
    return tuple(
        Weighed(
            key=receipt.key,
            source=shard.source,
            weight=of_source.get(shard.source, settings.weights[shard.input]),
            tokens=receipt.facts["measured"]["tokens"],
            salt=_salt(shard),
        )
        for receipt in made
        for shard in [by_key[receipt.key]]
    )


def weights(mix: Mix, tokens: Mapping[str, int], *, epochs: int = 1) -> dict[str, float]:
    """The weight of each source, from its share and how many tokens it has.

    A source of which nothing is left weighs 1, and the others share what there is.

    Raises:
        ConfigError: a source would be repeated beyond all bounds.

    >>> weights(Mix(shares={"crawl": 0.6, "books": 0.4}), {"crawl": 900, "books": 100})
    {'crawl': 0.16666666666666666, 'books': 1.0}
    """
    shares = {name: share for name, share in mix.shares.items() if tokens[name]}
    total = sum(shares.values())
    whole = mix.tokens
    if whole is None:
        whole = min((tokens[name] * total / share for name, share in shares.items()), default=0.0)
    made = dict.fromkeys(mix.shares, 1.0)
    for name, share in shares.items():
        made[name] = share / total * whole / tokens[name]
        if made[name] * epochs > MOST_COPIES:
            raise ConfigError(
                f"mix: source {name!r} has {tokens[name]:,} tokens, and would be repeated"
                f" {made[name] * epochs:,.0f} times; lower its share, or mix.tokens"
            )
    return made


def _salt(shard: SourceShard) -> str:
    """The file, where ids may be of that file alone; files read whole have their name as id."""
    return "" if reader_named(shard.format).whole else PurePosixPath(shard.names[0]).as_posix()
