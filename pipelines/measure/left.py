"""What the corpus-wide steps leave, as shares of what there was.

probes ── 1 / copies ──┐
                       ├── share of what was read ── unseen ── share of all inputs
clusters, whole ───────┘   (of equal documents, where all are known or not all was read)
"""

from typing import Literal, TypeAlias

import numpy as np

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.measure.clusters import Clusters
from tokenmill.pipelines.measure.copies import Copies, Probed
from tokenmill.pipelines.measure.drawn import Drawn, exact, generator
from tokenmill.pipelines.measure.job import MeasureJob
from tokenmill.pipelines.measure.sample import Sample
from tokenmill.pipelines.measure.scanned import Counted, Scanned
from tokenmill.pipelines.measure.unique import bracket, distinct, unique_frac, unique_weight_frac
from tokenmill.pipelines.measure.unseen import Growth, Seen

What: TypeAlias = Literal["docs", "text", "end", "row"]
COUNTED: tuple[Counted, ...] = ("docs", "bytes")
NEXT_TO_NOTHING = 1e-12  # a weight that is not 0


class Left:
    """Shares that are left of documents and their text, of all inputs.

    is_whole: all of them were read.  is_modelled: else, a model tells of what was not.
    """

    def __init__(self, job: MeasureJob, sample: Sample, probed: Probed, scanned: Scanned) -> None:
        self._job, self._probed, self._scanned = job, probed, scanned
        self._units = sample.units
        self._unseen = scanned.unseen()
        self._times = {what: scanned.times(what) for what in COUNTED}
        self.is_whole = scanned.is_whole
        # of a part, repeated images are told by themselves: what unread documents have of them is
        # in their interval, and how many of these are unique is not
        step = job.image_step
        self._images = None if step is None else probed.steps.get(step.name)
        self._apart = None
        if not self.is_whole and self._images is not probed.last:
            self._apart = self._images
        modelled = self._unseen.is_modelled(self._times["docs"])
        self.is_modelled = modelled and self.growth() is not None

    def of(self, what: What, *, passed: int = 0) -> Drawn:
        """As `by`, of all steps together."""
        left = self.by(self._probed.last, what, passed=passed)
        if self._apart is None:
            return left
        return left * self.by(self._apart, "docs" if _counted(what) == "docs" else "text")

    def by(self, copies: Copies, what: What, *, passed: int = 0) -> Drawn:
        """What a corpus-wide step, and those before it, leave, as a share of what there was.

        what: documents, their text, or their text at the end; "row", bytes of their rows in the
            dataset, as a share of as many of the largest.
        passed: of those documents that pass as many of the later stages.
        """
        of_read = self._of_read(copies, what, passed)
        if self.is_whole or copies is self._images:
            return of_read
        seen, times = self._seen(copies, what, passed), self._times[_counted(what)]
        return self._unseen.left(of_read, seen, times, modelled=self.is_modelled)

    def unseen_by(self, before: Copies, copies: Copies, what: What) -> Drawn:
        """What a further step may leave where it took none of those drawn by chance, as a share.

        In what two steps leave that error is the same, and cancels in what the second takes.
        """
        weights, left = self._weighed(copies, copies.most, what, 0)
        _, had = self._weighed(before, before.most, what, 0)
        if (left < had)[self._probed.chance < 1].any():
            return exact(1.0)
        whole, seed = self._scanned.before(_counted(what)), self._job.measuring.seed
        may = share_of(self._probed, weights, weights, whole=whole, seed=seed)
        return Drawn(may.value, generator("unseen", seed).permutation(may.draws))

    def row_bytes(self) -> Drawn:
        """Of the rows of the dataset, besides their ids."""
        return self.of("row") * self._largest_row() * self._scanned.left("docs")

    def beyond_read(self) -> Drawn:
        """What is left of all documents, as so many times what is left of those read."""
        if self.is_whole:
            return exact(1.0)
        last = self._probed.last
        return (self.by(last, "docs") / self._of_read(last, "docs", 0)).within(most=1.0)

    def growth(self) -> Growth | None:
        """How unique documents grew with the parts that were read."""
        return self._unseen.growth(self._seen(self._probed.last, "docs", 0))

    def grown(self, times: float) -> Drawn | None:
        """Unique documents of so many times all inputs.

        ConfigError: so many are more than twice those read.
        """
        last = self._probed.last
        of_read = self._of_read(last, "docs", 0)
        seen = self._seen(last, "docs", 0)
        return self._unseen.grown(of_read, seen, self._times["docs"] * times)

    def _of_read(self, copies: Copies, what: What, passed: int) -> Drawn:
        """The share that is left of what was read: known, if all its clusters are."""
        clusters = self._clusters_of(copies, what, passed)
        if clusters is not None and not (self.is_whole and clusters.share < 1):
            return self._of_clusters(clusters, what, passed)
        closure = self._share_left(copies, copies.most, what, passed)
        if copies.whole.all():
            return closure
        return bracket(self._share_left(copies, copies.alike, what, passed), closure)

    def _share_left(self, copies: Copies, counts: F64, what: What, passed: int) -> Drawn:
        weights, left = self._weighed(copies, counts, what, passed)
        whole, seed = self._scanned.before(_counted(what)), self._job.measuring.seed
        return share_of(self._probed, weights, left, whole=whole, seed=seed)

    def _weighed(self, copies: Copies, counts: F64, what: What, passed: int) -> tuple[F64, F64]:
        """(n,) what each probe weighs, and what is left of it."""
        weights = np.ones(len(counts))
        if what in ("text", "end"):
            weights = self._probed.ends["text_bytes"].astype(np.float64)
        return weights, self._kept(copies.first, what, passed) / counts

    def _of_clusters(self, clusters: Clusters, what: What, passed: int) -> Drawn:
        """As `_of_read`, from a sample of clusters, or all of them."""
        giant, kept = clusters.giant, self._kept(clusters.first, what, passed)
        share, seed = clusters.share, self._job.measuring.seed
        if what == "docs" and passed == 0:
            of_keys, n = (clusters.sizes[~giant], clusters.sizes[giant]), self._probed.corpus_docs
            return distinct(*of_keys, share=share, docs=n, seed=seed) * (1 / n)
        whole = self._scanned.before(_counted(what)).value
        if not kept.any():
            return exact(0.0)
        whole = max(whole, float(kept.sum()))  # text may be longer when it is normalized
        return unique_weight_frac(kept[~giant], kept[giant], whole, share=share, seed=seed)

    def _seen(self, copies: Copies, what: What, passed: int) -> Seen:
        clusters = self._clusters_of(copies, what, passed)
        n = len(self._scanned.units)
        if clusters is not None:
            units = np.searchsorted(self._scanned.units, clusters.unit)
            return Seen(
                left=self._kept(clusters.first, what, passed) * clusters.stands_for,
                spans=clusters.units,
                units=units,
                whole=self._scanned.by_unit(_counted(what)),
                looked_at=np.bincount(units, minlength=n).astype(np.float64),
            )
        # those whose clusters were not found whole might be of one unit
        counts = np.where(copies.whole, copies.copies, copies.alike)
        weights, left = self._weighed(copies, counts, what, passed)
        units = np.searchsorted(self._scanned.units, self._units[self._probed.parts])
        return Seen(
            left=left * self._probed.scale,
            spans=np.where(copies.whole, copies.units, 1),
            units=units,
            whole=np.bincount(units, weights * self._probed.scale, n).astype(np.float64),
            looked_at=np.bincount(units, minlength=n).astype(np.float64),
        )

    def _kept(self, first: dict[str, I64], what: What, passed: int) -> F64:
        """(n,) what the first document of a cluster comes to, if it passes so many stages."""
        passes = first["left_at"] >= passed
        if not passed:  # all do that were not chosen, where these are asked for
            passes = passes | (first["chance"] == 0)
        kept = passes.astype(np.float64)
        if what == "docs":
            return kept
        if what == "row":
            return kept * first["row_bytes"] / self._largest_row()
        return kept * first[f"{what}_bytes"]

    def _clusters_of(self, copies: Copies, what: What, passed: int) -> Clusters | None:
        """Where it is known of the first of each cluster what is asked."""
        clusters = self._probed.clusters if copies is self._probed.last else None
        if clusters is None or (what in ("docs", "text") and not passed):
            return clusters
        return clusters if (clusters.first["chance"] > 0).all() else None

    def _largest_row(self) -> float:
        """Bytes of the largest row that is known of, to measure others by."""
        known = [self._probed.last.first]
        if self._probed.clusters is not None:
            known.append(self._probed.clusters.first)
        return float(max(1, *(first["row_bytes"].max(initial=1) for first in known)))


def share_of(probed: Probed, weights: F64, left: F64, *, whole: Drawn, seed: int) -> Drawn:
    """What is left, as a share of what there was; (n,) of each probe.

    weights: what there was; some over 0.  whole: of all documents that were read. How many passed
        the filters may not be known: then neither is, how much of it was not taken for certain.
    """
    weights = np.maximum(weights, NEXT_TO_NOTHING)
    taken, n = probed.chance >= 1, probed.scale
    of_taken = float(weights[taken].sum())
    if taken.all():
        return exact(float(left.sum()) / of_taken)
    part, size = (left / weights)[~taken], (weights * n)[~taken]
    drawn = unique_frac(part, size, chances=probed.chance[~taken], seed=seed)
    whole = whole.within(of_taken)
    others = exact(1.0) - exact(of_taken) / whole
    return drawn * others + exact(float(left[taken].sum())) / whole


def _counted(what: What) -> Counted:
    return "docs" if what in ("docs", "row") else "bytes"
