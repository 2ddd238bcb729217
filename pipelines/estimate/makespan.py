"""Wall time of shards on cores: list scheduling, each shard to the core that is free first."""

import heapq
from collections.abc import Sequence

from tokenmill.pipelines.errors import ConfigError


def makespan(seconds: Sequence[float], cores: int) -> float:
    """When the last shard is done, started in the order given (Graham 1966).

    At least total / cores and the longest; at most total / cores + (1 - 1 / cores) * longest.

    >>> makespan([3.0, 1.0, 1.0, 1.0], cores=2)
    3.0
    """
    if cores < 1:
        raise ConfigError(f"{cores} cores do no work; give 1 or more")
    free = [0.0] * min(cores, max(len(seconds), 1))
    for s in seconds:
        heapq.heapreplace(free, free[0] + s)
    return max(free)


def stretch(shard_bytes: Sequence[float], cores: int) -> float:
    """Times total / cores that shards take whose seconds are as their bytes; 1 at best.

    Grows with the bytes of the largest shard, to `cores` where one shard is all there is.
    """
    total = sum(shard_bytes)
    return makespan(shard_bytes, cores) * cores / total if total else 1.0
