"""Bytes of what a run with images writes: kept by documents, of duplicates, shown in reports."""

from tokenmill.pipelines.core.schema import REMOVED_IMAGE
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.corpus.units import FOUND, REPEATED, UNITS
from tokenmill.pipelines.measure.drawn import Drawn, between, exact
from tokenmill.pipelines.measure.images import SPOOLED_BYTES
from tokenmill.pipelines.measure.job import MeasureJob
from tokenmill.pipelines.measure.pictures import PredictedImages
from tokenmill.pipelines.measure.scratch import Blocks, file_parts, heads, row_groups
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
    job: MeasureJob, blocks: Blocks, predicted: PredictedImages, docs: Drawn
) -> dict[str, Drawn]:
    """Bytes by folder; those of the dataset and of token shards are what images add to them.

    docs: of the dataset.
    """
    images = job.recipe.images
    if images is None:
        return {}
    left, size = predicted.total("images"), predicted.total("bytes")
    folders = {"90-tokens": docs * SIZE_BYTES}
    if images.store == "bytes":
        folders["90-tokens"] += left * (SPOOLED_BYTES - 4)  # and not where the bytes end
        folders[DATASET] = size
    if needs_spool(job, is_last=not job.first_pass.after):
        folders[SPOOL.name] = predicted.bytes_before if job.first_pass.after else size
    folders |= _of_repeats(job, blocks, predicted)
    folders |= _beside(job, blocks, predicted)
    if images.webdataset:
        folders["webdataset"] = size + docs * between(*TAR_BYTES, order=7)
    return folders


def _of_repeats(job: MeasureJob, blocks: Blocks, predicted: PredictedImages) -> dict[str, Drawn]:
    step = job.image_step
    schema = None if step is None else step.unit_schema()
    if step is None or schema is None or step.image_rule is None:
        return {}
    part = next(p for p in passes(job.recipe.steps) if step in p.after)
    n_keys = len(step.image_rule.by)
    gone = predicted.before * (exact(1.0) - predicted.kept_frac[step.name])
    units = predicted.before * float(UNIT_BYTES + n_keys * KEY_BYTES)
    return {
        UNITS.named(part.index): units + heads(schema, blocks),
        REPEATED.named(part.index): gone * float(FOUND_BYTES) + heads(FOUND, blocks),
    }


def _beside(job: MeasureJob, blocks: Blocks, predicted: PredictedImages) -> dict[str, Drawn]:
    """Receipts of images, and small pictures of some."""
    n_passes = len(passes(job.recipe.steps))
    files, gone = float(n_passes * blocks.shards), predicted.receipts
    groups = row_groups(blocks, len(job.recipe.steps) + 1, order=5).within(most=gone)
    head, group = file_parts(REMOVED_IMAGE)
    rows = gone * between(*RECEIPT_BYTES, order=8) + groups * float(group)
    head_shown, group_shown = file_parts(THUMBNAIL)
    return {
        "removed-images": rows + head * files,
        "thumbnails": shown(job, blocks, predicted) * between(*THUMBNAIL_BYTES, order=9)
        + (head_shown + group_shown) * files,
    }


def shown(job: MeasureJob, blocks: Blocks, predicted: PredictedImages) -> Drawn:
    """Small pictures that the run makes: of each shard some kept, and some of each reason."""
    n_shards, n_passes = blocks.shards, len(passes(job.recipe.steps))
    most = min(float(n_shards * (MOST_KEPT + n_passes * MOST)), predicted.images_in.value)
    return between(max(min(predicted.images_in.value, n_shards), 1.0), max(most, 2.0), order=6)
