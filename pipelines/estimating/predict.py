"""From what was counted, probed and sampled to the estimate of the run.

    counts ── stages ── copies ── unique ── local ── tokens ── bytes, files, hours

Counts of the stages before duplicates are those of all documents and have no interval; all else
is drawn jointly. Time is that of this machine; other machines are not in its interval.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from pipelines.errors import ConfigError
from pipelines.estimate.drawn import DRAWS, Drawn, exact
from pipelines.estimate.joint import Prediction, Step, predict
from pipelines.estimate.unique import Probes, bracket
from pipelines.estimating.copies import Copies, Probed
from pipelines.estimating.job import MeasureJob
from pipelines.estimating.local import Parts
from pipelines.estimating.sample import Sample
from pipelines.estimating.scan import KEYS, READ, TOKENIZE
from pipelines.estimating.scratch import Written, clustering_memory_bytes, files_of, stored_of
from pipelines.estimating.totals import check_survivors, totals_of
from pipelines.ledger import StageStats
from pipelines.receipt import Receipt
from pipelines.recipe import step_name
from pipelines.shard import Plan
from pipelines.tokenize import load_engine
from sizing.corpus import DATASET

What: TypeAlias = Literal["docs", "text", "end", "row"]
# seconds of one core a document, once the keys are there, at 14 bands; not measured on the corpus
CLUSTER_S = {"exact": 0.3e-6, "near": 5e-6}
MACHINE_SD = 0.15  # log of the factor by which the same work takes longer another time


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """What a run will give, and what that rests on.

    totals: the account of each stage that all documents went through.
    unique_frac: of documents before duplicates are looked for; None where they are not.
    pairwise: the same, if only documents like each other directly were copies.
    remarks: what the figures leave out.
    """

    prediction: Prediction
    totals: Mapping[str, StageStats]
    unique_frac: Drawn | None
    pairwise: Drawn | None
    files: Mapping[str, Drawn]
    memory_bytes: Drawn | None
    token_width_bytes: Literal[2, 4]
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
        self._job, self._plan, self._probed = job, plan, probed
        self._receipts = [r for r in receipts if r is not None]
        self._totals = totals_of(self._receipts)
        n_first = 1 + len(job.first_pass.stages)
        self._first = dict(list(self._totals.items())[:n_first])
        self._later = dict(list(self._totals.items())[n_first:])
        check_survivors(self._totals)
        self._before = list(self._first.values())[-1]  # duplicates are looked for
        self._parts = Parts(job, sample, receipts)
        rng = np.random.default_rng([job.measuring.seed, 2])
        self._machine = Drawn(1.0, np.exp(MACHINE_SD * rng.standard_normal(DRAWS)))

    def predicted(self) -> Predicted:
        """Put it all together.

        Raises:
            ConfigError: nothing is left of the documents that were sampled.
        """
        output, read = self._job.recipe.output, self._first[READ]
        width = load_engine(self._job.recipe.tokenizer, output.dtype).dtype.itemsize
        prediction = predict(
            [*self._counted(), *self._corpus_wide(), *self._behind(), self._tokenized()],
            shard_bytes=[float(shard.bytes) for shard in self._plan.shards],
            docs=exact(read.docs_in),
            text_bytes=exact(read.bytes_in),
            text_bytes_per_token=self._parts.tokens(self._probed).ratio("text_bytes", "tokens"),
            stored_bytes_per_token=exact(width),
            cores=self._job.measuring.cores,
        )
        stored = self._stored(prediction, width)
        prediction = replace(
            prediction,
            stored_bytes=stored,
            stored_bytes_per_token=stored[DATASET] / prediction.tokens,
        )
        return Predicted(
            prediction=prediction,
            totals=self._first if self._probed else self._totals,
            unique_frac=self._left_of("docs") if self._probed else None,
            pairwise=self._pairwise(),
            files=files_of(self._job, self._plan, prediction.tokens, width),
            memory_bytes=clustering_memory_bytes(self._job, self._before.docs_out),
            token_width_bytes=cast(Literal[2, 4], width),
            remarks=tuple(self._remarks()),
        )

    def _counted(self) -> list[Step]:
        """The stages that every document went through: their account is exact."""
        return [self._counted_step(name, stats) for name, stats in self._first.items()]

    def _counted_step(self, name: str, stats: StageStats) -> Step:
        return Step(
            name=name,
            kept_docs_frac=exact(_share(stats.docs_out, stats.docs_in)),
            kept_text_frac=exact(_share(stats.bytes_out, stats.bytes_in)),
            cpu_s=self._seconds(name, stats.bytes_in),
        )

    def _corpus_wide(self) -> list[Step]:
        """Each step as a fraction of what the one before it leaves."""
        if not self._job.first_pass.after:
            return []
        compressed = self._parts.compressed()
        cpu_s = self._seconds(KEYS, self._before.bytes_out)
        if compressed.sums["seconds"].any():
            cpu_s = cpu_s + self._machine * compressed.ratio("seconds", "text_bytes")
        if self._probed is None:  # decontaminate alone
            return [Step(name=step_name(self._job.first_pass.after[0]), cpu_s=cpu_s)]
        made: list[Step] = []
        docs, text = exact(1.0), exact(1.0)
        for name, copies in self._probed.steps.items():
            docs_now, text_now = self._left_by(copies, "docs"), self._left_by(copies, "text")
            step = Step(
                name=name,
                kept_docs_frac=_at_most_one(docs_now / docs),
                kept_text_frac=_at_most_one(text_now / text),
                cpu_s=None if made else cpu_s,
                serial_s=self._machine * (CLUSTER_S[name] * self._before.docs_out),
            )
            made.append(step)
            docs, text = docs_now, text_now
        return made

    def _behind(self) -> list[Step]:
        """The later stages, each as a fraction of what the one before it leaves.

        Told by the probes, whose verdicts behind duplicates are known. What the text of a
        document loses on the way counts at the last stage.
        """
        if self._probed is None:
            return [self._counted_step(name, stats) for name, stats in self._later.items()]
        made = []
        docs, text = self._left_of("docs"), self._left_of("text")
        for number, name in enumerate(self._later):
            is_last = number == len(self._later) - 1
            docs_now = self._left_of("docs", passed=number + 1)
            text_now = self._left_of("end" if is_last else "text", passed=number + 1)
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
                    cpu_s=self._seconds(name, self._later[name].bytes_in),
                )
            )
            docs, text = docs_now, text_now
        return made

    def _left_of(self, what: What, *, passed: int = 0) -> Drawn:
        """As `_left_by`, of all steps together."""
        assert self._probed is not None
        return self._left_by(self._probed.last, what, passed=passed)

    def _left_by(self, copies: Copies, what: What, *, passed: int = 0) -> Drawn:
        """What a corpus-wide step, and those before it, leave, as a share of what there was.

        what: documents, their text, or their text at the end; "row", bytes of their rows in the
            dataset, as a share of as many of the largest.
        passed: of those documents that pass as many of the later stages.
        """
        assert self._probed is not None
        whole = np.where(copies.whole, copies.copies, self._probed.corpus_docs)
        closure = self._share_left(copies, whole, what, passed)
        if copies.whole.all():
            return closure
        return bracket(self._share_left(copies, copies.alike, what, passed), closure)

    def _share_left(
        self, copies: Copies, counts: npt.NDArray[np.int64], what: What, passed: int
    ) -> Drawn:
        assert self._probed is not None
        weights, kept = np.ones(len(counts)), np.ones(len(counts))
        if what == "row":
            kept = copies.first["row_bytes"] / self._largest_row()
        elif what != "docs":
            weights = np.maximum(self._probed.ends["text_bytes"], 1).astype(np.float64)
            kept = copies.first[f"{what}_bytes"] / weights
        left = weights * kept * (copies.first["left_at"] >= passed) / counts
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
        whole = self._before.docs_out if what in ("docs", "row") else self._before.bytes_out
        share = max(1 - of_taken / whole, 0.0)
        return drawn * share + float(left[taken].sum()) / whole

    def _largest_row(self) -> float:
        assert self._probed is not None
        return float(max(self._probed.last.first["row_bytes"].max(), 1))

    def _stored(self, prediction: Prediction, width: int) -> dict[str, Drawn]:
        if self._probed is None:
            rows = exact(sum(r.facts["sums"].get("row_bytes", 0) for r in self._receipts))
        else:
            rows = self._left_of("row") * (self._largest_row() * self._before.docs_out)
        per_byte = None
        if self._job.first_pass.after:
            per_byte = self._parts.compressed().ratio("bytes", "text_bytes")
        written = Written(
            docs=self._before.docs_out,
            text_bytes=self._before.bytes_out,
            compressed_frac=per_byte,
            docs_left=list(prediction.docs.values())[-1],
            tokens=prediction.tokens,
            row_bytes=rows,
            width=width,
        )
        return stored_of(self._job, self._plan, written)

    def _tokenized(self) -> Step:
        encoded = self._parts.encoded()
        if not encoded.sums["seconds"].any():
            return Step(name=TOKENIZE)
        return Step(name=TOKENIZE, cpu_s=self._machine * encoded.ratio("seconds", "text_bytes"))

    def _seconds(self, name: str, per: float) -> Drawn:
        """Of one core, of all documents, per byte of their text."""
        seconds = sum(r.facts["seconds"].get(name, 0.0) for r in self._receipts)
        return self._machine * _share(seconds, per)

    def _pairwise(self) -> Drawn | None:
        if self._probed is None:
            return None
        last = self._probed.last
        return self._share_left(last, last.alike, "docs", 0)

    def _remarks(self) -> Iterator[str]:
        steps = [step_name(step) for step in self._job.recipe.steps]
        if "decontaminate" in steps:
            yield (
                "decontaminate is not predicted: documents are taken to leave it as they came;"
                " tokenmill contamination says how many hold benchmark items"
            )
        n_open = int((~self._probed.last.whole).sum()) if self._probed else 0
        if n_open:
            yield (
                f"the clusters of {n_open:,} probes were too large to follow to their ends: what is"
                " left of near duplicates lies between two readings, which the interval spans"
            )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _at_most_one(drawn: Drawn) -> Drawn:
    return Drawn(min(drawn.value, 1.0), np.minimum(drawn.draws, 1.0))
