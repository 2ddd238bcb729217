"""What a reader of an estimate must know besides its figures, and what would tell more.

What a reader must know of images, and of steps that compare documents by them.
"""

import math
from collections.abc import Iterator

import numpy as np

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.copies import Probed
from tokenmill.pipelines.measure.drawn import Drawn
from tokenmill.pipelines.measure.job import MeasureJob
from tokenmill.pipelines.measure.left import Left
from tokenmill.pipelines.measure.sample import Sample, bytes_of
from tokenmill.pipelines.measure.scanned import Stays
from tokenmill.pipelines.measure.unseen import CURVE_UNITS, FURTHEST
from tokenmill.sizing.corpus import UniqueBy
from tokenmill.sizing.units import format_bytes, percent


def image_remarks(job: MeasureJob, probed: Probed | None, *, is_whole: bool) -> Iterator[str]:
    """Lines, for people."""
    ordered = [n for n, step in enumerate(job.dedup) if step.decides_in_order]
    # one that decides in order counts those that are left, and so does what is behind it
    joined = job.dedup[: min(ordered, default=None)]
    if len(joined) > 1 and not all(step.compares_texts for step in joined):
        names = " and ".join(step.name for step in joined)
        yield (
            f"{names} are counted each by itself, over documents as they come to the first: of two"
            " that find copies of a document, the one that finds more is believed. What each keeps"
            " is told as a share of what the one before it leaves"
        )
    for step in (s for s in job.dedup if s.needs_dates):
        yield (
            f"{step.name} keeps the newest of equal documents, whose place among them was taken"
            " for that of the last in input order"
        )
    taker, rule = job.image_step, job.image_rule
    if taker is None or rule is None or probed is None:
        return
    if job.predicted.index(taker) > 0:
        yield (
            f"{taker.name} stands behind steps that remove duplicates, whose images were counted"
            " too: of what it takes out, anything between none and all may stay"
        )
    elif len(job.predicted) > 1:
        yield (
            f"of documents that are alike, {taker.name} takes all or some: the figures behind it"
            " span both"
        )
    if not is_whole:
        yield (
            f"{taker.name} counts images of the whole corpus, and a part was read: images of which"
            f" so few were seen that there may be more than {rule.more_than:,} of all are taken to"
            " stay, and to go; the interval spans both"
        )


ROUNDING = 1e-9
WIDEST = 0.12  # full width of the interval of tokens, of the value: wider ones are explained


def unique_by_of(left: Left | None) -> UniqueBy | None:
    """What the unique fraction rests on; None where duplicates are not looked for."""
    if left is None:
        return None
    if left.is_whole:
        return "scan"
    return "model" if left.is_modelled else "bounds"


def grown_to(job: MeasureJob, left: Left | None, docs: Drawn) -> tuple[float, Drawn] | str | None:
    """Documents of the corpus that was asked for, and unique ones of these; or why there are none.

    docs: of all inputs, that duplicates are looked for among.
    """
    wanted = job.measuring.grow_to
    if wanted is None:
        return None
    if left is None:
        return "--grow-to: the recipe looks for no duplicates, so every document is unique"
    times = wanted if wanted <= FURTHEST else wanted / docs.value
    try:
        grown = left.grown(times)
    except ConfigError as e:
        return f"--grow-to: {e}"
    if grown is None:
        return "--grow-to: too few parts were read for a curve of growth"
    return times * docs.value, grown


def remarks(
    job: MeasureJob,
    sample: Sample,
    probed: Probed | None,
    unique_by: UniqueBy | None,
    tokens: Drawn,
    stays: Stays,
) -> Iterator[str]:
    """Lines, for people. tokens: of the dataset.  stays: through steps not predicted."""
    least = "next to nothing"
    if stays.tokens:
        share = percent(stays.tokens)
        least = f"{share} of the tokens, which stand in documents that it surely leaves"
    for step in job.not_predicted:
        instead = f"; {step.what_tells_instead}" if step.what_tells_instead else ""
        yield (
            f"{step.name} is not predicted: documents are taken to leave it as they came, so that"
            f" bounds of figures behind it reach down to {least}, and its folders are left out"
            f"{instead}"
        )
    if job.recipe.output.shuffle:
        yield (
            "the mixture is not predicted: tokens, documents and bytes are those of each document"
            " once, without what weights, shares and epochs leave out or repeat, and without"
            " 91-mix; the dry run tells what they ask for"
        )
    if job.recipe.output.text is not None:
        yield (
            "kept text is not predicted: folder text, and what 90-tokens has of it and of"
            " annotations beside, are left out; the dry run tells the most they can be, annotations"
            " aside"
        )
    if job.recipe.run.keep_index:
        yield (
            "the index that later runs stand against is not predicted: folder index, 140 bytes a"
            " document that stays and with exact similarity 0.35 to 0.5 of its text, is left out;"
            " the dry run tells the most it can be"
        )
    yield from image_remarks(job, probed, is_whole=bool(sample.read.all()))
    n_open = int((~probed.last.whole).sum()) if probed and not job.image_step else 0
    if n_open:
        yield (
            f"of {n_open:,} probes it is not known how many of those like them stay: clusters were"
            " too large to follow to their ends, or not all were probed that a step behind near"
            " compares; what is left lies between two readings, which the interval spans"
        )
    total = float(sample.part_bytes.sum())
    everything = format_bytes(total)
    read = f"{percent(sample.read_frac)} of the bytes were read"
    if unique_by == "bounds":
        n_units = len(np.unique(sample.units[sample.read]))
        half = 1 / FURTHEST
        budget = f"--budget {half:.0%} reads {format_bytes(total * half)}"
        yield (
            f"{read}, in {n_units:,} parts or whole files, and no sample of documents tells how"
            " many of all are unique: that figure and all behind it lie anywhere between what was"
            " seen, and what there is if new documents go on coming as fast as they did last; a"
            f" full scan reads {everything}, and a model of growth takes {half:.0%} of the"
            f" documents, in {CURVE_UNITS} parts or whole files, at least"
            f"{f' ({budget})' if sample.read_frac < half else ''}"
        )
    if unique_by == "model":
        yield (
            f"{read}; how many of all documents are unique is a model's figure: the growth of"
            f" unique documents, carried on; a full scan, which counts them, reads {everything}"
        )
    yield from _beyond_budget(sample, bytes_of("--budget", job.measuring.budget, total))
    if sample.read.all():
        yield from _costly(job, probed)
        yield from _wide(job, sample, probed, tokens)


def _costly(job: MeasureJob, probed: Probed | None) -> Iterator[str]:
    """Why this took about as long as the run will."""
    is_asked = bool(job.filters or job.later_stages)
    if is_asked and probed is not None and 0 < probed.corpus_docs <= job.measuring.probes:
        yield (
            f"all {probed.corpus_docs:,} documents that filters leave were probed: of a corpus of"
            f" fewer than --probes {job.measuring.probes:,} no part tells enough, and measuring it"
            " takes as long as the run"
        )
        return
    before = [stage.stage_name for stage in job.first_pass.stages if stage.changes_text]
    if job.dedup and before != ["normalize"] * len(before):
        yield (
            f"{', '.join(before)} change texts that duplicates are looked for among, so that all"
            " documents went through them"
        )


def _wide(job: MeasureJob, sample: Sample, probed: Probed | None, tokens: Drawn) -> Iterator[str]:
    """Why tokens are not told closer: the source that most of their interval comes from."""
    low, high = tokens.limits()
    width = (high - low) / max(tokens.value, 1.0)
    if width <= WIDEST or probed is None or not probed.steps:
        return
    last, text = probed.last, np.maximum(probed.ends["text_bytes"], 1)
    left = np.where(last.first["left_at"] >= 0, text / last.copies, 0.0)
    off = (1 - probed.chance) * (probed.scale * left) ** 2  # whoever takes the others out
    names, source = np.unique([part.source for part in sample.plan.shards], return_inverse=True)
    of_source = np.bincount(source[probed.parts], off, len(names))
    if not of_source.any():
        return
    most, times = int(of_source.argmax()), (width / WIDEST) ** 2
    mine, share = source[probed.parts] == most, sample.choice.tokenized
    probes = min(math.ceil(job.measuring.probes * times), probed.corpus_docs)
    more = [f"--sample {min(share * times, 1.0):.0%}"] if share < 1 else []
    more += [f"--probes {probes:,}"] if probes > job.measuring.probes else []
    way_out = f"; {' '.join(more)} would make it about {percent(WIDEST)}" if more else ""
    yield (
        f"the interval of tokens is {percent(width)} wide, "
        f"{percent(float(of_source[most] / of_source.sum()))}"
        f" of its variance by {names[most]}: of that {int(mine.sum()):,} documents were drawn, half"
        f" of their text in the {_half_of(text[mine]):,} longest{way_out}"
    )


def _half_of(sizes: I64) -> int:
    """How many of the largest are half of all."""
    ends = np.cumsum(np.sort(sizes)[::-1])
    return int(np.searchsorted(ends, ends[-1] / 2)) + 1


def _beyond_budget(sample: Sample, room: float) -> Iterator[str]:
    """Why more had to be read than was allowed.

    room: bytes that were.
    """
    read = sample.read_frac * float(sample.part_bytes.sum())
    if read > room * (1 + ROUNDING):
        yield (
            f"--budget allows {format_bytes(room)}, {format_bytes(read)} were read: a few parts of"
            " the inputs, which tell how parts differ"
        )
    partly = compressed_files(sample)
    if partly:
        others = f" and {len(partly) - 1:,} more" if len(partly) > 1 else ""
        yield (
            f"{partly[0]}{others}: compressed, and can only be read from the beginning, so that"
            f" {percent(decompressed_frac(sample))} of all bytes were decompressed to reach those"
            " that count"
        )


def decompressed_frac(sample: Sample) -> float:
    """Share of the bytes of all inputs that were gone through: compressed files to the last part
    of them that was read.
    """
    parts, sizes = sample.plan.shards, sample.part_bytes
    ends = {p.paths[0]: i for i, p in enumerate(parts) if p.compression and sample.read[i]}
    through = [
        r or i <= ends.get(p.paths[0], -1)
        for i, (p, r) in enumerate(zip(parts, sample.read, strict=True))
    ]
    return float(sizes[through].sum() / max(sizes.sum(), 1.0))


def compressed_files(sample: Sample) -> list[str]:
    """Compressed files of which some parts were drawn and others were not."""
    read: dict[str, set[bool]] = {}
    for part, is_read in zip(sample.plan.shards, sample.read.tolist(), strict=True):
        if part.compression:
            read.setdefault(part.names[0], set()).add(is_read)
    return [name for name, kinds in read.items() if len(kinds) > 1]
