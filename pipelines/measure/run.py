"""Predict a run of a recipe: plan, sample, scan, probe, put together; the caller executes.

scan     the parts of the inputs that are read, once; sampled ones to the end of the recipe
probe    documents drawn, and what is like them, from keys alone; where duplicates are looked for
"""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.measure.copies import ProbeFacts, count_copies, read_copies
from tokenmill.pipelines.measure.drawn import Drawn
from tokenmill.pipelines.measure.job import (
    MeasureJob,
    Measuring,
    check_one_pass,
    open_measuring,
    scratch_of,
)
from tokenmill.pipelines.measure.pictures import corpus_images
from tokenmill.pipelines.measure.predict import Findings, Predicted
from tokenmill.pipelines.measure.sample import Sample, draw_sample
from tokenmill.pipelines.measure.scan import PartFacts, scan_part
from tokenmill.pipelines.measure.scanned import Stays
from tokenmill.pipelines.measure.unseen import Growth
from tokenmill.pipelines.prepare.phases import set_up
from tokenmill.pipelines.prepare.prepare import open_ready, plan_run
from tokenmill.pipelines.read.stream import parking
from tokenmill.pipelines.runs.drive import drive
from tokenmill.pipelines.runs.manifest import check_apart, held, read_manifest
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Execute, Finished, Phase, Phases, Work, do_phase
from tokenmill.pipelines.storage.atomic import write_json
from tokenmill.sizing.corpus import DATASET, Estimate, UniqueGrowth
from tokenmill.sizing.figure import Figure
from tokenmill.sizing.units import percent

SCAN, PROBE = "scan", "probe"
REMOVED = "removed"
BEHIND = ("90-tokens", "webdataset", DATASET)  # folders of what is left at the end


@dataclass(kw_only=True)
class Measured(Finished):
    """What was counted: the receipts of the parts by key, and of the probes."""

    parts: dict[str, Receipt[PartFacts]] = field(default_factory=dict)
    probed: Receipt[ProbeFacts] | None = None


def phases(job: MeasureJob, sample: Sample) -> Phases[Measured]:
    """Yield the phases of the job in order."""
    finished = Measured(shards=sample.plan.shards)
    ready, checked = (yield from set_up(job, finished)), sample.checked
    works = tuple(
        Work(
            step=SCAN,
            key=part.key,
            inputs=digest_of([job.identity, ready, repr(part.to_json())]),
            facts=PartFacts,
            call=scan_part,
            args=(part, bool(sample.drawn[number]), number in checked, sample.choice),
            chain=part.chain,
        )
        for number, part in enumerate(sample.plan.shards)
        if sample.read[number]
    )
    finished.parts = yield from do_phase(Phase(name=SCAN, works=works, cost=1.0), finished)
    read = [
        (part.key, int(unit))
        for part, unit in zip(sample.plan.shards, sample.units, strict=True)
        if part.key in finished.parts
    ]
    keys, units = tuple(key for key, _ in read), tuple(unit for _, unit in read)
    if job.is_probed and keys:
        inputs = digest_of([job.identity, *(finished.parts[key].digest for key in keys)])
        probe = Work(
            step=PROBE,
            key="all",
            inputs=inputs,
            facts=ProbeFacts,
            call=count_copies,
            args=(keys, units, sample.read_frac),
        )
        receipts = yield from do_phase(Phase(name=PROBE, works=(probe,), whole=True), finished)
        finished.probed = receipts["all"]
    return finished


class Outcome(NamedTuple):
    """An estimate, what it was made from, and the parts of the inputs that could not be read."""

    estimate: Estimate
    predicted: Predicted
    sample: Sample
    finished: Measured


def measure_corpus(
    measuring: Measuring, out: Path, execute: Execute, plan: Plan | None = None
) -> Outcome:
    """Predict a run, and write the estimate to `out`.

    Stopped, the same command continues from the folder beside `out`, which goes at the end.

    plan: of the run itself, where the caller has made it already.
    ConfigError: the recipe or the inputs cannot be used, or there is nothing to predict.
    ShardError: no part could be read, or gone through.
    LedgerError: documents or bytes do not add up.
    """
    plan = plan or plan_run(measuring.recipe)
    sample = sample_of(measuring, plan)
    with opened(measuring, out, sample.plan) as job:
        finished = drive(job, phases(job, sample), execute)
        try:
            predicted = predict_from(job, plan, sample, finished)
        except ConfigError as e:  # what was counted will not say more another time
            shutil.rmtree(job.out)
            if finished.failures and not finished.parts:
                lost, first = len(finished.failures), finished.failures[0]
                raise ShardError(f"all {lost:,} parts failed; {first.key}: {first.error}") from e
            raise
        estimate = estimate_of(job, sample, finished, predicted)
        write_json(out, to_json(estimate))
    shutil.rmtree(job.out)
    return Outcome(estimate, predicted, sample, finished)


def sample_of(measuring: Measuring, plan: Plan) -> Sample:
    """The parts that are read and tokenized for a prediction.

    plan: of the run itself.
    """
    return draw_sample(
        measuring.recipe,
        plan,
        sample=measuring.sample,
        budget=measuring.budget,
        seed=measuring.seed,
        probes=measuring.probes,
    )


@contextlib.contextmanager
def opened(measuring: Measuring, out: Path, plan: Plan) -> Iterator[MeasureJob]:
    """Hold the scratch of an estimate.

    ConfigError: see `measure_corpus`; or `out` is a folder, or lies in the inputs.
    """
    if out.is_dir():
        raise ConfigError(f"{out}: is a folder; name the file, as --out estimate.json")
    check_apart(measuring.recipe.inputs, out)
    check_one_pass(measuring.recipe)
    if measuring.recipe.against:
        raise ConfigError(
            "against: what inputs have in common with earlier runs is not predicted;"
            " --set against=[] measures the inputs alone, of which a run keeps no more"
        )
    with held(scratch_of(out)) as folder:
        recipe = measuring.recipe
        try:
            job = open_ready(folder, recipe, lambda: open_measuring(folder, measuring, plan))
        except ConfigError:
            if read_manifest(folder) is None:  # nothing was done
                shutil.rmtree(folder)
            raise
        with parking(job.identity):
            yield job


def predict_from(job: MeasureJob, plan: Plan, sample: Sample, finished: Measured) -> Predicted:
    """The prediction from what was counted."""
    receipt = finished.probed
    probed = None if receipt is None else read_copies(job, receipt.facts)
    receipts = [finished.parts.get(part.key) for part in sample.plan.shards]
    findings = Findings(job, sample=sample, plan=plan, receipts=receipts, probed=probed)
    return findings.predicted()


def estimate_of(
    job: MeasureJob, sample: Sample, finished: Measured, predicted: Predicted
) -> Estimate:
    """As estimate.json has it."""
    estimate = predicted.prediction.estimate(
        name=job.recipe.name,
        recipe=job.recipe.digest(),
        sample=sample_in_words(job, sample, finished),
        token_width_bytes=predicted.token_width_bytes,
        unique_frac=predicted.unique_frac,
        clustering_memory_bytes=predicted.memory_bytes,
        files=predicted.files,
    )
    growth = None if predicted.growth is None else growth_of(predicted.growth, predicted.grown)
    further: dict[str, object] = {"unique_by": predicted.unique_by, "growth": growth}
    further["versions"] = job.recipe.versions()
    if predicted.images is not None:
        further["images"] = predicted.images.estimate()
        images = corpus_images(job, predicted.prediction, predicted.images)
        further["corpus"] = estimate.corpus.model_copy(update={"images": images})
    whole = estimate.model_copy(update=further)
    whole = at_most(whole, job, predicted.stays) if job.not_predicted else whole
    output = job.recipe.output
    left_out = [step.name for step in job.not_predicted]
    left_out += ["mix"] * output.shuffle + ["output.text"] * (output.text is not None)
    left_out += ["run.keep_index"] * job.recipe.run.keep_index
    return whole.model_copy(update={"not_predicted": left_out})


def at_most(estimate: Estimate, job: MeasureJob, stays: Stays) -> Estimate:
    """What rests on steps that are not predicted, with bounds: no less than what they leave
    unchanged, which may be next to nothing.

    A step may cut documents into pieces, which adds no text: it costs what a row does besides.
    """
    steps = [step.name for step in job.recipe.steps]
    first = min(steps.index(step.name) for step in job.not_predicted)
    corpus, least = estimate.corpus, min(stays)
    pieces = max(step.pieces_at_most for step in job.not_predicted)
    docs_most = 1 + (pieces - 1) * (1 - stays.docs)
    ids = corpus.tokens.value * corpus.token_width_bytes

    def times(figure: Figure) -> float:
        return 1 + (docs_most - 1) * max(0.0, 1 - ids / figure.value)

    told = dict(corpus.stored_bytes)
    if stays.docs < 1:  # it has a row of each document that such a step removes
        del told[REMOVED]
    stored = {
        name: _bounded(figure, least, times(figure))
        for name, figure in corpus.stored_bytes.items()
        if name in BEHIND and figure.value
    }
    disk, less, more = {}, 0.0, 0.0
    for name, figure in estimate.disk_bytes.items():
        if name in stored:
            (low, high), (least_of, most_of) = corpus.stored_bytes[name].ends(), stored[name].ends()
            less, more = less + low - least_of, more + most_of - high
        low, high = figure.ends()
        bounds = max(0.0, low - less), high + more
        disk[name] = figure.model_copy(update={"bounds": bounds}) if less or more else figure
    files = {n: _bounded(f, float(least == 1)) for n, f in corpus.files.items() if n in BEHIND}
    lowered = {
        "tokens": _bounded(corpus.tokens, stays.tokens),
        "text_bytes": _bounded(corpus.text_bytes, stays.text_bytes),
        "docs": None if corpus.docs is None else _bounded(corpus.docs, stays.docs, docs_most),
        "text_bytes_per_token": _between(corpus.text_bytes_per_token, stays),
        "stored_bytes_per_token": _bounded(
            corpus.stored_bytes_per_token, 1.0, times(corpus.stored_bytes[DATASET])
        ),
        "stored_bytes": {**told, **stored},
        "files": {**corpus.files, **files},
    }
    kept = {
        name: figure if name not in steps[first:] else _kept(figure, stays.docs, docs_most)
        for name, figure in estimate.kept_frac.items()
    }
    further = {"corpus": corpus.model_copy(update=lowered), "kept_frac": kept, "disk_bytes": disk}
    return estimate.model_copy(update=further)


def _bounded(figure: Figure, stays: float, times: float = 1.0) -> Figure:
    """stays: the least share of it that there will be.  times: the most, as so many times it."""
    (low, high), least = figure.ends(), min(1.0, figure.value)
    return _within(figure, max(least, low * stays), max(figure.value, high * times))


def _within(figure: Figure, low: float, high: float) -> Figure:
    """With bounds; as it is where these add nothing, so that an interval stays one."""
    bounds = low, high
    return figure if bounds == figure.ends() else figure.model_copy(update={"bounds": bounds})


def _between(per_token: Figure, stays: Stays) -> Figure:
    """Bytes a token, where at most what does not stay of either goes; as it was if all may go."""
    if not stays.tokens:
        return per_token
    low, high = per_token.ends()
    return _within(per_token, low * stays.text_bytes, high / stays.tokens)


def _kept(figure: Figure, stays: float, times: float) -> Figure:
    """The share that a step keeps which is not predicted, or stands behind one."""
    low, high = figure.ends()
    return figure if stays == 1 else _within(figure, low * stays / times, max(high * times, 1.0))


def growth_of(growth: Growth, grown: tuple[float, Drawn] | None) -> UniqueGrowth:
    """As estimate.json has it.

    grown: documents, and unique ones of these.
    """
    beta, low, high = growth.exponent()
    exponent = Figure(value=max(beta, 0.0), low=max(low, 0.0), high=max(high, beta, 0.0))
    return UniqueGrowth(
        scale=growth.scale(),
        exponent=exponent,
        docs=tuple(growth.docs.tolist()),
        unique=tuple(growth.unique.tolist()),
        grown_docs=None if grown is None else Figure(value=grown[0]),
        grown_unique=None if grown is None else grown[1].figure(),
    )


def sample_in_words(job: MeasureJob, sample: Sample, finished: Measured) -> str:
    """What was read."""
    drawn_frac = sample.choice.tokenized * sample.read_frac
    read, drawn = map(percent, (sample.read_frac, drawn_frac))
    tokenized = f"{drawn} of the bytes tokenized"
    if not sample.read.all():
        tokenized = f"{read} of the bytes read, {drawn} tokenized"
    elif finished.probed is None:
        tokenized += ", all read once"
    if lost := len(finished.failures):
        tokenized += f", {lost:,} of {lost + len(finished.parts):,} parts left out"
    if finished.probed is None:
        return tokenized
    probed = finished.probed.facts
    return f"{probed.probes:,} of {probed.corpus_docs:,} documents probed, {tokenized}"


def to_json(estimate: Estimate) -> dict[str, object]:
    """Plain data that `sizing.corpus` reads back; an exact figure is a number."""
    data = estimate.model_dump(exclude={"corpus"}, exclude_none=True)
    return {**data, "corpus": estimate.corpus.to_json()}
