"""What is told of a run while it goes on: how far it is, what it has done, when it will end."""

import contextlib
import io
import json
import time
from datetime import datetime

import pytest
from rich.console import Console

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one, prepare
from tokenmill.flows.progress import LEAST_TOLD_S, Bars, Lines, watcher, watching
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.runs.standing import Standing
from tokenmill.pipelines.runs.work import Coming, Outcome, Phase, Work, attempt


class StoppedError(Exception):
    """The run ends in the middle."""


class Followed:
    """An executor that tells a standing, and notes what it says after each work."""

    def __init__(self, stop_after=None):
        self.standing, self.said, self.stop_after = Standing(), [], stop_after

    def __call__(self, job, phase):
        standing = self.standing
        standing.start(phase, len(phase.done) + len(phase.works))
        outcomes = []
        for work in phase.works:
            if len(self.said) == self.stop_after:
                raise StoppedError
            outcomes.append(attempt(job, work))
            standing.advance(outcomes[-1])
            self.said.append((phase.name, standing.share, standing.kept, standing.removed))
        standing.end()
        return outcomes


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return load_recipe(write_corpus(tmp_path_factory.mktemp("corpus")))


@pytest.fixture(scope="module")
def followed(recipe, tmp_path_factory):
    """A whole run: what was said on the way, and its report."""
    execute = Followed()
    report = prepare(recipe, tmp_path_factory.mktemp("followed") / "run", execute)
    return execute, report


def test_the_share_grows_from_nothing_to_all(followed):
    shares = [share for _, share, _, _ in followed[0].said]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.2
    assert shares[-1] == pytest.approx(1)
    passes = [share for name, share, _, _ in followed[0].said if name in ("filter", "tokenize")]
    assert len(set(passes)) == len(passes)  # each shard of a pass counts


def test_documents_add_up_to_the_ledger(followed):
    execute, report = followed
    rows = report["ledger"]
    gone = sum(sum(row["removed"].values()) + sum(row["failed"].values()) for row in rows)
    told = execute.standing
    assert (told.kept, told.removed + told.failed.total()) == (rows[-1]["docs_out"], gone)
    assert gone > 0


def test_documents_that_failed_are_not_told_as_removed():
    standing = Standing(kept=5, removed=2)
    standing.failed.update(bad_json=3)
    assert "5 documents kept, 2 removed, 3 failed" in standing.in_words()


def test_stages_to_come_are_named_in_order(followed):
    names = list(dict.fromkeys(name for name, *_ in followed[0].said))
    assert [n for n in names if n in ("filter", "exact", "near", "tokenize", "dataset")] == [
        *("filter", "exact", "near", "tokenize", "dataset")
    ]


def test_a_run_that_is_continued_begins_where_it_stood(recipe, tmp_path, followed):
    n = len(followed[0].said)
    stopped = Followed(stop_after=n // 2)
    with pytest.raises(StoppedError):
        prepare(recipe, tmp_path / "run", stopped)
    again = Followed()
    prepare(recipe, tmp_path / "run", again)
    assert again.said[0][1] > stopped.said[-1][1] * 0.9
    assert again.said[-1] == followed[0].said[-1]
    assert again.standing.kept == followed[0].standing.kept


def phase(n=4, cost=1.0, behind=()):
    works = tuple(Work(step="s", key=str(i), inputs="", call=print) for i in range(n))
    return Phase(name="filter", works=works, cost=cost, behind=behind)


def fresh(receipt):
    return Outcome(work=phase().works[0], receipt=receipt, fresh=True)


@pytest.fixture
def receipt(followed, recipe, tmp_path):
    """Of a shard of the first pass."""
    found = []

    def execute(job, phase):
        outcomes = one_by_one(job, phase)
        found.extend(o.receipt for o in outcomes)
        raise StoppedError

    with pytest.raises(StoppedError):
        prepare(recipe, tmp_path / "one", execute)
    return found[0]


def test_the_time_left_is_that_of_the_work_left(receipt):
    standing = Standing(began=time.time() - 30)
    standing.start(phase(4, 1.0, (Coming("near", 0.5), Coming("tokenize", 1.5))), 4)
    assert standing.seconds_left() is None  # nothing is done
    for _ in range(2):
        standing.advance(fresh(receipt))
    assert standing.share == pytest.approx(0.5 / 3)
    assert standing.seconds_left() == pytest.approx(150, rel=0.05)
    words = standing.in_words()
    assert words.startswith("17% of the run, ")
    assert words.endswith("about 3 min left; to come: near, tokenize")
    for n_bytes, speed in ((12_000_000, ", 0.4 MB/s of text, "), (1_000_000, "")):
        standing.n_bytes, standing.phase_began = n_bytes, time.time() - 30
        words = standing.in_words()
        assert speed in words
        assert ("MB/s" in words) is bool(speed)  # of next to no text none is told


def test_no_time_is_told_that_is_not_known(receipt):
    early = Standing()
    early.start(phase(), 4)
    early.advance(fresh(receipt))
    assert early.seconds_left() is None
    assert "left" not in early.in_words()
    ended = Standing(began=time.time() - 30)
    ended.start(phase(1), 1)
    ended.advance(fresh(receipt))
    assert ended.in_words().startswith("100% of the run, ")
    assert ended.seconds_left() is None
    unknown = Standing(began=time.time() - 30)
    unknown.start(phase(cost=0.0), 4)
    unknown.advance(fresh(receipt))
    assert unknown.share is None
    assert "of the run" not in unknown.in_words()


def test_works_that_were_found_done_do_not_make_a_run_look_fast(receipt):
    standing = Standing(began=time.time() - 30)
    found = Phase(name="filter", works=phase(1).works, done=(receipt,) * 3, cost=1.0)
    standing.start(found, 4)
    assert standing.share == pytest.approx(0.75)
    assert standing.seconds_left() is None
    later = Standing(began=time.time() - 30)
    later.start(Phase(name="filter", works=phase(2).works, done=(receipt,) * 2, cost=1.0), 4)
    later.advance(fresh(receipt))
    assert later.seconds_left() == pytest.approx(30, rel=0.01)  # as long as the one before it


def test_lines_come_by_themselves_while_works_go_on(capsys, monkeypatch, receipt):
    monkeypatch.setattr("tokenmill.flows.progress.LINE_EVERY_S", 0.05)
    lines = Lines()
    lines.start(phase(behind=(Coming("tokenize", 2.0),)))
    lines.advance(fresh(receipt))
    while "of the run" not in (shown := capsys.readouterr().err):
        time.sleep(0.01)
    assert shown.startswith("filter: 1 of 4; 8% of the run, ")
    lines.standing.phase_began = time.time() + 60  # it took less than no time
    lines.end()
    assert "filter: 4 of 4 in " not in capsys.readouterr().err
    lines.standing.phase_began = time.time() - LEAST_TOLD_S
    lines.end()
    lines.close()
    assert "filter: 4 of 4 in " in capsys.readouterr().err


def test_a_terminal_has_the_run_below_its_bars(receipt):
    out = io.StringIO()
    bars = Bars(Console(file=out, force_terminal=True, width=100))
    with bars.progress:
        bars.start(phase(behind=(Coming("tokenize", 2.0),)))
        bars.advance(fresh(receipt))
        bars.progress.refresh()
    shown = out.getvalue()
    assert "1/4" in shown
    assert "8% of the run" in shown
    assert "to come: tokenize" in shown


def test_a_log_has_a_line_of_json_for_each_work_and_phase(recipe, tmp_path, capsys, followed):
    file, n = tmp_path / "log.jsonl", len(followed[0].said)
    for stop_after in (n // 2, None):
        with watching(quiet=True, log=str(file)):
            told = Followed(stop_after)
            told.standing = watcher.get()
            told.standing.share = told.standing.kept = told.standing.removed = None  # what it notes
            with contextlib.suppress(StoppedError):
                report = prepare(recipe, tmp_path / "run", told)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    works = [line for line in lines if line["event"] == "work"]
    assert [line["ended"] for line in works] == ["done"] * n
    assert len({(line["step"], line["work"]) for line in works}) == n
    of_pass = [line for line in works if line["step"] == "pass-0"]
    assert sum(line["docs_in"] for line in of_pass) == report["ledger"][0]["docs_in"]
    assert all(datetime.fromisoformat(line["time"]).tzinfo for line in lines)
    assert (lines[0]["event"], lines[0]["share"]) == ("phase begins", 0)
    assert (lines[-1]["event"], lines[-1]["share"]) == ("phase ends", pytest.approx(1))
    assert lines[-1]["docs_kept"] == report["ledger"][-1]["docs_out"]
    assert capsys.readouterr().err == ""


def test_a_failed_work_is_logged_with_its_error(capsys):
    with watching(quiet=False, log="-"):
        watcher.get().start(phase())
        watcher.get().advance(Outcome(work=phase().works[0], error=OSError("gone")))
    *_, line = map(json.loads, capsys.readouterr().err.splitlines())
    assert (line["ended"], line["error"], line["works_done"]) == ("failed", "OSError: gone", 1)


def test_a_log_that_cannot_be_written_is_a_line(tmp_path):
    wanted = rf"--log-json {tmp_path}: cannot write there"
    with pytest.raises(ConfigError, match=wanted), watching(quiet=True, log=str(tmp_path)):
        pass
