"""From what was counted, probed and sampled to the estimate of the run.

    counts ── stages ── copies ── unique ── local ── tokens ── bytes, files, hours

Where all inputs are read, counts of the stages before duplicates have no interval; all else is
drawn jointly. Time is that of this machine; other machines are not in its interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np

from tokenmill.pipelines.dedup_steps import NearDedup
from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.estimate.drawn import Drawn, exact
from tokenmill.pipelines.estimate.growth import Growth
from tokenmill.pipelines.estimate.joint import HOUR_S, Prediction, Step, predict
from tokenmill.pipelines.estimating.copies import Probed
from tokenmill.pipelines.estimating.image_scratch import image_folders, shown
from tokenmill.pipelines.estimating.job import MeasureJob
from tokenmill.pipelines.estimating.left import Left
from tokenmill.pipelines.estimating.local import Parts
from tokenmill.pipelines.estimating.pairs import edge_bytes
from tokenmill.pipelines.estimating.pictures import Pictures, PredictedImages, with_images
from tokenmill.pipelines.estimating.remarks import grown_to, remarks, unique_by_of
from tokenmill.pipelines.estimating.removed import removed_bytes
from tokenmill.pipelines.estimating.sample import Sample
from tokenmill.pipelines.estimating.scan import KEYS, READ, TOKENIZE
from tokenmill.pipelines.estimating.scanned import Scanned
from tokenmill.pipelines.estimating.scratch import Written, files_of, stored_of
from tokenmill.pipelines.estimating.seconds import Seconds
from tokenmill.pipelines.estimating.spilled import clustering_memory_bytes
from tokenmill.pipelines.ledger import StageStats
from tokenmill.pipelines.passes import passes
from tokenmill.pipelines.receipt import Receipt
from tokenmill.pipelines.repeats.steps import RepeatedImages
from tokenmill.pipelines.shard import Plan
from tokenmill.pipelines.steps import step_name
from tokenmill.sizing.corpus import DATASET, INPUTS, UniqueBy


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """What a run will give, and what that rests on.

    totals: the account of each stage that all documents read went through.
    is_whole: those are all documents.
    unique_frac: of documents before duplicates are looked for; None where they are not.
    unique_by: what it rests on.
    growth: of unique documents with those that were read, where they are enough for a curve.
    grown: documents and unique ones of the corpus that was asked for.
    images: of a recipe that has them.
    remarks: what the figures leave out.
    """

    prediction: Prediction
    totals: Mapping[str, StageStats]
    is_whole: bool
    unique_frac: Drawn | None
    unique_by: UniqueBy | None
    growth: Growth | None
    grown: tuple[float, Drawn] | None
    files: Mapping[str, Drawn]
    memory_bytes: Drawn | None
    token_width_bytes: Literal[2, 4]
    images: PredictedImages | None = None
    remarks: tuple[str, ...] = ()


class Glue:
    """The pieces of one prediction.

    receipts: of the parts, in their order; None for one that could not be read.
    plan: of the run itself.
    """

    def __init__(
        self,
        job: MeasureJob,
        *,
        sample: Sample,
        plan: Plan,
        receipts: Sequence[Receipt | None],
        probed: Probed | None,
    ) -> None:
        self._job, self._plan, self._sample = job, plan, sample
        self._probed = probed if job.finders else None
        self._scanned = Scanned(job, sample, receipts)
        self._docs, self._text_bytes = self._scanned.left("docs"), self._scanned.left("bytes")
        self._parts = Parts(job, sample, receipts)
        self._left = None
        if self._probed is not None:
            self._left = Left(job, sample, self._probed, self._scanned)
        self._images = None
        if probed is not None and job.recipe.images is not None:
            told = Pictures(job, scanned=self._scanned, probed=probed, left=self._left)
            self._images = told.predicted()
        self._seconds = Seconds([r for r in receipts if r is not None], job.measuring.seed)

    def predicted(self) -> Predicted:
        """Put it all together.

        Raises:
            ConfigError: nothing is left of the documents that were sampled.
        """
        width = self._job.recipe.engine().dtype.itemsize
        prediction = predict(
            [*self._counted(), *self._corpus_wide(), *self._behind(), self._tokenized()],
            shard_bytes=[float(shard.bytes) for shard in self._plan.shards],
            docs=self._scanned.went_in("docs"),
            text_bytes=self._scanned.went_in("bytes"),
            text_bytes_per_token=self._parts.tokens(self._probed).ratio("text_bytes", "tokens"),
            stored_bytes_per_token=exact(width),
            cores=self._job.measuring.cores,
        )
        if self._images is not None:
            prediction = with_images(prediction, self._images)
        stored = self._stored(prediction, width)
        made = sum((size for name, size in stored.items() if name != INPUTS), exact(0))
        hours = self._seconds.writing(made) * (1 / HOUR_S)
        if self._images is not None:
            pictures = shown(self._job, self._plan, self._images)
            hours += self._seconds.thumbnails(pictures) * (1 / HOUR_S)
        prediction = replace(
            prediction,
            cpu_hours=prediction.cpu_hours + hours,
            wall_hours=prediction.wall_hours + hours * (1 / prediction.cores),
            stored_bytes=stored,
            stored_bytes_per_token=stored[DATASET] / prediction.tokens,
        )
        unique_by, grown = unique_by_of(self._left), grown_to(self._job, self._left, self._docs)
        return Predicted(
            prediction=prediction,
            totals=self._scanned.first if self._probed else self._scanned.totals,
            is_whole=self._scanned.is_whole,
            unique_frac=self._unique_frac(),
            unique_by=unique_by,
            growth=self._left.growth() if self._left else None,
            grown=None if isinstance(grown, str) else grown,
            files=files_of(self._job, self._plan, prediction.tokens, width),
            memory_bytes=clustering_memory_bytes(self._job, self._docs),
            token_width_bytes=cast(Literal[2, 4], width),
            images=self._images,
            remarks=(
                *remarks(self._job, self._sample, self._probed, unique_by),
                *([grown] if isinstance(grown, str) else []),
            ),
        )

    def _counted(self) -> list[Step]:
        """The stages that every document went through."""
        return [self._counted_step(name, stats) for name, stats in self._scanned.first.items()]

    def _counted_step(self, name: str, stats: StageStats) -> Step:
        return Step(
            name=name,
            kept_docs_frac=self._scanned.kept(name, "docs"),
            kept_text_frac=self._scanned.kept(name, "bytes"),
            cpu_s=self._seconds.of(name, stats.bytes_in),
            serial_s=self._seconds.start() if name == READ else None,
        )

    def _corpus_wide(self) -> list[Step]:
        """Each step as a fraction of what the one before it leaves."""
        if not self._job.first_pass.after:
            return []
        cpu_s = self._seconds.of(KEYS, self._scanned.before.bytes_out)
        cpu_s += self._seconds.sampled(self._parts.compressed())
        if self._probed is None or self._left is None:  # decontaminate alone
            return [Step(name=step_name(self._job.first_pass.after[0]), cpu_s=cpu_s)]
        made: list[Step] = []
        docs, text = exact(1.0), exact(1.0)
        for name, copies in self._probed.steps.items():
            docs_now, text_now = self._left.by(copies, "docs"), self._left.by(copies, "text")
            step = Step(
                name=name,
                kept_docs_frac=_at_most_one(docs_now / docs),
                kept_text_frac=_at_most_one(text_now / text),
                cpu_s=None if made else cpu_s,
                serial_s=self._seconds.clustering(name, self._docs),
            )
            made.append(step)
            if self._scanned.is_whole or name != RepeatedImages.name:
                docs, text = docs_now, text_now
        return made

    def _behind(self) -> list[Step]:
        """The later stages, each as a fraction of what the one before it leaves.

        Told by the probes, whose verdicts behind duplicates are known. What the text of a
        document loses on the way counts at the last stage.
        """
        if self._left is None:
            return [self._counted_step(name, stats) for name, stats in self._scanned.later.items()]
        made = []
        docs, text = self._left.of("docs"), self._left.of("text")
        for number, name in enumerate(self._scanned.later):
            is_last = number == len(self._scanned.later) - 1
            docs_now = self._left.of("docs", passed=number + 1)
            text_now = self._left.of("end" if is_last else "text", passed=number + 1)
            if docs_now.value == 0:
                raise ConfigError(
                    f"{name} leaves none of the documents that were probed, but some of all; draw"
                    f" more (--probes, now {self._job.measuring.probes:,})"
                )
            made.append(
                Step(
                    name=name,
                    kept_docs_frac=_at_most_one(docs_now / docs),
                    kept_text_frac=text_now / text,
                    cpu_s=self._seconds.of(name, self._scanned.later[name].bytes_in),
                )
            )
            docs, text = docs_now, text_now
        return made

    def _stored(self, prediction: Prediction, width: int) -> dict[str, Drawn]:
        rows = self._scanned.sums("row_bytes") if self._left is None else self._left.row_bytes()
        per_byte = None
        if self._job.first_pass.after:
            per_byte = self._parts.compressed().ratio("bytes", "text_bytes")
        written = Written(
            docs=self._docs,
            text_bytes=self._text_bytes,
            compressed_frac=per_byte,
            docs_left=list(prediction.docs.values())[-1],
            tokens=prediction.tokens,
            row_bytes=rows,
            edges=self._edges(),
            removed=self._removed(prediction),
            width=width,
            reach=self._reach(prediction),
            left=prediction.docs,
            of_images=self._image_folders(prediction),
        )
        return stored_of(self._job, self._plan, written)

    def _reach(self, prediction: Prediction) -> dict[int, Drawn]:
        """By pass, the share of documents that reaches its end, of those before duplicates."""
        made = {}
        docs = prediction.docs[list(self._scanned.first)[-1]]
        for part in passes(self._job.recipe.steps)[1:]:
            last = [step_name(s) for s in (*part.before, *part.stages)]
            known = [name for name in last if name in prediction.docs]
            docs = prediction.docs[known[-1]] if known else docs
            made[part.index] = docs / self._docs
        return made

    def _image_folders(self, prediction: Prediction) -> dict[str, Drawn]:
        if self._images is None:
            return {}
        docs = list(prediction.docs.values())[-1]
        return image_folders(self._job, self._plan, self._images, docs)

    def _edges(self) -> Drawn | None:
        near = self._job.dedup[-1] if self._job.dedup else None
        if self._probed is None or not isinstance(near, NearDedup):
            return None
        return edge_bytes(near, self._probed, self._docs)

    def _removed(self, prediction: Prediction) -> Drawn:
        docs = list(prediction.docs.values())
        gone = docs[0] + docs[-1] * -1.0
        rows = Drawn(max(gone.value, 0.0), np.maximum(gone.draws, 0.0))
        each = self._parts.removed_row_bytes()
        return removed_bytes(self._job, self._plan, rows=rows, row_bytes=each)

    def _tokenized(self) -> Step:
        cpu_s = self._seconds.sampled(self._parts.encoded())
        return Step(name=TOKENIZE, kept_text_frac=self._written(), cpu_s=cpu_s)

    def _written(self) -> Drawn | None:
        """Of the text at the end, what is left without U+FFFC; None where there is none."""
        if self._images is None:
            return None
        later = len(self._scanned.later)
        if self._left is not None:
            end = self._left.of("end", passed=later)
            return None if later else end / self._left.of("text")
        text = self._scanned.went_in("bytes")
        for name in self._scanned.totals:
            text = text * self._scanned.kept(name, "bytes")
        return self._scanned.sums("end_bytes") / text

    def _unique_frac(self) -> Drawn | None:
        """Of documents, by the steps that find duplicates alone."""
        if self._left is None or self._probed is None or not self._job.dedup:
            return None
        steps = self._probed.steps
        of_all = self._left.by(self._probed.last, "docs")
        if self._scanned.is_whole and next(iter(steps)) == RepeatedImages.name:
            of_all = _at_most_one(of_all / self._left.by(steps[RepeatedImages.name], "docs"))
        return of_all


def _at_most_one(drawn: Drawn) -> Drawn:
    return Drawn(min(drawn.value, 1.0), np.minimum(drawn.draws, 1.0))
