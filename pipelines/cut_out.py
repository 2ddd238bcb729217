"""What decontamination cut out of documents, and for which items; told by a run directory.

pieces/*.parquet   what is left of a document  --> its gaps are what was cut out
overlaps/*.parquet what repeats an item        --> why
"""

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenmill.pipelines.contamination.overlap_rows import OVERLAP
from tokenmill.pipelines.earlier import part_number
from tokenmill.pipelines.mirror import find, present
from tokenmill.pipelines.pieces import PIECE


class CutOut(NamedTuple):
    """A stretch of a document, in bytes of its text as it came to the step, and why it went.

    items: names of the benchmark items in it, each once, those with most n-grams first.
    excerpt: the beginning of what repeats the first of them; "" if there is none.
    """

    start_byte: int
    end_byte: int
    text: str
    items: tuple[str, ...]
    excerpt: str


def overlaps_of(out: Path, doc_ids: Iterable[int]) -> list[dict[str, Any]]:
    """Rows of schema OVERLAP of these documents."""
    rows: list[dict[str, Any]] = []
    by_shard = groupby(sorted(doc_ids), key=lambda doc_id: part_number(out, doc_id))
    for number, these in by_shard:
        wanted = pc.field("doc_id").isin(pa.array(these, pa.uint64()))
        for path in find(out / "overlaps", f"part-{number:05d}-*.parquet"):
            rows += pq.read_table(present(path), filters=wanted, schema=OVERLAP).to_pylist()
    return rows


def cut_out(
    text: bytes, pieces: Sequence[dict[str, Any]], overlaps: Sequence[dict[str, Any]]
) -> list[CutOut]:
    """The stretches that no piece has; of a document without pieces those that repeat an item.

    text: the document as it came to the step.
    pieces, overlaps: rows of schemas PIECE and OVERLAP of this document.
    """
    stretches = _gaps(len(text), pieces) if pieces else _union(overlaps)
    longest_first = sorted(overlaps, key=lambda o: -o["ngrams"])
    made = []
    for start, end in stretches:
        within = [o for o in longest_first if o["start_byte"] < end and o["end_byte"] > start]
        items = tuple(dict.fromkeys(o["item"] for o in within))
        excerpt = within[0]["excerpt"] if within else ""
        made.append(CutOut(start, end, text[start:end].decode(errors="replace"), items, excerpt))
    return made


def cut_documents(out: Path, limit: int | None = None) -> list[dict[str, Any]]:
    """Documents that were cut and of which a piece is left: doc_id, id, pieces and items of each.

    Their order is that of the input; pieces dropped for their length count.
    """
    made: list[dict[str, Any]] = []
    columns = ["parent_doc_id", "parent_id", "pieces"]
    for path in find(out / "pieces", "part-*.parquet"):
        table = pq.read_table(present(path), columns=columns, schema=PIECE)
        # a row for each piece, those of a document together
        last = {row["parent_doc_id"]: row for row in table.to_pylist()}
        made += [
            {"doc_id": d, "id": row["parent_id"], "pieces": row["pieces"]}
            for d, row in last.items()
        ]
        if limit is not None and len(made) >= limit:
            break
    made = made[:limit]
    items: dict[int, dict[str, None]] = {row["doc_id"]: {} for row in made}
    for overlap in overlaps_of(out, items):
        items[overlap["doc_id"]][overlap["item"]] = None
    return [{**row, "items": list(items[row["doc_id"]])} for row in made]


def count_cut(out: Path) -> int:
    """How many documents `cut_documents` has."""
    paths, wanted = find(out / "pieces", "part-*.parquet"), ["parent_doc_id"]
    columns = (pq.read_table(present(path), columns=wanted)[wanted[0]] for path in paths)
    return sum(pc.count_distinct(column).as_py() for column in columns)


def _gaps(size: int, pieces: Iterable[dict[str, Any]]) -> list[tuple[int, int]]:
    edges = sorted((p["start_byte"], p["end_byte"]) for p in pieces)
    bounds = [(0, 0), *edges, (size, size)]
    return [(end, start) for (_, end), (start, _) in pairwise(bounds) if end < start]


def _union(spans: Iterable[dict[str, Any]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for start, end in sorted((s["start_byte"], s["end_byte"]) for s in spans):
        if made and start <= made[-1][1]:
            made[-1] = made[-1][0], max(end, made[-1][1])
        else:
            made.append((start, end))
    return made
