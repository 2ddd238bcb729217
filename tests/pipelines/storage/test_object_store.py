"""Objects of a store reached over HTTP, which fails when it is told to."""

import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import xxhash
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from tests.cluster.s3 import SECRET
from tests.pipelines.conftest import PAGE_KEYS
from tokenmill.pipelines.core import places
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.core.places import place
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.storage import inputs
from tokenmill.pipelines.storage import s3 as object_store
from tokenmill.pipelines.storage.inputs import (
    OutageError,
    arrow_s3,
    is_outage,
    outage,
    resolve,
    stop_if_gone,
)
from tokenmill.pipelines.storage.s3 import PART_BYTES, ObjectStore, translated

BUCKET = "objects"
SOME = {"slow_down": 0.03, "truncate": 0.2, "reset": 0.2}  # slowed down, botocore waits


@pytest.fixture(autouse=True)
def s3(reached_s3):
    reached_s3.client().create_bucket(Bucket=BUCKET)
    inputs._gone.clear()
    return reached_s3


@pytest.fixture
def store(request):
    return ObjectStore(f"s3://{BUCKET}/{request.node.name.partition('[')[0]}/run")


@pytest.fixture
def soon(monkeypatch):
    """Give up after a moment instead of most of a minute."""
    monkeypatch.setattr(places, "PATIENCE_S", 0.2)
    monkeypatch.setattr(inputs, "PROBE_S", 0.02)


def digest(data):
    return xxhash.xxh3_128_hexdigest(data)


def uploaded(store, tmp_path, name, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    store.upload(name, path, digest(data))


def test_what_is_put_is_got_listed_and_deleted(s3, store):
    assert store.get("a/b") is None
    assert store.size("a/b") is None
    store.put("a/b", b"one")
    store.put("c", b"")
    ObjectStore(f"{store.address}-2").put("other", b"not below the prefix")
    assert store.get("a/b").data == b"one"
    assert store.size("a/b") == 3
    assert list(store.names()) == [("a/b", 3), ("c", 0)]
    assert list(store.names("a/")) == [("a/b", 3)]
    assert list(store.names(most=1)) == [("a/b", 3)]
    store.delete(["a/b", "c", "never there"])
    assert list(store.names()) == []
    assert s3.proxy.requests["POST"] == 1


def test_a_listing_is_a_request_a_page_and_so_is_deleting(s3, store, monkeypatch):
    assert object_store.MOST_DELETED == 1000, "the API refuses more"
    monkeypatch.setattr(object_store, "MOST_DELETED", PAGE_KEYS)
    n = PAGE_KEYS + 10
    keys = [f"{store.address.partition(BUCKET)[2][1:]}/{i:05d}" for i in range(n)]
    client = s3.client()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: client.put_object(Bucket=BUCKET, Key=k, Body=b"x"), keys))
    names = list(store.names())
    assert names == [(f"{i:05d}", 1) for i in range(n)]
    assert s3.proxy.requests == {"LIST": 2}
    store.delete(name for name, _ in names)
    assert s3.proxy.requests == {"LIST": 2, "POST": 2}
    assert list(store.names()) == []


def test_a_condition_that_does_not_hold_writes_nothing(store):
    etag = store.put("x", b"1", IfNoneMatch="*")
    assert etag is not None
    assert store.put("x", b"2", IfNoneMatch="*") is None
    assert store.put("x", b"2", IfMatch='"another"') is None
    assert store.get("x").data == b"1"
    assert store.put("x", b"2", IfMatch=etag) not in (None, etag)
    assert store.get("x").data == b"2"


@pytest.mark.parametrize(
    ("size", "requests"),
    [
        (0, {"PUT": 1}),
        (PART_BYTES, {"PUT": 1}),
        (PART_BYTES + 1, {"CREATE_MULTIPART": 1, "PUT_PART": 2, "COMPLETE_MULTIPART": 1}),
    ],
)
def test_a_file_comes_back_as_it_was(s3, store, tmp_path, size, requests):
    data = os.urandom(size)
    uploaded(store, tmp_path, "file", data)
    assert s3.proxy.requests == requests
    assert store.fetch("file", tmp_path / "back") == size
    assert (tmp_path / "back").read_bytes() == data


def test_a_file_that_is_not_there_is_not_found(store, tmp_path):
    with pytest.raises(FileNotFoundError):
        store.fetch("none", tmp_path / "back")


def test_failing_requests_lose_and_alter_nothing(s3, store, tmp_path):
    data = os.urandom(PART_BYTES + 1)
    s3.proxy.rates = SOME
    uploaded(store, tmp_path, "large", data)
    for i in range(8):
        store.put(f"small/{i}", bytes([i]))
    store.fetch("large", tmp_path / "back")
    got = [store.get(f"small/{i}").data for i in range(8)]
    names = dict(store.names())
    assert s3.proxy.faults.total() > 5
    assert (tmp_path / "back").read_bytes() == data
    assert got == [bytes([i]) for i in range(8)]
    assert len(names) == 9
    store.delete(names)
    assert list(store.names()) == []


def test_a_download_that_breaks_off_goes_on_where_it_was(s3, store, tmp_path):
    data = os.urandom(1 << 20)
    uploaded(store, tmp_path, "file", data)
    s3.proxy.forget()
    s3.proxy.rates = {"truncate": 0.5}
    sent = []
    client = object_store.ObjectStore._client.fget(store)
    client.meta.events.register(
        "before-call.s3.GetObject", lambda params, **_: sent.append(params["headers"].get("Range"))
    )
    for i in range(3):
        store.fetch("file", tmp_path / f"back-{i}")
        assert (tmp_path / f"back-{i}").read_bytes() == data
    assert s3.proxy.faults["truncate"] > 0
    assert "bytes=524288-" in sent


def test_an_object_that_changes_while_it_is_read_is_not_put_together(s3, store, tmp_path):
    uploaded(store, tmp_path, "file", os.urandom(1 << 20))
    s3.proxy.rates = {"truncate": 1.0}

    def change(params, **_):
        if "Range" in params["headers"]:
            s3.proxy.forget()
            uploaded(store, tmp_path, "file", os.urandom(1 << 20))

    events = store._client.meta.events
    events.register("before-call.s3.GetObject", change)
    try:
        with pytest.raises(OutageError, match="/file: changed while it was read"):
            store.fetch("file", tmp_path / "back")
    finally:
        events.unregister("before-call.s3.GetObject", change)


def test_bytes_that_are_not_those_written_are_refused(s3, store, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"damaged")
    store.upload("file", path, digest(b"as written"))
    with pytest.raises(ShardError, match="its bytes are not those that were written") as e:
        store.fetch("file", tmp_path / "back")
    assert str(e.value).startswith(f"{store.address}/file: ")
    assert s3.proxy.requests["GET"] == 2, "what is damaged on its way is asked for again"


def test_bytes_that_came_damaged_are_asked_for_again_from_the_first(s3, store, tmp_path):
    """As botocore has it when the checksum of a whole body is wrong: at its end."""
    data, wrong = os.urandom(3 << 20), [True]
    uploaded(store, tmp_path, "file", data)

    def damage(response, **_):
        if wrong:
            response[1]["Body"]._expected = wrong.pop() and "AAAAAA=="

    events = store._client.meta.events
    events.register("needs-retry.s3.GetObject", damage)
    try:
        store.fetch("file", tmp_path / "back")
    finally:
        events.unregister("needs-retry.s3.GetObject", damage)
    assert (tmp_path / "back").read_bytes() == data
    assert s3.proxy.requests["GET"] == 2


def test_an_upload_that_fails_is_aborted(s3, store, tmp_path, soon, monkeypatch):
    monkeypatch.setattr(object_store, "PATIENCE", 1)
    s3.proxy.rates, s3.proxy.only = {"slow_down": 1.0}, frozenset({"PUT_PART"})
    with pytest.raises(OutageError, match="the store does not answer .slow down."):
        uploaded(store, tmp_path, "large", bytes(PART_BYTES + 1))
    assert s3.proxy.requests["ABORT_MULTIPART"] == 1
    assert s3.open_uploads(BUCKET) == []
    assert store.size("large") is None


def test_uploads_that_were_left_are_aborted_below_the_prefix_alone(s3, store):
    client, prefix = s3.client(), store.address.partition(BUCKET)[2][1:]
    for key in (f"{prefix}/a", f"{prefix}/b", f"{prefix}-other/c"):
        client.create_multipart_upload(Bucket=BUCKET, Key=key)
    assert store.abort_uploads() == 2
    assert s3.open_uploads(BUCKET) == [f"{prefix}-other/c"]
    ObjectStore(f"{store.address}-other").abort_uploads()


@pytest.mark.parametrize("fault", ["slow_down", "time_out", "truncate", "reset"])
def test_a_store_that_answers_nothing_is_given_up(s3, store, soon, monkeypatch, fault):
    monkeypatch.setattr(places, "REQUEST_TIMEOUT_S", 0.1)
    monkeypatch.setattr(places, "WRITE_TIMEOUT_S", 0.1)
    object_store._client.cache_clear()
    arrow_s3.cache_clear()
    s3.proxy.rates = {fault: 1.0}
    start = time.monotonic()
    with pytest.raises(ConfigError) as e:
        store.put("x", b"1")
    object_store._client.cache_clear()
    arrow_s3.cache_clear()
    assert time.monotonic() - start < 45
    assert str(e.value).startswith(f"{store.address}/x: the store does not answer (")
    assert str(e.value).endswith("; the same command continues where this stopped")
    assert "\n" not in str(e.value)


def test_a_store_that_answers_others_is_not_gone(s3, soon, monkeypatch):
    monkeypatch.setattr(places, "PATIENCE_S", 1000.0)
    s3.proxy.rates = {"slow_down": 0.8}
    stop_if_gone(outage(f"s3://{BUCKET}/x", "slow down"))
    stop_if_gone(ValueError("of something else"))


def test_a_store_that_was_gone_just_now_is_not_asked_again(s3, soon):
    error = outage(f"s3://{BUCKET}/x", "slow down")
    s3.proxy.rates = {"slow_down": 1.0}
    asked = []
    for _ in range(2):
        with pytest.raises(ConfigError):
            stop_if_gone(error)
        asked.append(s3.proxy.requests.total())
    assert asked[0] == asked[1] > 0


def test_an_outage_is_one_after_it_was_sent_to_another_process():
    error = pickle.loads(pickle.dumps(outage("s3://b/x", "slow down")))
    assert is_outage(error)
    assert error.address == "s3://b/x"


def answer(code, status):
    return ClientError(
        {
            "Error": {"Code": code, "Message": SECRET},
            "ResponseMetadata": {"HTTPStatusCode": status},
        },
        "PutObject",
    )


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (answer("NoSuchKey", 404), FileNotFoundError, "no such object"),
        (answer("404", 404), FileNotFoundError, "no such object"),
        (answer("PreconditionFailed", 412), FileExistsError, "not as it was"),
        (answer("NoSuchBucket", 404), ConfigError, "no such bucket; create it"),
        (
            answer("AccessDenied", 403),
            ConfigError,
            "refuses (access denied); check AWS_ACCESS_KEY_ID",
        ),
        (
            answer("ExpiredToken", 400),
            ConfigError,
            "refuses (expired token); check AWS_ACCESS_KEY_ID",
        ),
        (answer("NotImplemented", 501), ConfigError, "the store refuses (not implemented)"),
        (answer("SlowDown", 503), OutageError, "does not answer (slow down)"),
        (answer("502", 502), OutageError, "does not answer (status 502)"),
        (answer("NoSuchUpload", 404), OutageError, "no such upload"),
        (NoCredentialsError(), ConfigError, "no credentials, neither in the environment"),
        (
            EndpointConnectionError(endpoint_url=f"http://me:{SECRET}@host"),
            OutageError,
            "does not answer (endpoint connection)",
        ),
    ],
)
def test_errors_are_told_in_words_of_ours(error, kind, said):
    told = translated(error, "s3://b/run/x")
    assert type(told) is kind
    assert said in str(told)
    assert SECRET not in str(told)


def test_a_bucket_that_is_not_there_is_named(s3):
    with pytest.raises(ConfigError) as e:
        ObjectStore("s3://no-such-bucket/run").put("x", b"")
    assert str(e.value) == (
        "s3://no-such-bucket/run/x: no such bucket; create it, or check the path"
    )


@pytest.mark.parametrize("text", [f"s3://AKIA:{SECRET}@bkt/run", "s3://AKIA@bkt/run", "s3://a:b/x"])
def test_credentials_in_a_path_are_refused_and_not_repeated(text):
    for use in (place, resolve, lambda p: plan_inputs([Input(path=p)], 100)):
        with pytest.raises(ConfigError, match="credentials do not belong into a path") as e:
            use(text)
        assert SECRET not in str(e.value)
        assert "AKIA" not in str(e.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s3://", "s3://: '' is no name of a bucket; write s3://bucket/key"),
        ("s3://b c/run", "s3://b c/run: 'b c' is no name of a bucket; write s3://bucket/key"),
        ("s3://bkt/", "s3://bkt/: a whole bucket; name a prefix in it, as s3://bkt/run"),
    ],
)
def test_an_address_that_is_none_is_refused(text, said):
    with pytest.raises(ConfigError) as e:
        place(text)
    assert str(e.value) == said


def test_an_address_is_written_one_way():
    assert place("s3://bkt/a/run/") == place("s3://bkt//a/run") == "s3://bkt/a/run"
