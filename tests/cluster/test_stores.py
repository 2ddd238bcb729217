"""The command line with inputs in other stores, through a proxy that fails as stores do."""

import contextlib
import time
from dataclasses import dataclass, field

import pytest

from tests.cluster import azurite, runs
from tests.cluster.faulty_proxy import FaultyProxy
from tests.pipelines.storage.served import REPO, Served, certified, serving
from tests.pipelines.storage.test_store import FILES, PATTERNS
from tests.strategies import few
from tokenmill.pipelines.storage.inputs import expand, open_input

FAILING = {"slow_down": 0.04, "time_out": 0.005, "truncate": 0.03, "reset": 0.025}
HEADS = {
    "gs": "gs://bucket/",
    "hf": f"hf://datasets/{REPO}@main/",
    "https": "https://localhost:{}/web/",
    "az": "az://container/",
}
# every store; of those that never answer, which is waited for longest, one
SLOW = [(name, "time_out") for name in ("https", "gs", "hf", "az")]
FAILS = [*few([(name, "slow_down") for name in HEADS], 2), *few(SLOW, len(SLOW))]


@dataclass
class There:
    """A store behind a proxy. head: of its addresses.  env: to reach it.  upload: name, bytes."""

    head: str
    proxy: FaultyProxy
    upload: object
    env: dict[str, str] = field(default_factory=dict)


@pytest.fixture(params=HEADS)
def there(request, tmp_path):
    if request.param == "az" and azurite.program() is None:
        pytest.skip("needs azurite, of npm")
    folder = tmp_path / "there"
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        if request.param == "az":
            port = stack.enter_context(azurite.azurite_in(folder, "container"))

            def upload(name, data):
                azurite.upload(port, "container", name, data)
        else:
            server = stack.enter_context(Served())
            stack.enter_context(serving(server))
            port, upload = server.port, server.files.__setitem__
        proxy = stack.enter_context(FaultyProxy(port))
        env = {
            "STORAGE_EMULATOR_HOST": proxy.url,
            "FSSPEC_GS_TOKEN": "anon",
            "HF_ENDPOINT": proxy.url,
            "AZURE_STORAGE_CONNECTION_STRING": azurite.connection(proxy.server_address[1]),
        }
        if request.param == "https":
            env["SSL_CERT_FILE"] = str(certified(proxy, folder))
        stack.enter_context(serving(proxy))
        stack.callback(proxy.closing.set)
        yield There(HEADS[request.param].format(proxy.server_address[1]), proxy, upload, env)


@pytest.fixture
def corpus(there, undisturbed):
    """The option that names the undisturbed run's corpus there."""
    name = "docs.jsonl"
    there.upload(f"in/{name}", (undisturbed.recipe.parent / name).read_bytes())
    there.proxy.forget()
    return ("--set", f"inputs={there.head}in/{name}")


def test_one_request_in_ten_fails(there, corpus, undisturbed, env, tmp_path):
    there.proxy.rates = FAILING
    out = tmp_path / "run"
    ended = runs.prepare(undisturbed.recipe, out, *corpus, "--workers", "2", env=env | there.env)
    assert ended.code == 0, ended.err
    assert there.proxy.faults.total() > 0
    assert runs.contents(out) == runs.contents(undisturbed.out)
    assert not runs.unbalanced(out)


@pytest.mark.parametrize(("there", "fault"), FAILS, indirect=["there"])
def test_all_requests_fail(there, corpus, undisturbed, env, tmp_path, fault):
    there.proxy.rates = {fault: 1.0}
    start = time.monotonic()
    ended = runs.prepare(undisturbed.recipe, tmp_path / "run", *corpus, env=env | there.env)
    assert time.monotonic() - start < runs.GIVEN_UP_S
    assert ended.code == 2
    assert len(ended.errors) == 1, ended.err
    assert f"{there.head}in/docs.jsonl: the store does not answer (" in ended.errors[0]


@pytest.mark.parametrize("there", few(HEADS, 3), indirect=True)
def test_all_requests_fail_from_some_moment_on(there, corpus, undisturbed, env, tmp_path):
    out, log = tmp_path / "run", tmp_path / "log"
    command = (undisturbed.recipe, out, *corpus, "--workers", "2")
    begun = runs.begun(
        *command, log=log, env=env | there.env, until=lambda: len(runs.receipts(out)) >= 3
    )
    there.proxy.rates = {"slow_down": 1.0}
    assert begun.process.wait(runs.GIVEN_UP_S) == 2
    said = [line for line in log.read_text().splitlines() if line.strip()]
    lines = [line for line in said if "EventsWorker" not in line]  # Prefect, on its way out
    assert len(lines) == 1, lines
    assert "the store does not answer (" in lines[0]
    there.proxy.forget()
    runs.prepared(*command, env=env | there.env)
    assert runs.contents(out) == runs.contents(undisturbed.out)


@pytest.mark.parametrize("there", ["az"], indirect=True)
def test_a_pattern_stands_for_the_same_files_on_azure(there, tmp_path, monkeypatch):
    for name, value in there.env.items():
        monkeypatch.setenv(name, value)
    here = tmp_path / "here"
    for name, data in FILES.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(data)
        there.upload(f"data/{name}", data)
    for pattern, names in PATTERNS:
        found = expand(f"{there.head}data{pattern}")
        assert [f.name for f in found] == names, pattern
        assert [f.bytes for f in found] == [f.bytes for f in expand(f"{here}{pattern}")]
        for file in found:
            with open_input(file.path) as f:
                assert len(f.read()) == file.bytes
    (before,) = expand(f"{there.head}data/a.jsonl")
    there.upload("data/a.jsonl", b"x" * before.bytes)
    (after,) = expand(f"{there.head}data/a.jsonl")
    assert before._replace(version=0) == after._replace(version=0)
    assert before.version != after.version
