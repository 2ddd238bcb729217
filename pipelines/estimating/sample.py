"""Which parts of the inputs are tokenized: drawn by a seed, stratified by source and file.

    inputs ── cut into some 200 parts ── strata ── parts drawn of each, within the budget

A part is a shard like any other, only smaller: a byte range of JSON Lines, row groups of Parquet,
record batches of Arrow, a few text files.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipelines.errors import ConfigError
from pipelines.plan import plan_inputs
from pipelines.recipe import Recipe
from pipelines.shard import Plan, SourceShard

PARTS = 200  # a fifth of them are enough clusters for an interval
LEAST_PART_BYTES = 1 << 17  # of smaller ones, opening the file is most of the work
LEAST_OF_FILE = 5  # parts of a file that is a stratum of its own
DEFAULT_BUDGET = 0.2


class Sample(NamedTuple):
    """The parts of the inputs, and which of them are tokenized.

    strata: (n_parts,) int, which stratum each is of.  drawn: (n_parts,) bool.
    """

    plan: Plan
    strata: npt.NDArray[np.int64]
    drawn: npt.NDArray[np.bool_]

    @property
    def part_bytes(self) -> npt.NDArray[np.float64]:
        return np.array([part.bytes for part in self.plan.shards], np.float64)

    @property
    def drawn_frac(self) -> float:
        """Share of the bytes of all inputs that is tokenized."""
        part_bytes = self.part_bytes
        return float(part_bytes[self.drawn].sum() / max(part_bytes.sum(), 1.0))


def draw_sample(recipe: Recipe, plan: Plan, *, budget: float, seed: int) -> Sample:
    """Cut the inputs anew into parts, and draw those to tokenize.

    plan: of the run itself.
    budget: bytes, or up to 1 a share of them; each stratum has one part at least, whatever the
        budget.
    """
    total = sum(shard.bytes for shard in plan.shards)
    part_bytes = min(max(total // PARTS, LEAST_PART_BYTES), recipe.shard_bytes)
    parts = plan_inputs(recipe.inputs, part_bytes, limits=recipe.limits)
    strata = strata_of(parts.shards)
    drawn = draw(
        np.array([part.bytes for part in parts.shards], np.float64),
        strata,
        budget_bytes=budget_bytes(budget, sum(part.bytes for part in parts.shards)),
        seed=seed,
    )
    return Sample(parts, strata, drawn)


def budget_bytes(budget: float, total: float) -> float:
    """A budget as bytes; up to 1 it is a share of all.

    Raises:
        ConfigError: it is not over 0.

    >>> budget_bytes(0.2, 1000.0), budget_bytes(300.0, 1000.0)
    (200.0, 300.0)
    """
    if not budget > 0:
        raise ConfigError(f"--budget {budget:g}: write bytes, or a share of them, over 0 and to 1")
    return budget * total if budget <= 1 else budget


def strata_of(parts: Sequence[SourceShard]) -> npt.NDArray[np.int64]:
    """(n_parts,) stratum of each: its file, or its input where files have few parts."""
    files = [(part.input, part.paths[0]) for part in parts]
    counts = Counter(files)
    names = [
        file if counts[file] >= LEAST_OF_FILE and part.format != "text" else (part.input, "")
        for file, part in zip(files, parts, strict=True)
    ]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int64)


def draw(
    part_bytes: npt.NDArray[np.float64],
    strata: npt.NDArray[np.int64],
    *,
    budget_bytes: float,
    seed: int,
) -> npt.NDArray[np.bool_]:
    """(n_parts,) which parts are drawn: of each stratum one, and of the rest an equal share."""
    drawn = np.zeros(len(strata), np.bool_)
    total = float(part_bytes.sum())
    n_strata = int(strata.max(initial=-1)) + 1
    members = [np.flatnonzero(strata == s) for s in range(n_strata)]
    least = sum(float(part_bytes[m].mean()) for m in members)
    share = (budget_bytes - least) / (total - least) if total > least else 1.0
    for stratum, mine in enumerate(members):
        rng = np.random.default_rng([seed, stratum])
        more = int(max(share, 0.0) * (len(mine) - 1) + 1e-9)
        drawn[rng.choice(mine, min(1 + more, len(mine)), replace=False)] = True
    if len(strata) > 1 and drawn.sum() == 1:  # one part says nothing of how parts differ
        drawn[np.flatnonzero(~drawn)[0]] = True
    return drawn
