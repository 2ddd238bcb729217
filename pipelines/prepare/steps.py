"""The steps of our own, in the order in which they are shown; a step of others is made known alike.

Everything else asks a step for what it needs, and knows none by its class.
"""

from collections.abc import Iterator

from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.core.step import STEPS, Step, register
from tokenmill.pipelines.corpus.counted.images import RepeatedImages
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.corpus.equal import ExactDedup, SameImages, SameUrl
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.corpus.near_images import NearImages
from tokenmill.pipelines.corpus.spans.step import RepeatedSpans
from tokenmill.pipelines.corpus.step import CorpusStep
from tokenmill.pipelines.filters.stages import STAGES

OWN_STEPS: tuple[type[Step], ...] = (
    *STAGES.values(),
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
for own_step in OWN_STEPS:
    register(own_step)


def corpus_steps() -> Iterator[type[CorpusStep]]:
    """All that need something of all documents, those of plug-ins too."""
    for step in STEPS.values():
        if issubclass(step, CorpusStep):
            yield step


def side_folders() -> tuple[str, ...]:
    """Folders of the side tables that any step writes: they stay when a run has finished."""
    tables = (table for step in corpus_steps() for table in step.side_tables)
    return tuple(dict.fromkeys(table.folder.name for table in tables))
