"""The corpus-wide work of `same_url` and `same_images`: which documents are equal by a key."""

from pipelines.config import Config
from pipelines.corpus import Corpus
from pipelines.duplicates import Equality, find_equal
from pipelines.job import Done
from pipelines.prepare_job import PrepareJob
from pipelines.repeats.steps import SameImages, SameUrl


def find_same(
    job: PrepareJob,
    pass_index: int,
    steps: tuple[Config, ...],
    shards: tuple[str, ...],
    step: SameUrl | SameImages,
) -> Done:
    """Mark every document but one of each URL, or set of images; `step` is one of the steps."""
    equality = Equality(step.name, step.name, step.keep, empty=True, similarity=None)
    return find_equal(Corpus(job, pass_index, steps, shards), equality)
