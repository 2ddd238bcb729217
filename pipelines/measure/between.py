"""How many batches a run writes: known no closer than between what blocks of input allow."""

from math import log
from typing import NamedTuple

import numpy as np

from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.measure.drawn import DRAWS, Drawn, exact
from tokenmill.pipelines.read.stream import BLOCK_BYTES
from tokenmill.sizing.spread import TAIL

SOME_EMPTY = 0.5  # of the shards have documents left, at least
FURTHER = 2.0  # times as many batches as blocks: blocks of many documents are cut


class Blocks(NamedTuple):
    """Batches of all shards: how many at least, usually and at most."""

    least: float
    usual: float
    most: float


def blocks_of(plan: Plan) -> Blocks:
    """A batch is what some block of the input holds, as a reader has it, and at most a shard.

    A shard of which nothing is left has none.
    """
    shards = float(len(plan.shards))
    blocks = float(sum(1 + shard.bytes // BLOCK_BYTES for shard in plan.shards))
    return Blocks(SOME_EMPTY * shards, (shards * blocks) ** 0.5, FURTHER * blocks)


def between(least: float, most: float, *, order: int, value: float | None = None) -> Drawn:
    """What lies anywhere between two numbers, the ends of its 95 % interval, by their logs alike.

    order: a number of its own for each that is drawn apart from others.
    value: midway, if not given.
    """
    if least == most:
        return exact(least)
    beyond = (log(most) - log(least)) * TAIL / (1 - 2 * TAIL)
    logs = np.linspace(log(least) - beyond, log(most) + beyond, DRAWS)
    draws = np.exp(np.random.default_rng(order).permutation(logs))
    return Drawn((least * most) ** 0.5 if value is None else value, draws)
