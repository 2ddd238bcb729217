"""Where data may lie: folders and buckets, the roots that allow them, and how long S3 is asked.

    TOKENMILL_ROOTS=/data:/scratch/runs:s3://corpora/2026

Whoever may start a run by a form of Prefect's UI chooses its paths. With the variable set, each
path is refused that does not lie below a root when links and ".." are resolved, in recipes and in
what they lead to; `sizing.roots` sees to it that nothing else is opened. Names of models and sets
on the Hugging Face hub are no paths.

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
from urllib.parse import unquote

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.sizing.roots import IN_STORE, SCHEME, VARIABLE, root_over, roots_of

ADDRESSES = "TOKENMILL_ADDRESSES"
HUB, FILE = "hf://", "file://"
FILES = f"{HUB}datasets/"  # of a set, as inputs; others are sets by name
_WILD = re.compile(r"[*?\[]")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # not the drive of a path on Windows
_REPO = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"  # of the hub, by name
_MODEL = re.compile(_REPO, re.ASCII)
_SET = re.compile(_REPO + r"(@[A-Za-z0-9][\w.-]*)?(/[\w=+-][\w.,=+-]*){0,2}", re.ASCII)


def within_roots(path: str) -> str:
    """The path, local, address or pattern, if the roots allow it; ConfigError names path, roots."""
    roots = roots_of(os.environ.get(VARIABLE))
    if path.startswith(HUB) and not path.startswith(FILES):
        name = path.removeprefix(HUB)
        if not _SET.fullmatch(name):
            raise ConfigError(f"{path}: is no set on the hub; write {HUB}OWNER/NAME/CONFIG/SPLIT")
        folder = "/".join(name.split("/")[:2]).partition("@")[0]
        # the library that reads sets takes such a folder before the hub, and what its card names
        if roots is not None and os.path.lexists(folder):
            raise ConfigError(
                f"{path}: a folder {folder} lies here and would be read in its place; name it"
                " without hf://, or start elsewhere"
            )
        return path
    local = local_path(path)
    if roots is None:
        return path
    if local is None:
        if any(_below(path, root) for root in roots if IN_STORE.match(root)):
            return path
        leads = ""
    else:
        begin = _begin(local)
        real = os.path.realpath(begin)
        if root_over(real, roots) is not None:
            return path
        leads = f", it leads to {real}" if begin != real else ""
    raise ConfigError(f"{path}: lies outside of {VARIABLE} ({os.pathsep.join(roots)}){leads}")


def check_links(folder: Path) -> None:
    """ConfigError where the roots forbid a folder that is taken as a whole, or a link in it."""
    within_roots(str(folder))
    waiting = [folder] * (VARIABLE in os.environ and folder.is_dir())
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    within_roots(entry.path)
                elif entry.is_dir():
                    waiting.append(Path(entry.path))


def file_or_name(name: str) -> str:
    """The path of a file here; the name of what ships as it is. ConfigError: roots forbid it."""
    return within_roots(name) if os.sep in name or os.path.lexists(name) else name


def file_or_model(name: str) -> str:
    """The whole path of a file here, or a hub model's id; ConfigError: neither, or forbidden."""
    if _MODEL.fullmatch(name) and not os.path.lexists(name):
        return name
    if Path(name).suffix or os.sep in name or os.path.lexists(name):
        return os.path.abspath(os.path.expanduser(within_roots(name)))
    raise ConfigError(f"{name}: no such file, and no model on the hub, which is OWNER/NAME")


def allowed_address(address: str) -> str:
    """The address of a Dask scheduler, if a run may connect to it; without roots any.

    What a scheduler sends is unpickled, and so may be any code: with roots only those may be
    named that the operator lists in TOKENMILL_ADDRESSES, with commas between them.
    ConfigError: names the address and the variable.
    """
    allowed = [a.strip() for a in os.environ.get(ADDRESSES, "").split(",")]
    if VARIABLE in os.environ and address not in allowed:
        raise ConfigError(f"{address}: not among {ADDRESSES}, and {VARIABLE} is set")
    return address


def allowed_directives(directives: tuple[str, ...]) -> tuple[str, ...]:
    """Lines of a job's script; ConfigError where roots are set: they may name files to write."""
    for line in directives:
        if not line.startswith("-") or not line.isprintable():
            raise ConfigError(f"{line!r}: no option of sbatch, as '--constraint=rome'")
        if VARIABLE in os.environ:
            raise ConfigError(
                f"{line!r}: not from a recipe where {VARIABLE} is set; the operator may set"
                " jobqueue.slurm.job-extra-directives in Dask's own configuration"
            )
    return directives


def _below(path: str, root: str) -> bool:
    """Of addresses in stores."""
    parts, prefix = path.split("/"), root.split("/")
    plain = unquote(path).replace("\\", "/").split("/")  # as a server may take it
    return not {".", ".."} & set(plain) and parts[: len(prefix)] == prefix


def local_path(path: str) -> str | None:
    """The whole path of a path or file:// here, None of an address; ConfigError: another host's."""
    if path.startswith(FILE):
        host, _, rest = path.removeprefix(FILE).partition("/")
        if host not in ("", "localhost"):
            raise ConfigError(
                f"{path}: {host!r} is another machine; write file:///path of a file of this one"
            )
        return os.path.abspath(unquote(f"/{rest}"))
    return None if "://" in path else os.path.abspath(os.path.expanduser(path))


def _begin(path: str) -> str:
    """Of a pattern that is not there as it is written, the folder that it begins with."""
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

    ConfigError: it names no bucket, or credentials.
    """
    check_no_credentials(path)
    bucket, _, key = path.removeprefix(SCHEME).partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise ConfigError(f"{path}: {bucket!r} is no name of a bucket; write s3://bucket/key")
    return bucket, key.strip("/")


def check_no_credentials(path: str) -> None:
    """Refuse s3://KEY:SECRET@bucket, or a signed address; the ConfigError does not repeat it."""
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

    ConfigError: it names no bucket, no prefix, or credentials; or it is of another store; or
        the roots do not allow it.
    """
    if not is_remote(text):
        return _path_here(text)
    bucket, key = bucket_and_key(text)
    if not key:
        raise ConfigError(f"{text}: a whole bucket; name a prefix in it, as s3://{bucket}/run")
    return within_roots(f"s3://{bucket}/{key}")


def folder_here(text: str) -> Path:
    """What a command names that can be here only; ConfigError: an address, or the roots forbid."""
    if is_remote(text):
        raise ConfigError(
            f"{text}: only inputs and runs of prepare can be on s3://; give a path of this machine"
        )
    return _path_here(text)


def _path_here(text: str) -> Path:
    address = _ADDRESS.match(text)
    if address is not None and not text.startswith(FILE):
        raise ConfigError(
            f"{text}: nothing of ours can be on {address[1]}:; name a folder, or s3://bucket/prefix"
        )
    within_roots(text)
    return Path(text if address is None else local_path(text) or text)


def below(out: Place, name: str) -> str:
    """A file of a run directory, as the user would name it."""
    return f"{out}/{name}" if is_remote(out) else str(Path(out).absolute() / name)
