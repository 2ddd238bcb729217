"""What a run writes for images, by folder, besides its documents and tokens."""

import numpy as np

from tokenmill.pipelines.core.schema import REMOVED_IMAGE
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.corpus.units import FOUND, REPEATED, UNITS
from tokenmill.pipelines.measure.between import between, blocks_of
from tokenmill.pipelines.measure.drawn import Drawn, exact
from tokenmill.pipelines.measure.image_rows import SPOOLED_BYTES
from tokenmill.pipelines.measure.job import MeasureJob
from tokenmill.pipelines.measure.pictures import PredictedImages
from tokenmill.pipelines.measure.removed import file_parts
from tokenmill.pipelines.measure.scratch import heads
from tokenmill.pipelines.prepare.report.thumbnails import MOST, MOST_KEPT, THUMBNAIL
from tokenmill.pipelines.prepare.shard import needs_spool
from tokenmill.pipelines.runs.folder import SPOOL
from tokenmill.sizing.corpus import DATASET

UNIT_BYTES, KEY_BYTES = 8 + 4, 16  # of an image: its name, a key
FOUND_BYTES = 8 + 4 + 1 + 4 + 8 + 4
SIZE_BYTES = 8  # of a document in a token shard: its size in the dataset
RECEIPT_BYTES = 15.0, 200.0  # of an image that left, as compressed
THUMBNAIL_BYTES = 500.0, 6_000.0  # of 112 pixels
TAR_BYTES = 2_500.0, 6_000.0  # of a sample: three heads and ends, caption, facts


def image_folders(
    job: MeasureJob, plan: Plan, told: PredictedImages, docs: Drawn
) -> dict[str, Drawn]:
    """Bytes by folder; those of the dataset and of token shards are what images add to them.

    docs: of the dataset.
    """
    images = job.recipe.images
    if images is None:
        return {}
    left, size = told.total("images"), told.total("bytes")
    made = {"90-tokens": docs * SIZE_BYTES}
    if images.store == "bytes":
        made["90-tokens"] += left * (SPOOLED_BYTES - 4)  # and not where the bytes end
        made[DATASET] = size
    if needs_spool(job, is_last=not job.first_pass.after):
        made[SPOOL.name] = told.bytes_before if job.first_pass.after else size
    made |= _of_repeats(job, plan, told)
    made |= _beside(job, plan, told)
    if images.webdataset:
        made["webdataset"] = size + docs * between(*TAR_BYTES, order=7)
    return made


def _of_repeats(job: MeasureJob, plan: Plan, told: PredictedImages) -> dict[str, Drawn]:
    step = job.image_step
    schema = None if step is None else step.unit_schema()
    if step is None or schema is None or step.image_rule is None:
        return {}
    part = next(p for p in passes(job.recipe.steps) if step in p.after)
    n_keys = len(step.image_rule.by)
    gone = told.before * (exact(1.0) + told.kept_frac[step.name] * -1.0)
    units = told.before * float(UNIT_BYTES + n_keys * KEY_BYTES)
    return {
        UNITS.named(part.index): units + heads(schema, plan),
        REPEATED.named(part.index): gone * float(FOUND_BYTES) + heads(FOUND, plan),
    }


def _beside(job: MeasureJob, plan: Plan, told: PredictedImages) -> dict[str, Drawn]:
    """Receipts of images, and small pictures of some."""
    n_passes = len(passes(job.recipe.steps))
    files, blocks = float(n_passes * len(plan.shards)), blocks_of(plan)
    gone = told.receipts
    n_stages = len(job.recipe.steps) + 1
    groups = between(blocks.least, max(blocks.most * n_stages, blocks.least), order=5)
    groups = Drawn(min(groups.value, gone.value), np.minimum(groups.draws, gone.draws))
    head, group = file_parts(REMOVED_IMAGE)
    rows = gone * between(*RECEIPT_BYTES, order=8) + groups * float(group)
    head_shown, group_shown = file_parts(THUMBNAIL)
    return {
        "removed-images": rows + head * files,
        "thumbnails": shown(job, plan, told) * between(*THUMBNAIL_BYTES, order=9)
        + (head_shown + group_shown) * files,
    }


def shown(job: MeasureJob, plan: Plan, told: PredictedImages) -> Drawn:
    """Small pictures that the run makes: of each shard some kept, and some of each reason."""
    n_shards, n_passes = len(plan.shards), len(passes(job.recipe.steps))
    most = min(float(n_shards * (MOST_KEPT + n_passes * MOST)), told.images_in.value)
    return between(max(min(told.images_in.value, n_shards), 1.0), max(most, 2.0), order=6)
