"""A dataset in a bucket, over a real S3 API: the same ids as from a folder, and what that takes."""

import itertools
import json

import boto3
import numpy as np
import pyarrow as pa
import pytest
from moto.server import ThreadedMotoServer

from tests.cluster.faulty_proxy import RESET, TRUNCATE, faulty_proxy
from tests.pipelines.probe.corpora import SEQ_LEN, documents, packed, sheet, write_shards
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.fill import fill, is_filler, remove_filler
from tokenmill.pipelines.probe.loader import DEPTHS, ORDERS, Loader, Reading
from tokenmill.pipelines.probe.medium import Bucket
from tokenmill.pipelines.probe.objects import ObjectLoader, ids_buffer
from tokenmill.pipelines.probe.run import Settings, probe
from tokenmill.pipelines.probe.shards import IDS, open_dataset

FAR = tuple(order for order in ORDERS if order != "mmap")
LENGTHS = [5, 0, 90, 700, 1, 13]


@pytest.fixture(scope="module")
def api():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def bucket(api, monkeypatch):
    """An empty bucket's client."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIATESTSONLY",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_S3": api,
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=api, region_name="us-east-1")
    client.create_bucket(Bucket="corpora")
    for page in client.get_paginator("list_objects_v2").paginate(Bucket="corpora"):
        for entry in page.get("Contents", ()):
            client.delete_object(Bucket="corpora", Key=entry["Key"])
    return client


def put(client, folder, prefix="d"):
    for path in folder.rglob("*"):
        if path.is_file():
            key = f"{prefix}/{path.relative_to(folder).as_posix()}"
            client.upload_file(str(path), "corpora", key)
    return f"s3://corpora/{prefix}"


def keys(client):
    return [e["Key"] for e in client.list_objects_v2(Bucket="corpora").get("Contents", ())]


def loader(place, kind, *, order, depth="full", **others):
    made = {"rank": 0, "ranks": 1, "seed": 5, "chunk_rows": 3, "sequences": 4, "connections": 3}
    made |= {"seq_len": SEQ_LEN, **others}
    return kind(Reading(shards=open_dataset(place), order=order, depth=depth, **made))


# each order and each kind once
@pytest.mark.long_but("packed-sequential", "packed-chunked", "<lambda>-random")
@pytest.mark.parametrize("order", FAR)
@pytest.mark.parametrize("made", [packed, lambda folder: documents(folder, LENGTHS * 5)])
def test_a_bucket_gives_the_ids_of_a_folder(bucket, tmp_path, made, order):
    folder = made(tmp_path / "d")
    address = put(bucket, folder)
    near, *far = (
        loader(folder, Loader, order=order, depth="arrow"),
        *(loader(address, ObjectLoader, order=order, depth=depth) for depth in DEPTHS),
    )
    wanted = list(itertools.islice(near._ids(), 20))  # of documents an epoch has 15
    assert len(wanted) == 20
    for one in far:
        for mine, theirs in zip(itertools.islice(one._ids(), 20), wanted, strict=True):
            assert np.array_equal(mine, theirs)


def test_ranks_without_a_batch_of_their_own_get_parts_of_one(bucket, tmp_path):
    folder = packed(tmp_path / "d", batches=1)
    address = put(bucket, folder)
    for rank in range(3):
        several = {"order": "sequential", "rank": rank, "ranks": 3}
        near = loader(folder, Loader, **several)
        far = loader(address, ObjectLoader, **several)
        for mine, theirs in itertools.islice(zip(near._ids(), far._ids(), strict=True), 4):
            assert np.array_equal(mine, theirs)


def test_bytes_are_counted_as_they_come(bucket, tmp_path):
    address = put(bucket, packed(tmp_path / "d"))
    rows = loader(address, ObjectLoader, order="random")
    list(itertools.islice(rows._ids(), 10))
    assert rows.counters.logical_bytes > 5 * rows.counters.useful_bytes  # a header for most rows
    assert rows.counters.requests > rows.counters.useful_bytes / (2 * SEQ_LEN)
    whole = loader(address, ObjectLoader, order="sequential")
    list(itertools.islice(whole._ids(), 6))
    share = whole.counters.logical_bytes / whole.counters.useful_bytes
    assert 1 < share < 1.6  # the other columns of a small batch
    assert whole.device_bytes() == whole.counters.logical_bytes


def test_what_was_read_ahead_when_reading_ends_is_not_thrown_away(bucket, tmp_path):
    whole = loader(put(bucket, packed(tmp_path / "d")), ObjectLoader, order="sequential")
    ids = whole._ids()
    next(ids)
    ids.close()
    counters = whole.counters
    assert counters.requests > 1
    assert 1 < counters.logical_bytes / counters.useful_bytes < 1.6


def test_requests_that_fail_are_made_again_and_counted(bucket, api, tmp_path, monkeypatch):
    folder = packed(tmp_path / "d")
    address = put(bucket, folder)
    near = loader(folder, Loader, order="sequential")
    with faulty_proxy(int(api.rpartition(":")[2])) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
        far = loader(address, ObjectLoader, order="sequential")
        proxy.rates = {RESET: 0.2, TRUNCATE: 0.2}  # told to slow down, botocore does for seconds
        for mine, theirs in itertools.islice(zip(near._ids(), far._ids(), strict=True), 10):
            assert np.array_equal(mine, theirs)
        failed = proxy.faults.total()
    assert 0 < far.counters.again <= failed
    assert far.counters.requests >= 10


def test_columns_before_the_ids_are_passed_by(bucket, tmp_path):
    batch = pa.record_batch(
        {
            "id": ["a", "b", "c"],
            "parts": [[1], None, [2, 3]],
            "of": [{"x": 1, "y": "q"}] * 3,
            "none": pa.nulls(3),
            "pair": pa.array([[1, 2]] * 3, pa.list_(pa.int8(), 2)),
            IDS: pa.array([[1, 2], [3], [4, 5, 6]], pa.list_(pa.uint16())),
        }
    )
    path = tmp_path / "d" / "a.arrow"
    path.parent.mkdir()
    with pa.OSFile(str(path), "wb") as f, pa.ipc.new_stream(f, batch.schema) as out:
        out.write_batch(batch)
    address = put(bucket, path.parent)
    rows = loader(address, ObjectLoader, order="random")
    found = sorted(ids.tolist() for ids in itertools.islice(rows._ids(), 3))
    assert found == [[1, 2], [3], [4, 5, 6]]


def test_columns_of_unknown_kinds_are_told():
    with pytest.raises(ValueError, match="read it in the sequential order"):
        ids_buffer(pa.schema({"a": pa.run_end_encoded(pa.int32(), pa.int8()), IDS: pa.int8()}))


def test_a_run_and_its_splits(bucket, tmp_path):
    packed(tmp_path / "run" / "dataset" / "train", batches=2)
    packed(tmp_path / "run" / "dataset" / "validation", batches=1)
    names = {"splits": ["train", "validation"]}
    (tmp_path / "run" / "dataset" / "dataset_dict.json").write_text(json.dumps(names))
    address = put(bucket, tmp_path / "run", "run")
    assert open_dataset(address).rows == 64
    assert open_dataset(address, "validation").rows == 32


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda f: [p.unlink() for p in f.iterdir()], "nothing is there; give the folder"),
        (lambda f: (f / "state.json").write_text("{"), "state.json: cannot be read as JSON"),
        (lambda f: next(f.glob("*.arrow")).write_bytes(b""), "has 0 bytes; fetch or write"),
        (lambda f: (f / "data-00001-of-00003.arrow").unlink(), "no such file, but the dataset"),
        (lambda f: (f / "data-00001-of-00003.arrow").write_bytes(b"no arrow"), "not an Arrow IPC"),
    ],
)
def test_what_is_no_dataset(bucket, tmp_path, broken, told):
    folder = packed(tmp_path / "d")
    broken(folder)
    with pytest.raises(ConfigError, match=told) as e:
        open_dataset(put(bucket, folder))
    assert str(e.value).startswith("s3://corpora/d")


def test_an_object_that_has_changed(bucket, tmp_path):
    folder = packed(tmp_path / "d")
    rows = loader(put(bucket, folder), ObjectLoader, order="sequential")
    for path in folder.glob("*.arrow"):
        bucket.put_object(Bucket="corpora", Key=f"d/{path.name}", Body=path.read_bytes()[:2000])
    with pytest.raises(ConfigError, match="it has changed, or is no longer whole"):
        list(itertools.islice(rows._ids(), 6))


def test_compressed_batches(bucket, tmp_path):
    rows = [[np.zeros(64, np.uint16)] * 100]
    folder = write_shards(tmp_path / "d", rows, seq_len=64, compression="zstd")
    with pytest.raises(ConfigError, match="is compressed; write the dataset without"):
        open_dataset(put(bucket, folder))


def test_it_is_filled_probed_and_removed(bucket, tmp_path, capsys):
    bucket.put_object(Bucket="corpora", Key="else/notes.txt", Body=b"mine")
    command = ["probe", "s3://corpora/fill", "--fill", "1MB", "--seconds", "0.3"]
    command += ["--order", "random", "--processes", "1"]
    command += ["--connections", "3", "--most", "8", "--json"]
    assert main([*command, "--accelerators", "1"]) in (0, 1)
    data = json.loads(capsys.readouterr().out)
    assert (data["dataset"]["fstype"], data["settings"]["connections"]) == ("S3", 3)
    assert sum(depth["requests"] for depth in data["depths"].values()) > 3
    assert is_filler("s3://corpora/fill")
    remove_filler("s3://corpora/fill")
    assert keys(bucket) == ["else/notes.txt"]


def test_what_is_there_is_left_alone(bucket):
    bucket.put_object(Bucket="corpora", Key="fill/notes.txt", Body=b"mine")
    with pytest.raises(ConfigError, match="--fill needs a prefix without objects"):
        fill("s3://corpora/fill", 10_000, width=2, seq_len=8)
    assert keys(bucket) == ["fill/notes.txt"]


def test_what_is_there_of_the_same_size_is_taken_as_it_is(bucket):
    address = fill("s3://corpora/fill", 100_000, width=2, seq_len=8)
    before = bucket.head_object(Bucket="corpora", Key="fill/state.json")["LastModified"]
    assert fill(address, 100_000, width=2, seq_len=8) == address
    assert bucket.head_object(Bucket="corpora", Key="fill/state.json")["LastModified"] == before
    with pytest.raises(ConfigError, match="an earlier --fill wrote"):
        fill(address, 90_000, width=2, seq_len=8)


def test_rows_are_read_the_same_way_as_a_plan_asks(bucket, tmp_path):
    address = put(bucket, packed(tmp_path / "d"))
    with pytest.raises(ConfigError, match="nothing of a bucket can be mapped; give another --ord"):
        probe(address, sheet(), Settings(order="mmap"))


def test_no_bucket(bucket):
    with pytest.raises(ConfigError, match="no such bucket"):
        Bucket("s3://others/d").check()
