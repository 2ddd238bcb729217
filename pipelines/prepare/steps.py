"""The steps a recipe can name: the registry.

A step of one's own is made known by one call, `register`, in a module that `core.plugins` names:
everything else asks the step.
"""

from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.images import RepeatedImages
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.corpus.equal import ExactDedup, SameImages, SameUrl
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.corpus.near_images import NearImages
from tokenmill.pipelines.corpus.spans.step import RepeatedSpans
from tokenmill.pipelines.corpus.step import CorpusStep
from tokenmill.pipelines.filters.stages import STAGES

CORPUS_STEPS: dict[str, type[CorpusStep]] = {
    step.name: step
    for step in (
        ExactDedup,
        NearDedup,
        SameUrl,
        SameImages,
        RepeatedImages,
        NearImages,
        RepeatedParagraphs,
        RepeatedSpans,
        Decontaminate,
    )
}
STEPS: dict[str, type[Step]] = {**STAGES, **CORPUS_STEPS}


def register(step: type[Step]) -> None:
    """Make a step known to recipes, by its name.

    Raises:
        ValueError: another step has the name.
    """
    known = STEPS.get(step.name)
    if known is not None and known is not step:
        raise ValueError(f"step {step.name!r} is known already, as {known.__module__}; rename one")
    STEPS[step.name] = step
    if issubclass(step, CorpusStep):
        CORPUS_STEPS[step.name] = step


def side_folders() -> tuple[str, ...]:
    """Folders of the side tables that any step writes: they stay when a run has finished."""
    return tuple(
        dict.fromkeys(t.folder.name for step in CORPUS_STEPS.values() for t in step.side_tables)
    )
