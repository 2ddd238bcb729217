"""How far a run is, told from its directory: as the process that worked on it would have told."""

import json
import os

import pytest

from tests.e2e.corpus import write_corpus
from tests.flows.test_progress import Followed, StoppedError
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.flows.exits import MISTAKE, NO, OK, PARTIAL
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.prepare.recipe import load_recipe


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return load_recipe(write_corpus(tmp_path_factory.mktemp("corpus"), shard_bytes="20kB"))


def status(out, capsys):
    """The exit code, and what is told."""
    code = main(["status", str(out), "--json"])
    return code, json.loads(capsys.readouterr().out)


def stop(recipe, out, n, execute=None):
    followed = execute or Followed(stop_after=n)
    with pytest.raises(StoppedError):
        prepare(recipe, out, followed)
    return followed


@pytest.mark.parametrize("n", [3, 30, 60])
def test_a_run_is_as_far_as_its_own_process_had_it(recipe, tmp_path, capsys, n):
    out = tmp_path / "run"
    ours = stop(recipe, out, n).standing
    code, told = status(out, capsys)
    assert code == NO
    assert (told["status"], told["phase"]) == ("running", ours.phase)
    assert (told["works"], told["works_done"]) == (ours.works, ours.done)
    assert told["share"] == pytest.approx(ours.share)
    assert (told["docs_kept"], told["docs_removed"]) == (ours.kept, ours.removed)
    assert told["to_come"] == [stage.name for stage in ours.behind]
    assert told["seems_alive"]
    assert told["failures"] == []


def test_a_run_that_is_continued_is_as_far_as_it_was_and_further(recipe, tmp_path, capsys):
    out = tmp_path / "run"
    stop(recipe, out, 10)
    before = status(out, capsys)[1]
    stop(recipe, out, 5)
    after = status(out, capsys)[1]
    assert after["works_done"] == before["works_done"] + 5
    assert after["docs_kept"] > before["docs_kept"]
    assert after["share"] > before["share"]


def test_rate_and_time_left_are_those_of_the_fresh_works(recipe, tmp_path, capsys):
    out = tmp_path / "run"
    stop(recipe, out, 4)
    standing = out / "receipts" / "standing.json"
    begun = json.loads(standing.read_text())
    standing.write_text(json.dumps(begun | {"phase_began": begun["phase_began"] - 10_000}))
    told = status(out, capsys)[1]
    receipts = [json.loads(p.read_text()) for p in (out / "receipts").glob("pass-0/*.json")]
    n_bytes = sum(r["stats"][0][1]["bytes_in"] for r in receipts)
    assert told["bytes_per_s"] == pytest.approx(n_bytes / 10_000, rel=0.1)
    assert told["seconds_left"] is None  # too little is done
    standing.write_text(json.dumps(begun | {"began": begun["began"] - 10_000}))
    told = status(out, capsys)[1]
    assert told["seconds_left"] == pytest.approx(10_000 * (1 / told["share"] - 1), rel=0.1)


def test_a_run_that_is_long_quiet_seems_to_have_stopped(recipe, tmp_path, capsys):
    out = tmp_path / "run"
    stop(recipe, out, 4)
    for path in (out / "receipts").rglob("*.json"):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 3600))
    code, told = status(out, capsys)
    assert (code, told["seems_alive"], told["seconds_left"]) == (NO, False, None)
    assert told["last_receipt_s_ago"] == pytest.approx(3600, abs=60)
    main(["status", str(out)])
    assert "60 min ago: it seems to have stopped" in capsys.readouterr().out


def broken(*_):
    raise ShardError("a.jsonl: its disk is damaged")


def failing(job, phase, stop_at="tokenize"):
    """The second shard fails, and the run stops later."""
    if phase.name == stop_at:
        raise StoppedError
    if phase.name == "filter" and phase.works:
        object.__setattr__(phase.works[-1], "call", broken)
    return one_by_one(job, phase)


def test_works_that_failed_are_told_with_why_until_they_are_done(recipe, tmp_path, capsys):
    out = tmp_path / "run"
    stop(recipe, out, 0, failing)
    code, told = status(out, capsys)
    (why,) = told["failures"]
    assert (code, told["status"]) == (NO, "running")
    assert why.startswith("pass-0 ")
    assert why.endswith("ShardError: a.jsonl: its disk is damaged")

    prepare(recipe, out, lambda job, phase: failing(job, phase, stop_at=None))
    code, told = status(out, capsys)
    (why,) = told["failures"]
    assert (code, told["status"]) == (PARTIAL, "partial")
    assert "its disk is damaged" in why

    report = prepare(recipe, out, one_by_one)
    code, told = status(out, capsys)
    assert (code, told["status"], told["failures"]) == (OK, "complete", [])
    assert told["docs_kept"] == report["ledger"][-1]["docs_out"]
    assert not list(out.glob("receipts/*/*.failed"))
    assert not (out / "receipts" / "standing.json").exists()
    assert main(["status", str(out)]) == OK
    shown = capsys.readouterr().out
    assert "100%" in shown
    assert str(out / "report.html") in shown.replace("\n", "")


def test_what_is_no_run_is_a_line(tmp_path, capsys):
    assert main(["status", str(tmp_path)]) == MISTAKE
    assert "no run here" in capsys.readouterr().err
