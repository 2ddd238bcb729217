"""Paths: what they stand for, here and on an object store reached over HTTP."""

import os
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from tests.pipelines.read.corpus import read_all
from tests.pipelines.read.images.shards import sample_tar
from tests.pipelines.read.pictured import read_pictured
from tests.strategies import few
from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.storage.inputs import expand, open_input, resolve

FILES = {
    "a.jsonl": b'{"text": "a"}\n',
    "b.jsonl": b'{"text": "b"}\n',
    "sub/c.jsonl": b'{"text": "c"}\n',
    "sub/deep/d.jsonl": b'{"text": "d"}\n',
    "sub/deep/_index.md": b"i",
    "sub/.hidden": b"h",
    ".git/config.jsonl": b"h",
    "_SUCCESS": b"",
    "_temporary/0/e.jsonl": b"x",
}
PATTERNS = [
    ("", ["a.jsonl", "b.jsonl", "sub/c.jsonl", "sub/deep/_index.md", "sub/deep/d.jsonl"]),
    ("/sub", ["c.jsonl", "deep/_index.md", "deep/d.jsonl"]),
    ("/a.jsonl", ["a.jsonl"]),
    ("/*.jsonl", ["a.jsonl", "b.jsonl"]),
    ("/?.jsonl", ["a.jsonl", "b.jsonl"]),
    ("/[bc].jsonl", ["b.jsonl"]),
    ("/[!a].jsonl", ["b.jsonl"]),
    ("/*/*.jsonl", ["sub/c.jsonl"]),
    ("/s*/deep/*", ["sub/deep/_index.md", "sub/deep/d.jsonl"]),
    ("/**/*.jsonl", ["a.jsonl", "b.jsonl", "sub/c.jsonl", "sub/deep/d.jsonl"]),
    ("/sub/**", ["c.jsonl", "deep/_index.md", "deep/d.jsonl"]),
    ("/**/deep/**/*.jsonl", ["sub/deep/d.jsonl"]),
    ("/sub/.h*", [".hidden"]),
    ("/_S*", ["_SUCCESS"]),
]


@pytest.fixture
def folder(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


@pytest.fixture(scope="module")
def s3_server():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server, monkeypatch):
    """A bucket of `FILES`, reached as a user would: by the environment."""
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET-TO-KEEP")
    store = fs.S3FileSystem(
        access_key="testing",
        secret_key="SECRET-TO-KEEP",
        endpoint_override=s3_server,
        region="us-east-1",
        allow_bucket_creation=True,
    )
    store.create_dir("corpus", recursive=False)
    for name, data in FILES.items():
        with store.open_output_stream(f"corpus/data/{name}") as out:
            out.write(data)
    return store


@pytest.mark.parametrize(("pattern", "names"), few(PATTERNS, 3))
def test_a_pattern_stands_for_the_same_files_here_and_on_s3(folder, s3, pattern, names):
    here, there = expand(f"{folder}{pattern}"), expand(f"s3://corpus/data{pattern}")
    assert [f.name for f in here] == [f.name for f in there] == names
    assert [f.path for f in here] == sorted(f.path for f in here)
    assert [f.bytes for f in here] == [f.bytes for f in there]
    assert all(f.version > 0 for f in [*here, *there])
    for file in there:
        assert file.path.startswith("s3://corpus/data/")
        with open_input(file.path) as f:
            f.seek(0)
            assert len(f.read()) == file.bytes


def test_a_changed_file_has_another_version(folder):
    before = expand(f"{folder}/a.jsonl")
    os.utime(folder / "a.jsonl", ns=(1, 10**18))
    assert expand(f"{folder}/a.jsonl") != before


def test_a_file_url_is_a_local_path(folder):
    (folder / "with space.jsonl").write_bytes(b"x")
    assert expand(f"file://{folder}/with%20space.jsonl") == expand(f"{folder}/with space.jsonl")


def test_a_relative_path_and_the_home_folder_become_absolute(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    assert expand("a.jsonl") == expand("~/a.jsonl") == expand(f"{folder}/a.jsonl")


def test_a_name_that_looks_like_a_pattern_is_itself(folder):
    (folder / "[b].jsonl").write_bytes(b"x")
    assert [f.name for f in expand(f"{folder}/[b].jsonl")] == ["[b].jsonl"]


def test_a_link_back_to_a_folder_above_is_not_followed(folder):
    (folder / "sub" / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "linked").symlink_to(folder / "sub" / "deep", target_is_directory=True)
    assert [f.name for f in expand(f"{folder}/sub/**/*.jsonl")] == ["c.jsonl", "deep/d.jsonl"]
    assert "linked/d.jsonl" in [f.name for f in expand(str(folder))]


@pytest.mark.parametrize(
    ("path", "cause", "said"),
    [
        ("{}/none.jsonl", "not_found", "{}/none.jsonl: no such file or folder; check the path"),
        ("{}/*.parquet", "not_found", "{}/*.parquet: matches no file; check the pattern"),
        (
            "ftp://host/x",
            "unknown_scheme",
            "ftp://host/x: cannot read from ftp://;"
            " write a local path, file://…, s3://bucket/key, or of gs://, az://, abfs://, https://, hf://",
        ),
        ("s3://", "not_found", "s3://: names no bucket; write s3://bucket/key"),
    ],
)
def test_what_is_not_there_is_one_line(folder, path, cause, said):
    with pytest.raises(InputError) as e:
        expand(path.format(folder))
    assert str(e.value) == said.format(folder)
    assert e.value.cause == cause
    with pytest.raises(ConfigError) as e:
        plan_inputs([Input(path=path.format(folder))], 100)
    assert str(e.value) == "inputs.0: " + said.format(folder)


def test_opening_what_is_not_there_is_named(folder):
    with pytest.raises(InputError, match="no such file or folder") as e:
        open_input(f"{folder}/none")
    assert e.value.cause == "not_found"


@pytest.fixture
def ordinary_user():
    """Root may read everything: be nobody for a while."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        yield
        os.seteuid(0)
    else:
        yield


def test_a_file_that_may_not_be_read_is_named(folder, request):
    (folder / "a.jsonl").chmod(0)
    (folder / "sub").chmod(0)
    for above in [folder, *folder.parents]:
        if above.owner() == "root" or above == folder:
            above.chmod(above.stat().st_mode | 0o555)
        if above.name.startswith("pytest-of"):
            break
    request.getfixturevalue("ordinary_user")
    names = [(open_input, "a.jsonl"), (expand, "sub"), (expand, "sub/*.jsonl")]
    for read, path in [
        (read, f"{head}{folder}/{n}") for read, n in names for head in ("", "file://")
    ]:
        with pytest.raises(InputError) as e:
            read(path)
        assert str(e.value) == f"{path}: may not be read; chmod it"
        assert e.value.cause == "permission_denied"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("s3://no-bucket/data/*.jsonl", "no such bucket; check the path"),
        ("s3://no-bucket", "no such bucket; check the path"),
        ("s3://corpus/data/none.jsonl", "no such file or folder; check the path"),
        ("s3://corpus/data/*.parquet", "matches no file; check the pattern"),
    ],
)
def test_what_is_not_on_s3_is_one_line(s3, path, said):
    with pytest.raises(InputError) as e:
        expand(path)
    assert str(e.value) == f"{path}: {said}"
    assert e.value.cause == "not_found"


@contextmanager
def served_by(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Elsewhere(BaseHTTPRequestHandler):
    """Amazon's answer to who asks a bucket of another region."""

    def do_GET(self):
        text = b"<Error><Code>PermanentRedirect</Code><Message>Elsewhere.</Message></Error>"
        self.send_response(301)
        self.send_header("x-amz-bucket-region", "eu-central-1")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(text)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_):
        pass


def test_a_bucket_of_another_region_is_one_line(s3, monkeypatch):
    with served_by(Elsewhere) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        for path in ("s3://corpus/data/*.jsonl", "s3://corpus/a"):
            with pytest.raises(InputError) as e:
                expand(path)
            said = f"{path}: its bucket is in another region, eu-central-1; set AWS_REGION to that"
            assert str(e.value) == said


class OfAPrefix(BaseHTTPRequestHandler):
    """Answers where a policy lets one list what is below a prefix, and nothing is."""

    def do_HEAD(self):
        self.send_response(404 if self.path.startswith("/corpus/") else 403)
        self.end_headers()

    def do_GET(self):
        text = b"<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def test_what_is_not_below_a_prefix_that_alone_may_be_listed_is_told(s3, monkeypatch):
    with served_by(OfAPrefix) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        for path, what in [("*.jsonl", "matches no file"), ("a", "no such file or folder")]:
            with pytest.raises(InputError, match=what):
                expand(f"s3://corpus/data/{path}")


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])
def test_an_endpoint_that_is_no_url_is_one_line(s3, monkeypatch, name):
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    monkeypatch.setenv(name, "127.0.0.1:9000")
    with pytest.raises(ConfigError, match=f"^{name}: no URL; it begins with http:// or"):
        expand("s3://corpus/data/*.jsonl")


def test_the_scheme_of_an_endpoint_is_of_either_case(s3, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", os.environ["AWS_ENDPOINT_URL_S3"].upper())
    assert len(expand("s3://corpus/data/*.jsonl")) == 2


def test_opening_what_is_not_on_s3_is_named(s3):
    for path in ("s3://corpus/data/none", "s3://no-bucket/x"):
        with pytest.raises(InputError) as e:
            open_input(path)
        assert e.value.cause == "not_found"
        assert "SECRET" not in str(e.value)


def test_a_store_that_does_not_answer_is_given_up_soon(monkeypatch):
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:SECRET@127.0.0.1:9")
    monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "true")
    start = time.monotonic()
    with pytest.raises(OSError, match="the store does not answer") as e:
        expand("s3://corpus/data/*.jsonl")
    assert time.monotonic() - start < 45
    assert "SECRET" not in str(e.value)
    assert str(e.value).startswith("s3://corpus/data/*.jsonl: ")
    assert "\n" not in str(e.value)


def test_every_format_reads_from_s3(s3, tmp_path):
    texts = [f"document {i}" for i in range(50)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "d.parquet", row_group_size=5)
    with pa.ipc.new_stream(tmp_path / "d.arrow", pa.schema({"text": pa.string()})) as writer:
        writer.write_table(pa.table({"text": texts}), max_chunksize=5)
    for name in ("d.parquet", "d.arrow"):
        with s3.open_output_stream(f"corpus/tables/{name}") as out:
            out.write(Path(tmp_path / name).read_bytes())
        got = read_all(f"s3://corpus/tables/{name}", shard_bytes=200)
        assert got.texts == texts
        assert len(got.plan.shards) > 2
    got = read_all("s3://corpus/data/**/*.jsonl", shard_bytes=5)
    assert got.texts == ["a", "b", "c", "d"]
    assert read_all("s3://corpus/data/sub/deep/*.md").texts == ["i"]


def test_tars_of_samples_read_from_s3_as_from_here(s3, tmp_path):
    paths = [sample_tar(tmp_path / name, 3) for name in ("a.tar", "b.tar.gz")]
    for path in paths:
        with s3.open_output_stream(f"corpus/tars/{path.name}", compression=None) as out:
            out.write(path.read_bytes())
    there, here = read_pictured("s3://corpus/tars"), read_pictured(tmp_path)
    assert len(there.documents) == 6
    assert (there.documents, there.blobs) == (here.documents, here.blobs)


def test_the_environment_is_read_anew(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "one")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    first, where = resolve("s3://bucket/a/b/")
    assert where == "bucket/a/b"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "two")
    assert not first.equals(resolve("s3://bucket/a")[0])
