"""How S3 is reached: by the environment alone, and how patiently.

    s3://bucket/key       credentials stand in no path: one with any is refused, and not repeated

A request is tried a few times by the client; then the store is asked whether it is there at all
(`pipelines.outages`). If it is, what failed is tried again: an input with all of its work, since
one in a hundred thousand requests comes to that where one in ten fails; an output by itself. If it
is not, all that this process asked for meanwhile is given up too, within a minute:

    2 x (attempts x timeout + pauses) + PATIENCE_S + REQUEST_TIMEOUT_S  <  60 s
"""

import os
import re
from typing import Any

from tokenmill.pipelines.errors import ConfigError

SCHEME = "s3://"
CONNECT_TIMEOUT_S = 3.0
REQUEST_TIMEOUT_S = 3.0  # without a byte, when Arrow reads: the SDK's own default
WRITE_TIMEOUT_S = 8.0  # a store may take that long to put the parts of an upload together
READ_ATTEMPTS = 5  # by Arrow
WRITE_ATTEMPTS = 2  # by botocore
PATIENCE_S = 10.0  # for any answer at all, from a store that failed a request for good
DEFAULT_REGION = "us-east-1"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DELEGATED = ("AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI")


def is_remote(path: object) -> bool:
    """Whether a path is of an object store."""
    return str(path).startswith(SCHEME)


def bucket_and_key(path: str) -> tuple[str, str]:
    """The bucket of an address and the key in it, without a slash at its end.

    >>> bucket_and_key("s3://corpora/run/")
    ('corpora', 'run')

    Raises:
        ConfigError: it names no bucket, or credentials.
    """
    check_no_credentials(path)
    bucket, _, key = path.removeprefix(SCHEME).partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise ConfigError(f"{path}: {bucket!r} is no name of a bucket; write s3://bucket/key")
    return bucket, key.strip("/")


def check_no_credentials(path: str) -> None:
    """Refuse s3://KEY:SECRET@bucket, without saying it again.

    Raises:
        ConfigError: there is more than a name where that of the bucket belongs.
    """
    rest = path.removeprefix(SCHEME)
    if is_remote(path) and re.search("[@:]", rest.partition("/")[0]):
        bucket = rest.partition("@")[2].partition("/")[0] or "bucket"
        raise ConfigError(
            f"s3://…{bucket}: credentials do not belong into a path; set AWS_ACCESS_KEY_ID and"
            f" AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, and write s3://{bucket}/key"
        )


def region() -> str:
    """Without one the clients ask a metadata service, which may not be there."""
    env = os.environ
    return env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or DEFAULT_REGION


def endpoint() -> str | None:
    """URL of a store that is not Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def arrow_settings() -> tuple[tuple[str, Any], ...]:
    """Options of Arrow's S3 file system, from the environment as it is now."""
    env = os.environ
    options: dict[str, Any] = {"region": region()}
    if env.get("AWS_ACCESS_KEY_ID"):
        options["access_key"] = env["AWS_ACCESS_KEY_ID"]
        options["secret_key"] = env.get("AWS_SECRET_ACCESS_KEY", "")
        options["session_token"] = env.get("AWS_SESSION_TOKEN")
    elif not any(env.get(name) for name in _DELEGATED):
        options["anonymous"] = True  # asking an absent metadata service would hang for seconds
    if url := endpoint():
        scheme, separator, host = url.partition("://")
        options["scheme"] = scheme if separator else "https"
        options["endpoint_override"] = (host if separator else url).rstrip("/")
    return tuple(sorted(options.items()))
