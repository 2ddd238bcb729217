"""What a stage returns that takes images or text out of documents, and documents out of a batch."""

from collections.abc import Sequence

import pyarrow as pa

from tokenmill.pipelines.filters.rules import Rule, first_failing
from tokenmill.pipelines.stage import KEEP, StageResult, keep_where, with_text


def edited_where(
    stage: str,
    batch: pa.RecordBatch,
    edited: pa.RecordBatch,
    rules: Sequence[Rule],
    receipts: pa.RecordBatch | None,
    *,
    details: pa.Array | None = None,
) -> StageResult:
    """Pass on the edited documents that meet every rule; account for text and images taken out.

    edited: the documents of `batch`, in order, less what was taken out.  rules: for documents.
    receipts: of the images taken out (schema REMOVED_IMAGE).  details: (n_docs,) string, for those
    that leave.
    """
    verdicts, values = first_failing(rules, batch.num_rows)
    result = keep_where(
        stage, batch, verdicts, [r.reason for r in rules], values=values, details=details
    )
    kept = edited if result.kept is batch else edited.filter(pa.array(verdicts == KEEP))
    if edited is not batch:
        result = with_text(result, kept["text"])._replace(kept=kept)
    return result._replace(images=receipts)
