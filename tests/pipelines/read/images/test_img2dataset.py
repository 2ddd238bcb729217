"""Tars with the sidecars that img2dataset leaves beside them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.read.images.shards import jpeg, sample, tar_bytes
from tests.pipelines.read.pictured import read_pictured

STATES = ["success", "failed_to_download", "success", "failed_to_resize", "success"]
ERRORS = [None, "HTTP Error 404: Not Found", None, "Image decoding error", None]


def write(folder, name, first=0, suffix=".tar"):
    """A tar of the rows that were had, the table of all of them, and the account."""
    folder.mkdir(exist_ok=True)
    keys = [f"{first + i:09}" for i in range(len(STATES))]
    urls = [f"https://a.org/{key}.jpg" for key in keys]
    members = {}
    for i, key in enumerate(keys):
        if STATES[i] == "success":
            members |= sample(key, jpeg(), f"caption {key}", url=urls[i])
    (folder / f"{name}{suffix}").write_bytes(tar_bytes(members))
    columns = {"url": urls, "key": keys, "status": STATES, "error_message": ERRORS}
    pq.write_table(
        pa.table({**columns, "caption": keys, "width": [32] * 5}), folder / f"{name}.parquet"
    )
    (folder / f"{name}_stats.json").write_text(json.dumps({"count": 5, "successes": 3}))
    return keys, urls


@pytest.mark.parametrize("format", [None, "webdataset"])
@pytest.mark.parametrize("path", [".", "*.tar", "00000.tar", "00000*"])
def test_rows_without_an_image_fail_with_their_message(tmp_path, format, path):
    folder = tmp_path / "out"
    keys, urls = write(folder, "00000")
    got = read_pictured(folder / path, format=format)
    assert str(folder / "00000.parquet") in got.plan.identity()["inputs"]
    assert (got.plan.skipped, got.plan.failed) == ((), ())
    assert got.ids == keys[::2]
    assert [[i["url"] for i in images] for images in got.images] == [[u] for u in urls[::2]]
    assert got.causes == got.image_causes == ["not_downloaded"] * 2
    assert [f["id"] for f in got.failures] == keys[1::2]
    assert [f["url"] for f in got.failed_images] == urls[1::2]
    expected = f"{folder}/00000.parquet row 1: failed_to_download: HTTP Error 404: Not Found"
    assert got.failures[0]["detail"] == expected


def test_each_tar_has_its_own(tmp_path):
    folder = tmp_path / "out"
    for name, first in (("00000", 0), ("00001", 100)):
        write(folder, name, first)
    (folder / "00001.parquet").unlink()
    (folder / "other.jsonl").write_text('{"text": "a"}\n')
    got = read_pictured(folder)
    assert len(got.documents) == 7
    assert len(got.failures) == 2
    assert {f["id"] for f in got.failures} == {"00000.tar/000000001", "00000.tar/000000003"}
    # the account of a tar without its table is read as what it looks like, and fails by name
    assert [f.path for f in got.plan.failed] == [str(folder / "00001_stats.json")]


def test_a_sidecar_that_is_damaged_or_another_tools_loses_no_sample(tmp_path):
    folder = tmp_path / "out"
    keys, _ = write(folder, "00000")
    pq.write_table(pa.table({"key": keys, "aesthetic": [0.5] * 5}), folder / "00000.parquet")
    got = read_pictured(folder)
    assert (got.ids, got.failures) == (keys[::2], [])
    (folder / "00000.parquet").write_bytes(b"PAR1 no table")
    got = read_pictured(folder)
    assert (got.ids, got.causes) == (keys[::2], ["damaged_parquet"])
    assert got.failures[0]["detail"].startswith(f"{folder}/00000.parquet: ")
