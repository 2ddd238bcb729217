"""A whole probe of a small dataset: what is told, and in which words."""

import json
import mmap
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.pipelines.probe.corpora import documents, packed, sheet
from tests.pipelines.probe.loaders import Leaky, Slow
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.cache import mount_of
from tokenmill.pipelines.probe.document import probe_html, probe_markdown, summary
from tokenmill.pipelines.probe.report import shares_pages
from tokenmill.pipelines.probe.run import Settings, probe
from tokenmill.pipelines.probe.shards import open_dataset

SHORT = Settings(seconds=0.2, processes=1)
SHM = Path("/dev/shm")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = packed(tmp_path_factory.mktemp("probe") / "d", batches=16)
    (folder.parent / "ck").mkdir()
    settings = Settings(
        seconds=1, processes=2, checkpoint=folder.parent / "ck", checkpoint_bytes=1_000_000
    )
    made = probe(folder, sheet(), settings, plan="small.yaml")
    assert list((folder.parent / "ck").iterdir()) == []
    return made


def test_it_is_plain_data(data):
    assert json.loads(json.dumps(data)) == data
    assert data["probe"] == "1"
    assert data["plan"]["name"] == "small.yaml"
    assert data["dataset"]["rows"] == 512
    assert data["search"]["tried"][0]["accelerators"] == 1
    assert set(data["depths"]) == {"raw", "arrow", "full"}
    assert data["settings"]["order"] == "sequential"


def test_the_verdict_follows_from_what_was_measured(data):
    judged = [v["outcome"] for v in data["verdicts"] if v["judged"]]
    assert len(judged) in (2, 3)
    worst = next(o for o in ("FAIL", "UNDECIDED", "PASS") if o in judged)
    assert data["verdict"]["outcome"] == worst
    if data["search"]["supported"] == 0:
        assert judged[0] == "FAIL"


def test_each_run_is_told(data):
    for run in data["runs"]:
        assert 0 <= run["au"] <= 1
        assert run["asked_frac"] == pytest.approx(1.0)
        assert run["reads_per_s"] > 0
    for depth in data["depths"].values():
        assert depth["turns"] == 4
        assert 0 < depth["low"] <= depth["bytes_per_s"] <= depth["high"]


def test_checkpoints_were_written_alone(data):
    alone = data["checkpoints"]["alone"]
    assert alone["verified"]
    assert (alone["ranks"], alone["n_bytes"]) == (1, 1_000_000)
    assert alone["write_bytes_per_s"] > 0


def test_the_documents_say_what_matters(data):
    text, html = probe_markdown(data), probe_html(data)
    for word in ("accelerators fed", "amplification", "MLPerf Storage", "read back"):
        assert word in text
        assert word in html
    assert summary(data).startswith(f"{data['verdict']['outcome']}: ")
    assert "<svg" in html


def test_a_dataset_in_the_page_cache_never_passes(disk):
    folder, held = packed(disk / "d", batches=16), []
    for path in folder.glob("*.arrow"):
        with path.open("rb") as f:
            held.append(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))
        bytes(held[-1])
    made = probe(folder, sheet(), SHORT)
    assert made["verdict"]["outcome"] != "PASS"
    assert made["depths"]["full"]["device_frac"] < 0.5


def test_checkpoints_in_memory_never_pass(tmp_path):
    if mount_of(SHM).fstype != "tmpfs":
        pytest.skip(f"{SHM} is no tmpfs here")
    with TemporaryDirectory(dir=SHM) as folder:
        settings = replace(SHORT, checkpoint=Path(folder), checkpoint_bytes=1_000_000)
        made = probe(packed(tmp_path / "d"), sheet(), settings)
    _, *written = made["verdicts"]
    assert written[0]["judged"]
    for verdict in written:  # what is too slow even there fails
        assert verdict["outcome"] == "FAIL" or "/dev/shm is tmpfs" in verdict["reason"]


@pytest.mark.parametrize(("seq_len", "shares"), [(8, True), (mmap.PAGESIZE // 2, False)])
def test_rows_of_less_than_a_page_share_it(tmp_path, seq_len, shares):
    assert shares_pages(open_dataset(packed(tmp_path / "d", rows=2, seq_len=seq_len))) is shares
    tokens = documents(tmp_path / "documents", [seq_len] * 8)
    assert shares_pages(open_dataset(tokens)) is shares


def test_storage_that_feeds_too_few_fails(tmp_path):
    folder = packed(tmp_path / "d", batches=64, rows=8)
    settings = Settings(seconds=1, processes=1, accelerators=8, loader=Slow)
    made = probe(folder, sheet(), settings)
    assert made["search"]["tried"][0]["accelerators"] == 8
    assert made["search"]["supported"] < 4
    assert made["verdict"]["outcome"] == "FAIL"
    assert made["verdict"]["reason"].startswith("8 accelerators are needed: ")


def test_a_loader_that_discards_shows_as_amplification(tmp_path):
    settings = Settings(seconds=0.2, processes=1, loader=Leaky)
    made = probe(packed(tmp_path / "d"), sheet(), settings)
    assert made["depths"]["full"]["asked_frac"] > 6
    # on a machine that is busy with something else not even one accelerator may be fed
    assert ("read amplification, by the loader" in probe_markdown(made)) == bool(made["runs"])


def test_one_document_is_no_division_by_zero(tmp_path):
    made = probe(documents(tmp_path / "d", [3]), sheet(), SHORT)
    assert made["verdict"]["outcome"] != "PASS"
    assert made["checkpoints"] is None
    assert "Not probed" in probe_markdown(made)


def test_mistakes_are_told_before_anything_is_read(tmp_path):
    with pytest.raises(ConfigError, match="not a dataset"):
        probe(tmp_path, sheet(), SHORT)
    (tmp_path / "file").touch()
    settings = Settings(seconds=1, checkpoint=tmp_path / "file" / "ck")
    with pytest.raises(ConfigError, match="checkpoints cannot be written there"):
        probe(packed(tmp_path / "d"), sheet(), settings)
