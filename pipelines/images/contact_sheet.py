"""A contact sheet: some of the images kept, and some of those removed, by reason."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tokenmill.pipelines.mirror import find, present
from tokenmill.sizing.document.pictures import Picture, sheet
from tokenmill.sizing.document.section import count

SHOWN_KEPT, SHOWN_REMOVED = 36, 12
LONGEST_NAME = 24


def contact_sheet(folder: Path, ledger: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sheet for the images kept and one for each reason, as HTML.

    folder: of the files that `thumbnail_file` wrote.  ledger: of the report.
    """
    by_fate: dict[tuple[str, str], list[list[dict[str, Any]]]] = defaultdict(list)
    for path in find(folder, "*.parquet"):
        of_shard: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for row in pq.read_table(present(path)).to_pylist():
            of_shard[row["stage"], row["reason"]].append(row)
        for fate, rows in of_shard.items():
            by_fate[fate].append(rows)
    made = []
    if ("", "") in by_fate:
        made.append(_sheet("Kept", _kept(ledger), by_fate["", ""], SHOWN_KEPT))
    for stage, reason, n in _left(ledger):
        if (stage, reason) in by_fate:
            title = f"{reason} · {stage}"
            made.append(_sheet(title, n, by_fate[stage, reason], SHOWN_REMOVED))
    return made


def _sheet(title: str, n: int, by_shard: list[list[dict[str, Any]]], most: int) -> str:
    rows = _in_turn(by_shard)[:most]
    note = f"{count(n, 'image')}, {len(rows)} shown" if n > len(rows) else count(n, "image")
    return sheet(title, note, [_picture(row) for row in rows])


def _in_turn(by_shard: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The first of each shard, then the second of each."""
    most = max(map(len, by_shard))
    return [rows[i] for i in range(most) for rows in by_shard if i < len(rows)]


def _picture(row: Mapping[str, Any]) -> Picture:
    sides = f"{row['width']} x {row['height']}" if row["width"] else ""
    place = row["path"] if row["bytes"] is not None else row["url"] or row["path"]
    name = place.rpartition("/")[2]
    short = name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:]}"
    facts = [place, row["format"], sides, row["detail"]]
    return Picture(
        row["jpeg"],
        " ".join(filter(None, [sides, short])),
        " · ".join(filter(None, facts)),
    )


def _kept(ledger: Sequence[Mapping[str, Any]]) -> int:
    return int(next((r["images"]["images_out"] for r in ledger[::-1] if "images" in r), 0))


def _left(ledger: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Stage, reason and how many images, in the order of the ledger."""
    for row in ledger:
        images = row.get("images")
        if images:
            for reason, n in {**images["removed"], **images["failed"]}.items():
                yield row["stage"], reason, n
