"""What came of reading a batch: the account of its documents, and the damage that was met."""

from collections import Counter

import pyarrow.compute as pc

from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.pipelines.images.account import read_images
from tokenmill.pipelines.ledger import StageStats
from tokenmill.pipelines.read.batch import FILE_CAUSES, ReadBatch


def read_stats(batch: ReadBatch) -> StageStats:
    """The account of reading: what could not be read counts as failed, by cause."""
    causes = sorted(batch.failed["reason"].to_pylist())
    n_bytes = int(text_buffers(batch.documents["text"]).lengths.sum())
    lost = pc.sum(batch.failed["text_bytes"]).as_py() or 0
    images = None
    if "images" in batch.documents.schema.names:
        images = read_images(batch.documents, batch.failed_images)
    return StageStats(
        docs_in=batch.documents.num_rows + len(causes),
        docs_out=batch.documents.num_rows,
        failed=dict(Counter(causes)),
        bytes_in=n_bytes + lost,
        bytes_out=n_bytes,
        bytes_removed=lost,
        images=images,
    )


def damages(batch: ReadBatch) -> list[str]:
    """What makes the batch's shard incomplete, each as "truncated_gzip: where and why"."""
    return [
        f"{row['reason']}: {row['detail']}"
        for row in (batch.failed.to_pylist() if batch.damage else ())
        if row["reason"] in FILE_CAUSES
    ]
