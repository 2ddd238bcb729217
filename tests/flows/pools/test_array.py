"""Arrays, with an `sbatch` that notes what it is given; SLURM itself is in tests/cluster."""

import contextlib
import hashlib
import json
import os
import re
import shlex
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.flows.exits import MISTAKE, NO, OK, PARTIAL
from tokenmill.flows.pools import array
from tokenmill.flows.pools.choose import open_pool
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.core.options import RunOptions, Slurm
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.runs.bundle import versions
from tokenmill.pipelines.runs.manifest import forget_unbegun
from tokenmill.pipelines.runs.work import Done, Job, Phase, Work
from tokenmill.pipelines.storage.atomic import write_json

SBATCH = """#!/bin/sh
n=$(($(ls {folder} | wc -l) + 1))
cp "$2" {folder}/$n.sh
echo $n
"""


BY_ARRAY = ("--runner", "array", "--set", "run.slurm.maximum=3", "--json")


class Queue:
    """Jobs as they were submitted, done one after another in this process when a test says so."""

    def __init__(self, folder, environ):
        self.folder, self.environ, self.done = folder, environ, 0

    def next(self):
        """What the next job is told, its words and the options of its script; None at the end."""
        path = self.folder / f"{self.done + 1}.sh"
        if not path.exists():
            return None
        self.done += 1
        *lines, command = path.read_text().splitlines()
        words = shlex.split(command)
        return words[words.index("-m") + 2 :], dict(re.findall(r"--([\w-]+)=(\S+)", str(lines)))

    def run(self, job, tasks=None):
        """The exit code of a planner, or those of the tasks of an array."""
        words, options = job
        self.environ.setenv("SLURM_JOB_ID", str(self.done))
        if words[0] == array.PLANNER:
            return array.main(words)
        n = int(options["array"].rstrip("',").partition("-")[2]) + 1
        self.environ.setenv("SLURM_ARRAY_JOB_ID", str(self.done))
        self.environ.setenv("SLURM_ARRAY_TASK_COUNT", str(n))
        codes = []
        for number in range(n) if tasks is None else tasks:
            self.environ.setenv("SLURM_ARRAY_TASK_ID", str(number))
            codes.append(array.main(words))
        return codes

    def drain(self):
        codes = []
        while (job := self.next()) is not None:
            codes.append(self.run(job))
        return codes


@pytest.fixture
def queue(tmp_path, monkeypatch):
    (tmp_path / "queue").mkdir()
    (tmp_path / "bin").mkdir()
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.write_text(SBATCH.format(folder=tmp_path / "queue"))
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sbatch.parent}{os.pathsep}{os.environ['PATH']}")
    before = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)}, pa.cpu_count()
    yield Queue(tmp_path / "queue", monkeypatch)
    for number, handler in before[0].items():
        signal.signal(number, handler)
    pa.set_cpu_count(before[1])


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), shard_bytes="60kB")


@pytest.fixture(scope="module")
def wanted(recipe, tmp_path_factory):
    out = tmp_path_factory.mktemp("wanted") / "run"
    prepare(load_recipe(recipe), out, one_by_one)
    return contents(out)


def contents(out):
    return {
        path.relative_to(out).as_posix(): hashlib.md5(path.read_bytes()).hexdigest()
        for folder in ("dataset", "removed")
        for path in sorted((out / folder).rglob("*"))
        if path.is_file()
    }


def submit(recipe, out, *more, code=OK):
    assert main(["prepare", str(recipe), "--out", str(out), *BY_ARRAY, *more]) == code


def status(out, capsys):
    capsys.readouterr()
    code = main(["status", str(out), "--json"])
    return code, json.loads(capsys.readouterr().out)


def first_array(queue):
    """The first array, once its planner has ended."""
    assert queue.run(queue.next()) == OK
    return queue.next()


def test_planners_and_tasks_by_turns_make_a_run(queue, recipe, tmp_path, wanted, capsys):
    out = tmp_path / "run"
    submit(recipe, out)
    capsys.readouterr()
    assert main(["status", str(out)]) == NO
    assert "none has begun" in capsys.readouterr().out
    words, options = job = first_array(queue)
    assert re.search(r"\w: \d+ works, array \d+ of 3 tasks\n", capsys.readouterr().out)
    assert words[0] == array.TASK
    assert options["dependency"].startswith("afterany:1")  # the planner holds the run
    assert queue.run(job) == [OK] * 3
    code, told = status(out, capsys)
    assert (code, told["phase"], told["works_done"]) == (NO, "filter", told["works"])
    _, options = job = queue.next()
    assert options["dependency"].startswith("afterany:2")
    codes = [queue.run(job), *queue.drain()]
    assert codes[-1] == OK
    assert contents(out) == wanted
    assert not (out / array.FOLDER).exists()
    assert status(out, capsys)[0] == OK
    n = queue.done
    submit(recipe, out)  # its report is shown, and nothing is submitted
    assert queue.next() is None
    assert queue.done == n


def test_what_killed_tasks_left_is_handed_out_again(queue, recipe, tmp_path, wanted):
    out = tmp_path / "run"
    submit(recipe, out)
    words, _ = job = first_array(queue)
    claims = out / array.FOLDER / words[2] / str(queue.done)
    claims.mkdir()
    for number in (0, 3, 4):
        (claims / str(number)).touch()  # by tasks that were killed then
    assert queue.run(job, tasks=[1]) == [OK]
    assert queue.run(queue.next()) == OK
    again, _ = job = queue.next()
    assert again[2] == f"{words[2].rpartition('-')[0]}-3"
    queue.run(job)
    assert queue.drain()[-1] == OK
    assert contents(out) == wanted


def test_an_array_that_was_cancelled_ends_the_run_and_the_same_command_continues(
    queue, recipe, tmp_path, wanted, capsys
):
    out = tmp_path / "run"
    submit(recipe, out)
    first_array(queue)  # none of its tasks begins
    assert queue.run(queue.next()) == MISTAKE
    assert "array 2 ended before it began all of pass-0, and did none" in capsys.readouterr().err
    assert queue.next() is None
    code, told = status(out, capsys)
    assert code == NO
    assert "array 2 ended before it began" in told["failures"][0]
    submit(recipe, out)
    assert queue.drain()[-1] == OK
    assert contents(out) == wanted


def test_a_command_that_slurm_refuses_leaves_what_a_planner_that_waits_was_told(
    queue, recipe, tmp_path, wanted
):
    out, sbatch = tmp_path / "run", tmp_path / "bin" / "sbatch"
    submit(recipe, out)
    takes = sbatch.read_text()
    sbatch.write_text("#!/bin/sh\nexit 1\n")  # as when nobody answers; nor does squeue
    submit(recipe, out, "--set", "run.slurm.maximum=2", code=MISTAKE)
    sbatch.write_text(takes)
    assert queue.drain()[-1] == OK
    assert contents(out) == wanted


def test_a_planner_that_begins_at_once_waits_for_the_command_that_submits_it(
    queue, recipe, tmp_path, monkeypatch
):
    out, sleep = tmp_path / "run", array.time.sleep
    submit(recipe, out)
    with contextlib.ExitStack() as command:
        command.enter_context(array.held(out))

        def waiting(seconds):
            command.close()
            sleep(seconds)

        monkeypatch.setattr(array.time, "sleep", waiting)
        assert queue.run(queue.next()) == OK


# of a subprocess that an interrupt leaves behind, which ends by itself
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_planner_that_is_told_to_end_leaves_word(queue, recipe, tmp_path, capsys):
    out = tmp_path / "run"
    submit(recipe, out)
    (tmp_path / "bin" / "sbatch").write_text("#!/bin/sh\nkill -TERM $PPID\nsleep 1\n")
    assert queue.run(queue.next()) == 128 + signal.SIGTERM
    (why,) = status(out, capsys)[1]["failures"]
    assert why == "array planner: stopped by SIGTERM; the same command continues"


def test_works_that_kill_every_task_are_named_and_the_rest_completes(
    queue, recipe, tmp_path, wanted
):
    out = tmp_path / "run"
    submit(recipe, out)
    words, _ = job = first_array(queue)
    poison = out / array.FOLDER / words[2] / str(queue.done) / "2"
    poison.parent.mkdir()
    poison.touch()
    queue.run(job)
    assert queue.run(queue.next()) == OK
    words, _ = queue.next()
    again = out / array.FOLDER / words[2] / str(queue.done) / "0"
    again.parent.mkdir()
    again.touch()
    assert queue.drain()[-1] == PARTIAL
    report = json.loads((out / "report.json").read_text())
    (failed,) = report["failed_shards"]
    assert "tasks died at it, or at another beside it, again and again" in failed["error"]
    submit(recipe, out)
    assert queue.drain()[-1] == OK
    assert contents(out) == wanted


def test_what_is_not_what_was_submitted_is_not_unpickled(queue, recipe, tmp_path, capsys):
    out = tmp_path / "run"
    submit(recipe, out)
    (out / array.FOLDER / array.ORDER).write_bytes(b"cos\nsystem\n(S'exit 9'\ntR.")
    assert queue.run(queue.next()) == MISTAKE
    assert "not what was submitted" in capsys.readouterr().err


def test_a_run_that_another_process_drives_is_left_alone(queue, recipe, tmp_path, capsys):
    out = tmp_path / "run"
    submit(recipe, out)
    job = first_array(queue)
    with array.held(out):
        assert queue.run(job, tasks=[0]) == [MISTAKE]
    assert "another run is at work in it" in capsys.readouterr().err
    with array.joined(out), array.joined(out):
        assert main(["prepare", str(recipe), "--out", str(out)]) == MISTAKE


def fine(job, key):
    return Done(facts={"key": key})


def wrong(job, key):
    raise ShardError(f"{key}: fails")


def ending(job, key):
    os.kill(os.getpid(), signal.SIGTERM)
    array.time.sleep(2 * array.POLL_S)  # the works at hand are let end
    return Done()


def full(job, key):
    raise OSError(28, "No space left on device")


@pytest.fixture
def one_task(tmp_path, monkeypatch):
    """Does groups of works as the one task of an array."""
    for name, value in (("ARRAY_JOB_ID", 7), ("ARRAY_TASK_ID", 0), ("ARRAY_TASK_COUNT", 1)):
        monkeypatch.setenv(f"SLURM_{name}", str(value))
    out = tmp_path / "run"
    job = Job(out=out, identity="x")
    write_json(job.manifest, {})

    def run(calls):
        folder = out / array.FOLDER / "s"
        works = [
            Work(step="s", key=str(i), inputs="i", call=call, args=(str(i),))
            for i, call in enumerate(calls)
        ]
        groups = tuple(array._put(folder / f"{i}.pickle", [w]) for i, w in enumerate(works))
        told = array.Round(job=job, phase="s", works=len(works), groups=groups, versions=versions())
        digest = array._put(folder / array.ORDER, told)
        return array.main([array.TASK, str(out), "s", digest])

    return run


def receipts(out):
    return sorted(path.name for path in (out / "receipts" / "s").glob("*"))


def test_a_task_that_is_told_to_end_ends_its_work_and_leaves_the_rest(
    queue, one_task, tmp_path, capsys
):
    assert one_task([fine, ending, fine]) == 128 + signal.SIGTERM
    assert receipts(tmp_path / "run") == ["0.json", "1.json"]
    captured = capsys.readouterr()
    assert captured.err == "stopped by SIGTERM\n"
    lines = [json.loads(line) for line in captured.out.splitlines()]
    assert [line["ended"] for line in lines if line["event"] == "work"] == ["done"] * 2


def test_a_task_whose_works_do_not_end_in_time_exits_with_the_signal(monkeypatch, capsys):
    for name in ("GRACE_S", "POLL_S"):
        monkeypatch.setattr(array, name, 0.001)
    ended = threading.Event()

    def left(code):
        ended.set()
        raise SystemExit(code)

    monkeypatch.setattr("os._exit", left)
    one = SimpleNamespace(run=lambda: ended.wait(60), stopping=threading.Event())
    with pytest.raises(SystemExit) as e:
        array._done(one, 1, [signal.SIGTERM])
    assert e.value.code == 128 + signal.SIGTERM
    assert one.stopping.is_set()
    assert capsys.readouterr().err == "stopped by SIGTERM\n"


def test_a_work_that_fails_fails_alone(queue, one_task, tmp_path):
    assert one_task([fine, wrong, fine]) == OK
    assert receipts(tmp_path / "run") == ["0.json", "1.failed", "2.json"]
    why = (tmp_path / "run" / "receipts" / "s" / "1.failed").read_text()
    assert why.endswith("ShardError: 1: fails")


def test_what_no_task_can_escape_ends_the_run(queue, one_task, tmp_path, capsys):
    assert one_task([full, fine]) == MISTAKE
    assert "No space left" in capsys.readouterr().err
    planner = array._Planner(order(tmp_path / "run"), "", ())
    with pytest.raises(ConfigError, match=r"task 0: .*No space left"):
        planner(Job(out=tmp_path / "run", identity="x"), phase(4))


def order(out, **slurm):
    given = {"inputs": ["a"], "tokenizer": {"path": "o/t"}, "run": {"slurm": slurm}}
    recipe = array.Recipe.model_validate(given)
    return array.Order(
        recipe=recipe, plan=array.Plan(shards=()), out=str(out), name="r", logs=out / "logs"
    )


def phase(n, chain=lambda i: ""):
    works = tuple(
        Work(step="s", key=f"{i:05d}", inputs="i", call=fine, args=("k",), chain=chain(i))
        for i in range(n)
    )
    return Phase(name="s", works=works)


def test_a_planner_hands_out_to_thousands_of_tasks(queue, tmp_path):
    slurm = {"maximum": 1500, "memory": "3GB", "queue": "cpu", "cores": 2, "walltime": "02:00:00"}
    told = order(tmp_path, directives=["--constraint=rome"], **slurm)
    job = Job(out=tmp_path, identity="x", options=told.recipe.run)
    with pytest.raises(array.HandedOutError, match="1,800 works, array 1 of 1,500 tasks"):
        array._Planner(told, "d", ())(job, phase(1800))
    words, options = queue.next()
    assert options["array"].startswith("0-1499")
    assert (options["cpus-per-task"], options["mem"]) == ("2',", "2862M',")
    assert "--constraint=rome" in (queue.folder / "1.sh").read_text()
    groups = list((tmp_path / array.FOLDER / words[2]).glob("[0-9]*.pickle"))
    assert len(groups) == 1800
    words, _ = queue.next()
    assert words[3:] == ["s", "1800", "1800", "s-1800", "1"]


def test_groups_are_whole_chains_and_all_works():
    works = phase(100, chain=lambda i: str(i // 7)).works
    groups = array._groups(works, 2)
    assert [w.key for group in groups for w in group] == [w.key for w in works]
    assert len(groups) == 15
    assert all(len({w.chain for w in group}) == 1 for group in groups)
    assert len(array._groups(phase(1000).works, 2)) == 2 * array.GROUPS


def test_no_sbatch_is_a_line_with_the_way_out(recipe, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    submit(recipe, tmp_path / "run", code=MISTAKE)
    (told,) = capsys.readouterr().err.splitlines()
    assert told.endswith(
        "array needs sbatch, and there is none here; start the run on a login node"
    )


def test_a_job_that_slurm_refuses_is_a_line(queue, recipe, tmp_path, capsys):
    said = "sbatch: error: Batch job submission failed: Invalid job array specification"
    (tmp_path / "bin" / "sbatch").write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    submit(recipe, tmp_path / "run", code=MISTAKE)
    told = capsys.readouterr().err
    assert told.endswith("sbatch takes no job: Invalid job array specification; see run.slurm\n")
    assert not (tmp_path / "run").exists()
    lost = ["--set", f"inputs=[{tmp_path}/none.jsonl]", "--dry-run"]
    submit(recipe, tmp_path / "a" / "b", *lost, code=MISTAKE)
    assert not (tmp_path / "a").exists()
    (tmp_path / "own").mkdir()  # by somebody else
    submit(recipe, tmp_path / "own", code=MISTAKE)
    assert (tmp_path / "own" / "manifest.json").exists()
    (tmp_path / "own" / "slurm-logs" / "7.out").write_text("of a job")
    for name, is_left in (("7.out", True), ("planner.sh", False)):
        (tmp_path / "own" / "slurm-logs" / "7.out").rename(tmp_path / "own" / "slurm-logs" / name)
        forget_unbegun(tmp_path / "own")
        assert (tmp_path / "own").exists() is is_left


AT_ONCE = """#!/bin/sh
if [ ! -e {told} ]; then
    touch {told}
    {second} > /dev/null 2> {told}
    {so}
fi
{then}"""
LISTS = """for script in $(ls {folder}); do echo "${{script%.sh}}"; done
"""


@pytest.mark.parametrize(
    ("meanwhile", "code", "who"),
    [("squeue", MISTAKE, "jobs 1 of SLURM are"), ("sbatch", OK, "another run is")],
)
def test_of_two_arrays_begun_at_once_one_is_refused_and_leaves_the_others_folder(
    queue, recipe, tmp_path, wanted, capsys, meanwhile, code, who
):
    """The second command comes whole while the first asks what is at work, or submits."""
    out, told = tmp_path / "run", tmp_path / "told"
    command = [sys.executable, "-m", "tokenmill.flows.cli", "prepare", recipe, "--out", out]
    second = shlex.join(map(str, [*command, *BY_ARRAY]))
    scripts = {"squeue": LISTS, "sbatch": SBATCH}
    for name, script in scripts.items():
        text = script.format(folder=queue.folder)
        if name == meanwhile:
            so = "exit 0" if name == "squeue" else ":"  # none was there when it was asked
            text = AT_ONCE.format(told=told, second=second, so=so, then=text)
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    submit(recipe, out, code=code)
    (refused,) = (capsys.readouterr().err + told.read_text()).splitlines()
    assert f"{out}: {who} at work in it; " in refused
    assert len(list(queue.folder.iterdir())) == 1
    assert queue.drain()[-1] == OK
    assert contents(out) == wanted


STOPPED = (
    "stopped, unless another runner is at work on it: SLURM here has no job of it; the same command"
    " continues it"
)
SQUEUE = """#!/bin/sh
case "$*" in *"--format %i") exit 0;; esac
printf '%b' '{states}'
"""


@pytest.mark.parametrize(
    ("states", "told"),
    [
        ("PENDING PartitionConfig\\n", "waits in SLURM (PartitionConfig)"),
        ("PENDING Nodes required (d, r)\\nPENDING Dependency\\n",
         "waits in SLURM (Nodes required (d, r), Dependency)"),
        ("PENDING Dependency\\nRUNNING None\\n", "running"),
        ("", STOPPED),
    ],
)  # fmt: skip
def test_a_run_without_a_job_at_work_says_whether_it_waits(
    queue, recipe, tmp_path, capsys, states, told
):
    out, squeue = tmp_path / "run", tmp_path / "bin" / "squeue"
    squeue.write_text(SQUEUE.format(states=states))
    squeue.chmod(0o755)
    submit(recipe, out)
    assert status(out, capsys) == (NO, {"run": str(out), "name": "stdlib", "status": told})
    queue.run(first_array(queue), tasks=[1])  # behind it the next planner waits, or was cancelled
    of_more = status(out, capsys)[1]
    assert (of_more["status"], of_more["seems_alive"]) == (told, True)  # its receipts are fresh


def test_a_log_of_what_jobs_will_do_is_refused(recipe, tmp_path, capsys):
    submit(recipe, tmp_path / "run", "--log-json", "-", code=MISTAKE)
    assert "jobs of an array write their own, in" in capsys.readouterr().err


def test_no_flow_runs_by_arrays(tmp_path):
    with pytest.raises(ConfigError, match="array is of tokenmill prepare alone"):
        open_pool(RunOptions(runner="array"), Path(tmp_path))


def test_threads_of_a_task_share_its_memory():
    options = RunOptions(runner="array", workers=9, slurm=Slurm(cores=4, processes=2))
    assert options.works_at_once == 2
