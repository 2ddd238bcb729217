import errno
import os
from contextlib import nullcontext

import pytest

from tests.running import one_by_one
from tokenmill.pipelines.core.errors import ConfigError, LedgerError, ShardError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.runs.drive import drive
from tokenmill.pipelines.runs.manifest import held
from tokenmill.pipelines.runs.receipt import receipt_path
from tokenmill.pipelines.runs.work import (
    Done,
    Finished,
    Job,
    Phase,
    Work,
    attempt,
    chained,
    do_phase,
)
from tokenmill.pipelines.storage.atomic import write_text


def works(chains):
    return [Work(step="s", key=str(i), inputs="", call=dict, chain=c) for i, c in enumerate(chains)]


def keys(made):
    return [[work.key for work in chain] for chain in made]


def test_works_of_a_chain_stay_together_and_in_order():
    assert keys(chained(works("aab"), 1)) == [["0", "1"], ["2"]]
    assert keys(chained(works(["", "", "x", "x"]), 1)) == [["0"], ["1"], ["2", "3"]]
    assert chained([], 4) == []


def test_long_chains_are_cut_until_every_worker_has_one():
    assert keys(chained(works("aaaaa"), 2)) == [["0", "1", "2"], ["3", "4"]]
    assert keys(chained(works("aaaab"), 3)) == [["0", "1"], ["2", "3"], ["4"]]
    assert keys(chained(works("ab"), 8)) == [["0"], ["1"]]


def test_no_work_is_lost():
    for n in range(8):
        made = chained(works("abbbbbbccc"), n)
        assert [k for chain in keys(made) for k in chain] == [str(i) for i in range(10)]


def failing(job, kind, *said):
    raise kind(*said)


def attempted(out, kind, *said):
    work = Work(step="s", key="0", inputs="", call=failing, args=(kind, *said))
    return attempt(Job(out=out, identity="test"), work)


@pytest.mark.parametrize("code", ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"])
def test_what_a_disk_refuses_to_all_ends_the_run_in_one_line(tmp_path, code):
    said = (OSError, getattr(errno, code), "no")
    wanted = rf"{tmp_path}: cannot write there \(no\); free space or choose another --out"
    with pytest.raises(ConfigError, match=wanted):
        attempted(tmp_path, *said)
    with pytest.raises(ConfigError, match=wanted), held(tmp_path):
        failing(None, *said)


@pytest.mark.parametrize("kind", [ConfigError, LedgerError])
def test_what_is_wrong_for_all_ends_the_run(tmp_path, kind):
    with pytest.raises(kind, match="told"):
        attempted(tmp_path, kind, "told")


@pytest.mark.parametrize("said", [(ShardError, "told"), (KeyError,)])
def test_what_one_shard_meets_is_its_outcome(tmp_path, said):
    outcome = attempted(tmp_path, *said)
    assert isinstance(outcome.error, said[0])
    assert outcome.receipt is None


@pytest.mark.parametrize(("runner", "pauses"), [("threads", 0), ("dask", 3)])
def test_a_file_that_is_not_there_is_waited_for_where_other_machines_write(
    tmp_path, monkeypatch, runner, pauses
):
    slept = []
    monkeypatch.setattr("tokenmill.pipelines.runs.work.time.sleep", slept.append)
    work = Work(step="s", key="0", inputs="", call=failing, args=(FileNotFoundError, 2, "no", "f"))
    job = Job(out=tmp_path, identity="test", options=RunOptions(runner=runner))
    assert isinstance(attempt(job, work).error, FileNotFoundError)
    assert len(slept) == pauses


class MadeAgain(Job):
    durable = False


def writing_a_file(job):
    write_text(job.out / "made", "text")
    return Done(files=(job.out / "made",))


@pytest.mark.parametrize(("kind", "n"), [(Job, 4), (MadeAgain, 0)])
def test_works_wait_for_the_disk_where_what_they_write_is_to_last(tmp_path, monkeypatch, kind, n):
    """A file and its receipt, and the folder of each."""
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(fsync(file)))
    work = Work(step="s", key="0", inputs="", call=writing_a_file)
    assert attempt(kind(out=tmp_path, identity="test"), work).receipt is not None
    assert len(synced) == n


def test_another_error_of_the_disk_is_told_with_the_way_on(tmp_path):
    with pytest.raises(ConfigError, match="gone; the same command continues"), held(tmp_path):
        failing(None, OSError, errno.ENOENT, "gone")


def counting(job, stats):
    return Done(stats=[("read", StageStats(docs_in=2, docs_out=2)), ("rule", stats)])


@pytest.mark.parametrize(
    ("stats", "is_wrong"),
    [
        (StageStats(docs_in=2, docs_out=1, removed={"short": 1}), False),
        (StageStats(docs_in=2, docs_out=1), True),
        (StageStats(docs_in=2, docs_out=2, bytes_in=5, bytes_out=4), True),
    ],
)
def test_an_account_that_does_not_add_up_ends_the_run_and_leaves_no_receipt(
    tmp_path, stats, is_wrong
):
    work = Work(step="s", key="0", inputs="", call=counting, args=(stats,))
    with pytest.raises(LedgerError, match="^s 0, rule: ") if is_wrong else nullcontext():
        attempt(Job(out=tmp_path, identity="test"), work)
    assert receipt_path(tmp_path, "s", "0").exists() is not is_wrong


def telling(job, key):
    if key == "1":
        raise ShardError("told")
    return Done()


@pytest.mark.parametrize("whole", [False, True])
def test_a_work_that_fails_is_listed_or_ends_a_run_that_needs_it(tmp_path, whole):
    made = tuple(Work(step="s", key=k, inputs="", call=telling, args=(k,)) for k in "012")
    finished = Finished()
    running = do_phase(Phase(name="s", works=made, whole=whole), finished)
    with pytest.raises(ShardError, match="told") if whole else nullcontext():
        receipts = drive(Job(out=tmp_path, identity="test"), running, one_by_one)
        assert list(receipts) == ["0", "2"]
        assert [r.key for r in finished.receipts] == ["0", "2"]
        (failure,) = finished.failures
        assert (failure.step, failure.key, "told" in failure.error) == ("s", "1", True)
