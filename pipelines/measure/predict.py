"""From what was counted, probed and sampled to the estimate of the run.

    counts ── stages ── copies ── unique ── local ── tokens ── bytes, files, hours

Where all inputs are read, counts of the stages before duplicates have no interval; all else is
drawn jointly. Time is that of this machine, on the parts that were scanned: how it differs from one
time to another is in the interval, and other machines are not.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.corpus.passes import corpus_steps, passes
from tokenmill.pipelines.measure import image_scratch, scratch
from tokenmill.pipelines.measure.copies import Probed
from tokenmill.pipelines.measure.drawn import DRAWS, Drawn, between, exact
from tokenmill.pipelines.measure.job import MeasureJob
from tokenmill.pipelines.measure.joint import HOUR_S, Prediction, Step, predict
from tokenmill.pipelines.measure.left import Left
from tokenmill.pipelines.measure.pictures import Pictures, PredictedImages, with_images
from tokenmill.pipelines.measure.remarks import grown_to, remarks, unique_by_of
from tokenmill.pipelines.measure.sample import Sample
from tokenmill.pipelines.measure.scan import (
    BATCHES,
    KEY_ROWS,
    KEYED_BYTES,
    KEYS,
    KEYS_BYTES,
    READ,
    ROW,
    SLOWER_KEYS,
    START,
    TOKENIZE,
    PartFacts,
)
from tokenmill.pipelines.measure.scanned import STAYS, Scanned, Stays, totals_of, weighed
from tokenmill.pipelines.measure.unseen import Growth
from tokenmill.pipelines.measure.weights import LocalSample
from tokenmill.pipelines.runs.finished import mostly_removed
from tokenmill.pipelines.runs.packs import find_receipts
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.sizing.corpus import DATASET, INPUTS, UniqueBy

# A document, once the keys are there, at 14 bands; not measured on the corpus. A 100,000 documents
# took 0.4 and 4 microseconds each, 10 million of few duplicates 0.2 and 0.4.
# Other steps compare one key too.
CLUSTER_S = {"near": 4e-6}
ONE_KEY_S = 0.3e-6
CLUSTER_LEAST, CLUSTER_MOST = 0.1, 2.0  # times as many
# Of one, on an AMD EPYC: 0.9 ms of a 200 x 160 JPEG of noise, 2.8 ms of photos of 640 x 480, 1.2 ms
# of PNG drawings in the mean; more of larger ones.
THUMBNAIL_S, THUMBNAIL_SPREAD = 2e-3, (0.25, 5.0)
# Log of the factor by which CPU seconds are others another time: predictions were 0.74 to 1.8 times
# what runs of 21 MB to 1 GB then took on a machine shared with others, of which this is the spread.
MACHINE_SD = 0.35
BEYOND = 2.0  # times the most that documents of a part compress to, or the least: that of all


class Seconds:
    """What was timed of the parts.

    receipts: of the parts that could be read.
    """

    def __init__(self, receipts: Sequence[Receipt[PartFacts]], seed: int) -> None:
        rng = np.random.default_rng([seed, 2])
        self._machine = Drawn(1.0, np.exp(MACHINE_SD * rng.standard_normal(DRAWS)))
        self._share = rng.random(DRAWS)
        facts = [receipt.facts for receipt in receipts]
        self._told = [f.seconds for f in facts]
        self._write = float(np.mean([f.write_s_per_byte for f in facts]))

    def of(self, name: str, text_bytes: float) -> Drawn:
        """Per byte of the text that went in; all of it was timed."""
        seconds = sum(seconds_of_part.get(name, 0.0) for seconds_of_part in self._told)
        return self._machine * (seconds / text_bytes if text_bytes else 0.0)

    def sampled(self, sample: LocalSample) -> Drawn:
        """Per byte of the text, of which only that of a sample was timed."""
        if not sample.sums["seconds"].any():
            return self._machine * 0.0
        return self._machine * sample.ratio("seconds", "text_bytes").value

    def clustering(self, step: str, docs: Drawn) -> Drawn:
        """Of finding what a step takes for the same, from keys."""
        spread = between(CLUSTER_LEAST, CLUSTER_MOST, order=4, value=1.0)
        return self._machine * spread * docs * CLUSTER_S.get(step, ONE_KEY_S)

    def writing(self, size: Drawn) -> Drawn:
        """Of so many bytes of files; their digests are a tenth of it at most."""
        return self._machine * self._write * size

    def thumbnails(self, n: Drawn) -> Drawn:
        """Of decoding so many images and encoding them small; not measured on the corpus."""
        spread = between(*THUMBNAIL_SPREAD, order=10, value=1.0)
        return self._machine * spread * n * THUMBNAIL_S

    def start(self) -> Drawn:
        """What the process loads once; what was compiled here, not loaded, a run has no need of."""
        most = sum(seconds_of_part.get(START, 0.0) for seconds_of_part in self._told)
        return self._machine * Drawn(most, most * self._share)


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """What a run will give, and what that rests on.

    totals: the account of each stage that all documents read went through.
    is_whole: all inputs were read.  is_counted: the account is of all documents.
    unique_frac: of documents before duplicates are looked for; None where they are not.
    unique_by: what it rests on.
    growth: of unique documents with those that were read, where they are enough for a curve.
    grown: documents and unique ones of the corpus that was asked for.
    images: of a recipe that has them.
    stays: at least, through steps that are not predicted.
    remarks: what the figures leave out.
    """

    prediction: Prediction
    totals: Mapping[str, StageStats]
    is_whole: bool
    is_counted: bool
    unique_frac: Drawn | None
    unique_by: UniqueBy | None
    growth: Growth | None
    grown: tuple[float, Drawn] | None
    files: Mapping[str, Drawn]
    memory_bytes: Drawn | None
    token_width_bytes: Literal[2, 4]
    stays: Stays
    images: PredictedImages | None = None
    remarks: tuple[str, ...] = ()


class Findings:
    """What the parts and the probes say of a run.

    receipts: of the parts, in their order; None for one that could not be read.
    plan: of the run itself.
    """

    def __init__(
        self,
        job: MeasureJob,
        *,
        sample: Sample,
        plan: Plan,
        receipts: Sequence[Receipt[PartFacts] | None],
        probed: Probed | None,
    ) -> None:
        self._job, self._plan, self._sample = job, plan, sample
        self._probed = probed if job.predicted else None
        self._scanned = Scanned(job, sample, receipts)
        by_source: dict[str, list[Receipt[PartFacts]]] = {}
        for part, receipt in zip(sample.plan.shards, receipts, strict=True):
            if receipt is not None:
                by_source.setdefault(part.source, []).append(receipt)
        self._by_source = {
            source: weighed(totals_of(of), [receipt.facts.sums for receipt in of])
            for source, of in by_source.items()
        }
        further = self._scanned.sums(BATCHES).value - len(sample.plan.shards)
        self._blocks = scratch.blocks_of(plan, max(further, 0.0))
        self._image_step = job.image_step.name if job.image_step else ""
        self._docs, self._text_bytes = self._scanned.left("docs"), self._scanned.left("bytes")
        self._left = None
        if self._probed is not None:
            self._left = Left(job, sample, self._probed, self._scanned)
        self._images = None
        if probed is not None and job.recipe.images is not None:
            pictures = Pictures(job, scanned=self._scanned, probed=probed, left=self._left)
            self._images = pictures.predicted()
        self._seconds = Seconds([r for r in receipts if r is not None], job.measuring.seed)

    def predicted(self) -> Predicted:
        """Put it all together; ConfigError: nothing is left of the documents that were sampled."""
        width = self._job.recipe.tokenizing().engine().dtype.itemsize
        counted = [self._counted_step(name, stats) for name, stats in self._scanned.first.items()]
        steps = [*counted, *self._corpus_wide(), *self._behind()]
        encoding = self._seconds.of(TOKENIZE, self._scanned.encoded_bytes)
        steps.append(Step(name=TOKENIZE, kept_text_frac=self._written(), cpu_s=encoding))
        local = self._scanned.tokens(self._probed)
        prediction = predict(
            steps,
            shard_bytes=[float(shard.bytes) for shard in self._plan.shards],
            docs=self._scanned.went_in("docs"),
            text_bytes=self._scanned.went_in("bytes"),
            text_bytes_per_token=local.ratio("text_bytes", "tokens"),
            stored_bytes_per_token=exact(width),
            cores=self._job.measuring.cores,
        )
        if self._images is not None:
            prediction = with_images(prediction, self._images)
        stored = self._stored(prediction, width)
        written = sum((size for name, size in stored.items() if name != INPUTS), exact(0))
        hours = self._seconds.writing(written) * (1 / HOUR_S)
        if self._images is not None:
            pictures = image_scratch.shown(self._job, self._blocks, self._images)
            hours += self._seconds.thumbnails(pictures) * (1 / HOUR_S)
        prediction = replace(
            prediction,
            cpu_hours=prediction.cpu_hours + hours,
            wall_hours=prediction.wall_hours + hours * (1 / prediction.cores),
            stored_bytes=stored,
            stored_bytes_per_token=stored[DATASET] / prediction.tokens,
        )
        unique_by, grown = unique_by_of(self._left), grown_to(self._job, self._left, self._docs)
        stays = self._stays(local)
        return Predicted(
            prediction=prediction,
            totals=self._scanned.first if self._probed else self._scanned.totals,
            is_whole=self._scanned.is_whole,
            is_counted=self._scanned.is_counted,
            unique_frac=self._unique_frac(),
            unique_by=unique_by,
            growth=self._left.growth() if self._left else None,
            grown=None if isinstance(grown, str) else grown,
            files=scratch.files_of(self._job, self._plan, prediction.tokens, width),
            memory_bytes=scratch.clustering_memory_bytes(self._job, self._docs),
            token_width_bytes=cast(Literal[2, 4], width),
            images=self._images,
            stays=stays,
            remarks=(
                *remarks(
                    self._job, self._sample, self._probed, unique_by, prediction.tokens, stays
                ),
                *([grown] if isinstance(grown, str) else []),
                *mostly_removed(self._by_source, self._job.recipe.steps, "the documents read"),
            ),
        )

    def _stays(self, local: LocalSample) -> Stays:
        if not self._job.not_predicted:
            return Stays()
        told = [local.fraction(f"{STAYS}{n}", n, is_alone=True) for n in Stays._fields]
        return Stays(*(drawn.limits()[0] if drawn.value else 0.0 for drawn in told))

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
        cpu_s = self._seconds.of(KEYS, self._scanned.sums(KEYED_BYTES).value)
        for own in self._job.dedup:
            cpu_s += self._seconds.of(f"{SLOWER_KEYS}{own.name}", self._scanned.beside_bytes)
        cpu_s += self._seconds.sampled(self._scanned.compressed())
        if self._probed is None or self._left is None:  # decontaminate alone
            return [Step(name=self._job.first_pass.after[0].name, cpu_s=cpu_s)]
        steps: list[Step] = []
        docs, text, before = exact(1.0), exact(1.0), None
        for name, copies in self._probed.steps.items():
            docs_now, text_now = self._left.by(copies, "docs"), self._left.by(copies, "text")
            docs_may = text_may = exact(1.0)
            if before is not None:
                docs_may = self._left.unseen_by(before, copies, "docs")
                text_may = self._left.unseen_by(before, copies, "text")
            before = copies
            step = Step(
                name=name,
                kept_docs_frac=(docs_now / docs * docs_may).within(most=1.0),
                kept_text_frac=(text_now / text * text_may).within(most=1.0),
                cpu_s=None if steps else cpu_s,
                serial_s=self._seconds.clustering(name, self._docs),
            )
            steps.append(step)
            if self._scanned.is_whole or name != self._image_step:
                docs, text = docs_now, text_now
        return steps

    def _behind(self) -> list[Step]:
        """The later stages, each as a fraction of what the one before it leaves.

        Told by the probes, whose verdicts behind duplicates are known. What the text of a
        document loses on the way counts at the last stage.
        """
        if self._left is None or not self._scanned.later:
            return [self._counted_step(name, stats) for name, stats in self._scanned.later.items()]
        steps = []
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
            steps.append(
                Step(
                    name=name,
                    kept_docs_frac=(docs_now / docs).within(most=1.0),
                    kept_text_frac=text_now / text,
                    cpu_s=self._seconds.of(name, self._scanned.later[name].bytes_in),
                )
            )
            docs, text = docs_now, text_now
        return steps

    def _stored(self, prediction: Prediction, width: int) -> dict[str, Drawn]:
        docs_left, of_images = list(prediction.docs.values())[-1], {}
        rows = docs_left * self._scanned.ratio(ROW)
        if self._left is not None:
            rows = self._left.row_bytes()
        per_byte = None
        if self._job.first_pass.after:
            beside = self._scanned.compressed()
            least, most = beside.extremes("bytes", "text_bytes")
            per_byte = beside.ratio("bytes", "text_bytes").within(least / BEYOND, most * BEYOND)
        if self._images is not None:
            images, blocks = self._images, self._blocks
            of_images = image_scratch.image_folders(self._job, blocks, images, docs_left)
        written = scratch.Written(
            docs=self._docs,
            text_bytes=self._text_bytes,
            compressed_frac=per_byte,
            docs_left=docs_left,
            tokens=prediction.tokens,
            row_bytes=rows,
            edges=self._edges(),
            removed=self._removed(prediction),
            width=width,
            blocks=self._blocks,
            reach=self._reach(prediction),
            left=prediction.docs,
            of_images=of_images,
            keys=self._keys(),
            left_for=left_for(self._probed),
            made_ready=made_ready(self._job),
            unknown=unknown(self._probed),
        )
        return scratch.stored_of(self._job, self._plan, written)

    def _reach(self, prediction: Prediction) -> dict[int, Drawn]:
        """By pass, the share of documents that reaches its end, of those before duplicates."""
        shares = {}
        docs = prediction.docs[list(self._scanned.first)[-1]]
        for part in passes(self._job.recipe.steps)[1:]:
            last = [s.name for s in (*part.before, *part.stages)]
            known = [name for name in last if name in prediction.docs]
            docs = prediction.docs[known[-1]] if known else docs
            shares[part.index] = docs / self._docs
        return shares

    def _keys(self) -> dict[str, Drawn]:
        """As they were made, of documents too that filters remove: what those have that do not."""
        found = {}
        for step in self._job.dedup:
            made, rows = (self._scanned.sums(n + step.name) for n in (KEYS_BYTES, KEY_ROWS))
            if made.value and self._job.filters:
                of_left = self._docs * self._scanned.ratio(f"{KEY_ROWS}{step.name} docs")
                made = (made * (of_left / rows)).within(most=made)
            if made.value:
                found[step.name] = made
        return found

    def _edges(self) -> Drawn | None:
        last = self._job.dedup[-1] if self._job.dedup else None
        if self._probed is None or last is None or not last.joined_columns:
            return None
        return scratch.edge_bytes(last.joined_columns, self._probed, self._docs)

    def _removed(self, prediction: Prediction) -> Drawn:
        docs = list(prediction.docs.values())
        rows = (docs[0] - docs[-1]).within(0.0)
        each = self._scanned.removed_row_bytes()
        return scratch.removed_bytes(self._job, self._blocks, rows=rows, row_bytes=each)

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
        if self._scanned.is_whole and next(iter(steps)) == self._image_step:
            of_images = self._left.by(steps[self._image_step], "docs")
            of_all = (of_all / of_images).within(most=1.0)
        return of_all


def left_for(probed: Probed | None) -> dict[str, float]:
    """By step, documents that others leave for, for each that leaves, as the probes tell."""
    if probed is None:
        return {}
    found, scale = {}, probed.scale
    for name, step in probed.steps.items():
        leaves = np.isinf(step.copies)
        if leaves.any():
            gone, kept = scale[leaves].sum(), scale[~leaves & (step.alike > 1)].sum()
        else:
            gone = (scale * (1 - 1 / step.copies)).sum()
            kept = (scale / step.copies)[step.copies > 1].sum()
        if gone and kept:
            found[name] = min(float(kept / gone), 1.0)
    return found


def unknown(probed: Probed | None) -> dict[str, float]:
    """By step, the share of documents of which it is not known who stays."""
    if probed is None:
        return {}
    total = float(probed.scale.sum())
    return {n: float(probed.scale[~s.whole].sum()) / total for n, s in probed.steps.items()}


def made_ready(job: MeasureJob) -> dict[str, Drawn]:
    """Bytes by folder of what steps make before the first pass: it is made in the scratch."""
    steps = [s.setup(job) for s in corpus_steps(job.recipe.steps)]
    works = [work for work in steps if work is not None]
    sizes: dict[str, float] = defaultdict(float)
    for receipt in find_receipts(job.out, works).receipts.values():
        for name, size, _ in receipt.files:
            sizes[name.partition("/")[0]] += size
    return {folder: exact(size) for folder, size in sizes.items()}
