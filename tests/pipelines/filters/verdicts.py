"""What a stage says of each document, as plain values."""

from tests.strategies import document_batch


def verdicts(stage, texts):
    """For each text (reason or None, value or None)."""
    removed = stage(document_batch(texts)).removed.to_pylist()
    found = {row["doc_id"]: (row["reason"], row["value"]) for row in removed}
    return [found.get(i, (None, None)) for i in range(len(texts))]
