"""What a stage did to illustrated documents, as plain values, and the laws that it must keep."""

from tokenmill.dedup.arrays import text_buffers
from tokenmill.pipelines.core.schema import ILLUSTRATED, PLACEHOLDER, REMOVED, REMOVED_IMAGE
from tokenmill.pipelines.filters.images.edit import image_stats


def text_bytes(batch):
    return int(text_buffers(batch["text"]).lengths.sum())


def checked(stage, batch):
    """Run a stage; check that every document and image is kept or counted, places and all."""
    before = batch.to_pylist()
    result = stage(batch)
    kept, removed, stats, receipts, _ = result
    assert batch.to_pylist() == before
    assert (kept.schema, removed.schema) == (ILLUSTRATED, REMOVED)
    assert (stats.docs_in, stats.bytes_in) == (batch.num_rows, text_bytes(batch))
    assert (stats.docs_out, stats.bytes_out) == (kept.num_rows, text_bytes(kept))
    assert sum(stats.removed.values()) == removed.num_rows
    both = kept["doc_id"].to_pylist() + removed["doc_id"].to_pylist()
    assert sorted(both) == batch["doc_id"].to_pylist()
    stats.check("stage")
    if receipts is not None:
        assert receipts.schema == REMOVED_IMAGE
        assert set(receipts["stage"].to_pylist()) <= {stage.name}
    image_stats(batch, kept, [] if receipts is None else [receipts]).check("images")
    for old, new in pairs(before, kept.to_pylist()):
        places = new["text"].count(PLACEHOLDER)
        assert places == (len(new["images"]) if PLACEHOLDER in old["text"] else 0)
        numbers = [i["number"] for i in old["images"]]
        assert [i["number"] for i in new["images"]] == sorted(
            {i["number"] for i in new["images"]} & set(numbers)
        )
    return result


def pairs(before, after):
    by_id = {row["doc_id"]: row for row in before}
    return [(by_id[row["doc_id"]], row) for row in after]


def document_verdicts(result, batch):
    """For each document (reason or None, value or None)."""
    found = {r["doc_id"]: (r["reason"], r["value"]) for r in result.removed.to_pylist()}
    return [found.get(i, (None, None)) for i in batch["doc_id"].to_pylist()]


def image_rows(result, batch):
    """For each document, for each of its images, its receipt or None."""
    found = {(r["doc_id"], r["number"]): r for r in result.images.to_pylist()}
    return [
        [found.get((row["doc_id"], i["number"])) for i in row["images"]]
        for row in batch.to_pylist()
    ]
