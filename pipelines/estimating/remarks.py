"""What a reader of an estimate must know besides its figures, and what would tell more."""

from collections.abc import Iterator

from pipelines.errors import ConfigError
from pipelines.estimate.drawn import Drawn
from pipelines.estimate.growth import FURTHEST
from pipelines.estimating.copies import Probed
from pipelines.estimating.job import MeasureJob
from pipelines.estimating.left import Left
from pipelines.estimating.sample import Sample
from pipelines.recipe import step_name
from pipelines.repeats.steps import REPEATS
from sizing.corpus import UniqueBy
from sizing.units import format_bytes


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
        return "--grow-to: the inputs have too few parts for a curve of growth"
    return times * docs.value, grown


def remarks(
    job: MeasureJob, sample: Sample, probed: Probed | None, unique_by: UniqueBy | None
) -> Iterator[str]:
    """Lines, for people."""
    if "decontaminate" in [step_name(step) for step in job.recipe.steps]:
        yield (
            "decontaminate is not predicted: documents are taken to leave it as they came;"
            " tokenmill contamination says how many hold benchmark items"
        )
    for step in job.recipe.steps:
        if isinstance(step, REPEATS):
            yield f"{step.name} is not predicted: documents are taken to leave it as they came"
    n_open = int((~probed.last.whole).sum()) if probed else 0
    if n_open:
        yield (
            f"the clusters of {n_open:,} probes were too large to follow to their ends: what is"
            " left of near duplicates lies between two readings, which the interval spans"
        )
    everything = format_bytes(float(sample.part_bytes.sum()))
    read = f"{sample.read_frac:.0%} of the bytes were read"
    if unique_by == "bounds":
        yield (
            f"{read}, and no sample of documents tells how many of all are unique: that figure and"
            " all behind it lie anywhere between what was seen, and what there is if new documents"
            f" go on coming as fast as they did last; a full scan reads {everything}, --budget"
            f" {1 / FURTHEST:.0%} ({format_bytes(float(sample.part_bytes.sum()) / FURTHEST)}) lets"
            " a model of growth tell"
        )
    if unique_by == "model":
        yield (
            f"{read}; how many of all documents are unique is a model's figure: the growth of"
            f" unique documents, carried on; a full scan, which counts them, reads {everything}"
        )
    if not sample.read.all():
        partly = compressed_files(sample)
        if partly:
            yield (
                f"{len(partly):,} compressed files, as {partly[0]}, are read up to the last part"
                " drawn of each: a compressed file can only be read from its beginning"
            )


def compressed_files(sample: Sample) -> list[str]:
    """Compressed files of which some parts were drawn and others were not."""
    read: dict[str, set[bool]] = {}
    for part, is_read in zip(sample.plan.shards, sample.read.tolist(), strict=True):
        if part.compression:
            read.setdefault(part.names[0], set()).add(is_read)
    return [name for name, kinds in read.items() if len(kinds) > 1]
