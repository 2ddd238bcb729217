"""Inputs in stores that libraries of fsspec reach, as file systems of Arrow.

    gs://bucket/key                     gcsfs
    az://container/key                  adlfs; abfs://container@account.dfs.core.windows.net/key too
    https://host/path                   fsspec, aiohttp; one file, there are no listings
    hf://datasets/OWNER/NAME/path       huggingface_hub; NAME@REVISION too

Each finds credentials as its own tools do. A file is read in ranges of PART_BYTES; where a server
gives files only whole, from a copy here without a name. What libraries take over a call, and how
often they try it, differs: so each call has its time here, and is made ATTEMPTS times at most.
"""

import errno
import io
import logging
import os
import random
import re
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from typing import IO, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa
import xxhash
from pyarrow import fs

from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.places import check_no_credentials
from tokenmill.pipelines.storage.aws import optional


class Store(NamedTuple):
    """How a scheme is reached.

    module, library, extra: a class, and what is installed for it.
    form, example: of addresses, behind the scheme.  way: to what may not be read.
    """

    module: str
    library: str
    extra: str
    form: str
    example: str
    way: str


_AZURE = Store(
    "adlfs",
    "AzureBlobFileSystem",
    "az",
    r"[^/@]+(/.*)?",
    "container/key",
    "set AZURE_STORAGE_ACCOUNT_NAME, and log in with `az login`, or set AZURE_STORAGE_ANON=true for"
    " what is public",
)
STORES = {
    "gs": Store(
        "gcsfs.core",  # the package's own choice asks each bucket over gRPC what kind it is
        "GCSFileSystem",
        "gs",
        r"[^/]+(/.*)?",
        "bucket/key",
        "log in with `gcloud auth application-default login`, or set FSSPEC_GS_TOKEN=anon for what"
        " is public",
    ),
    "az": _AZURE,
    "abfs": _AZURE._replace(
        form=r"[^/@]+(@[^/@.]+\.(dfs|blob)\.core\.windows\.net)?(/.*)?",
        example="container@account.dfs.core.windows.net/key",
    ),
    "https": Store(
        "fsspec.implementations.http",
        "HTTPFileSystem",
        "https",
        r"[^/]+/.+",
        "host/path",
        "download it",
    ),
    "hf": Store(
        "huggingface_hub",
        "HfFileSystem",
        "hf",
        r"datasets/[^/]+/[^/]+(/.*)?",
        "datasets/OWNER/NAME/path",
        "log in with `hf auth login`, or set HF_TOKEN",
    ),
}
STATELESS = frozenset({"gs", "az", "abfs"})  # a range is a request, and opening a file three
PART_BYTES = 2 * 1024**2  # in CALL_S: of a store that gives less than 256 KiB/s nothing is read
CALL_S = 8.0
PATIENT_S = 12.0  # then a call is not made again: so twice its time, and what `places` adds, < 60 s
WHOLE_S = 24 * 3600.0  # a listing of many pages, or a file that is given only whole
ATTEMPTS = 4
STALLED_S = 5.0  # without a byte, over https
# what tells two versions of a file apart: the first that a store gives
VERSIONS = ("generation", "etag", "ETag", "blob_id", "last_modified", "Last-Modified")
REFUSING = re.compile("Authentication|Credentials")  # in names of faults
PASSING = re.compile("Time|Connect|Client|Server|Payload|Request")
T = TypeVar("T")


def reached(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address, and the path as that file system writes it.

    ConfigError: what reaches it is not installed, or lacks settings; or it holds credentials.
    InputError: it is none ("not_found").
    """
    check_no_credentials(path)
    scheme, _, rest = path.partition("://")
    store = STORES[scheme]
    if not re.fullmatch(store.form, rest):
        why = f"{path}: is no address; write {scheme}://{store.example}"
        raise InputError(why, cause="not_found")
    at = re.match(r"[^/]*(@[^/]*)", rest) if scheme == "abfs" else None
    host = at[1] if at else ""
    found = _file_system(scheme, host, tuple(os.environ.items()))
    return found, path if scheme == "https" else rest.replace(host, "", 1).rstrip("/")


@lru_cache(maxsize=8)
def _file_system(scheme: str, host: str, _: tuple[tuple[str, str], ...]) -> fs.FileSystem:
    """host: behind the container in an address of Azure, with its @."""
    store = STORES[scheme]
    library = getattr(optional(store.module, f"{scheme}://", store.extra), store.library)
    for talker in (store.module.partition(".")[0], "google", "azure"):
        logging.getLogger(talker).setLevel(logging.CRITICAL)  # told in a line of ours
    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    if host:
        options["account_name"] = host[1:].partition(".")[0]
    if scheme == "https":
        options |= _https_options()
    if scheme == "gs":
        options["token"] = os.environ.get("FSSPEC_GS_TOKEN", "google_default")
    if scheme == "hf":
        options["endpoint"] = os.environ.get("HF_ENDPOINT")
    try:
        made = asked(lambda: library(**options), f"{scheme}://", attempts=1)
    except (OSError, ConfigError) as e:
        why = e.strerror if isinstance(e, OSError) else str(e).partition(": ")[2]
        raise ConfigError(f"{scheme}://: cannot be reached ({why}); {store.way}") from None
    if store.library == _AZURE.library:
        with suppress(AttributeError):  # no option of adlfs, and pauses were 15 s and more
            policy = made.service_client._config.retry_policy
            policy.initial_backoff, policy.increment_base, policy.random_jitter_range = 0.1, 1, 0.1
    return fs.PyFileSystem(Handler(made, scheme, host))


def _https_options() -> Mapping[str, Any]:
    import aiohttp  # there where fsspec's module is

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=STALLED_S, sock_read=STALLED_S)
    return {
        "client_kwargs": {"timeout": timeout, "auto_decompress": False},
        "headers": {"Accept-Encoding": "identity"},
        "ssl": ssl.create_default_context(),
    }


class Handler(fs.FSSpecHandler):  # type: ignore[misc]  # pyarrow has no types
    """What Arrow asks of a library: its faults are told as ours, versions as times of change."""

    def __init__(self, library: Any, scheme: str, host: str) -> None:
        super().__init__(library)
        self.scheme, self._host = scheme, host

    def address(self, where: str) -> str:
        """A path of the file system as a user writes it."""
        if self.scheme == "https":
            return where
        container, slash, key = where.partition("/")
        return f"{self.scheme}://{container}{self._host}{slash}{key}"

    def answers(self, path: str) -> bool:
        """Whether its store says anything, this once."""
        self.forget()
        try:
            asked(lambda: self.fs.info(path), self.address(path), STALLED_S, attempts=1)
        except ConnectionError:
            return False
        except OSError:
            pass
        return True

    def forget(self) -> None:
        """What was listed may have changed since."""
        self.fs.invalidate_cache()

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [self._info_of(path) for path in paths]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        base = selector.base_dir
        if self.scheme == "https":
            why = f"{base}: https:// has no listings, and no patterns; name each file"
            raise InputError(why, cause="not_found")
        try:
            found = self.asked(lambda: self._listed(base, deep=selector.recursive), base, WHOLE_S)
        except FileNotFoundError:
            if not selector.allow_not_found:
                raise
            found = {}
        infos = ((path.strip("/"), info) for path, info in found.items())
        return [self._create_file_info(p, i) for p, i in infos if p != base.strip("/")]

    def open_input_file(self, path: str) -> pa.NativeFile:
        info = self.asked(lambda: self.fs.info(path), path)
        if info["size"] is None or (self.scheme == "https" and not info["size"]):
            why = f"{path}: it is empty, or the server does not tell how long it is; download it"
            raise InputError(why, cause="not_found")
        return pa.PythonFile(Ranges(self, path, info), mode="r")

    def _info_of(self, path: str) -> fs.FileInfo:
        try:
            return self._create_file_info(path, self.asked(lambda: self.fs.info(path), path))
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)

    def _listed(self, base: str, *, deep: bool) -> Mapping[str, Any]:
        if deep:
            found: Mapping[str, Any] = self.fs.find(base, detail=True)
            return found
        return {info["name"]: info for info in self.fs.ls(base, detail=True)}

    def asked(self, call: Callable[[], T], path: str, most_s: float | None = None) -> T:
        return asked(call, self.address(path), most_s)

    @staticmethod
    def _create_file_info(path: str, info: Mapping[str, Any]) -> fs.FileInfo:
        if info["type"] == "directory":
            return fs.FileInfo(path, fs.FileType.Directory)
        told = next((info[key] for key in VERSIONS if info.get(key)), None)
        version = 0 if told is None else xxhash.xxh3_64_intdigest(str(told).encode()) >> 2
        return fs.FileInfo(path, fs.FileType.File, size=info["size"] or 0, mtime_ns=version)


class WholeOnlyError(InputError):
    """A server gives no ranges."""


class Sized(io.RawIOBase):
    """A file of which the size is known, read at places."""

    def __init__(self, size: int) -> None:
        self._size, self._at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = (0, self._at, self._size)[whence] + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        start, stop = self._at, self._size
        if size is not None and size >= 0:
            stop = min(start + size, stop)
        if stop <= start:
            return b""
        data = self.between(start, stop)
        self._at = stop
        return data

    def between(self, start: int, stop: int) -> bytes:
        """Bytes [start, stop), some at least."""
        raise NotImplementedError


class Ranges(Sized):
    """A file that is fetched piece by piece."""

    def __init__(self, handler: Handler, path: str, info: Mapping[str, Any]) -> None:
        super().__init__(int(info["size"]))
        self._handler, self._path = handler, path
        self._is_whole = info.get("partial") is False
        self._file: IO[bytes] | None = None

    def between(self, start: int, stop: int) -> bytes:
        places = range(start, stop, PART_BYTES)
        parts = [self._part(at, min(at + PART_BYTES, stop)) for at in places]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()

    def _part(self, start: int, stop: int) -> bytes:
        most_s = WHOLE_S if self._is_whole and self._file is None else None
        try:
            return self._handler.asked(lambda: self._fetched(start, stop), self._path, most_s)
        except WholeOnlyError:
            self._is_whole = True
            return self._part(start, stop)

    def _fetched(self, start: int, stop: int) -> bytes:
        if self._handler.scheme in STATELESS:
            data: bytes = self._handler.fs.cat_file(self._path, start=start, end=stop)
        else:
            data = self._of_file(start, stop)
        if len(data) != stop - start:
            raise ConnectionError(errno.ECONNABORTED, "cut short")
        return data

    def _of_file(self, start: int, stop: int) -> bytes:
        """A range. A file that met a fault, or that somebody still waits for, is not used again."""
        file, self._file = self._file or self._opened(), None
        try:
            file.seek(start)
            data = file.read(stop - start)
        except ValueError as e:
            if "range requests" not in str(e):  # fsspec's own words
                raise
            raise WholeOnlyError(str(e), cause="not_found") from None
        self._file = file
        return data

    def _opened(self) -> IO[bytes]:
        library = self._handler.fs
        if not self._is_whole:
            opened: IO[bytes] = library.open(self._path, "rb", cache_type="none", size=self._size)
            return opened
        copy: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this file
        library.get_file(self._path, copy)
        return copy


def asked(
    call: Callable[[], T], address: str, most_s: float | None = None, *, attempts: int = ATTEMPTS
) -> T:
    """What a call of a library returns; it is made again after what may pass.

    most_s: how long it may take each time; None is CALL_S.
    FileNotFoundError, PermissionError: there is none, or it may not be read.
    ConnectionError: the store did not answer, as often as it was asked.
    ConfigError: the library lacks a setting.
    """
    end, pause_s = time.monotonic() + PATIENT_S, 0.1
    while True:
        attempts -= 1
        try:
            return _within(most_s or CALL_S, call)
        except Exception as e:  # noqa: BLE001 - of any library
            error = _told(e, address)
        if not isinstance(error, ConnectionError) or attempts <= 0 or time.monotonic() > end:
            raise error
        time.sleep(random.uniform(0, pause_s))
        pause_s *= 4


def _within(most_s: float, call: Callable[[], T]) -> T:
    """What a call returns in time; one that does not is left to itself."""
    made: Future[T] = Future()

    def make() -> None:
        try:
            made.set_result(call())
        except BaseException as e:  # noqa: BLE001 - raised where it is waited for
            made.set_exception(e)

    threading.Thread(target=make, daemon=True, name="store").start()
    return made.result(most_s)


def _told(error: Exception, address: str) -> Exception:
    """The error of ours for one of a library; its words may hold anything."""
    if isinstance(error, ConfigError | InputError):
        return error
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(cause)
    status = next(filter(None, map(_status, chain)), None)
    names = " ".join(type(e).__name__ for e in chain)
    if status in (401, 403) or isinstance(error, PermissionError) or REFUSING.search(names):
        return PermissionError(errno.EACCES, "may not be read", address)
    is_none = isinstance(error, FileNotFoundError) and not PASSING.search(names)
    if status in (404, 410) or (status is None and is_none):
        return FileNotFoundError(errno.ENOENT, "no such file", address)
    if isinstance(error, ValueError | TypeError) and status is None:
        return ConfigError(f"{address}: {' '.join(str(error).split())}")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Error")).lower()
    why = error.strerror if isinstance(error, ConnectionError) else None
    return ConnectionError(
        errno.ECONNABORTED, f"status {status}" if status else why or words or "time out"
    )


def _status(error: BaseException) -> int | None:
    """Of an answer over HTTP, as one of four libraries has it."""
    if str(error).startswith("Forbidden"):  # of gcsfs, which keeps no number
        return 403
    places = (error, getattr(error, "response", None))
    for name in ("status", "status_code", "code"):
        for found in (getattr(place, name, None) for place in places):
            if str(found).isdigit():
                return int(str(found))
    return None


def name_of(address: str) -> str | None:
    """The name of a file on the web, without what follows a question mark; None of others."""
    if not address.startswith("https://"):
        return None
    return urlsplit(address).path.rpartition("/")[2]
