"""What went wrong with a request to an object store, in words of ours: theirs may hold anything."""

import errno
import re

from boto3.exceptions import Boto3Error
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
)

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.store import outage

NO_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError)
# of 4xx answers, those that are not the caller's fault, or mend themselves
PASSING = frozenset(
    {
        "SlowDown",
        "RequestTimeout",
        "RequestTimeTooSkewed",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "NoSuchUpload",  # completed, or aborted, by a request whose answer was lost
        "OperationAborted",
        "ConditionalRequestConflict",
        "BadDigest",
        "XAmzContentChecksumMismatch",
        "IncompleteBody",
    }
)
FORBIDDEN = frozenset({"ExpiredToken", "InvalidToken", "InvalidAccessKeyId", "AccessDenied"})


def translated(error: BaseException, address: str) -> Exception:
    """The error to raise for one of botocore's.

    Returns:
        FileNotFoundError; FileExistsError where a condition did not hold; ConfigError where the
        user can help; else OutageError.
    """
    if isinstance(error, Boto3Error) and error.__context__ is not None:
        error = error.__context__  # what an upload failed of
    if isinstance(error, NO_CREDENTIALS):
        return ConfigError(
            f"{address}: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"
            " AWS_PROFILE"
        )
    if not isinstance(error, ClientError):
        return outage(address, _words(type(error).__name__.removesuffix("Error")))
    return _answered(error, address)


def _answered(error: ClientError, address: str) -> Exception:
    """Of an answer that says no."""
    code = str(error.response.get("Error", {}).get("Code", "Unknown"))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500))
    if code in PASSING or (status >= 500 and code != "NotImplemented"):
        return outage(address, _words(code) if code.isalpha() else f"status {status}")
    if code == "NoSuchBucket":
        return ConfigError(f"{address}: no such bucket; create it, or check the path")
    if status == 404:
        return FileNotFoundError(errno.ENOENT, "no such object", address)
    if status in (409, 412):
        return FileExistsError(errno.EEXIST, "not as it was", address)
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
