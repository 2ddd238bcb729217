"""Scratch that was read for the last time goes while the run goes on; nothing is lost by it."""

import json
from pathlib import Path

import pytest

from tests.e2e.corpus import prose, write_corpus
from tests.e2e.test_kill import contents
from tests.running import prepare
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.runs import drive, packs
from tokenmill.pipelines.runs.work import attempt

SHARDS, GROUP = 12, 3
STEPS = ["normalize", {"exact": {}}]


class Stopped(BaseException):
    """As when the process is killed."""


class Watching:
    """Does works in turn; tells files by folder before each, and stops before one.

    done: step and key of the works done.
    """

    def __init__(self, stop="", number=0):
        self.stop, self.number, self.done, self.seen = stop, number, [], []

    def __call__(self, job, phase):
        outcomes = []
        for number, work in enumerate(phase.works):
            if (work.step, number) == (self.stop, self.number):
                raise Stopped
            self.seen.append((work.step, number, files(job.out)))
            outcomes.append(attempt(job, work))
            phase.told(outcomes[-1])
            self.done.append((work.step, work.key))
        return outcomes

    def before(self, step, number):
        return next(found for at, n, found in self.seen if (at, n) == (step, number))


def files(out):
    """How many files there are by folder."""
    folders = [path for path in Path(out).iterdir() if path.is_dir()]
    return {f.name: sum(p.is_file() for p in f.rglob("*")) for f in folders}


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(packs, "GROUP", GROUP)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    recipe = write_corpus(folder, steps=STEPS)
    docs = [*prose()[:20], *prose()[:4]]
    for i in range(SHARDS):
        with (folder / f"part-{i:02d}.jsonl").open("w") as f:
            f.writelines(json.dumps({"text": text}) + "\n" for text in docs[i * 2 : i * 2 + 2])
    (folder / "docs.jsonl").unlink()
    recipe.write_text(recipe.read_text().replace("docs.jsonl", "part-*.jsonl"))
    return recipe


@pytest.fixture
def recipe(path):
    return load_recipe(path)


def kept(recipe, **settings):
    return recipe.model_copy(update={"run": recipe.run.model_copy(update=settings)})


def test_a_shard_has_two_files_at_most_and_one_of_what_left(recipe, tmp_path):
    """Also of what is found about it: how often it was there, whom it leaves for."""
    watching = Watching()
    prepare(recipe, tmp_path / "run", watching)
    of_group = GROUP * 2  # tokens and removed rows of those whose group has not ended
    of_all = 10  # groups of shards, ranges of keys, the list of shards
    for step, number, found in watching.seen:
        n_files = sum(found.values()) - found["receipts"]
        assert n_files <= 2 * SHARDS + of_group + of_all, (step, number, found)
        assert found["receipts"] <= 2 * SHARDS / GROUP + GROUP + 6, (step, number)
    first, half = watching.before("rows-0", 0), watching.before("pass-1", 2 * GROUP)
    assert "removed" not in first  # no document left in the first pass
    assert half["89-copies"] == 1
    assert {f: half[f] for f in ("10-filtered", "11-keys", "removed", "90-tokens")} == {
        "10-filtered": SHARDS - 2 * GROUP,
        "11-keys": SHARDS - 2 * GROUP,
        "removed": 2 * GROUP,
        "90-tokens": 2 * GROUP,
    }
    assert not list((tmp_path / "run" / "receipts").rglob("*spent*"))
    assert len(list(packs.receipts_of(tmp_path / "run", "pass-0"))) == SHARDS


@pytest.mark.long_but("3")  # in the middle of the works
@pytest.mark.parametrize("number", [0, GROUP, 2 * GROUP + 1])
def test_stopped_and_continued_no_work_is_done_again(recipe, tmp_path, number):
    prepare(recipe, tmp_path / "undisturbed", Watching())
    first, again = Watching("pass-1", number), Watching()
    with pytest.raises(Stopped):
        prepare(recipe, tmp_path / "run", first)
    assert ("10-filtered" in files(tmp_path / "run")) == (number < SHARDS)
    prepare(recipe, tmp_path / "run", again)
    assert set(first.done).isdisjoint(again.done)
    assert contents(tmp_path / "run") == contents(tmp_path / "undisturbed")


@pytest.mark.long_but("1")  # in the middle of deleting
@pytest.mark.parametrize("n_deleted", [0, 1, 3])
def test_stopped_while_scratch_is_deleted_no_work_is_done_again(
    recipe, tmp_path, monkeypatch, n_deleted
):
    """Before a file goes, what is left says that it may: killed between, nothing is made twice."""

    def stopped(*words):
        left, unlink = [n_deleted], Path.unlink

        def last(path, **how):
            if not left[0] and ".partial-" not in path.name:
                raise Stopped
            left[0] -= 1
            unlink(path, **how)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", last)
            packs.spend(*words)

    prepare(recipe, tmp_path / "undisturbed", Watching())
    first, again = Watching(), Watching()
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(drive, "spend", stopped)
        prepare(recipe, tmp_path / "run", first)
    assert {"pass-0", "pass-1"} == {step for step, _ in first.done if step.startswith("pass")}
    prepare(recipe, tmp_path / "run", again)
    assert set(first.done).isdisjoint(again.done)
    assert contents(tmp_path / "run") == contents(tmp_path / "undisturbed")
    assert not list((tmp_path / "run" / "receipts").rglob("*spent*"))


@pytest.mark.long_but("13-exact")  # what is made of it is made again too
@pytest.mark.parametrize("lost", ["13-exact", "90-tokens"])
def test_what_was_made_of_deleted_scratch_and_is_lost_is_made_again(recipe, tmp_path, lost):
    prepare(recipe, tmp_path / "undisturbed", Watching())
    out = tmp_path / "run"
    with pytest.raises(Stopped):
        prepare(recipe, out, Watching("pass-1", 2 * GROUP))
    next(path for path in (out / lost).rglob("*") if path.is_file()).unlink()
    with pytest.raises(ConfigError, match="the same command makes both again"):
        prepare(recipe, out, Watching())
    prepare(recipe, out, Watching())
    assert contents(out) == contents(tmp_path / "undisturbed")


def test_a_finished_run_whose_dataset_is_damaged_is_made_again(recipe, tmp_path):
    prepare(recipe, tmp_path / "undisturbed", Watching())
    prepare(recipe, tmp_path / "run", Watching())
    next((tmp_path / "run" / "dataset").glob("*.arrow")).unlink()
    prepare(recipe, tmp_path / "run", Watching())
    assert contents(tmp_path / "run") == contents(tmp_path / "undisturbed")


def test_intermediates_that_are_kept_and_keys_for_an_index_stay(recipe, tmp_path):
    prepare(kept(recipe, keep_intermediates=True), tmp_path / "all", Watching())
    assert files(tmp_path / "all")["10-filtered"] == SHARDS
    watching = Watching()
    prepare(kept(recipe, keep_index=True), tmp_path / "index", watching)
    half = watching.before("pass-1", 2 * GROUP)
    assert (half["10-filtered"], half["11-keys"]) == (SHARDS - 2 * GROUP, SHARDS)
    assert files(tmp_path / "index")["index"] == SHARDS


def broken(*_):
    raise ShardError("told")


def test_a_shard_that_fails_while_it_is_spent_is_tried_again_alone(recipe, tmp_path):
    prepare(recipe, tmp_path / "undisturbed", Watching())
    watching, again, failing = Watching(), Watching(), []

    def execute(job, phase):
        if phase.works and phase.works[0].step == "pass-1":
            failing.append(("pass-1", phase.works[GROUP + 1].key))
            object.__setattr__(phase.works[GROUP + 1], "call", broken)
        return watching(job, phase)

    assert prepare(recipe, tmp_path / "run", execute)["failed_shards"]
    assert files(tmp_path / "run")["10-filtered"] == GROUP
    prepare(recipe, tmp_path / "run", again)
    twice = set(watching.done).intersection(again.done)
    assert {work for work in twice if work[0].startswith("pass-")} == set(failing)
    assert contents(tmp_path / "run") == contents(tmp_path / "undisturbed")


def test_a_shard_that_failed_keeps_the_scratch_of_all(recipe, path, tmp_path):
    """Tried again, it may change what is found among all: they are looked at once more."""
    prepare(recipe, tmp_path / "undisturbed", Watching())
    away = sorted(path.parent.glob("part-*"))[4]
    watching, out = Watching(), tmp_path / "run"

    def execute(job, phase):
        if phase.works and phase.works[0].step == "pass-0":
            away.rename(tmp_path / "away")
        try:
            return watching(job, phase)
        finally:
            if (tmp_path / "away").exists():
                (tmp_path / "away").rename(away)

    assert prepare(recipe, out, execute)["failed_shards"]
    assert files(out)["10-filtered"] == SHARDS - 1
    prepare(recipe, out, Watching())
    assert contents(out) == contents(tmp_path / "undisturbed")
