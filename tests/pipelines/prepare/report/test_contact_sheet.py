"""The contact sheet: some of each shard, by reason, in the order of the ledger."""

import pyarrow as pa
import pyarrow.parquet as pq

from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.prepare.report.model import LedgerRow
from tokenmill.pipelines.prepare.report.thumbnails import SHOWN_REMOVED, THUMBNAIL, contact_sheet

LEDGER = [
    LedgerRow(
        stage="read", **StageStats(images=ImageStats(images_out=60, failed={"bomb": 1})).to_json()
    ),
    LedgerRow(
        stage="images",
        **StageStats(images=ImageStats(images_out=20, removed={"ratio": 40})).to_json(),
    ),
    LedgerRow(stage="near", **StageStats().to_json()),
    LedgerRow(stage="tokenize", **StageStats(images=ImageStats(images_out=20)).to_json()),
]


def write(folder, shard, rows):
    made = [
        {
            "stage": stage,
            "reason": reason,
            "doc_id": i,
            "number": 0,
            "id": f"{shard}-{i}",
            "path": f"{shard}.tar/{shard}-{i}.jpg",
            "format": "jpeg",
            "width": 30,
            "height": 20,
            "bytes": 5,
            "detail": None,
            "jpeg": b"jpeg",
        }
        for i, (stage, reason) in enumerate(rows)
    ]
    pq.write_table(pa.Table.from_pylist(made, THUMBNAIL), folder / f"part-{shard}.0.parquet")


def test_each_shard_is_shown_in_turn(tmp_path):
    for shard in "ab":
        write(tmp_path, shard, [("images", "ratio")] * 9 + [("", "")] * 2)
    kept, ratio = contact_sheet(tmp_path, LEDGER)
    assert "Kept<small>20 images, 4 shown</small>" in kept
    assert f"ratio · images<small>40 images, {SHOWN_REMOVED} shown</small>" in ratio
    assert ratio.index("a-0.jpg") < ratio.index("b-0.jpg") < ratio.index("a-1.jpg")
    assert "30 x 20 b-5.jpg" in ratio
    assert "b-6.jpg" not in ratio


def test_a_run_without_images_has_no_sheet(tmp_path):
    assert contact_sheet(tmp_path / "thumbnails", []) == []


def test_an_image_without_bytes_is_named_by_its_url(tmp_path):
    row = {"stage": "", "reason": "", "doc_id": 0, "number": 0, "id": "a", "path": "a.jsonl#3"}
    rows = [{**row, "url": "https://example.org/photos/red.jpg"}, row]
    pq.write_table(pa.Table.from_pylist(rows, THUMBNAIL), tmp_path / "part-a.0.parquet")
    (kept,) = contact_sheet(tmp_path, LEDGER)
    assert ">no picture</span></div>red.jpg</li>" in kept
    assert "a.jsonl#3</li>" in kept
