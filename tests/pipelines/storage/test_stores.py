"""Inputs in other stores: what is read there is what is read here, whatever fails on the way."""

import os
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cluster.faulty_proxy import FaultyProxy
from tests.pipelines.read.corpus import read_all
from tests.pipelines.storage.served import REPO, Served, certified, serving
from tests.pipelines.storage.test_store import FILES, PATTERNS
from tokenmill.pipelines.contamination.items.rows import read_rows
from tokenmill.pipelines.core import places
from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.places import VARIABLE, within_roots
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.storage import inputs, stores
from tokenmill.pipelines.storage.inputs import expand, open_input, resolve

HEADS = {"gs": "gs://bucket/", "hf": f"hf://datasets/{REPO}/", "https": "https://localhost:{}/web/"}
LISTED = ("gs", "hf")
SOME = {"slow_down": 0.05, "truncate": 0.03, "reset": 0.02}
TEXTS = [f"document {i} " * 20 for i in range(3000)]


class Reached:
    """A server, the proxy before it, and the beginning of its addresses."""

    def __init__(self, server, proxy, head):
        self.server, self.proxy, self.head = server, proxy, head


@pytest.fixture(params=HEADS)
def store(request, monkeypatch, tmp_path):
    with Served() as server, FaultyProxy(server.port) as proxy:
        if request.param == "https":
            monkeypatch.setenv("SSL_CERT_FILE", str(certified(proxy, tmp_path)))
        with serving(server), serving(proxy):
            monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
            monkeypatch.setenv("FSSPEC_GS_TOKEN", "anon")
            monkeypatch.setenv("HF_ENDPOINT", proxy.url)
            inputs._gone.clear()
            yield Reached(server, proxy, HEADS[request.param].format(proxy.server_address[1]))
            proxy.closing.set()


only = pytest.mark.parametrize


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "data"
    for name, data in FILES.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(data)
    return made


@pytest.mark.long_but("hf")  # one store of the two
@only("store", LISTED, indirect=True)
def test_a_pattern_stands_for_the_same_files_here_and_there(folder, store):
    store.server.files = {f"data/{name}": data for name, data in FILES.items()}
    for pattern, names in PATTERNS:
        here, there = expand(f"{folder}{pattern}"), expand(f"{store.head}data{pattern}")
        assert [f.name for f in here] == [f.name for f in there] == names, pattern
        assert [f.bytes for f in here] == [f.bytes for f in there]
        assert all(f.version > 0 for f in there)
        for file in there:
            assert file.path.startswith(f"{store.head}data/")
            with open_input(file.path) as f:
                f.seek(0)
                assert len(f.read()) == file.bytes


def uploaded(store, tmp_path):
    """Files of each format in the store, and here; returns the folder."""
    table, here = pa.table({"text": TEXTS}), tmp_path / "here"
    here.mkdir()
    pq.write_table(table, here / "d.parquet", row_group_size=500)
    with pa.ipc.new_stream(here / "d.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=500)
    (here / "d.txt").write_text("\n".join(TEXTS))
    store.server.files = {path.name: path.read_bytes() for path in here.iterdir()}
    return here


def is_read_as_here(store, here):
    for path in sorted(here.iterdir()):
        there = read_all(f"{store.head}{path.name}", shard_bytes=100_000)
        assert there.texts == read_all(path, shard_bytes=100_000).texts
        assert len(there.plan.shards) > 5 or path.suffix == ".txt"


@pytest.mark.long_but("https")  # each store is read by tests/cluster/test_stores
def test_every_format_is_read_there_as_here(store, tmp_path):
    is_read_as_here(store, uploaded(store, tmp_path))


@pytest.mark.long_but("gs", "https")  # of the two whose files are open
def test_every_format_is_read_though_one_request_in_ten_fails(store, tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "PART_BYTES", 50_000)
    monkeypatch.setattr("gcsfs.retry.min", lambda *_: 0.01, raising=False)  # it pauses 1 s and more
    here = uploaded(store, tmp_path)
    for name in ("d.arrow", "d.txt"):
        (here / name).unlink()
    store.proxy.rates = SOME
    is_read_as_here(store, here)
    assert store.proxy.faults.total() > 1


def test_a_copy_may_take_longer_than_a_range(monkeypatch, tmp_path):
    monkeypatch.setattr(stores, "CALL_S", 0.5)
    monkeypatch.setattr(stores, "PART_BYTES", 1000)
    with Served() as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(certified(server, tmp_path)))
        server.files, server.ranges, server.pause_s = {"a.txt": bytes(5_000_000)}, False, 1.0
        with serving(server), open_input(f"https://localhost:{server.port}/web/a.txt") as f:
            f.seek(2000)
            assert len(f.read(5000)) == 5000


def test_a_benchmark_is_read_there(store):
    store.server.files = {"quiz.jsonl": b'{"question": "a"}\n{"question": "b"}\n'}
    within_roots(f"{store.head}quiz.jsonl")
    rows = read_rows(f"{store.head}quiz.jsonl")
    assert [row["question"] for row in rows] == ["a", "b"]


def test_each_part_is_a_request(store, monkeypatch):
    monkeypatch.setattr(stores, "PART_BYTES", 1000)
    store.server.files = {"a.txt": b"x" * 3000}
    with open_input(f"{store.head}a.txt") as f:
        assert len(f.read()) == 3000
    assert store.server.given == {(0, 999), (1000, 1999), (2000, 2999)}


def test_a_store_that_answers_nothing_is_given_up(store, monkeypatch):
    store.server.files = {"a.txt": b"x"}
    with open_input(f"{store.head}a.txt") as f:
        monkeypatch.setattr(places, "PATIENCE_S", 0.1)
        monkeypatch.setattr(inputs, "PROBE_S", 0.02)
        for name in ("CALL_S", "STALLED_S", "PATIENT_S"):
            monkeypatch.setattr(stores, name, 0.1)
        for fault in ("slow_down", "time_out"):
            store.proxy.rates = {fault: 1.0}
            start = time.monotonic()
            with pytest.raises(ConfigError) as planned:
                plan_inputs([Input(path=f"{store.head}a.txt")], 100)
            with pytest.raises(ConnectionError) as read:
                f.read()
            with pytest.raises(ConfigError) as gone:
                inputs.stop_if_gone(inputs.translated(read.value, f"{store.head}a.txt"))
            assert time.monotonic() - start < 45, fault
            for told in (planned, gone):
                assert f"{store.head}a.txt: the store does not answer (" in str(told.value)
                assert "\n" not in str(told.value)
            inputs._gone.clear()


def test_a_store_that_answers_others_is_not_gone(store):
    store.server.files = {"a.txt": b"x"}
    inputs.stop_if_gone(inputs.outage(f"{store.head}a.txt", "reset"))
    inputs.stop_if_gone(inputs.outage(f"{store.head}none.txt", "reset"))


def test_what_is_not_there_or_may_not_be_read_is_one_line(store):
    for use in (expand, open_input):
        with pytest.raises(InputError, match="no such file or folder; check the path") as e:
            use(f"{store.head}none.txt")
        assert e.value.cause == "not_found"
    store.server.files = {"a.txt": b"x"}
    store.server.refused = True
    for use in (expand, open_input):
        with pytest.raises(InputError, match="a.txt: may not be read; (log in|download)") as e:
            use(f"{store.head}a.txt")
        assert e.value.cause == "permission_denied"


def test_a_changed_file_has_another_version(store):
    versions = set()
    for data in (b"one", b"two", b"one"):
        store.server.files = {"a.txt": data}
        versions.add(expand(f"{store.head}a.txt")[0].version)
    assert len(versions) == 2
    assert 0 not in versions


@only("store", ["https"], indirect=True)
def test_the_web_has_files_and_no_listings(store):
    store.server.files = {"a b.txt": b"x"}
    (file,) = expand(f"{store.head}a%20b.txt?download=1")
    assert file.name == "a%20b.txt"
    with pytest.raises(InputError, match="https:// has no listings, and no patterns"):
        expand(f"{store.head}*.txt")
    store.server.more = {"Content-Encoding": "gzip"}
    with pytest.raises(InputError, match="the server does not tell how long it is; download it"):
        open_input(f"{store.head}a%20b.txt")


def test_an_object_of_azure_is_told_by_its_account(monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    address = "abfs://container@account.dfs.core.windows.net/x/y"
    found, where = resolve(address)
    assert where == "container/x/y"
    assert found.handler.address(where) == address
    assert found.handler.fs.account_name == "account"


def test_settings_that_lack_are_one_line_with_the_way(monkeypatch, tmp_path):
    for name in [n for n in os.environ if n.startswith(("AZURE_", "FSSPEC_", "STORAGE_EMULATOR"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none"))
    for path, way in (("gs://b/x", "gcloud auth"), ("az://c/x", "AZURE_STORAGE_ACCOUNT_NAME")):
        with pytest.raises(ConfigError, match=rf"^..://: cannot be reached \(.+\); .*{way}") as e:
            resolve(path)
        assert "\n" not in str(e.value)


@only(
    ("path", "said"),
    [
        ("gs://", "gs://: is no address; write gs://bucket/key"),
        ("https://host", "https://host: is no address; write https://host/path"),
        ("hf://datasets/owner", "is no set on the hub|is no address; write hf://datasets/OWNER"),
        ("az://c@a.b/x", "is no address; write az://container/key"),
        ("http://host/x", "cannot read from http://; write a local path, file://…, s3://bucket"),
    ],
)
def test_what_is_no_address_is_one_line(path, said):
    with pytest.raises((InputError, ConfigError), match=said):
        resolve(path)


@only(
    "path",
    [
        "https://me:SECRET@host/x",
        "https://host/x?sig=SECRET",
        "https://h/x?a=1&X-Amz-Signature=SECRET",
    ],
)
def test_credentials_in_an_address_are_refused_and_not_repeated(path):
    with pytest.raises(ConfigError, match="credentials do not belong into a path") as e:
        resolve(path)
    assert "SECRET" not in str(e.value)


@only("path", ["gs://b/x", "az://c/x", "https://h/x", "hf://datasets/o/n/x", "s3://b/x"])
def test_what_is_not_installed_is_named_with_the_way_to_it(path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    stores._file_system.cache_clear()
    for module in ("gcsfs", "gcsfs.core", "adlfs", "fsspec.implementations.http"):
        monkeypatch.setitem(sys.modules, module, None)
    for module in ("huggingface_hub", "boto3.session", "botocore.exceptions"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=r"which is not installed; pip install 'tokenmill\[") as e:
        resolve(path)
    assert "\n" not in str(e.value)


@only(
    ("path", "root", "is_within"),
    [
        ("gs://b/data/x", "gs://b/data", True),
        ("gs://b/data2/x", "gs://b/data", False),
        ("gs://b/data/../x", "gs://b/data", False),
        ("https://host/data/%2e%2E/x", "https://host/data", False),
        ("https://host/data/%2e%2e%5cx", "https://host/data", False),
        ("https://host.evil/data/x", "https://host", False),
        ("hf://datasets/o/n/x", "hf://datasets/o/n", True),
        ("hf://datasets/o/other/x", "hf://datasets/o/n", False),
        ("gs://b/x", "s3://b", False),
        ("az://c/x", "/", False),
    ],
)
def test_roots_hold_addresses_too(path, root, is_within, monkeypatch):
    monkeypatch.setenv(VARIABLE, root)
    if is_within:
        assert within_roots(path) == path
    else:
        with pytest.raises(ConfigError, match=f"lies outside of {VARIABLE}"):
            within_roots(path)


@only("store", ["https"], indirect=True)
def test_a_server_without_ranges_is_read_from_a_copy(store, tmp_path):
    here = uploaded(store, tmp_path)
    store.server.ranges = False
    is_read_as_here(store, here)
