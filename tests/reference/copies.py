"""How often, one receipt at a time."""

from collections import Counter

import pyarrow.parquet as pq

from tokenmill.pipelines.core.pieces import NUMBERS

COLUMNS = {"exact": "copies_exact", "near": "copies_near"}


def copies(out, first_shard=0):
    """A function from the doc_id of who stays to a Counter of what left for it, by column.

    first_shard: of the run; what left for documents of earlier ones is not counted.
    """
    receipts = [row for p in sorted((out / "removed").glob("*.parquet")) for row in _rows(p)]
    named = {r["doc_id"]: r for r in receipts if r["duplicate_of"] is not None}

    def of(doc_id):
        return Counter(
            COLUMNS[r["stage"]]
            for leaves, r in named.items()
            if r["stage"] in COLUMNS and _ends(leaves, named, doc_id)
        )

    def _ends(doc_id, named, at):
        while doc_id in named:
            doc_id = named[doc_id]["duplicate_of"]
            if doc_id >> 32 < first_shard:
                return False
            if doc_id in (at, at & ~int(NUMBERS)):
                return True
        return False

    return of


def _rows(path):
    return pq.read_table(path).to_pylist()
