"""What a reader must know of images, and of steps that compare documents by them."""

from collections.abc import Iterator

from tokenmill.pipelines.estimating.copies import Probed
from tokenmill.pipelines.estimating.job import MeasureJob
from tokenmill.pipelines.repeats.steps import SAME, SameUrl
from tokenmill.pipelines.steps import step_name


def image_remarks(job: MeasureJob, probed: Probed | None, *, is_whole: bool) -> Iterator[str]:
    """Lines, for people."""
    same = [step.name for step in job.dedup if isinstance(step, SAME)]
    if same and len(job.dedup) > 1:
        names = " and ".join(step_name(step) for step in job.dedup)
        yield (
            f"{names} are counted each by itself, over documents as they come to the first: of two"
            " that find copies of a document, the one that finds more is believed"
        )
    if any(isinstance(step, SameUrl) and step.needs_dates for step in job.dedup):
        yield (
            f"{SameUrl.name} keeps the newest of equal documents, whose place among them was taken"
            " for that of the last in input order"
        )
    step = job.repeated_images
    if step is None or probed is None:
        return
    if job.finders.index(step) > 0:
        yield (
            f"{step.name} stands behind steps that remove duplicates, whose images were counted"
            " too: of what it takes out, anything between none and all may stay"
        )
    elif len(job.finders) > 1:
        yield (
            f"of documents that are alike, {step.name} takes all or some: the figures behind it"
            " span both"
        )
    if not is_whole:
        yield (
            f"{step.name} counts images of the whole corpus, and a part was read: images of which"
            f" so few were seen that there may be more than {step.more_than:,} of all are taken to"
            " stay, and to go; the interval spans both"
        )
