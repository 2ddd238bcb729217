"""Which parts of the inputs are read, and which of those taken whole: drawn by a seed, in strata.

    inputs ── cut into some 25 parts ── strata ── read: within the budget ── a sample of these

Where the budget has no room for all, these are some 100.

A part is a shard like any other, only smaller: a byte range of JSON Lines, row groups of Parquet,
record batches of Arrow, a few text files. Strata are sources and files. A compressed file can only
be read from its beginning, so where an input has several and not all is read, whole files are
drawn.
"""

from collections import Counter
from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np

from tokenmill.dedup.arrays import F64, I64, Bools
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Plan, SourceShard
from tokenmill.pipelines.measure.chosen import Choice
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.read.readers import reader_named

PARTS = 25  # where all is read: each takes 15 to 20 ms besides what its text does
MANY_PARTS = 100  # where not all is: those read tell how parts differ
FEW_PARTS, PARTS_READ = 5, 25  # of a budget that has room for less than the few, the many
MOST_PARTS = 20_000  # of large inputs: 4 seconds to plan
LEAST_PART_BYTES = 1 << 18  # of smaller ones, opening the file is most of the work
LEAST_OF_FILE = 5  # parts of a file that is a stratum of its own
LONGEST_FRAC = 1e-3  # of all text: what is longer is chosen for certain
LEAST_READ = 2  # units: one says nothing of how they differ
FIFTH, SEEN_PARTS = 0.2, 20  # of all, of which is seen how documents lie side by side, at least
SAMPLED = 32e6  # bytes, where it is not said, a second of work: as sure of 100 GB as of 50 MB
EVERYTHING = 1.0


class Sample(NamedTuple):
    """The parts of the inputs, which of them are read, and what is chosen of those.

    strata: (n_parts,) int, which stratum each is of.  drawn: (n_parts,) bool, of which is seen
        how documents lie side by side: FIFTH of all and SEEN_PARTS at least, or as much as
        `sample` where it is said and more.
    read: (n_parts,) bool.  units: (n_parts,) int, ascending; parts of one unit, as a compressed
        file, are read together or not at all.
    choice: which documents of every part go through all steps (`chosen`).
    """

    plan: Plan
    strata: I64
    drawn: Bools
    read: Bools
    units: I64
    choice: Choice

    @property
    def checked(self) -> set[int]:
        """Numbers of the first and the last part drawn of each file, of which more is seen.

        One may hold no two documents; files of an input may differ, as by the length of ids.
        """
        first, last = dict[tuple[int, str], int](), dict[tuple[int, str], int]()
        for number in np.flatnonzero(self.drawn).tolist():
            part = self.plan.shards[number]
            file = part.input, part.paths[0]
            last[file] = number
            first.setdefault(file, number)
        return {*first.values(), *last.values()}

    @property
    def part_bytes(self) -> F64:
        return np.array([part.bytes for part in self.plan.shards], np.float64)

    @property
    def read_frac(self) -> float:
        """Share of the bytes of all inputs that is read."""
        return self._share(self.read)

    def _share(self, parts: Bools) -> float:
        part_bytes = self.part_bytes
        return float(part_bytes[parts].sum() / max(part_bytes.sum(), 1.0))


def draw_sample(
    recipe: Recipe,
    plan: Plan,
    *,
    sample: float | None,
    seed: int,
    budget: float = EVERYTHING,
    probes: int = 0,
) -> Sample:
    """Cut the inputs anew into parts, and draw those to read and those to choose of.

    plan: of the run itself.
    sample, budget: what is chosen and what is read: bytes, or up to 1 a share of them; None
        chooses `SAMPLED`, or all where there is less. Of each stratum one
        part is read; where the budget has no room for that, strata are coarser.
    probes: documents that are chosen at least. With images all are.
    """
    total = sum(shard.bytes for shard in plan.shards)
    room = bytes_of("--budget", budget, total)
    part_bytes = total // (PARTS if room >= total else MANY_PARTS)
    if room < FEW_PARTS * part_bytes:  # which would not tell how parts differ
        part_bytes = min(max(int(room) // PARTS_READ, total // MOST_PARTS), part_bytes)
    part_bytes = max(part_bytes, LEAST_PART_BYTES)
    parts = recipe.plan(min(part_bytes, recipe.shard_bytes))
    sizes = np.array([part.bytes for part in parts.shards], np.float64)
    room = bytes_of("--budget", budget, float(sizes.sum()))
    files = _read_whole(parts.shards) if room < sizes.sum() else set[str]()
    units = _units(parts.shards, files)
    wanted = SAMPLED if sample is None else bytes_of("--sample", sample, float(sizes.sum()))
    least = max(FIFTH, SEEN_PARTS / len(sizes)) * float(sizes.sum())
    drawn_bytes = least if sample is None else max(least, wanted)
    strata = strata_of(parts.shards, files)
    is_many = (strata.max() + 1) * sizes.mean() > drawn_bytes
    strata = _affordable(parts.shards, strata, units, min(room, drawn_bytes) if is_many else room)
    read = _read(sizes, strata, units, budget_bytes=room, seed=seed)
    drawn = np.zeros(len(sizes), np.bool_)
    drawn[read] = draw(
        sizes[read],
        np.unique(strata[read], return_inverse=True)[1].astype(np.int64),
        budget_bytes=drawn_bytes,
        seed=seed,
    )
    there = max(float(sizes[read].sum()), 1.0)
    share = min(wanted / there, 1.0)
    chosen = share if recipe.images is None else 1.0
    choice = Choice(chosen, probes / there, there * LONGEST_FRAC, share)
    return Sample(parts, strata, drawn, read, units, choice)


def bytes_of(option: str, amount: float, total: float) -> float:
    """A budget as bytes; up to 1 it is a share of all.

    ConfigError: it is not over 0; names the option.

    >>> bytes_of("--budget", 0.2, 1000.0), bytes_of("--budget", 300.0, 1000.0)
    (200.0, 300.0)
    """
    if not amount > 0:
        raise ConfigError(f"{option} {amount:g}: write bytes, or a share of them, over 0 and to 1")
    return amount * total if amount <= 1 else amount


def strata_of(parts: Sequence[SourceShard], files: Set[str]) -> I64:
    """(n_parts,) stratum of each: its file, or its input where files have few parts.

    files: those that are read whole or not at all.
    """
    places = [(part.input, part.paths[0]) for part in parts]
    counts = Counter(places)
    names = [
        place
        if counts[place] >= LEAST_OF_FILE
        and not reader_named(part.format).whole
        and place[1] not in files
        else (part.input, "")
        for place, part in zip(places, parts, strict=True)
    ]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int64)


def _affordable(parts: Sequence[SourceShard], strata: I64, units: I64, room: float) -> I64:
    """These strata if a unit of each has room, else inputs, else all parts as one."""
    sizes = np.bincount(units, [part.bytes for part in parts])
    inputs = np.unique([part.input for part in parts], return_inverse=True)[1].astype(np.int64)
    for coarser in (strata, inputs):
        of_unit = coarser[np.unique(units, return_index=True)[1]]
        if (np.bincount(of_unit, sizes) / np.bincount(of_unit)).sum() <= room:
            return coarser
    return np.zeros_like(strata)


def _read_whole(parts: Sequence[SourceShard]) -> set[str]:
    """Compressed files of inputs that have several: there whole files can be drawn."""
    files = {(part.input, part.paths[0]) for part in parts if part.compression}
    counts = Counter(number for number, _ in files)
    return {path for number, path in files if counts[number] >= LEAST_OF_FILE}


def _units(parts: Sequence[SourceShard], files: Set[str]) -> I64:
    first: dict[str, int] = {}
    names = [
        first.setdefault(part.paths[0], i) if part.paths[0] in files else i
        for i, part in enumerate(parts)
    ]
    return np.unique(np.array(names, np.int64), return_inverse=True)[1].astype(np.int64)


def _read(part_bytes: F64, strata: I64, units: I64, *, budget_bytes: float, seed: int) -> Bools:
    """(n_parts,) which parts are read: units drawn, as many as the budget has room for."""
    if budget_bytes >= part_bytes.sum():
        return np.ones(len(strata), np.bool_)
    of_unit = strata[np.unique(units, return_index=True)[1]]
    sizes = np.bincount(units, part_bytes).astype(np.float64)
    read = draw(sizes, of_unit, budget_bytes=budget_bytes, seed=seed, kind=1)
    counts, used = np.bincount(of_unit, read), float(sizes[read].sum())
    rng = np.random.default_rng([seed, len(of_unit)])
    for unit in rng.permutation(np.flatnonzero(read)).tolist():  # files are larger or smaller
        if used <= budget_bytes or read.sum() <= LEAST_READ:
            break
        if counts[of_unit[unit]] > 1:
            read[unit] = False
            counts[of_unit[unit]] -= 1
            used -= float(sizes[unit])
    for unit in rng.permutation(np.flatnonzero(~read)).tolist():  # strata have whole units alone
        if used + sizes[unit] <= budget_bytes:
            read[unit] = True
            used += float(sizes[unit])
    return np.asarray(read[units], np.bool_)


def draw(part_bytes: F64, strata: I64, *, budget_bytes: float, seed: int, kind: int = 0) -> Bools:
    """(n_parts,) which parts are drawn: of each stratum one, and of the rest an equal share.

    kind: what they are drawn for; draws of two kinds have nothing in common.
    """
    drawn = np.zeros(len(strata), np.bool_)
    total = float(part_bytes.sum())
    n_strata = int(strata.max(initial=-1)) + 1
    members = [np.flatnonzero(strata == s) for s in range(n_strata)]
    least = sum(float(part_bytes[m].mean()) for m in members)
    share = (budget_bytes - least) / (total - least) if total > least else 1.0
    for stratum, mine in enumerate(members):
        rng = np.random.default_rng([seed, stratum, kind] if kind else [seed, stratum])
        more = int(max(share, 0.0) * (len(mine) - 1) + 1e-9)
        drawn[rng.choice(mine, min(1 + more, len(mine)), replace=False)] = True
    if len(strata) > 1 and drawn.sum() == 1:  # one part says nothing of how parts differ
        drawn[np.flatnonzero(~drawn)[0]] = True
    return drawn
