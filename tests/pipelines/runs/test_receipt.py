import pytest

from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.runs.receipt import (
    Receipt,
    file_entry,
    receipt_path,
    save_receipt,
    valid_receipt,
)


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
    assert valid_receipt(out, "pass-0", "0", "abc") == receipt


def test_no_receipt_no_trust(tmp_path):
    assert valid_receipt(tmp_path, "pass-0", "0", "abc") is None


def test_a_receipt_over_other_inputs_does_not_hold(made):
    assert valid_receipt(made[0], "pass-0", "0", "other") is None


@pytest.mark.parametrize("harm", ["gone", "shorter"])
def test_a_receipt_whose_file_changed_does_not_hold(made, harm):
    out, path, _ = made
    path.unlink() if harm == "gone" else path.write_bytes(b"doc")
    assert valid_receipt(out, "pass-0", "0", "abc") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"step": "pass-0"}', "\x00"])
def test_a_damaged_receipt_proves_nothing(made, text):
    out = made[0]
    receipt_path(out, "pass-0", "0").write_text(text)
    assert valid_receipt(out, "pass-0", "0", "abc") is None


def test_the_digest_tells_output_apart_but_not_time(made):
    receipt = made[2]
    same = Receipt.from_json({**receipt.to_json(), "seconds": [9.0, 9.0]})
    other = Receipt.from_json({**receipt.to_json(), "facts": {"source": "books"}})
    assert same.digest == receipt.digest
    assert other.digest != receipt.digest
