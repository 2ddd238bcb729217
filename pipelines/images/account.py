"""What a stage did to images: counted from what went in, what came out, and the receipts."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.images.edit import counts_of
from tokenmill.pipelines.ledger import ImageStats


def image_stats(
    before: pa.RecordBatch, after: pa.RecordBatch, receipts: Sequence[pa.RecordBatch] = ()
) -> ImageStats:
    """The account of images of a stage.

    before, after: documents (schema ILLUSTRATED).  receipts: schema REMOVED_IMAGE.

    Images of documents that left count as gone with them, but for those with a receipt of their
    own; so an image that vanished without one leaves the account open, and `check` tells.
    """
    gone = np.asarray(pc.invert(pc.is_in(before["doc_id"], after["doc_id"])))
    lost = set(np.asarray(before["doc_id"])[gone].tolist())
    reasons: dict[str, Counter[str]] = {"removed": Counter(), "failed": Counter()}
    of_lost = 0
    for rows in receipts:
        for outcome, reason in zip(
            rows["outcome"].to_pylist(), rows["reason"].to_pylist(), strict=True
        ):
            reasons[outcome][reason] += 1
        of_lost += sum(i in lost for i in rows["doc_id"].to_pylist())
    return ImageStats(
        images_in=n_images(before),
        images_out=n_images(after),
        removed=dict(sorted(reasons["removed"].items())),
        failed=dict(sorted(reasons["failed"].items())),
        with_document=int(counts_of(before)[gone].sum()) - of_lost,
        bytes_in=image_bytes(before),
        bytes_out=image_bytes(after),
    )


def read_images(documents: pa.RecordBatch, failed: pa.RecordBatch | None) -> ImageStats:
    """The account of reading: images that could not be read count as failed, by cause."""
    causes = Counter([] if failed is None else failed["reason"].to_pylist())
    lost = 0 if failed is None else pc.sum(failed["bytes"]).as_py() or 0
    n, n_bytes = n_images(documents), image_bytes(documents)
    return ImageStats(
        images_in=n + causes.total(),
        images_out=n,
        failed=dict(sorted(causes.items())),
        bytes_in=n_bytes + lost,
        bytes_out=n_bytes,
    )


def n_images(documents: pa.RecordBatch) -> int:
    return int(counts_of(documents).sum())


def image_bytes(documents: pa.RecordBatch) -> int:
    """As stored; of images without bytes, none."""
    return pc.sum(documents["images"].flatten().field("bytes")).as_py() or 0
