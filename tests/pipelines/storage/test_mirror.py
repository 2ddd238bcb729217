"""A run directory on an object store: the same bytes as here, few requests, and nothing is lost."""

import errno
import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.s3 import SECRET
from tests.e2e.corpus import write_corpus
from tests.pipelines.read.images.shards import sample_tar
from tests.receipts import receipts
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.flows.exits import NO
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.places import place
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import load_recipe, make_recipe
from tokenmill.pipelines.runs.bundle import check_process, do_bundle, versions
from tokenmill.pipelines.runs.finished import prepared_run
from tokenmill.pipelines.runs.manifest import check_apart, held, read_manifest
from tokenmill.pipelines.runs.receipt import failures, note_failure, valid_receipt
from tokenmill.pipelines.runs.work import Done, Job, Work, attempt
from tokenmill.pipelines.storage import inputs, mirror
from tokenmill.pipelines.storage.mirror import fetched, viewed
from tokenmill.pipelines.tokens.dataset import first_rows

BUCKET = "runs"
N_DOCS = 330
TIMES = {"report.json", "report.md", "report.html", "manifest.json"}  # hold seconds and places
THERE = {"inputs": [{"path": f"s3://{BUCKET}/in/docs.jsonl"}]}
MADE = f"s3://{BUCKET}/made"
ONE_IN_TEN = {"slow_down": 0.03, "time_out": 0.005, "truncate": 0.035, "reset": 0.03}


@pytest.fixture(autouse=True)
def s3(reached_s3, monkeypatch, tmp_path):
    reached_s3.client().create_bucket(Bucket=BUCKET)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    inputs._gone.clear()
    yield reached_s3
    assert not list((tmp_path / "t").glob("*")), "scratch goes with the run"


@pytest.fixture
def out(request):
    return f"s3://{BUCKET}/{request.node.name.partition('[')[0]}"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, one_s3):
    folder = tmp_path_factory.mktemp("corpus")
    recipe = write_corpus(folder, shard_bytes="120kB", output={"shard_bytes": "80kB"})
    lines = (folder / "docs.jsonl").read_text().splitlines(keepends=True)
    (folder / "docs.jsonl").write_text("".join(lines[::-1][:N_DOCS]))  # copies come last
    one_s3.upload(folder / "docs.jsonl", BUCKET, "in/")
    return recipe


@pytest.fixture(scope="module")
def here(corpus):
    """A run in a folder of this machine."""
    prepare(load_recipe(corpus), corpus.parent / "run", one_by_one)
    return corpus.parent / "run"


@pytest.fixture
def made(s3, corpus):
    """The address of a run of inputs there, and its report; who asks first has it made."""
    return MADE, prepare(load_recipe(corpus, THERE), MADE, one_by_one)


def contents(folder):
    """Bytes of all that a run makes; of receipts, which hold seconds, the names alone."""
    made = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if name.startswith("receipts/"):
            made[name] = b""
        elif name not in {*TIMES, ".lock"}:
            made[name] = path.read_bytes()
    return made


def there(s3, out, tmp_path):
    prefix = out.removeprefix(f"s3://{BUCKET}/")
    return contents(s3.download(BUCKET, f"{prefix}/", tmp_path / "downloaded"))


def names(s3, out):
    prefix = out.removeprefix(f"s3://{BUCKET}/") + "/"
    return {key.removeprefix(prefix) for key in s3.keys(BUCKET, prefix)}


def test_a_run_there_is_the_run_here(s3, here, made, tmp_path):
    out, report = made
    got = there(s3, out, tmp_path)
    ours = contents(here)
    data = {n: b for n, b in ours.items() if not n.startswith("receipts/")}
    assert {n: b for n, b in got.items() if not n.startswith("receipts/")} == data
    assert got.keys() == ours.keys()
    assert names(s3, out) == {*ours, *TIMES}, "no lock, no intermediates, no strays"
    assert not [name for name in got if name[:2].isdigit()]
    assert report["dataset"]["path"] == f"{out}/dataset"
    assert s3.open_uploads(BUCKET) == []


def test_requests_follow_from_works_and_files(s3, corpus, out):
    recipe = load_recipe(corpus)
    prepare(recipe, out, one_by_one)
    first = dict(s3.proxy.requests)
    manifest = json.loads(
        s3.client().get_object(Bucket=BUCKET, Key=f"{out[10:]}/manifest.json")["Body"].read()
    )
    steps = [step["works"] for step in manifest["steps"]]
    works, packs = sum(steps), sum(n > 1 for n in steps)
    spent = 1  # the pack of the first pass: renamed when the second has read its scratch, and back
    assert sum(step["step"].startswith("pass-") for step in manifest["steps"]) == spent + 1
    files = sum(of["files"] for of in manifest["files"].values())
    # is it empty? what is there; what is there at the end
    assert first["LIST"] == 3
    assert first["LIST_MULTIPART"] == 2
    # the probe three times, lock, manifest twice, three reports; what begins, phase by phase
    assert first["PUT"] == works + packs + 2 * spent + files + 9 + len(steps)
    # manifest: before, after the lock, at the end; not of receipts that are not there
    assert first["GET"] <= 4 + 2 * spent
    assert first["HEAD"] == 1  # the probe is gone
    # the probe, receipts that were packed, what began last, intermediates
    assert first["POST"] == packs + 2 * spent + 3
    s3.proxy.forget()
    prepare(recipe, out, one_by_one)
    again = dict(s3.proxy.requests)
    of_probe = {"PUT": 4, "POST": 1, "HEAD": 1}
    assert again == {"GET": 3, "LIST": 1, "LIST_MULTIPART": 2, "DELETE": 1, **of_probe}


def test_what_was_done_before_a_kill_is_not_done_again(s3, corpus, here, out, tmp_path):
    recipe, done = load_recipe(corpus), []

    def dies(job, phase):
        for work in phase.works:
            if len(done) == 9:
                raise KeyboardInterrupt
            done.append(attempt(job, work))
        return done[-len(phase.works) :]

    with pytest.raises(KeyboardInterrupt):
        prepare(recipe, out, dies)
    s3.client().put_object(Bucket=BUCKET, Key=f"{out[10:]}/removed/part-9.0.parquet", Body=b"stray")
    fresh = []

    def counts(job, phase):
        made = one_by_one(job, phase)
        fresh.extend(outcome for outcome in made if outcome.fresh)
        return made

    s3.proxy.forget()
    prepare(recipe, out, counts)
    assert s3.proxy.requests["LIST"] == 2
    made = there(s3, out, tmp_path)
    assert made.keys() == contents(here).keys()
    assert len(fresh) == len(receipts(tmp_path / "downloaded")) - 9
    assert {n: b for n, b in made.items() if "receipts/" not in n} == {
        n: b for n, b in contents(here).items() if "receipts/" not in n
    }


def test_a_run_is_seen_from_elsewhere_while_it_goes_on(s3, corpus, out, capsys):
    seen = []

    def execute(job, phase):
        made = one_by_one(job, phase)
        if phase.name == "tokenize":
            note_failure(job.out, phase.works[0], "told")
            code = main(["status", out, "--json"])
            note_failure(job.out, replace(phase.works[0], step="pass-9"), "told")
            failed = set(failures(job.out))
            assert {(step, why) for step, _, why in failed} == {
                ("pass-1", "told"),
                ("pass-9", "told"),
            }
            seen.append((code, json.loads(capsys.readouterr().out), len(made)))
        return made

    report = prepare(load_recipe(corpus), out, execute)
    ((code, told, n),) = seen
    assert (code, told["phase"], told["works_done"], told["works"]) == (NO, "tokenize", n, n)
    assert told["failures"] == []  # what is done has not failed
    assert (told["seems_alive"], told["last_receipt_s_ago"] < 60) == (True, True)
    assert told["docs_kept"] == report["ledger"][-1]["docs_out"]
    assert main(["status", out, "--json"]) == 0


@pytest.mark.parametrize("where", ["here", "there"])
def test_a_file_is_created_by_one_alone(s3, out, tmp_path, where):
    (tmp_path / "t").mkdir()
    with viewed(out if where == "there" else tmp_path) as folder, ThreadPoolExecutor(8) as asking:
        made = list(asking.map(lambda _: mirror.create(folder / "claims" / "0"), range(16)))
    assert sum(made) == 1


@pytest.mark.long  # by test_object_store's failing requests
def test_with_one_request_in_ten_failing_nothing_is_lost_or_altered(
    s3, corpus, here, out, tmp_path
):
    recipe = load_recipe(corpus, THERE)
    s3.proxy.rates = ONE_IN_TEN
    prepare(recipe, out, one_by_one)
    assert s3.proxy.faults.total() > 5
    s3.proxy.forget()
    made, ours = there(s3, out, tmp_path), contents(here)
    assert made.keys() == ours.keys()
    assert all(made[n] == ours[n] for n in ours if not n.startswith("receipts/"))
    assert s3.open_uploads(BUCKET) == []


def test_what_has_gone_from_the_scratch_is_fetched_again(s3, corpus, here, out, tmp_path):
    gone = []

    def forgets(job, phase):
        outcomes = []
        for work in phase.works:
            gone.extend(path for path in job.out.rglob("*") if path.is_file())
            for path in gone:
                path.unlink(missing_ok=True)
            outcomes.append(attempt(job, work))
        return outcomes

    prepare(load_recipe(corpus), out, forgets)
    assert len(gone) > 20
    assert s3.proxy.requests["GET"] > 20
    made, ours = there(s3, out, tmp_path), contents(here)
    assert all(made[n] == ours[n] for n in ours if not n.startswith("receipts/"))


def test_images_and_tars_go_there_too(s3, out, corpus, tmp_path):
    (tmp_path / "in").mkdir()
    tar = sample_tar(tmp_path / "in" / "a.tar", 6)
    settings = {
        "name": "pictures",
        "inputs": [str(tar)],
        "images": {"webdataset": True},
        "steps": [{"repeated_images": {"by": ["md5"], "more_than": 10}}],
        "tokenizer": {"path": str(corpus.parent / "tokenizer.json")},
    }
    recipe = make_recipe(settings, where="test")
    prepare(recipe, tmp_path / "run", one_by_one)
    prepare(recipe, out, one_by_one)
    made, ours = there(s3, out, tmp_path), contents(tmp_path / "run")
    assert made.keys() == ours.keys()
    assert {"webdataset", "thumbnails", "dataset"} <= {n.partition("/")[0] for n in made}
    assert all(made[n] == ours[n] for n in ours if not n.startswith("receipts/"))


def test_another_recipe_is_refused_by_the_address(corpus, made):
    out, _ = made
    with pytest.raises(ConfigError) as e:
        prepare(load_recipe(corpus, THERE | {"output.seq_len": 64}), out, one_by_one)
    assert str(e.value).startswith(f"{out}: made by another run: ")


def test_a_prefix_of_other_files_is_refused_and_left_alone(s3, corpus, out):
    s3.client().put_object(Bucket=BUCKET, Key=f"{out[10:]}/photos/a.jpg", Body=b"a")
    with pytest.raises(ConfigError) as e:
        prepare(load_recipe(corpus), out, one_by_one)
    assert str(e.value) == (
        f"{out}: not a run directory, but holds photos; choose an empty or new one"
    )
    assert names(s3, out) == {"photos/a.jpg"}


def test_two_runs_at_a_time_are_refused(corpus, out):
    with held(out), pytest.raises(ConfigError, match="another run is at work in it"):
        prepare(load_recipe(corpus), out, one_by_one)


def test_an_output_inside_an_input_is_refused():
    for given in ("s3://b/in", "s3://b/in/**/*.jsonl", "s3://b/**"):
        with pytest.raises(ConfigError, match="lies inside the input"):
            check_apart([Input(path=given)], "s3://b/in/run")
    for given in ("s3://b/in", "s3://b/in/*.jsonl", "/data"):
        check_apart([Input(path=given)], "s3://b/in-2/run")
    check_apart([Input(path="s3://b/in/*.jsonl")], "s3://b/in/run")
    check_apart([Input(path="s3://b/in")], Path("/data/run"))


def test_a_run_there_is_looked_into_as_one_here(here, made, tmp_path):
    out, _ = made
    (tmp_path / "t").mkdir(exist_ok=True)
    with viewed(out) as folder:
        assert prepared_run(folder)["status"] == "complete"
        assert removals(folder, limit=50) == removals(here, limit=50)
        ours = dict(first_rows(here, 20))
        assert dict(first_rows(folder, 20)) == ours
        assert ours["train"].num_rows == 20
    with fetched(out, "report.json") as one, fetched(f"{out}/report.json", "x") as other:
        assert one.read_bytes() == other.read_bytes()
    with pytest.raises(ConfigError) as e, fetched(f"{out}/none", "report.json"):
        pass
    assert str(e.value) == f"{out}/none: has no report.json; name a run that has finished"
    with pytest.raises(ConfigError) as e, viewed(f"{out}/none") as folder:
        prepared_run(folder)
    assert str(e.value).startswith(f"{out}/none: no run here")


def writes(job, name, text):
    path = job.out / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return Done(files=[path], stats=[("read", StageStats())])


def reads(job, name):
    return Done(facts={"text": mirror.present(job.out / name).read_text()})


def fails(job):
    raise ConfigError(f"{job.out / 'x'}: wrong")


def test_a_worker_elsewhere_needs_the_address_alone(s3, out):
    """As in another process: what the driver knows is forgotten in between."""
    one = Work(step="a", key="1", inputs="i", call=writes, args=("10-x/a", "text"))
    two = Work(step="b", key="1", inputs="i", call=reads, args=("10-x/a",))
    with held(out) as folder:
        mirror.write_text(folder / "manifest.json", '{"identity": {}}')
        job = Job(out=folder, identity="i", remote=mirror.remote_of(folder))
        driver = mirror.mirrors.pop(folder)
        for work in (one, two):
            (outcome,) = do_bundle(job, [work], versions())
            assert outcome.fresh, outcome.error
            (folder / "10-x" / "a").unlink(missing_ok=True)
        assert outcome.receipt.facts == {"text": "text"}
        s3.proxy.forget()
        (again,) = do_bundle(job, [one], versions())
        assert not again.fresh
        assert dict(s3.proxy.requests) == {"GET": 1, "HEAD": 1}, "its receipt, and its file's size"
        with pytest.raises(ConfigError, match=f"^{out}/x: wrong$"):
            do_bundle(job, [Work(step="c", key="1", inputs="i", call=fails)])
        mirror.mirrors[folder] = driver
        assert valid_receipt(folder, replace(one, inputs="other")) is None


def test_a_worker_that_sees_no_run_says_so(tmp_path, out):
    job = Job(out=tmp_path / "x" / "y", identity="i", remote=f"{out}/none")
    with pytest.raises(ConfigError, match=f"^worker on .*: {out}/none: no run there"):
        check_process(job, versions())
    mirror.mirrors.pop(job.out, None)


def test_a_file_that_a_killed_attempt_left_here_is_not_taken(s3, out, tmp_path):
    with held(out) as folder:
        mirror.write_text(folder / "manifest.json", '{"identity": {}}')
        old = folder.parent / "0123456789abcdef" / "10-x"
        old.mkdir(parents=True)
        (old / "a").write_text("of another attempt")
    with held(out) as folder:
        assert [p.name for p in folder.parent.iterdir()] == [folder.name]
        assert read_manifest(folder) == {"identity": {}}
        with pytest.raises(FileNotFoundError):
            mirror.present(folder / "10-x" / "a")


def test_a_lost_lock_stops_the_run(out):
    with held(out) as folder:
        mirror.mirrors[folder].lock.lost.set()
        with pytest.raises(ConfigError, match=f"^{out}: another run took over"):
            mirror.write_text(folder / "x", "y")


def test_credentials_stand_in_nothing_that_is_written(s3, made, tmp_path):
    out, _ = made
    written = [p for p in s3.download(BUCKET, f"{out[10:]}/", tmp_path / "d").rglob("*")]
    texts = {path: path.read_bytes() for path in written if path.is_file()}
    assert len(texts) > 20
    for secret in (SECRET, os.environ["AWS_ACCESS_KEY_ID"]):
        assert not [path for path, data in texts.items() if secret.encode() in data]


def test_without_boto3_the_way_to_it_is_told(out, monkeypatch):
    for name in ("boto3", "boto3.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("tokenmill.pipelines.storage.s3", "tokenmill.pipelines.storage.s3"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ConfigError) as e, held(out):
        pass
    assert str(e.value) == (
        "a run directory on s3:// needs boto3, which is not installed; pip install 'tokenmill[s3]'"
    )


def test_a_full_scratch_is_told_as_one(out, tmp_path):
    with pytest.raises(ConfigError) as e, held(out):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert str(e.value) == (
        f"{tmp_path / 't'}: cannot hold files on their way to {out} (No space left on device);"
        " free space or name another folder as run.scratch, finished shards are kept"
    )


def test_a_place_here_is_a_path():
    assert place("a/run") == Path("a/run")


def three_files(job):
    paths = [job.out / "made" / str(i) for i in range(3)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(path.name.encode())
    return Done(files=paths)


def test_the_receipt_of_a_work_is_put_behind_all_its_files_and_not_without_them(s3, out):
    work, put, refused = Work(step="s", key="0", inputs="", call=three_files), [], set()

    def told(params, **_):
        put.append(params["Key"].partition("/")[2])
        if put[-1] in refused:
            raise KeyError(put[-1])

    with mirror.mirrored(out) as folder:
        job = Job(out=folder, identity="test")
        events = mirror.of(folder).store._client.meta.events
        events.register("provide-client-params.s3.PutObject", told)
        try:
            refused.add("made/1")
            assert isinstance(attempt(job, work).error, KeyError)
            assert set(put) - {"receipts/s/0.failed"} <= {"made/0", "made/1", "made/2"}
            put.clear()
            refused.clear()
            assert attempt(job, work).fresh
        finally:
            events.unregister("provide-client-params.s3.PutObject", told)
    assert sorted(put[:3]) == ["made/0", "made/1", "made/2"]
    assert put[3:] == ["receipts/s/0.json"]
    assert mirror.of(folder) is None
    assert not folder.exists()
