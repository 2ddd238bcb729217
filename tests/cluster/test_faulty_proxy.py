"""The proxy that fails on purpose: what a client sees, and that it counts what it does."""

import contextlib
import http.client
import socket
from collections import Counter
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from pyarrow import fs

from tests.cluster.faulty_proxy import FAULTS, FaultyProxy, kind_of

BODY = bytes(range(256)) * 400
PART = 5 * 2**20


def client_of(s3, attempts=1):
    retries = {"max_attempts": attempts, "mode": "standard"}
    return boto3.client(
        "s3",
        endpoint_url=s3.proxy.url,
        aws_access_key_id="x",
        aws_secret_access_key="y",
        region_name="us-east-1",
        config=Config(retries=retries, read_timeout=1, s3={"addressing_style": "path"}),
    )


@pytest.fixture
def bucket(s3):
    name = "faulty"
    s3.client().create_bucket(Bucket=name)
    s3.client().put_object(Bucket=name, Key="a/key", Body=BODY)
    return name


@pytest.fixture
def get(s3, bucket):
    """A bare GET of the object: nothing repeats it."""
    url = client_of(s3).generate_presigned_url("get_object", {"Bucket": bucket, "Key": "a/key"})
    with contextlib.ExitStack() as stack:

        def once():
            connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=1)
            stack.enter_context(contextlib.closing(connection))
            connection.request("GET", url)
            return stack.enter_context(connection.getresponse())

        yield once


def test_without_rates_nothing_fails(s3, bucket):
    client = client_of(s3)
    assert client.get_object(Bucket=bucket, Key="a/key")["Body"].read() == BODY
    client.put_object(Bucket=bucket, Key="b", Body=b"")
    assert client.head_object(Bucket=bucket, Key="a/key")["ContentLength"] == len(BODY)
    assert [o["Key"] for o in client.list_objects_v2(Bucket=bucket)["Contents"]] == ["a/key", "b"]
    client.delete_object(Bucket=bucket, Key="b")
    assert s3.proxy.requests == Counter({"GET": 1, "PUT": 1, "HEAD": 1, "LIST": 1, "DELETE": 1})
    assert not s3.proxy.faults


def test_a_503_says_slow_down(s3, bucket):
    s3.proxy.rates = {"slow_down": 1.0}
    with pytest.raises(ClientError) as e:
        client_of(s3).get_object(Bucket=bucket, Key="a/key")
    assert e.value.response["Error"]["Code"] == "SlowDown"
    assert e.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503


def test_a_time_out_never_answers(s3, get):
    s3.proxy.rates = {"time_out": 1.0}
    with pytest.raises(socket.timeout):
        get()


def test_a_truncated_body_is_announced_whole(s3, get):
    s3.proxy.rates = {"truncate": 1.0}
    answer = get()
    assert answer.getheader("Content-Length") == str(len(BODY))
    with pytest.raises(http.client.IncompleteRead) as e:
        answer.read()
    assert e.value.partial == BODY[: len(BODY) // 2]


def test_a_reset_is_one(s3, get):
    s3.proxy.rates = {"reset": 1.0}
    with pytest.raises(ConnectionResetError):
        get()


def test_only_chosen_kinds_fail(s3, bucket):
    s3.proxy.rates, s3.proxy.only = {"slow_down": 1.0}, frozenset({"PUT"})
    client = client_of(s3)
    client.get_object(Bucket=bucket, Key="a/key")
    with pytest.raises(ClientError):
        client.put_object(Bucket=bucket, Key="b", Body=b"x")


def test_what_fails_depends_on_the_seed_and_not_on_the_order():
    targets = [f"/bucket/key-{i}" for i in range(2000)]
    drawn = []
    for seed, order in ((1, targets), (1, targets[::-1]), (2, targets)):
        with FaultyProxy(1, seed=seed) as proxy:
            proxy.rates = dict.fromkeys(FAULTS, 0.05)
            drawn.append({target: proxy.fault_for("GET", target) for target in order})
            assert proxy.requests["GET"] == len(targets)
            assert proxy.faults == Counter(f for f in drawn[-1].values() if f)
            again = {target: proxy.fault_for("GET", target) for target in order}
            assert again != drawn[-1], "what is asked again must have another chance"
    assert drawn[0] == drawn[1] != drawn[2]
    assert set(proxy.faults) == set(FAULTS)
    assert 250 < sum(proxy.faults.values()) / 2 < 550


@pytest.mark.parametrize(
    ("method", "target", "kind"),
    [
        ("GET", "/bucket?list-type=2&prefix=a%2F", "LIST"),
        ("GET", "/bucket/", "LIST"),
        ("HEAD", "/bucket/a", "HEAD"),
        ("PUT", "/bucket", "PUT"),
        ("POST", "/bucket/a?uploads", "CREATE_MULTIPART"),
        ("POST", "/bucket/a?uploads=", "CREATE_MULTIPART"),
        ("PUT", "/bucket/a?partNumber=1&uploadId=x", "PUT_PART"),
        ("POST", "/bucket/a?uploadId=x", "COMPLETE_MULTIPART"),
        ("DELETE", "/bucket/a?uploadId=x", "ABORT_MULTIPART"),
        ("GET", "/bucket?uploads", "LIST_MULTIPART"),
        ("POST", "/bucket?delete", "POST"),
    ],
)
def test_kinds_of_requests(method, target, kind):
    assert kind_of(method, target) == kind


def test_a_multipart_upload_left_open_is_seen(s3, bucket):
    client = client_of(s3)
    begun = client.create_multipart_upload(Bucket=bucket, Key="large")["UploadId"]
    client.upload_part(Bucket=bucket, Key="large", UploadId=begun, PartNumber=1, Body=bytes(PART))
    assert s3.open_uploads(bucket) == ["large"]
    client.abort_multipart_upload(Bucket=bucket, Key="large", UploadId=begun)
    assert s3.open_uploads(bucket) == []
    wanted = {"CREATE_MULTIPART": 1, "PUT_PART": 1, "ABORT_MULTIPART": 1}
    assert dict(s3.proxy.requests) == wanted


def test_arrow_reads_and_writes_through_it_and_repeats_what_failed(s3, bucket):
    store = fs.S3FileSystem(
        access_key="x",
        secret_key="y",
        region="us-east-1",
        scheme="http",
        endpoint_override=urlsplit(s3.proxy.url).netloc,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=10),
    )
    s3.proxy.rates = {"slow_down": 0.2, "reset": 0.2}
    s3.proxy.only = frozenset({"PUT_PART", "GET"})
    for i in range(4):
        with store.open_output_stream(f"{bucket}/arrow/{i}") as f:
            f.write(BODY)
    assert s3.proxy.requests["PUT_PART"] == 4 + s3.proxy.faults.total() > 4
    for i in range(4):
        assert store.open_input_file(f"{bucket}/arrow/{i}").read() == BODY
    assert s3.proxy.requests["PUT_PART"] + s3.proxy.requests["GET"] == 8 + s3.proxy.faults.total()
