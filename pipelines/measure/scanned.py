"""What the parts of the inputs that were read say of all of them.

every part read ──┬── what all documents go through ── counts, exact
                  └── what those chosen go through ── ratios (`chosen`)
some of them ── sums by unit ── ratio estimates, stratified; units are the clusters
documents tokenized ── those of them that were probed ── weight 1 / (chance * copies) ── sums

A document with copies counts for one of them, so what is told of tokens is told of the documents
that are left. Where the recipe looks for no duplicates, each document counts as one.
"""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from tokenmill.dedup.arrays import F64, I64, U64, Bools
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.measure.beside import ROWS
from tokenmill.pipelines.measure.chosen import MOMENTS, ratio_of
from tokenmill.pipelines.measure.copies import Probed
from tokenmill.pipelines.measure.drawn import Drawn, exact
from tokenmill.pipelines.measure.job import LOCAL_FOLDER, MeasureJob
from tokenmill.pipelines.measure.sample import Sample
from tokenmill.pipelines.measure.scan import BESIDE, DOCUMENTS, ENCODED, LOCAL, READ, PartFacts
from tokenmill.pipelines.measure.unseen import Unseen
from tokenmill.pipelines.measure.weights import DocumentSample, LocalSample
from tokenmill.pipelines.runs.finished import FEW_DOCS
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.storage.files import open_arrow

Counted: TypeAlias = Literal["docs", "bytes", "images", "image_bytes"]
End: TypeAlias = Literal["in", "out"]
NEXT_TO_NOTHING = 1e-9  # bytes: of text there is none
STAYS = "stays "  # and of what: that which no step that is not predicted changes
MOST_LOCAL = 200_000  # documents: 8 MB
ENDS: tuple[End, ...] = get_args(End)
COUNTED: tuple[Counted, ...] = get_args(Counted)


class Stays(NamedTuple):
    """Least shares of what comes to steps that are not predicted and leaves them unchanged."""

    docs: float = 1.0
    text_bytes: float = 1.0
    tokens: float = 1.0


class Scanned:
    """What the stages made of the documents.

    totals: of what went through each stage.  first, later: those of the stages before duplicates
    are looked for, and behind.  is_whole: all inputs were read.
    counted: names of the stages that all documents that were read went through.
    read: (n_parts,) bool, parts that were read and could be.
    ConfigError: no document is left.
    """

    def __init__(
        self, job: MeasureJob, sample: Sample, receipts: Sequence[Receipt[PartFacts] | None]
    ) -> None:
        """receipts: of the parts, in their order; None for one that was not read."""
        self._job, self._sample = job, sample
        self._columns, self._ratios = _columns(receipts), dict[str, Drawn]()
        self.totals = totals_of([r for r in receipts if r is not None])
        check_survivors(self.totals)
        n_first = 1 + len(job.first_pass.stages)
        self.first = dict(list(self.totals.items())[:n_first])
        self.later = dict(list(self.totals.items())[n_first:])
        self.counted = {READ, *(stage.stage_name for stage in job.counted_stages)}
        self.is_whole = bool(sample.read.all())
        self.read = np.array([r is not None for r in receipts], np.bool_)
        self.units, self.unit_of = np.unique(sample.units[self.read], return_inverse=True)

    def before(self, what: Counted) -> Drawn:
        """What comes to where duplicates are looked for, of what was read."""
        left = exact(float(_count(self.totals[READ], what, "in")))
        for name in self.first:
            left *= self._kept_of_read(name, what)
        return left

    @property
    def is_counted(self) -> bool:
        """Whether all documents went through all stages."""
        asked = (self._kept_of_read(name, "docs") for name in self.totals)
        return self.is_whole and all((kept.draws == kept.value).all() for kept in asked)

    def went_in(self, what: Counted) -> Drawn:
        """Of all inputs."""
        read = float(_count(self.totals[READ], what, "in"))
        return exact(read) if self.is_whole else self._told(READ, what).total("in")

    def kept(self, name: str, what: Counted) -> Drawn:
        """What goes on from a stage, as a share of what reached it."""
        of_read = self._kept_of_read(name, what)
        if self.is_whole or of_read.value == 0:
            return of_read
        sample = self._told(name, what)
        if (sample.sums["out"] > sample.sums["in"]).any():  # normalized text may be longer
            return sample.ratio("out", "in")
        return sample.fraction("out", "in")

    def _kept_of_read(self, name: str, what: Counted) -> Drawn:
        if name not in self.counted and what in ("docs", "bytes"):
            return self.ratio(f"{name} {what}")
        reached, goes_on = (_count(self.totals[name], what, end) for end in ENDS)
        return exact(goes_on / reached if reached else 0.0)

    def ratio(self, name: str) -> Drawn:
        """Of documents chosen of what was read, that of the moments of a name."""
        if name not in self._ratios:  # a millisecond or two each, and asked for by many figures
            sums = {key: float(self._sum(key).sum()) for key in (f"{name} {m}" for m in MOMENTS)}
            self._ratios[name] = ratio_of(name, sums, self._job.measuring.seed)
        return self._ratios[name]

    def left(self, what: Counted) -> Drawn:
        """That duplicates are looked for among."""
        left = self.went_in(what)
        for name in self.first:
            left = left * self.kept(name, what)
        return left

    def times(self, what: Counted) -> Drawn:
        """All that duplicates are looked for among, as so many times what was read of it."""
        if self.is_whole:
            return exact(1.0)
        return (self.left(what) * (1 / self.before(what).value)).within(1.0)

    def sums(self, name: str) -> Drawn:
        """Of all inputs, a sum that was made of each part."""
        values = self._by_unit(self._sum(name))
        if self.is_whole or not values.any():
            return exact(float(values.sum()))
        return self._over_units({"sum": values}).total("sum")

    def sum_names(self) -> list[str]:
        """Of all sums that any part has."""
        return sorted(self._columns.sums)

    def by_unit(self, what: Counted) -> F64:
        """(n_units,) that duplicates are looked for among, of each unit read."""
        return self._by_unit(self._at(list(self.first)[-1], what, "out"))

    def unseen(self) -> Unseen:
        """What the units read say of those that were not."""
        strata, strata_bytes, unit_bytes = self._unit_strata()
        return Unseen(
            strata=strata,
            unit_bytes=unit_bytes,
            strata_bytes=strata_bytes,
            docs=round(self.before("docs").value),
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

    def _told(self, name: str, what: Counted) -> LocalSample:
        return self._over_units({end: self._by_unit(self._at(name, what, end)) for end in ENDS})

    def _at(self, name: str, what: Counted, end: End) -> F64:
        """(n_parts,) that comes to a stage or goes on, of each part."""
        if name not in self.counted and what in ("docs", "bytes"):
            return self._sum(f"{name} {what} {end}")
        return self._columns.counts[name, what, end]

    def _by_unit(self, values: F64) -> F64:
        """(n_units,) sums over the units read, of values of each part."""
        return _summed(self.unit_of, values[self.read], len(self.units))

    def _unit_strata(self) -> tuple[I64, F64, F64]:
        """(n_units,) stratum of each read, (n_strata,) bytes of all, (n_units,) bytes of each.

        Strata of which nothing could be read join the first.
        """
        sizes, strata = np.maximum(self._sample.part_bytes, 1.0), self._sample.strata
        seen = np.unique(strata[self.read])
        place = np.minimum(np.searchsorted(seen, strata), len(seen) - 1)
        place = np.where(seen[place] == strata, place, 0)
        first = np.unique(self.unit_of, return_index=True)[1]
        return place[self.read][first], _summed(place, sizes, len(seen)), self._by_unit(sizes)

    def compressed(self) -> LocalSample:
        """Documents as they are set down between passes: bytes, text_bytes, seconds.

        Sums are of whole parts, as what was seen of each tells, which is less: errors go by that.
        """
        text_bytes, seen = self._at(list(self.first)[-1], "bytes", "out"), self._sum(BESIDE)
        times = np.divide(text_bytes, seen, out=np.zeros_like(seen), where=seen > 0)
        sums = {
            "bytes": self._sum(DOCUMENTS) * times,
            "seconds": self._seconds(DOCUMENTS) * times,
            "text_bytes": text_bytes,
        }
        parts = self._sample.drawn & (seen > 0)
        frac = float(seen[parts].sum() / max(text_bytes[parts].sum(), 1.0))
        return self._sampled(sums, parts, min(frac, 1.0) if parts.sum() > 1 else 1.0)

    @property
    def encoded_bytes(self) -> float:
        """Text that was tokenized."""
        return float(self._sum(ENCODED).sum())

    @property
    def beside_bytes(self) -> float:
        """Text of documents that were seen side by side."""
        return float(self._sum(BESIDE).sum())

    def removed_row_bytes(self) -> tuple[float, float] | None:
        """Least and most of a row of a document that leaves; None where no two were measured."""
        rows, least, most = (float(self._sum(name).sum()) for name in ROWS)
        return (least / rows, most / rows) if rows else None

    def tokens(self, probed: Probed | None) -> LocalSample:
        """What is left of documents at the end: docs, text_bytes, tokens; of each too what stays.

        ConfigError: no document that was tokenized is left.
        """
        local = self._local(probed)
        weight = looked_at = 1 / local["tokenized"]
        if probed is None:
            weight = looked_at = weight / local["chance"]
        else:  # whose chance has that of being chosen in it
            looked_at = weight * probed.scale[local["at"]]
            weight = looked_at * self._stands_for(probed)[local["at"]]
        left = weight > 0
        if not local["tokens"][left].any():
            raise ConfigError(
                "no text is left of the documents that were tokenized; sample more (--sample, now"
                f" {self._sample.choice.share:.2g} of the bytes) or loosen the filters"
            )
        part, size, tokens = (local[name][left] for name in ("part", "end_bytes", "tokens"))
        size = np.maximum(size, NEXT_TO_NOTHING)
        sums = {"text_bytes": weight[left] * size, "tokens": weight[left] * tokens}
        sums["docs"] = weight[left]
        stays = local["stays"][left].astype(np.float64)
        sums |= {f"{STAYS}{name}": values * stays for name, values in sums.items()}
        looked_at = 1 / looked_at[left]
        if not self.is_whole and len(np.unique(part)) > 1:  # parts differ, and not all were read
            n, frac = len(self.read), float(sums["text_bytes"] @ looked_at)
            sums = {name: _summed(part, values, n) for name, values in sums.items()}
            return self._sampled(sums, self.read, frac / float(sums["text_bytes"].sum()))
        at = np.flatnonzero(left).astype(np.uint64)
        if probed is not None:
            at = probed.kept_id[local["at"][left]]
        return of_documents(sums, looked_at, at, self._job.measuring.seed)

    def _stands_for(self, probed: Probed) -> F64:
        """(n,) documents that are left, of those that each probe stands for.

        Where documents are alike that differ in text, only those that are left tell of theirs.
        """
        left: Bools = probed.last.first["left_at"] >= 0
        differ = self._job.recipe.images is not None
        if differ or not all(step.compares_texts for step in self._job.dedup):
            itself = left & (probed.kept_id == probed.doc_id) & np.isfinite(probed.last.copies)
            if itself.any():
                return np.asarray(itself, np.float64)
        return np.asarray(left / probed.last.copies, np.float64)

    def _local(self, probed: Probed | None) -> dict[str, npt.NDArray[Any]]:
        """Columns of LOCAL, of the documents tokenized, and `part`; of probes alone if there are
        any, and `at`, which of them; else of so many as there is room for.
        """
        found: dict[str, list[npt.NDArray[Any]]] = defaultdict(list)
        most = max(MOST_LOCAL // max(int(self.read.sum()), 1), 2)
        for number in np.flatnonzero(self.read).tolist():
            path = self._job.path(LOCAL_FOLDER, key=self._sample.plan.shards[number].key)
            for batch in open_arrow(path)[0]:
                columns = {name: np.asarray(batch[name]) for name in LOCAL.names}
                here, columns["at"] = np.arange(batch.num_rows), np.zeros(batch.num_rows, np.int64)
                if probed is not None:
                    columns["at"] = np.searchsorted(probed.doc_id, columns["doc_id"])
                    at = np.minimum(columns["at"], len(probed.doc_id) - 1)
                    here = np.flatnonzero(probed.doc_id[at] == columns["doc_id"])
                elif len(here) > most:
                    here = here[:: len(here) // most]
                columns["part"] = np.full(batch.num_rows, number)
                for name, values in columns.items():
                    found[name].append(values[here])
        none = {name: np.zeros(0, np.int64) for name in (*LOCAL.names, "at", "part")}
        return none | {name: np.concatenate(values) for name, values in found.items()}

    def _sampled(
        self, sums: Mapping[str, F64], parts: Bools, looked_at_frac: float = 1.0
    ) -> LocalSample:
        """The statistics of sums over some parts.

        sums: (n_parts,) each; of text_bytes of those too that were not drawn.
        looked_at_frac: of the text bytes.
        ConfigError: nothing was left of the parts drawn.
        """
        sizes = sums["text_bytes"]
        looked_at = sizes * looked_at_frac
        used = parts & (looked_at > 0)
        if not used.any():
            raise ConfigError(
                "no text is left of the parts that were sampled; sample more (--sample, now"
                f" {self._sample.choice.share:.2g} of the bytes) or loosen the filters"
            )
        strata, sizes = self._collapsed(used), self._filled(sizes)
        units, first, unit = np.unique(
            self._sample.units[used], return_index=True, return_inverse=True
        )
        of_unit = np.bincount(self._sample.units, sizes).astype(np.float64)
        return LocalSample(
            strata=strata[used][first],
            strata_bytes=np.bincount(strata, sizes).astype(np.float64),
            cluster_bytes=of_unit[units],
            read_bytes=_summed(unit, looked_at[used], len(units)),
            docs=np.ones(len(units), np.int64),
            sums={name: _summed(unit, values[used], len(units)) for name, values in sums.items()},
            seed=self._job.measuring.seed,
        )

    def _filled(self, sizes: F64) -> F64:
        """Sizes of all parts; those of a part that was not read as its bytes have it."""
        read, part_bytes = self._sample.read, self._sample.part_bytes
        if read.all():
            return sizes
        strata, n = self._sample.strata, int(self._sample.strata.max()) + 1
        per_byte = _summed(strata[read], sizes[read], n) / np.maximum(
            _summed(strata[read], part_bytes[read], n), 1.0
        )
        return np.where(read, sizes, part_bytes * per_byte[strata])

    def _collapsed(self, used: Bools) -> I64:
        """Strata of the parts; those of which nothing was looked at join one of their source, or
        the first of all.
        """
        strata = self._sample.strata
        sources = [part.input for part in self._sample.plan.shards]
        seen = dict.fromkeys(strata[used].tolist())
        home: dict[int, int] = {}
        for stratum in seen:
            home.setdefault(sources[int(np.flatnonzero(strata == stratum)[0])], stratum)
        elsewhere = next(iter(seen))
        moved = [
            s if s in seen else home.get(source, elsewhere)
            for s, source in zip(strata.tolist(), sources, strict=True)
        ]
        return np.unique(moved, return_inverse=True)[1].astype(np.int64)

    def _sum(self, name: str) -> F64:
        """(n_parts,) what is told of each part; 0 of one that was not read, or could not be."""
        return self._columns.sums.get(name, np.zeros(len(self.read)))

    def _seconds(self, name: str) -> F64:
        return self._columns.seconds.get(name, np.zeros(len(self.read)))


class _Columns(NamedTuple):
    """What parts told, (n_parts,) by name: a receipt is unpacked each time that it is asked."""

    sums: Mapping[str, F64]
    seconds: Mapping[str, F64]
    counts: Mapping[tuple[str, Counted, End], F64]


def _columns(receipts: Sequence[Receipt[PartFacts] | None]) -> _Columns:
    sums, seconds, counts = (
        defaultdict[Any, F64](partial(np.zeros, len(receipts))) for _ in range(3)
    )
    for number, receipt in enumerate(receipts):
        if receipt is None:
            continue
        facts = receipt.facts
        for columns, told in ((sums, facts.sums), (seconds, facts.seconds)):
            for name, value in told.items():
                columns[name][number] = value
        for stage, stats in receipt.stats:
            for what, end in itertools.product(COUNTED, ENDS):
                counts[stage, what, end][number] = _count(stats, what, end)
    return _Columns(dict(sums), dict(seconds), dict(counts))


def of_documents(sums: Mapping[str, F64], looked_at: F64, of: U64, seed: int) -> DocumentSample:
    """The statistics of documents, those that were looked at for certain apart.

    sums: (n,) each, text_bytes among them.  looked_at: (n,) chance of each.
    of: (n,) the document that is left of each and those like it: copies say the same, and however
        many were looked at tell no more than one.
    """
    certain = looked_at >= 1
    _, first, one = np.unique(
        np.stack([of.astype(np.uint64), certain.astype(np.uint64)]),
        axis=1,
        return_index=True,
        return_inverse=True,
    )
    n = len(first)
    chances = _summed(one, looked_at * sums["text_bytes"], n)
    sums = {name: _summed(one, values, n) for name, values in sums.items()}
    size = sums["text_bytes"]
    return DocumentSample(
        strata=np.zeros(n, np.int64),
        strata_bytes=size.sum(keepdims=True),
        cluster_bytes=size,
        read_bytes=size,
        docs=np.ones(n, np.int64),
        sums=sums,
        chances=np.minimum(chances / size, 1.0),
        seed=seed,
    )


def _summed(group: I64, values: F64, n_groups: int) -> F64:
    """(n_groups,) sums of the values of each group."""
    return np.bincount(group, values, n_groups).astype(np.float64)


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


def weighed(
    totals: Mapping[str, StageStats], sums: Sequence[Mapping[str, float]]
) -> dict[str, StageStats]:
    """Of stages that chosen documents went through, those that stand for all: long ones are chosen
    more often. What left goes on by reason as among those chosen.

    sums: of the parts.
    """
    made = dict(totals)
    for name, stats in totals.items():
        came, kept = (sum(s.get(f"{name} docs {end}", 0.0) for s in sums) for end in ENDS)
        if came and stats.docs_in >= FEW_DOCS:
            times = (came - kept) / max(stats.docs_in - stats.docs_out, 1)
            removed = {reason: round(n * times) for reason, n in stats.removed.items()}
            made[name] = replace(stats, docs_in=round(came), removed=removed)
    return made


def check_survivors(totals: Mapping[str, StageStats]) -> None:
    """Refuse a corpus of which nothing is left.

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
