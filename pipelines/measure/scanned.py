"""The account of each stage over all inputs: counted, or told by the parts that were read.

every part read ── counts, exact
some of them ── sums by unit ── ratio estimates, stratified; units are the clusters

The account of each stage over all parts, and whether it leaves anything to predict.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.measure.drawn import Drawn, exact
from tokenmill.pipelines.measure.job import MeasureJob
from tokenmill.pipelines.measure.sample import Sample
from tokenmill.pipelines.measure.scan import READ, PartFacts
from tokenmill.pipelines.measure.unseen import Unseen
from tokenmill.pipelines.measure.weights import LocalSample
from tokenmill.pipelines.runs.receipt import Receipt

Counted: TypeAlias = Literal["docs", "bytes", "images", "image_bytes"]
End: TypeAlias = Literal["in", "out"]
ENDS: tuple[End, ...] = ("in", "out")


class Scanned:
    """What the stages made of the documents.

    totals: of what was read.  first, later: those of the stages before duplicates are looked for,
    and behind.  is_whole: all inputs were read.
    read: (n_parts,) bool, parts that were read and could be.

    Raises:
        ConfigError: no document is left.
    """

    def __init__(
        self, job: MeasureJob, sample: Sample, receipts: Sequence[Receipt[PartFacts] | None]
    ) -> None:
        """receipts: of the parts, in their order; None for one that was not read."""
        self._job, self._sample = job, sample
        self._receipts = receipts
        self.totals = totals_of([r for r in receipts if r is not None])
        check_survivors(self.totals)
        n_first = 1 + len(job.first_pass.stages)
        self.first = dict(list(self.totals.items())[:n_first])
        self.later = dict(list(self.totals.items())[n_first:])
        self.is_whole = bool(sample.read.all())
        self.read = np.array([r is not None for r in receipts], np.bool_)
        self.units, self.unit_of = np.unique(sample.units[self.read], return_inverse=True)

    @property
    def before(self) -> StageStats:
        """The stage that leaves what duplicates are looked for among."""
        return list(self.first.values())[-1]

    def went_in(self, what: Counted) -> Drawn:
        """Of all inputs."""
        read = float(_count(self.totals[READ], what, "in"))
        return exact(read) if self.is_whole else self._told(READ, what).total("in")

    def kept(self, name: str, what: Counted) -> Drawn:
        """What goes on from a stage, as a share of what reached it."""
        stats = self.totals[name]
        reached, goes_on = _count(stats, what, "in"), _count(stats, what, "out")
        if self.is_whole or reached == 0:
            return exact(goes_on / reached if reached else 0.0)
        sample = self._told(name, what)
        if (sample.sums["out"] > sample.sums["in"]).any():  # normalized text may be longer
            return sample.ratio("out", "in")
        return sample.fraction("out", "in")

    def left(self, what: Counted) -> Drawn:
        """That duplicates are looked for among."""
        left = self.went_in(what)
        for name in self.first:
            left = left * self.kept(name, what)
        return left

    def times(self, what: Counted) -> Drawn:
        """All that duplicates are looked for among, as so many times what was read of it."""
        read = float(_count(self.before, what, "out"))
        return (self.left(what) * (1 / read)).within(1.0)

    def sums(self, name: str) -> Drawn:
        """Of all inputs, a sum that was made of each part."""
        values = self._by_unit([float(r.facts.sums.get(name, 0)) for r in self._there])
        if self.is_whole or not values.any():
            return exact(float(values.sum()))
        return self._over_units({"sum": values}).total("sum")

    def sum_names(self) -> list[str]:
        """Of all sums that any part has."""
        return sorted({name for r in self._there for name in r.facts.sums})

    def by_unit(self, what: Counted) -> F64:
        """(n_units,) that duplicates are looked for among, of each unit read."""
        last = len(self.first) - 1
        return self._by_unit([_count(r.stats[last][1], what, "out") for r in self._there])

    def unseen(self) -> Unseen:
        """What the units read say of those that were not."""
        strata, strata_bytes, unit_bytes = self._unit_strata()
        return Unseen(
            strata=strata,
            unit_bytes=unit_bytes,
            strata_bytes=strata_bytes,
            docs=self.before.docs_out,
            seed=self._job.measuring.seed,
        )

    def _over_units(self, sums: dict[str, F64]) -> LocalSample:
        """The statistics of sums over the units read."""
        strata, strata_bytes, unit_bytes = self._unit_strata()
        return LocalSample(
            strata=strata,
            strata_bytes=strata_bytes,
            cluster_bytes=unit_bytes,
            read_bytes=unit_bytes,
            docs=np.maximum(self.by_unit("docs"), 1).astype(np.int64),
            sums=sums,
            seed=self._job.measuring.seed,
        )

    @property
    def _there(self) -> list[Receipt[PartFacts]]:
        return [r for r in self._receipts if r is not None]

    def _told(self, name: str, what: Counted) -> LocalSample:
        at = list(self.totals).index(name)
        stats = [r.stats[at][1] for r in self._there]
        ends = {end: [_count(s, what, end) for s in stats] for end in ENDS}
        return self._over_units({end: self._by_unit(values) for end, values in ends.items()})

    def _by_unit(self, values: Sequence[float] | F64) -> F64:
        summed = np.bincount(self.unit_of, np.array(values, np.float64), len(self.units))
        return summed.astype(np.float64)

    def _unit_strata(self) -> tuple[I64, F64, F64]:
        """(n_units,) stratum of each read, (n_strata,) bytes of all, (n_units,) bytes of each.

        Strata of which nothing could be read join the first.
        """
        sizes, strata = np.maximum(self._sample.part_bytes, 1.0), self._sample.strata
        seen = np.unique(strata[self.read])
        place = np.minimum(np.searchsorted(seen, strata), len(seen) - 1)
        place = np.where(seen[place] == strata, place, 0)
        first = np.unique(self.unit_of, return_index=True)[1]
        strata_bytes = np.bincount(place, sizes, len(seen)).astype(np.float64)
        return place[self.read][first], strata_bytes, self._by_unit(sizes[self.read])


def _count(stats: StageStats, what: Counted, end: End) -> int:
    """What went in or out; no images where it is told of none."""
    if what in ("docs", "bytes"):
        return int(getattr(stats, f"{what}_{end}"))
    name = "images" if what == "images" else "bytes"
    return int(getattr(stats.images or ImageStats(), f"{name}_{end}"))


def totals_of(receipts: Sequence[Receipt[Any]]) -> dict[str, StageStats]:
    """The account of each stage over all parts, in order."""
    totals: dict[str, StageStats] = {}
    for receipt in receipts:
        for name, stats in receipt.stats:
            totals[name] = totals.get(name, StageStats()) + stats
    return totals


def check_survivors(totals: Mapping[str, StageStats]) -> None:
    """Refuse a corpus of which nothing is left.

    Raises:
        ConfigError: it is empty, or names the stage that took the last document.
    """
    if not totals or totals[READ].docs_in == 0:
        raise ConfigError("the inputs hold no document; nothing to predict")
    for name, stats in totals.items():
        if stats.docs_out == 0:
            reasons = {**stats.removed, **stats.failed}
            worst = max(reasons, key=lambda r: reasons[r]) if reasons else "nothing went in"
            raise ConfigError(
                f"{name} leaves none of {stats.docs_in:,} documents (most often: {worst});"
                " nothing to predict"
            )
        if stats.bytes_out == 0:
            raise ConfigError(
                f"the {stats.docs_out:,} documents that {name} leaves have no text; nothing to"
                " predict"
            )
