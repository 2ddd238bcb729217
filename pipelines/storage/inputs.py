"""Where files lie: one path syntax for this machine and for object stores.

    data/part.jsonl   ~/data/*.parquet   file:///data/part.jsonl   s3://bucket/crawl/**/*.jsonl.zst
    gs://bucket/key   az://container/key   https://host/path   hf://datasets/OWNER/NAME/path

Credentials come from the environment (see `aws`), and stand in no message.

Nothing paces what is read but its readers: a work asks for the next block when it has used up the
one before, so there are about as many requests at a time as works, and LOOKERS while inputs are
planned; what is told to slow down waits, longer each time. Where a request failed, the store is
asked whether it is there at all, and then the same once more.
"""

import fnmatch
import os
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import fs

from tokenmill.pipelines.core import places
from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.shard import InputFile
from tokenmill.pipelines.storage.aws import arrow_settings
from tokenmill.pipelines.storage.stores import STORES, name_of, reached
from tokenmill.sizing.roots import held

WILD = re.compile(r"[*?\[]")
# What Hadoop, Spark, Delta and Databricks leave beside the data. Not every name with an
# underscore: `_index.md` of a documentation tree is a document.
MARKER = re.compile(
    r"_(SUCCESS|metadata|common_metadata|temporary|delta_log|spark_metadata|(committed|started)_.*)"
)
_AWS_ERROR = re.compile(r"AWS Error (?:\[code \d+\]|([A-Z_]+))")
_ELSEWHERE = re.compile(r"HTTP status 301|AuthorizationHeaderMalformed")
_REGION = re.compile(r"(?:located in|expecting) '([a-z0-9-]+)'")
_REFUSED = {"ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH"}


def resolve(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path, and the path as that file system writes it.

    InputError: the scheme is not one of those above (cause "unknown_scheme").
    ConfigError: the path holds credentials.
    ConfigError: the roots do not allow it, see `pipelines.core.places`.
    """
    local = places.local_path(places.within_roots(path))
    if local is not None:
        return fs.LocalFileSystem(), local
    scheme, _, rest = path.partition("://")
    if scheme == "s3":
        places.check_no_credentials(path)
        bucket, _, key = rest.partition("/")
        if not bucket:
            raise InputError(f"{path}: names no bucket; write s3://bucket/key", cause="not_found")
        return arrow_s3(arrow_settings(), places.READ_ATTEMPTS), f"{bucket}/{key}".rstrip("/")
    if scheme in STORES:
        return reached(path)
    raise InputError(
        f"{path}: cannot read from {scheme}://; write a local path, file://…, s3://bucket/key, or"
        f" of {', '.join(f'{other}://' for other in STORES)}",
        cause="unknown_scheme",
    )


def expand(pattern: str) -> list[InputFile]:
    """The files a path stands for, sorted by path.

    A file is itself; a folder is every file below it; a pattern is what it matches, with
    `*`, `?` and `[…]` inside a name and `**` for any depth of folders. A path that exists
    as it is written is not a pattern. Names that begin with a dot, and the markers other
    systems leave (`_SUCCESS`, `_metadata`, `_temporary/`, …), are passed over in folders
    and by wildcards; to read one, name it.
    InputError: nothing is there, nothing matches, or it may not be read ("not_found",
        "permission_denied").
    OSError: the store cannot be reached; trying again may help.
    """
    store, where = resolve(pattern)
    if isinstance(store, fs.PyFileSystem):
        store.handler.forget()
    try:
        found = _expand(store, where, pattern)
    except OSError as e:
        raise translated(e, pattern) from None
    return sorted(
        InputFile(_written(store, f.path), name, f.size, f.mtime_ns or 0) for f, name in found
    )


def without(found: Sequence[InputFile], exclude: Sequence[str], path: str) -> list[InputFile]:
    """The files of which no pattern matches the name, or that of a folder they are in.

    exclude: patterns of names below `path` ("drafts/*.md"), or of the last part of one ("*.bak",
        "drafts"); `*` crosses folders, and "**/" before the rest is any number of them, or none.
        A file that `path` names itself stays.
    InputError: none is left ("not_found").
    """
    if len(found) == 1 and path.replace("\\", "/").split("/")[-1] == found[0].name:
        return list(found)
    left = [f for f in found if not any(is_excluded(f.name, pattern) for pattern in exclude)]
    if found and not left:
        why = f"all {len(found):,} files are excluded by {', '.join(exclude)}; check exclude"
        raise InputError(f"{path}: {why}", cause="not_found")
    return left


def is_excluded(name: str, pattern: str) -> bool:
    """Whether a pattern is of a file or a folder that it is in; `*` crosses folders.

    >>> [is_excluded("drafts/a.md", of) for of in ("drafts", "drafts/", "*.md", "a.*", "**/drafts")]
    [True, True, True, True, True]
    >>> [is_excluded("drafts/a.md", of) for of in ("draft", "d/*", "/drafts")]
    [False, False, False]
    """
    parts, pattern = name.split("/"), pattern.rstrip("/")
    root = "/" * pattern.startswith("**/")  # what stands in no folder is below it too
    above = [root + "/".join(parts[: n + 1]) for n in range(len(parts))]
    return any(fnmatch.fnmatchcase(of, pattern) for of in (*parts, *above))


def files_among(paths: Sequence[str]) -> list[InputFile]:
    """Those of paths of one store, as `InputFile.path`, that are files; OSError: an outage."""
    if not paths:
        return []
    store = resolve(paths[0])[0]
    infos = store.get_file_info([resolve(path)[1] for path in paths])
    return [
        InputFile(path, info.base_name, info.size, info.mtime_ns or 0)
        for path, info in zip(paths, infos, strict=True)
        if info.type == fs.FileType.File
    ]


def open_input(path: str, *, mapped: bool = False) -> pa.NativeFile:
    """Open a file for reading and seeking.

    mapped: into memory, where it lies on this machine and holds anything.
    InputError: it is not there or may not be read.
    OSError: the store cannot be reached; trying again may help.
    """
    store, where = resolve(path)
    try:
        if not isinstance(store, fs.LocalFileSystem):
            return store.open_input_file(where)
        with held(where) as name:
            file = store.open_input_file(name)
            return pa.memory_map(name) if mapped and file.size() else file
    except OSError as e:
        raise translated(e, path) from None


class OutageError(OSError):
    """A store does not answer, or not now. address: what was asked for."""

    def __init__(self, message: str, address: str) -> None:
        super().__init__(message)
        self.address = address

    def __reduce__(self) -> tuple[object, ...]:
        return OutageError, (str(self), self.address)


def outage(address: str, cause: str) -> OutageError:
    """What is told of a request that failed however often it was repeated."""
    settings = ", AWS_ENDPOINT_URL_S3 and AWS_REGION" if address.startswith("s3://") else ""
    return OutageError(
        f"{address}: the store does not answer ({cause}); check the network{settings}", address
    )


def is_outage(error: BaseException) -> bool:
    """Whether an error is the disk's or the network's: retry it, do not blame the file."""
    return isinstance(error, OutageError) or (
        isinstance(error, OSError) and (error.errno is not None or "AWS Error" in str(error))
    )


def translated(error: OSError, path: str) -> Exception:
    """The error to raise for one that `path` met: the user's if it is, else an `OSError`."""
    match = _AWS_ERROR.search(str(error))
    code = (match.group(1) or "UNKNOWN") if match else ""
    if isinstance(error, FileNotFoundError) or code in {"NO_SUCH_BUCKET", "RESOURCE_NOT_FOUND"}:
        what = "no such bucket" if code == "NO_SUCH_BUCKET" else "no such file or folder"
        return InputError(f"{path}: {what}; check the path", cause="not_found")
    if isinstance(error, PermissionError) or code in _REFUSED or "HTTP status 403" in str(error):
        scheme = path.partition("://")[0]
        way = "check the credentials and their rights" if scheme == "s3" else "chmod it"
        way = STORES[scheme].way if scheme in STORES else way
        return InputError(f"{path}: may not be read; {way}", cause="permission_denied")
    if _ELSEWHERE.search(str(error)):
        named = _REGION.search(str(error))
        what = f", {named[1]}" if named else ""
        why = f"its bucket is in another region{what}; set AWS_REGION to that"
        return InputError(f"{path}: {why}", cause="other_region")
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path}: is a folder, not a file", cause="not_found")
    if match:
        return outage(path, code.lower())
    if isinstance(error, ConnectionError):  # of `stores`
        return outage(path, error.strerror or "connection")
    return error


@lru_cache(maxsize=8)
def arrow_s3(settings: tuple[tuple[str, Any], ...], attempts: int) -> fs.FileSystem:
    return fs.S3FileSystem(
        **dict(settings),
        connect_timeout=places.CONNECT_TIMEOUT_S,
        request_timeout=places.REQUEST_TIMEOUT_S,
        # pauses of 50, 100, 200 … ms; the "standard" one's would add up to half a minute
        retry_strategy=fs.AwsDefaultS3RetryStrategy(max_attempts=attempts - 1),  # repetitions
    )


def _expand(store: fs.FileSystem, where: str, pattern: str) -> list[tuple[fs.FileInfo, str]]:
    info = store.get_file_info(where)
    if info.type == fs.FileType.File:
        return [(info, name_of(pattern) or info.base_name)]
    if info.type == fs.FileType.Directory:
        return [(f, _below(where, f.path)) for f in _tree(store, where)]
    if not WILD.search(where):
        _check_bucket(store, where, pattern)
        raise InputError(f"{pattern}: no such file or folder; check the path", cause="not_found")
    parts = where.split("/")
    fixed = next(i for i, part in enumerate(parts) if WILD.search(part))
    base = "/".join(parts[:fixed]) or "/"
    found = {f.path: f for f in _matches(store, base, parts[fixed:])}
    if not found:
        _check_bucket(store, where, pattern)
        raise InputError(f"{pattern}: matches no file; check the pattern", cause="not_found")
    return [(f, _below(base, path)) for path, f in found.items()]


def _check_bucket(store: fs.FileSystem, where: str, pattern: str) -> None:
    """Arrow lists what is not there as it lists what is empty."""
    if not isinstance(store, fs.S3FileSystem):
        return
    try:
        is_there = store.get_file_info(where.partition("/")[0]).type != fs.FileType.NotFound
    except OSError as e:
        if getattr(translated(e, pattern), "cause", "") == "permission_denied":
            return  # rights may be of some prefixes alone
        raise
    if not is_there:
        raise InputError(f"{pattern}: no such bucket; check the path", cause="not_found")


def _matches(store: fs.FileSystem, base: str, parts: Sequence[str]) -> Iterator[fs.FileInfo]:
    """Files below `base` that the rest of a pattern matches; one may come more than once."""
    part, *rest = parts
    if part == "**":
        if not rest:
            yield from _tree(store, base)
            return
        yield from _matches(store, base, rest)
        for entry in _entries(store, base):
            if entry.type == fs.FileType.Directory and not _passed_over(entry.base_name):
                yield from _matches(store, entry.path, parts)
        return
    for entry in _entries(store, base):
        name = entry.base_name
        if not fnmatch.fnmatchcase(name, part) or (_passed_over(name) and part[0] != name[0]):
            continue
        if entry.type == fs.FileType.Directory and rest:
            yield from _matches(store, entry.path, rest)
        elif entry.type == fs.FileType.File and not rest:
            yield entry


def _tree(store: fs.FileSystem, base: str) -> Iterator[fs.FileInfo]:
    """Every file below `base`. One listing on an object store, where depth costs requests."""
    if not isinstance(store, fs.LocalFileSystem):
        for entry in store.get_file_info(fs.FileSelector(base, recursive=True)):
            names = _below(base, entry.path).split("/")
            if entry.type == fs.FileType.File and not any(map(_passed_over, names)):
                yield entry
        return
    for entry in _entries(store, base):
        if _passed_over(entry.base_name):
            continue
        if entry.type == fs.FileType.File:
            yield entry
        elif entry.type == fs.FileType.Directory:
            yield from _tree(store, entry.path)


def _entries(store: fs.FileSystem, folder: str) -> list[fs.FileInfo]:
    """What lies in a folder, sorted; a local link back to a folder above it is left out."""
    if isinstance(store, fs.LocalFileSystem):
        places.within_roots(folder)
    selector = fs.FileSelector(folder, allow_not_found=True)
    try:
        entries = sorted(store.get_file_info(selector), key=lambda e: str(e.path))
    except UnicodeDecodeError as e:
        name = bytes(e.object).rpartition(b"/")[2]
        raise InputError(
            f"{folder}: holds a file whose name is not UTF-8, {name!r}; rename it",
            cause="name_not_utf8",
        ) from e
    if not isinstance(store, fs.LocalFileSystem):
        return entries
    here = os.path.realpath(folder) + os.sep
    return [
        e
        for e in entries
        if not (os.path.islink(e.path) and here.startswith(os.path.realpath(e.path) + os.sep))
    ]


def _passed_over(name: str) -> bool:
    return name.startswith(".") or MARKER.fullmatch(name) is not None


def _below(base: str, path: str) -> str:
    return path.removeprefix(base).lstrip("/")


def _written(store: fs.FileSystem, path: str) -> str:
    if isinstance(store, fs.PyFileSystem):
        address: str = store.handler.address(path)
        return address
    return path if isinstance(store, fs.LocalFileSystem) else f"s3://{path}"


T = TypeVar("T")
PAUSES_S = (1.0, 5.0, 25.0)  # before what met an outage is tried again
PROBE_S = 0.5
REMEMBERED_S = 30.0  # that a store was gone: other threads that wait for it need not ask again

_gone: dict[str, float] = {}  # store, when


def patiently(call: Callable[[], T], path: str) -> T:
    """What a call that reads `path` returns; after an outage it is made again, from the beginning.

    ConfigError: the store is gone; see `stop_if_gone`.
    OSError: it failed each time.
    """
    pauses = list(PAUSES_S)
    while True:
        try:
            return call()
        except OSError as e:
            if not is_outage(e):
                raise
            if not pauses:
                raise translated(e, path) from None
            stop_if_gone(translated(e, path))
        time.sleep(pauses.pop(0) * random.uniform(0.5, 1.0))  # not all at once


def stop_if_gone(error: BaseException) -> None:
    """Raise ConfigError if the store of an outage answers none of several small requests within
    PATIENCE_S: no other work could go on either.
    """
    if not isinstance(error, OutageError):
        return
    store = _store(error.address)
    if not was_gone(error.address):
        if _answers(store, error.address):
            return
        _gone[store] = time.monotonic()
    raise ConfigError(f"{error}; the same command continues where this stopped") from None


def was_gone(address: str) -> bool:
    """Whether the store of an address was found gone just now."""
    store = _store(address)
    return store in _gone and time.monotonic() - _gone[store] < REMEMBERED_S


def _store(address: str) -> str:
    """What answers for an address: its bucket, container or host.

    >>> _store("s3://corpora/run/x"), _store("https://host/x"), _store("hf://datasets/a/b/c")
    ('s3://corpora', 'https://host', 'hf://datasets')
    """
    return "/".join(address.split("/")[:3])


def _answers(store: str, address: str) -> bool:
    end = time.monotonic() + places.PATIENCE_S
    while time.monotonic() < end:
        if _answers_once(store, address):
            return True
        time.sleep(PROBE_S)
    return False


def _answers_once(store: str, address: str) -> bool:
    found, where = resolve(address)
    if isinstance(found, fs.PyFileSystem):
        return bool(found.handler.answers(where))
    try:
        arrow_s3(arrow_settings(), 1).get_file_info(store.removeprefix("s3://"))
    except OSError as e:
        return not isinstance(translated(e, address), OutageError)
    return True
