"""What the corpus-wide steps leave, as shares of what there was.

probes ── 1 / copies ──┐
                       ├── share of what was read ── unseen ── share of all inputs
clusters, whole ───────┘   (exact, where not all was read)
"""

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pipelines.estimate.drawn import Drawn, exact
from pipelines.estimate.growth import Growth
from pipelines.estimate.hash_space import HashSample
from pipelines.estimate.unique import Probes, bracket
from pipelines.estimate.unseen import Seen
from pipelines.estimating.copies import Copies, Probed
from pipelines.estimating.job import MeasureJob
from pipelines.estimating.key_sample import Clusters
from pipelines.estimating.sample import Sample
from pipelines.estimating.scanned import Counted, Scanned

F64 = npt.NDArray[np.float64]
What: TypeAlias = Literal["docs", "text", "end", "row"]
COUNTED: tuple[Counted, ...] = ("docs", "bytes")
ROW_BITS = np.uint64(32)


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
        modelled = self._unseen.is_modelled(self._times["docs"])
        self.is_modelled = modelled and self.growth() is not None

    def of(self, what: What, *, passed: int = 0) -> Drawn:
        """As `by`, of all steps together."""
        return self.by(self._probed.last, what, passed=passed)

    def by(self, copies: Copies, what: What, *, passed: int = 0) -> Drawn:
        """What a corpus-wide step, and those before it, leave, as a share of what there was.

        what: documents, their text, or their text at the end; "row", bytes of their rows in the
            dataset, as a share of as many of the largest.
        passed: of those documents that pass as many of the later stages.
        """
        if self.is_whole:
            return self._of_read(copies, what, passed)
        clusters = self._clusters_of(copies)
        if clusters is None:
            of_read = self._of_read(copies, what, passed)
        else:
            of_read = self._of_clusters(clusters, what, passed)
        seen, times = self._seen(copies, what, passed), self._times[_counted(what)]
        return self._unseen.left(of_read, seen, times, modelled=self.is_modelled)

    def row_bytes(self) -> Drawn:
        """Of the rows of the dataset, besides their ids."""
        return self.of("row") * self._largest_row() * self._scanned.left("docs")

    def growth(self) -> Growth | None:
        """How unique documents grew with the parts that were read."""
        return self._unseen.growth(self._seen(self._probed.last, "docs", 0))

    def grown(self, times: float) -> Drawn | None:
        """Unique documents of so many times all inputs.

        Raises:
            ConfigError: so many are more than twice those read.
        """
        last = self._probed.last
        of_read = self._of_read(last, "docs", 0)
        seen = self._seen(last, "docs", 0)
        return self._unseen.grown(of_read, seen, self._times["docs"] * times)

    def _of_read(self, copies: Copies, what: What, passed: int) -> Drawn:
        whole = np.where(copies.whole, copies.copies, self._probed.corpus_docs)
        closure = self._share_left(copies, whole, what, passed)
        if copies.whole.all():
            return closure
        return bracket(self._share_left(copies, copies.alike, what, passed), closure)

    def _share_left(
        self, copies: Copies, counts: npt.NDArray[np.int64], what: What, passed: int
    ) -> Drawn:
        weights, left = self._weighed(copies, counts, what, passed)
        taken = self._probed.certain
        of_taken = float(weights[taken].sum())
        if taken.all():
            return exact(float(left.sum()) / of_taken)
        probes = Probes(
            copies=np.ones(int((~taken).sum()), np.int64),
            corpus_docs=self._probed.others,
            seed=self._job.measuring.seed,
        )
        drawn = probes.unique_frac(weights[~taken], (left / weights)[~taken])
        whole = float(getattr(self._scanned.before, f"{_counted(what)}_out"))
        share = max(1 - of_taken / whole, 0.0)
        return drawn * share + float(left[taken].sum()) / whole

    def _weighed(
        self, copies: Copies, counts: npt.NDArray[np.int64], what: What, passed: int
    ) -> tuple[F64, F64]:
        """(n,) what each probe weighs, and what is left of it."""
        weights = np.ones(len(counts))
        if what in ("text", "end"):
            weights = np.maximum(self._probed.ends["text_bytes"], 1).astype(np.float64)
        return weights, self._kept(copies.first, what, passed) / counts

    def _of_clusters(self, clusters: Clusters, what: What, passed: int) -> Drawn:
        """As `_of_read`, from a sample of clusters."""
        giant, kept = clusters.giant, self._kept(clusters.first, what, passed)
        told = HashSample(
            sizes=clusters.sizes[~giant],
            giants=clusters.sizes[giant],
            share=clusters.share,
            docs=self._probed.corpus_docs,
            seed=self._job.measuring.seed,
        )
        if what == "docs" and passed == 0:
            return told.unique_frac()
        whole = float(getattr(self._scanned.before, f"{_counted(what)}_out"))
        if not kept.any():
            return exact(0.0)
        return told.unique_weight_frac(kept[~giant], kept[giant], whole)

    def _seen(self, copies: Copies, what: What, passed: int) -> Seen:
        clusters = self._clusters_of(copies)
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
        parts = (self._probed.doc_id >> ROW_BITS).astype(np.int64)
        units = np.searchsorted(self._scanned.units, self._units[parts])
        return Seen(
            left=left * self._probed.scale,
            spans=np.where(copies.whole, copies.units, 1),
            units=units,
            whole=np.bincount(units, weights * self._probed.scale, n).astype(np.float64),
            looked_at=np.bincount(units, minlength=n).astype(np.float64),
        )

    def _kept(self, first: dict[str, npt.NDArray[np.int64]], what: What, passed: int) -> F64:
        """(n,) what the first document of a cluster comes to, if it passes so many stages."""
        kept = (first["left_at"] >= passed).astype(np.float64)
        if what == "docs":
            return kept
        if what == "row":
            return kept * first["row_bytes"] / self._largest_row()
        return kept * first[f"{what}_bytes"]

    def _clusters_of(self, copies: Copies) -> Clusters | None:
        return self._probed.clusters if copies is self._probed.last else None

    def _largest_row(self) -> float:
        return float(max(self._probed.last.first["row_bytes"].max(), 1))


def _counted(what: What) -> Counted:
    return "docs" if what in ("docs", "row") else "bytes"
