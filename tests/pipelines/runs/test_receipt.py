import gzip
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.runs.packs import Packing, find_receipts, receipts_of
from tokenmill.pipelines.runs.receipt import (
    Receipt,
    WorkFacts,
    WorkId,
    file_entry,
    receipt_path,
    save_receipt,
    step_folder,
    valid_receipt,
)
from tokenmill.pipelines.runs.work import Done, Job, Work, do

FIELDS = ("step", "key", "files", "stats", "facts")  # of a receipt that tell its output


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "10-filtered" / "part-0.arrow"
    path.parent.mkdir()
    path.write_bytes(b"documents")
    receipt = Receipt(
        step="pass-0",
        key="0",
        inputs="abc",
        files=(file_entry(tmp_path, path),),
        stats=(("read", StageStats(docs_in=1, docs_out=1)),),
        facts={"source": "web"},
        seconds=(1.5, 1.0),
    )
    save_receipt(tmp_path, receipt)
    return tmp_path, path, receipt


def test_a_receipt_comes_back_as_it_was(made):
    out, _, receipt = made
    assert valid_receipt(out, WorkId(step="pass-0", key="0", inputs="abc")) == receipt


def test_a_settled_receipt_tells_what_it_told(made):
    receipt = made[2]
    stats = StageStats(docs_in=2, removed={"short": 1}, images=ImageStats(images_in=3))
    for full in (
        receipt,
        replace(receipt, facts=Counted(docs=3, sources={})),
        replace(
            receipt, stats=(*receipt.stats, ("tokenize", stats)), facts={"bins": [0, 3], "of": {}}
        ),
    ):
        settled, like = replace(full), replace(receipt, key="another").settle()
        assert settled.settle(like) == settled.settle(like) == like
        assert settled == full
        assert (settled.digest, settled.to_json()) == (full.digest, full.to_json())
        assert settled.facts is not settled.facts  # it is not kept
        assert pickle.loads(pickle.dumps(settled)) == replace(settled) == full
    with pytest.raises(AttributeError, match="'other'"):
        _ = settled.other


def test_no_receipt_no_trust(tmp_path):
    assert valid_receipt(tmp_path, WorkId(step="pass-0", key="0", inputs="abc")) is None


def test_a_receipt_over_other_inputs_does_not_hold(made):
    assert valid_receipt(made[0], WorkId(step="pass-0", key="0", inputs="other")) is None


@pytest.mark.parametrize("harm", ["gone", "shorter"])
def test_a_receipt_whose_file_changed_does_not_hold(made, harm):
    out, path, _ = made
    path.unlink() if harm == "gone" else path.write_bytes(b"doc")
    assert valid_receipt(out, WorkId(step="pass-0", key="0", inputs="abc")) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"step": "pass-0"}', "\x00"])
def test_a_damaged_receipt_proves_nothing(made, text):
    out = made[0]
    receipt_path(out, "pass-0", "0").write_text(text)
    assert valid_receipt(out, WorkId(step="pass-0", key="0", inputs="abc")) is None


def test_a_pack_tells_of_no_work_whose_file_went_and_that_failed_then(tmp_path):
    works = [WorkId(step="s", key=key, inputs="abc") for key in ("0", "1")]
    for work in works:
        (path := tmp_path / work.key).write_bytes(b"x")
        files = (file_entry(tmp_path, path),)
        save_receipt(tmp_path, Receipt(step="s", key=work.key, inputs="abc", files=files))
    for keys in (["0", "1"], ["0"]):
        found = find_receipts(tmp_path, works)
        assert list(found.receipts) == keys
        Packing(tmp_path, works, found).end(found.receipts)
        assert [receipt.key for receipt in receipts_of(tmp_path, "s")] == keys
        (tmp_path / "1").unlink(missing_ok=True)


GOOD = gzip.compress(b"{}")
HARMS = {
    "a header cut": GOOD[:5],
    "an end cut": GOOD[:-9],
    "another checksum": GOOD[:-8] + bytes(8),
    "no deflate": GOOD[:10] + b"\xff" * 20,
    "no gzip": b"{}",
    "no JSON": gzip.compress(b"{"),
    "no UTF-8": gzip.compress(b'"\xff"'),
    "keys missing": GOOD,
    "no object": gzip.compress(b"[]"),
    "nothing": b"",
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_pack_proves_nothing_whatever_its_damage(made, harm):
    out, _, receipt = made
    work = WorkId(step="pass-0", key="0", inputs="abc")
    receipt_path(out, "pass-0", "0").unlink()
    pack = step_folder(out, "pass-0") / "00000-of-old.jsonl.gz"
    pack.write_bytes(gzip.compress(json.dumps(receipt.to_json()).encode()))
    assert find_receipts(out, [work]).receipts == {"0": receipt}
    pack.write_bytes(HARMS[harm])
    assert find_receipts(out, [work]).receipts == {}


@pytest.mark.parametrize(
    ("field", "value", "tells"),
    [
        ("step", "pass-1", True),
        ("key", "1", True),
        ("files", [["10-filtered/part-0.arrow", 9, "0" * 32]], True),
        ("stats", [["read", StageStats(docs_in=2, docs_out=2).to_json()]], True),
        ("facts", {"source": "books"}, True),
        ("inputs", "other", False),
        ("seconds", [9.0, 9.0], False),
    ],
)
def test_the_digest_tells_output_apart_but_not_time_nor_input(made, field, value, tells):
    receipt = made[2]
    assert set(receipt.to_json()) == {*FIELDS, "inputs", "seconds"}
    other = Receipt.from_json({**receipt.to_json(), field: value})
    assert other != receipt
    assert (other.digest != receipt.digest) is tells


@dataclass(frozen=True, kw_only=True)
class Counted(WorkFacts):
    docs: int
    sources: Mapping[str, int]


def counted(job, docs):
    return Done(facts=Counted(docs=docs, sources={"web": docs}))


def told(job, docs):
    return Done(facts={"docs": docs})


def test_facts_of_a_kind_come_back_as_that_kind(tmp_path):
    work = Work(step="count", key="0", inputs="i", facts=Counted, call=counted, args=(3,))
    job = Job(out=tmp_path, identity="i")
    first, again = do(job, work), do(job, work)
    assert first.fresh
    assert not again.fresh
    assert again.receipt == first.receipt
    assert again.receipt.facts == Counted(docs=3, sources={"web": 3})
    plain = replace(first.receipt, facts={"docs": 3, "sources": {"web": 3}})
    assert plain.digest == first.receipt.digest
    assert plain.to_json() == first.receipt.to_json()


def test_facts_of_another_kind_prove_nothing(tmp_path):
    job = Job(out=tmp_path, identity="i")
    do(job, Work(step="count", key="0", inputs="i", call=told, args=(3,)))
    work = Work(step="count", key="0", inputs="i", facts=Counted, call=counted, args=(3,))
    assert find_receipts(tmp_path, [work]).receipts == {}
    assert do(job, work).fresh


@pytest.mark.parametrize(("call", "facts"), [(counted, None), (told, Counted)])
def test_a_work_that_tells_another_kind_than_it_says_is_a_mistake(tmp_path, call, facts):
    work = Work(step="count", key="0", inputs="i", facts=facts, call=call, args=(3,))
    with pytest.raises(TypeError, match="count tells .*, its work says"):
        do(Job(out=tmp_path, identity="i"), work)


@pytest.mark.parametrize("durable", [True, False])
def test_what_is_made_again_in_minutes_is_not_read_again_for_its_digest(tmp_path, durable):
    def write(job):
        (job.out / "written").write_bytes(b"documents")
        return Done(files=[job.out / "written"])

    class OfJob(Job):
        pass

    OfJob.durable = durable
    work = Work(step="s", key="0", inputs="abc", call=write, args=())
    receipt = do(OfJob(out=tmp_path, identity="j"), work).receipt
    name, size, digest = receipt.files[0]
    assert (name, size, len(digest)) == ("written", 9, 32 if durable else 0)
    assert valid_receipt(tmp_path, work) == receipt
