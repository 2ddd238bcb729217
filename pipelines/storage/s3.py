"""Objects below one prefix of a bucket, written and read whole. Needs the extra `s3`.

An object is there whole or not at all: a PUT, or a multipart upload that is completed, or aborted
when it fails. Each carries the digest of its bytes, with which a download is compared.

Requests are repeated by botocore in its adaptive mode: it waits longer each time, and once the
store says that it is asked too much, a token bucket paces all requests of the process. What still
fails is tried again while the store answers anything at all (`pipelines.storage.inputs`). Errors
are told in words of ours (`translated`), since botocore's may hold anything.
"""

import errno
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import xxhash
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore import UNSIGNED
from botocore import exceptions as faults
from botocore.config import Config
from urllib3.exceptions import HTTPError

from tokenmill.pipelines.core import places
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.storage import aws
from tokenmill.pipelines.storage.inputs import OutageError, outage, stop_if_gone

NO_CREDENTIALS = (
    faults.NoCredentialsError,
    faults.PartialCredentialsError,
    faults.CredentialRetrievalError,
    faults.SSOError,
    faults.TokenRetrievalError,
)
# of 4xx answers, those that are not the caller's fault, or mend themselves
PASSING = frozenset(
    {
        *("SlowDown", "RequestTimeout", "RequestTimeTooSkewed", "Throttling", "TooManyRequests"),
        *("ThrottlingException", "OperationAborted", "ConditionalRequestConflict", "BadDigest"),
        *("XAmzContentChecksumMismatch", "IncompleteBody"),
        "NoSuchUpload",  # completed, or aborted, by a request whose answer was lost
    }
)
CHANGED = "it has changed, or is no longer whole: write it again"
FORBIDDEN = frozenset({"ExpiredToken", "InvalidToken", "InvalidAccessKeyId", "AccessDenied"})


def translated(error: BaseException, address: str) -> Exception:
    """The error to raise for one of botocore's: FileNotFoundError; FileExistsError where a
    condition did not hold; ConfigError where the user can help; else OutageError.
    """
    if isinstance(error, Boto3Error) and error.__context__ is not None:
        error = error.__context__  # what an upload failed of
    if isinstance(error, NO_CREDENTIALS):
        return ConfigError(f"{address}: {aws.NONE_FOUND}")
    if not isinstance(error, faults.ClientError):
        return outage(address, _words(type(error).__name__.removesuffix("Error")))
    return _answered(error, address)


def _answered(error: faults.ClientError, address: str) -> Exception:
    code = str(error.response.get("Error", {}).get("Code", "Unknown"))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500))
    if code in PASSING or (status >= 500 and code not in {"NotImplemented", *FORBIDDEN}):
        return outage(address, _words(code) if code.isalpha() else f"status {status}")
    if code == "NoSuchBucket":
        return ConfigError(f"{address}: no such bucket; create it, or check the path")
    if status == 404:
        return FileNotFoundError(errno.ENOENT, "no such object", address)
    if status in (409, 412):
        return FileExistsError(errno.EEXIST, "not as it was", address)
    if status == 416:
        return ShardError(f"{address}: ends before what was asked for; {CHANGED}")
    if status in (401, 403) or code in FORBIDDEN:
        return ConfigError(
            f"{address}: the store refuses ({_words(code)}); check AWS_ACCESS_KEY_ID, and that it"
            " may list, read, write and delete there"
        )
    return ConfigError(
        f"{address}: the store refuses ({_words(code)}); check AWS_REGION and AWS_ENDPOINT_URL_S3"
    )


def _words(name: str) -> str:
    """NoSuchKey as "no such key".

    >>> _words("SlowDown")
    'slow down'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


PART_BYTES = 16 * 2**20  # of a multipart upload; what is smaller is one PUT
PARTS_AT_ONCE = 4
COPY_BYTES = 1 << 20
MOST_DELETED = 1000  # in one request: the API's limit
PATIENCE = 9  # failures of one request until it is given up
LONGEST_PAUSE_S = 2.0
# an answer came, but not all of it
CUT_SHORT = (faults.IncompleteReadError, faults.ResponseStreamingError)
FAILURES = (faults.BotoCoreError, faults.ClientError, Boto3Error, HTTPError)
DIGEST = "xxh3"  # in an object's metadata: xxh3-128 of its bytes, hex
TRANSFER = TransferConfig(
    multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES, max_concurrency=PARTS_AT_ONCE
)
T = TypeVar("T")


class StoredObject(NamedTuple):
    """An object as it was read. age_s: since it was written, by the store's own clock."""

    data: bytes
    etag: str
    age_s: float


class Part(NamedTuple):
    """A range of an object.  again: how often it was asked for before it came."""

    data: bytes
    again: int


class ObjectStore:
    """The objects below s3://bucket/prefix; names are what follows the prefix and a slash.

    ConfigError, of every method: the store may not be used, or answers nothing any more.
    OutageError: this request failed for good, while the store answers others.
    """

    def __init__(self, address: str, *, hasty: bool = False) -> None:
        """hasty: nothing is tried twice."""
        self._bucket, self._prefix = places.bucket_and_key(address)
        self._hasty = hasty
        self.address = f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def get(self, name: str) -> StoredObject | None:
        """A small object; None if it is not there."""

        def read() -> StoredObject:
            answer = self._client.get_object(**self._at(name))
            return StoredObject(answer["Body"].read(), answer["ETag"], _age_s(answer))

        try:
            return self._patiently(name, read)
        except FileNotFoundError:
            return None

    def part(self, name: str, start: int, stop: int) -> Part:
        """Bytes [start, stop) of an object; FileNotFoundError, or ShardError: it ends before."""
        again = -1
        if stop <= start:
            return Part(b"", 0)

        def read() -> bytes:
            nonlocal again
            again += 1
            asked = f"bytes={start}-{stop - 1}"
            answer = self._client.get_object(**self._at(name), Range=asked)
            again += answer["ResponseMetadata"].get("RetryAttempts", 0)
            return bytes(answer["Body"].read())

        data = self._patiently(name, read)
        if len(data) != stop - start:
            raise ShardError(
                f"{self.address}/{name}: gave {len(data)} bytes for {stop - start} from byte"
                f" {start}; {CHANGED}"
            )
        return Part(data, again)

    def put(self, name: str, data: bytes, **conditions: str) -> str | None:
        """Write a small object; its ETag.

        None: IfNoneMatch="*" (it is there already) or IfMatch (it has another ETag) fails.
        """
        digest = xxhash.xxh3_128_hexdigest(data)
        try:
            answer = self._patiently(
                name,
                lambda: self._client.put_object(
                    **self._at(name), Body=data, Metadata={DIGEST: digest}, **conditions
                ),
            )
        except FileExistsError:
            return None
        return str(answer["ETag"])

    def upload(self, name: str, path: Path, digest: str) -> None:
        """Write a file. digest: xxh3-128 of it, hex."""
        more = {"Metadata": {DIGEST: digest}, "ChecksumAlgorithm": "CRC32"}

        def send() -> None:
            if path.stat().st_size > PART_BYTES:
                self._client.upload_file(
                    str(path), *self._at(name).values(), ExtraArgs=more, Config=TRANSFER
                )
                return
            with path.open("rb") as f:
                self._client.put_object(**self._at(name), Body=f, **more)

        self._patiently(name, send)

    def fetch(self, name: str, path: Path) -> int:
        """Write an object to a file; its size. FileNotFoundError, or ShardError: other bytes."""
        for _ in range(2):  # damaged on its way, it is not so again
            with path.open("wb") as f:
                wanted, found = self._copied(name, f)
                size = f.tell()
            if wanted in (None, found):
                return size
        raise ShardError(
            f"{self.address}/{name}: its bytes are not those that were written (xxh3 {found}, not"
            f" {wanted}); delete it and rerun, finished shards are kept"
        )

    def _copied(self, name: str, f: BinaryIO) -> tuple[str | None, str]:
        """The digest that an object should have, and the one it has; what breaks off goes on."""
        hasher = xxhash.xxh3_128()
        seen: dict[str, Any] = {}

        def go_on() -> None:
            if f.tell() == seen.get("ContentLength"):  # all came, and was found damaged
                f.seek(0)
                f.truncate()
                hasher.reset()
            at = f.tell()
            rest = {"Range": f"bytes={at}-", "IfMatch": seen["ETag"]} if at else {}
            answer = self._client.get_object(**self._at(name), **rest)
            if not at:
                seen.update(answer)
            for block in answer["Body"].iter_chunks(COPY_BYTES):
                f.write(block)
                hasher.update(block)

        try:
            self._patiently(name, go_on)
        except FileExistsError:
            raise OutageError(
                f"{self.address}/{name}: changed while it was read", self.address
            ) from None
        return seen["Metadata"].get(DIGEST), hasher.hexdigest()

    def size(self, name: str) -> int | None:
        """Bytes of an object; None if it is not there."""
        try:
            answer = self._patiently(name, lambda: self._client.head_object(**self._at(name)))
        except FileNotFoundError:
            return None
        return int(answer["ContentLength"])

    def names(self, below: str = "", *, most: int | None = None) -> Iterator[tuple[str, int]]:
        """(name, bytes) of `most` objects, in order, whose names begin so; a request a thousand."""
        start = f"{self._prefix}/" if self._prefix else ""
        for page in self._pages("list_objects_v2", f"{start}{below}"):
            for entry in page.get("Contents", ()):
                yield entry["Key"].removeprefix(start), entry["Size"]
                if most is not None and (most := most - 1) <= 0:
                    return

    def _pages(self, operation: str, prefix: str) -> Iterator[Mapping[str, Any]]:
        more: dict[str, str] = {}
        while True:
            ask = {"Bucket": self._bucket, "Prefix": prefix, **more}
            page = self._patiently("", partial(getattr(self._client, operation), **ask))
            yield page
            if not page.get("IsTruncated"):
                return
            if operation == "list_objects_v2":
                more = {"ContinuationToken": page["NextContinuationToken"]}
            else:
                more = {k: page[f"Next{k}"] for k in ("KeyMarker", "UploadIdMarker")}

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects, a thousand in a request; what is not there is no mistake."""
        left = iter(names)
        while some := list(islice(left, MOST_DELETED)):
            self._patiently("", partial(self._delete, some))

    def _delete(self, names: list[str]) -> None:
        objects = [{"Key": self._at(name)["Key"]} for name in names]
        answer = self._client.delete_objects(
            Bucket=self._bucket, Delete={"Objects": objects, "Quiet": True}
        )
        for error in answer.get("Errors", ())[:1]:
            raise faults.ClientError({"Error": {"Code": error["Code"]}}, "DeleteObjects")

    def abort_uploads(self) -> int:
        """End what killed uploads left, which is paid for though it cannot be seen; how many."""
        n = 0
        start = f"{self._prefix}/" if self._prefix else ""
        for page in self._pages("list_multipart_uploads", start):
            for found in page.get("Uploads", ()):
                of = {"Bucket": self._bucket, "Key": found["Key"], "UploadId": found["UploadId"]}
                self._patiently("", partial(self._client.abort_multipart_upload, **of))
                n += 1
        return n

    def forget(self, name: str) -> None:
        self._patiently(name, lambda: self._client.delete_object(**self._at(name)))

    def _at(self, name: str) -> dict[str, str]:
        key = "/".join(filter(None, (self._prefix, name)))
        return {"Bucket": self._bucket, "Key": key}

    @property
    def _client(self) -> Any:
        return _client(aws.environment(), 1 if self._hasty else places.WRITE_ATTEMPTS)

    def _patiently(self, name: str, call: Callable[[], T]) -> T:
        left, pause_s = 0 if self._hasty else PATIENCE, 0.1
        while True:
            try:
                return call()
            except FAILURES as e:
                error = translated(e, f"{self.address}/{name}".rstrip("/"))
                left -= 1
                if not isinstance(error, OutageError) or left <= 0:
                    raise error from None
                if not isinstance(e, CUT_SHORT):
                    stop_if_gone(error)
            time.sleep(random.uniform(0, pause_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


@lru_cache(maxsize=8)
def _client(_: aws.Environment, attempts: int) -> Any:
    """A client for the environment as it is now; it is used by all threads."""
    url = aws.endpoint()
    config = Config(
        connect_timeout=places.CONNECT_TIMEOUT_S,
        read_timeout=places.WRITE_TIMEOUT_S if attempts > 1 else places.REQUEST_TIMEOUT_S,
        retries={"mode": "adaptive", "total_max_attempts": attempts},
        max_pool_connections=256,
        signature_version=UNSIGNED if aws.unsigned() else None,
        # as Arrow does: a store of one's own seldom has a host name for each bucket
        s3={"addressing_style": "path" if url else "auto"},
    )
    try:
        return aws.session().client("s3", region_name=aws.region(), endpoint_url=url, config=config)
    except (faults.BotoCoreError, ValueError) as e:
        raise ConfigError(
            f"s3: cannot be reached with the settings there are ({type(e).__name__}); check"
            " AWS_PROFILE and AWS_ENDPOINT_URL_S3"
        ) from None


def _age_s(answer: Mapping[str, Any]) -> float:
    """Seconds since an object was written: both dates are the store's."""
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    now = parsedate_to_datetime(headers["date"])
    return float((now - answer["LastModified"]).total_seconds())
