"""Where data may lie: folders and buckets, the roots that allow them, and how long S3 is asked.

    TOKENMILL_ROOTS=/data:/scratch/runs:s3://corpora/2026

Whoever may start a run by a form of Prefect's UI chooses its paths. With the variable set, each
path is refused that does not lie below a root when links and ".." are resolved, in recipes and in
what they lead to. Names of models and sets on the Hugging Face hub are no paths.

A path that holds credentials is refused, and not repeated. A client of S3 tries a request a few
times; then the store is asked whether it is there at all (`pipelines.storage.inputs`). If it is,
what failed is tried again: an input with all of its work, since one in a hundred thousand requests
comes to that where one in ten fails; an output by itself. If it is not, all that this process asked
for meanwhile is given up too, within a minute:

    2 x (attempts x timeout + pauses) + PATIENCE_S + REQUEST_TIMEOUT_S  <  60 s
"""

import os
import re
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from tokenmill.pipelines.core.errors import ConfigError

VARIABLE = "TOKENMILL_ROOTS"
ADDRESSES = "TOKENMILL_ADDRESSES"
HUB = "hf://"
FILES = f"{HUB}datasets/"  # of a set, as inputs; others are sets by name
SCHEME = "s3://"
_BETWEEN = re.compile(rf"{re.escape(os.pathsep)}(?!//)")  # but not the colon of s3://
_WILD = re.compile(r"[*?\[]")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # not the drive of a path on Windows
_IN_STORE = re.compile(r"(?!file:)[a-z0-9]+://[^/]")
_SET = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(/[\w.,=+-]+){0,2}")  # of the hub, by name


def within_roots(path: str) -> str:
    """The path, if the roots allow it; without roots any.

    path: local, or an address; it may be a pattern.

    Raises:
        ConfigError: names the path and the roots.
    """
    roots, found = roots_of(os.environ.get(VARIABLE)), path
    if path.startswith(HUB) and not path.startswith(FILES):
        name = path.removeprefix(HUB)
        if not _SET.fullmatch(name):
            raise ConfigError(f"{path}: is no set on the hub; write {HUB}OWNER/NAME/CONFIG/SPLIT")
        found = "/".join(name.split("/")[:2])  # a folder of this name is taken before the hub
        if not os.path.lexists(found):
            return path
    if roots is None or any(_below(found, root) for root in roots):
        return path
    local = _local(found)
    real = path if local is None else os.path.realpath(local)
    leads = f", it leads to {real}" if local != real else ""
    raise ConfigError(f"{path}: lies outside of {VARIABLE} ({os.pathsep.join(roots)}){leads}")


def allowed_address(address: str) -> str:
    """The address of a Dask scheduler, if a run may connect to it; without roots any.

    What a scheduler sends is unpickled, and so may be any code: with roots only those may be
    named that the operator lists in TOKENMILL_ADDRESSES, with commas between them.

    Raises:
        ConfigError: names the address and the variable.
    """
    allowed = [a.strip() for a in os.environ.get(ADDRESSES, "").split(",")]
    if VARIABLE in os.environ and address not in allowed:
        raise ConfigError(f"{address}: not among {ADDRESSES}, and {VARIABLE} is set")
    return address


def allowed_directives(directives: tuple[str, ...]) -> tuple[str, ...]:
    """Lines of a job's script: none with roots, since they may name files to be written.

    Raises:
        ConfigError: names the first, and where an operator puts them instead.
    """
    for line in directives:
        if not line.startswith("-") or not line.isprintable():
            raise ConfigError(f"{line!r}: no option of sbatch, as '--constraint=rome'")
        if VARIABLE in os.environ:
            raise ConfigError(
                f"{line!r}: not from a recipe where {VARIABLE} is set; the operator may set"
                " jobqueue.slurm.job-extra-directives in Dask's own configuration"
            )
    return directives


def roots_of(value: str | None) -> tuple[str, ...] | None:
    """The roots that a value of the variable names; None where it is not set.

    >>> roots_of("/data:s3://corpora/2026/")
    ('/data', 's3://corpora/2026')

    Raises:
        ConfigError: it names none, or one that is neither absolute nor an address.
    """
    if value is None:
        return None
    roots = [root.rstrip("/") or "/" for root in _BETWEEN.split(value) if root]
    for root in roots:
        if not _IN_STORE.match(root) and not os.path.isabs(root):
            raise ConfigError(f"{VARIABLE}: {root!r} is no absolute folder and no s3://bucket/…")
    if not roots:
        raise ConfigError(f"{VARIABLE} is empty: nothing may be read; name folders, or unset it")
    return tuple(roots)


def _below(path: str, root: str) -> bool:
    if _IN_STORE.match(path) or _IN_STORE.match(root):
        parts, prefix = path.split("/"), root.split("/")
        plain = unquote(path).replace("\\", "/").split("/")  # as a server may take it
        return not {".", ".."} & set(plain) and parts[: len(prefix)] == prefix
    local = _local(path)
    if local is None:
        return False
    fixed = os.path.realpath(root)
    return os.path.commonpath([fixed, os.path.realpath(local)]) == fixed


def _local(path: str) -> str | None:
    """The path on this machine, of a pattern the folder that it begins with; None if elsewhere."""
    if path.startswith("file://"):
        path = unquote(urlsplit(path).path)
    elif "://" in path:
        return None
    path = os.path.abspath(os.path.expanduser(path))
    wild = _WILD.search(path)
    return path if wild is None or os.path.lexists(path) else os.path.dirname(path[: wild.start()])


CONNECT_TIMEOUT_S = 3.0
REQUEST_TIMEOUT_S = 3.0  # without a byte, when Arrow reads: the SDK's own default
WRITE_TIMEOUT_S = 8.0  # a store may take that long to put the parts of an upload together
READ_ATTEMPTS = 5  # by Arrow
WRITE_ATTEMPTS = 2  # by botocore
PATIENCE_S = 10.0  # for any answer at all, from a store that failed a request for good
# of an address that is its own credentials
_SIGNED = re.compile(r"[?&](sig|signature|(access_)?token|x-(amz|goog)-signature)=", re.IGNORECASE)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


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
        ConfigError: there is more than a name where that of the bucket belongs; or an address is
            signed.
    """
    scheme, _, rest = path.partition("://")
    first = rest.partition("/")[0]
    if is_remote(path) and re.search("[@:]", first):
        bucket = rest.partition("@")[2].partition("/")[0] or "bucket"
        raise ConfigError(
            f"s3://…{bucket}: credentials do not belong into a path; set AWS_ACCESS_KEY_ID and"
            f" AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, and write s3://{bucket}/key"
        )
    if (scheme == "https" and "@" in first) or _SIGNED.search(rest):
        raise ConfigError(
            f"{scheme}://…{first.rpartition('@')[2]}: credentials do not belong into a path, which"
            " stands in reports; read it where its store finds them by itself, or download it"
        )


Place: TypeAlias = Path | str  # a string is s3://bucket/prefix


def place(text: str) -> Place:
    """What a command line names: a folder here, or an address, which is checked.

    Raises:
        ConfigError: it names no bucket, no prefix, or credentials; or it is of another store.
    """
    if not is_remote(text):
        return _path_here(text)
    bucket, key = bucket_and_key(text)
    if not key:
        raise ConfigError(f"{text}: a whole bucket; name a prefix in it, as s3://{bucket}/run")
    return f"s3://{bucket}/{key}"


def folder_here(text: str) -> Path:
    """What a command line names that can be on this machine only.

    Raises:
        ConfigError: it is an address.
    """
    if is_remote(text):
        raise ConfigError(
            f"{text}: only inputs and runs of prepare can be on s3://; give a path of this machine"
        )
    return _path_here(text)


def _path_here(text: str) -> Path:
    address = _ADDRESS.match(text)
    if address is None:
        return Path(text)
    local = _local(text)
    if local is None or not text.startswith("file:///"):
        raise ConfigError(
            f"{text}: nothing of ours can be on {address[1]}:; name a folder, or s3://bucket/prefix"
        )
    return Path(local)


def below(out: Place, name: str) -> str:
    """A file of a run directory, as the user would name it."""
    return f"{out}/{name}" if is_remote(out) else str(Path(out).absolute() / name)
