"""The command line with input and output on S3, through a proxy that fails as stores do."""

import json
import subprocess
import time

import pytest

from tests.cluster import runs
from tests.cluster.processes import environment
from tests.cluster.runs import TOKENMILL
from tests.cluster.s3 import KEYS, SECRET
from tests.pipelines.conftest import train
from tests.pipelines.read.web.archives import SUFFIX, archive, page, words
from tests.strategies import few

BUCKET = "s3-runs"
FAILING = {"slow_down": 0.03, "time_out": 0.005, "truncate": 0.035, "reset": 0.03}
DASK = ("--runner", "dask", "--workers", "2")  # its workers ask by what threads ask by
ALL = [{"slow_down": 1.0}, {"time_out": 1.0}]  # the longest; see test_object_store for others


@pytest.fixture
def store(s3, undisturbed):
    """The store, with the corpus of the undisturbed run in it."""
    s3.upload(undisturbed.recipe.parent / "docs.jsonl", BUCKET, "in/")
    s3.proxy.forget()
    return s3


@pytest.fixture
def there(store, env, tmp_path):
    """The environment of a command that reaches the store; its scratch is in a folder."""
    (tmp_path / "scratch").mkdir()
    quiet = {"PREFECT_LOGGING_LEVEL": "CRITICAL"}  # as it is with a server of our own
    return {**env, **store.env, **quiet, "TMPDIR": str(tmp_path / "scratch")}


@pytest.fixture
def out(request):
    return f"s3://{BUCKET}/{request.node.name.replace('[', '-').strip(']')}"


INPUT = ("--set", f"inputs=s3://{BUCKET}/in/docs.jsonl")


def downloaded(store, out, tmp_path):
    return store.download(BUCKET, out.removeprefix(f"s3://{BUCKET}/") + "/", tmp_path / "run")


def n_receipts(store, out):
    """Files of receipts: works of the first phase, until all of them are packed."""
    return len(store.keys(BUCKET, out.removeprefix(f"s3://{BUCKET}/") + "/receipts/"))


def is_whole(store, out, tmp_path, undisturbed):
    """The bytes of the run here, accounted for, and nothing left that nobody sees."""
    run = downloaded(store, out, tmp_path)
    assert runs.contents(run) == runs.contents(undisturbed.out)
    assert not runs.unbalanced(run)
    assert set(runs.receipts(run)) == undisturbed.receipts
    assert store.open_uploads(BUCKET) == []
    assert not (run / ".lock").exists()


@pytest.mark.parametrize(
    "runner",
    [("--workers", "2"), pytest.param(DASK, marks=pytest.mark.long)],
    ids=["threads", "dask"],
)
def test_one_request_in_ten_fails(store, undisturbed, out, there, tmp_path, runner):
    store.proxy.rates = FAILING
    ended = runs.prepare(undisturbed.recipe, out, *INPUT, *runner, env=there)
    assert ended.code == 0, ended.err
    assert store.proxy.faults.total() > 10
    # one to see that it is empty, one at the beginning, one at the end; some twice; not a work each
    assert store.proxy.requests["LIST"] < 12 < len(undisturbed.receipts)
    is_whole(store, out, tmp_path, undisturbed)
    assert not [p for p in (tmp_path / "scratch").glob("tokenmill-*")]


@pytest.mark.parametrize("rates", few(ALL, 2), ids=lambda r: next(iter(r)))
def test_all_requests_fail(store, undisturbed, out, there, tmp_path, rates):
    for place, options in ((out, ()), (str(tmp_path / "here"), INPUT)):
        store.proxy.rates = rates
        start = time.monotonic()
        ended = runs.prepare(undisturbed.recipe, place, *options, env=there)
        assert time.monotonic() - start < runs.GIVEN_UP_S
        assert ended.code == 2
        assert len(ended.errors) == 1, ended.err
        assert "s3://" in ended.errors[0]
        assert "the store does not answer (" in ended.errors[0]


@pytest.mark.parametrize("rates", few(ALL, 2), ids=lambda r: next(iter(r)))
def test_all_requests_fail_from_some_moment_on(store, undisturbed, out, there, tmp_path, rates):
    command = (undisturbed.recipe, out, *INPUT, "--workers", "2")
    log = tmp_path / "log"
    program = runs.begun(*command, log=log, env=there, until=lambda: n_receipts(store, out) >= 3)
    store.proxy.rates = rates
    assert program.process.wait(runs.GIVEN_UP_S) == 2
    said = [line for line in log.read_text().splitlines() if line.strip()]
    lines = [line for line in said if "EventsWorker" not in line]  # Prefect, on its way out
    assert len(lines) == 1, lines
    assert f"s3://{BUCKET}/" in lines[0]
    assert "the store does not answer (" in lines[0]
    store.proxy.forget()
    runs.prepared(*command, env=there)
    is_whole(store, out, tmp_path, undisturbed)


def test_killed_and_continued(store, undisturbed, out, there, tmp_path):
    command = (undisturbed.recipe, out, *INPUT, "--workers", "2")
    for n in (2, 20):
        log = tmp_path / f"log-{n}"
        program = runs.begun(
            *command, log=log, env=there, until=lambda n=n: n_receipts(store, out) >= n
        )
        program.kill_all()
    store.client().create_multipart_upload(
        Bucket=BUCKET, Key=f"{out.removeprefix(f's3://{BUCKET}/')}/dataset/large.arrow"
    )
    runs.prepared(*command, env=there)
    is_whole(store, out, tmp_path, undisturbed)


def test_credentials_stand_nowhere(store, undisturbed, out, there, tmp_path):
    home = tmp_path / "prefect"
    there |= {"PREFECT_HOME": str(home), "PREFECT_LOGGING_LEVEL": "DEBUG"}
    told = [runs.prepare(undisturbed.recipe, out, *INPUT, env=there)]
    bad = f"s3://{KEYS['AWS_ACCESS_KEY_ID']}:{SECRET}@{BUCKET}/x"
    told.append(runs.prepare(undisturbed.recipe, bad, env=there))
    told.append(runs.prepare(undisturbed.recipe, out, "--set", f"inputs={bad}", env=there))
    assert [ended.code for ended in told] == [0, 2, 2]
    downloaded(store, out, tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    texts = [path.read_bytes() for path in files]
    texts += [part.encode() for ended in told for part in (ended.out, ended.err)]
    for secret in (SECRET, KEYS["AWS_ACCESS_KEY_ID"]):
        assert not [n for n, text in enumerate(texts) if secret.encode() in text], files


def test_a_run_there_is_looked_into_and_sized(store, undisturbed, out, there):
    runs.prepared(undisturbed.recipe, out, *INPUT, env=there)
    for asked in (
        ("inspect", "{}", "--json"),
        ("inspect", "{}", "--reason", "near_duplicate", "--json"),
        ("inspect", "{}", "--documents", "--json"),
        ("size", "--corpus", "{}", "--json"),
        ("prepare", str(undisturbed.recipe), "--out", "{}", "--dry-run", "--json"),
    ):
        said = []
        for run in (out, str(undisturbed.out)):
            command = [str(TOKENMILL), *(word.format(run) for word in asked)]
            told = subprocess.run(
                command, env=environment(**there), capture_output=True, check=True
            )
            said.append(json.loads(told.stdout))
        if asked[0] == "prepare":
            assert said[0].pop("disk_free_bytes") is None
            said[1].pop("disk_free_bytes")
        if asked[0] != "size":
            assert said[0] == said[1], asked


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_web_archives_are_read_where_they_lie(store, out, there, env, tmp_path, packing):
    """In parts, as from a disk, truncated ones too; those of gzip through a store that fails.

    Places to cut zstd at take more requests each: one in ten failing is too many for four tries.
    """
    pages = archive((page(i, words(i, 400)) for i in range(60)), packing)
    name = f"crawl.warc{SUFFIX[packing]}"
    folder = tmp_path / "crawl"
    folder.mkdir()
    (folder / name).write_bytes(pages)
    (folder / f"cut-{name}").write_bytes(pages[:-100])
    recipe = tmp_path / "web.yaml"
    recipe.write_text(
        f"name: web\ninputs: [{{path: {folder}, source: crawl}}]\nhtml: {{}}\nshard_bytes: 100kB\n"
        "steps: [same_url, exact]\n"
        f"tokenizer: {{path: {train(tmp_path)}}}\n"
    )
    there_too = ("--set", f"inputs=[{{path: s3://{BUCKET}/{packing}/, source: crawl}}]")
    store.upload(folder, BUCKET, f"{packing}/")
    here = runs.prepare(recipe, tmp_path / "here", env=env)
    if packing == "gzip":
        store.proxy.rates = FAILING
    ended = runs.prepare(recipe, out, *there_too, env=there)
    assert (here.code, ended.code) == (3, 3), ended.err  # a file is damaged
    run = downloaded(store, out, tmp_path)
    assert runs.contents(run)  # of the dataset: messages in removed/ name files where they lie
    for name, digest in runs.contents(tmp_path / "here").items():
        assert name.startswith("removed/") or runs.contents(run)[name] == digest
    read = ended.report["ledger"][0]
    kept_in_part = packing == "gzip"  # what the end of a file cuts; of zstd no frame is left
    assert read["docs_out"] == 119 + kept_in_part
    assert kept_in_part or sum(read["failed"].values()) == 1
