"""A check that is killed and started again ends as one that never was: byte for byte."""

import signal

import pytest

from tests.apart import apart
from tests.e2e import killed_contamination
from tests.pipelines.contamination.corpus import write_check
from tests.receipts import receipts
from tests.strategies import few

OUTPUT = ("items.parquet", "overlaps.parquet", "summary.json", "counts.arrow")


def run(check, out, moment="never", number=1):
    return apart(killed_contamination.main, str(check), str(out), moment, str(number))


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    path = folder / "check.json"
    path.write_text(write_check(folder).model_dump_json())
    return path


@pytest.fixture(scope="module")
def undisturbed(check, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    ended = run(check, out)
    assert ended.returncode == 0, ended.stderr
    return out


MOMENTS = [
    ("partial", 3),
    ("renamed", 4),
    ("counted", 1),
    ("analysing", 2),
    ("reporting", 1),
]


@pytest.mark.parametrize(("moment", "number"), few(MOMENTS, 3), ids=[m for m, _ in MOMENTS])
def test_killed_and_continued_is_byte_identical(check, undisturbed, tmp_path, moment, number):
    out = tmp_path / "run"
    killed = run(check, out, moment, number)
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    before = receipts(out)
    assert before, "the kill came before anything was done"
    assert (set(before) == set(receipts(undisturbed))) == (moment == "reporting")

    again = run(check, out)
    assert again.returncode == 0, again.stderr
    after = receipts(out)
    assert {name: after[name] for name in before} == before, "finished work was done again"
    for name in OUTPUT:
        assert (out / name).read_bytes() == (undisturbed / name).read_bytes(), name
    assert not list(out.rglob("*.partial-*"))
    assert not (out / "found").exists()


def test_the_undisturbed_run_has_several_shards_and_hits(undisturbed):
    """The kills above would prove little on a run of one shard."""
    assert sum(name.startswith("search/") for name in receipts(undisturbed)) >= 6
    assert (undisturbed / "overlaps.parquet").stat().st_size > 1000
