"""Images by what stands for them in a document: their bytes, a URL, or a file beside it.

A file is read only below the folder of the input; what points elsewhere is refused and named.
"""

import base64
import binascii
import errno
import os
import posixpath
import re
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import pyarrow as pa
from pyarrow import fs

from tokenmill.pipelines.errors import InputError
from tokenmill.pipelines.images.facts import too_large
from tokenmill.pipelines.images.options import Images
from tokenmill.pipelines.read.illustrated import Found, Lost, Told
from tokenmill.pipelines.store import resolve, translated

_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://|//", re.IGNORECASE)
_DRIVE = re.compile(r"[a-zA-Z]:[\\/]")
# What a name that stands in a document can meet, and no fault of the disk or the network.
_NO_SUCH = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
SHOWN = 200
NOTHING = Told()


class Place(NamedTuple):
    """Where a document stands: for the paths of its images, and for messages."""

    path: str
    where: str


class Value(NamedTuple):
    """What stands for an image.

    data: its bytes.  reference: URL, path or data URL.  other: what it is, if neither of these.
    """

    data: bytes | memoryview | None = None
    reference: str | None = None
    other: str | None = None


def unsigned(data: pa.Buffer) -> memoryview:
    """The bytes of an Arrow buffer as numbers from 0 to 255; its own view has them from -128."""
    return memoryview(data).cast("B")


def is_url(reference: str) -> bool:
    """Whether a reference is an address on the network.

    >>> [is_url(r) for r in ("https://a.org/b.png", "//a.org/b.png", "b.png", "file:///b.png")]
    [True, True, False, False]
    """
    return _URL.match(reference) is not None


class Folder:
    """The folder of an input, and in it the one that a file's references are relative to.

    path, name: of the file, as in `SourceShard`.
    """

    def __init__(self, path: str, name: str, options: Images) -> None:
        self._root = path.removesuffix(name) if path.endswith(name) else posixpath.dirname(path)
        self._base = posixpath.dirname(name)
        self._options = options

    def found(
        self, value: Value, place: Place, url: str | None = None, told: Told = NOTHING
    ) -> Found:
        """The image that a value stands for.

        url, told: what else is known of it.
        """
        if value.other is not None:
            lost = Lost("not_an_image", f"{place.where}: {value.other}, not an image")
            return Found(place.path, place.where, url, lost=lost)
        reference = value.reference
        if reference is not None and is_url(reference):
            url = reference
        if value.data is not None or reference is None or is_url(reference):
            return Found(place.path, place.where, url, value.data, told=told)
        if reference[:5].lower() == "data:":
            return self._inline(reference, place)
        return self._file(reference, place, url)

    def _inline(self, reference: str, place: Place) -> Found:
        head, comma, body = reference.partition(",")
        data = unquote_to_bytes(body)
        try:
            if head.lower().endswith(";base64"):
                data = base64.b64decode(data)
        except binascii.Error as e:
            comma, body = "", str(e)
        if not comma:
            lost = Lost("invalid_data_url", f"{place.where}: {head[:SHOWN]!r}: {body or 'no data'}")
            return Found(place.path, place.where, lost=lost)
        return Found(place.path, place.where, data=data)

    def _file(self, reference: str, place: Place, url: str | None) -> Found:
        name = posixpath.normpath(posixpath.join(self._base, reference))
        shown = f"{place.where}: {reference[:SHOWN]!r}"
        absolute = reference.startswith(("/", "file:")) or _DRIVE.match(reference)
        if absolute or name.startswith("../") or name in ("..", "."):
            lost = Lost("outside_input", f"{shown} is not below the input's folder")
            return Found(place.path, place.where, url, lost=lost)
        read = self._read(name, shown)
        if isinstance(read, Lost):
            return Found(name, place.where, url, lost=read)
        return Found(name, f"{place.where}: {name}", url, read)

    def _read(self, name: str, shown: str) -> memoryview | Lost:
        """The bytes of a file below the root."""
        path = f"{self._root}{name}"
        try:
            store, where = resolve(path)
            if isinstance(store, fs.LocalFileSystem) and not self._holds(where):
                return Lost("outside_input", f"{shown} is a link that leaves the input's folder")
            info = store.get_file_info(where)
            if info.type != fs.FileType.File:
                what = "no such file" if info.type == fs.FileType.NotFound else "not a file"
                return Lost("not_found", f"{shown}: {what}")
            if info.size > self._options.max_bytes:
                cause, detail = too_large(info.size, self._options)
                return Lost(cause, f"{shown}: {detail}", info.size)
            with store.open_input_file(where) as file:
                return unsigned(file.read_buffer())
        except ValueError as e:  # a name that no file system takes
            return Lost("not_found", f"{shown}: {e}")
        except OSError as e:
            return _lost(e, path, shown)

    def _holds(self, where: str) -> bool:
        return os.path.commonpath([self._real_root, os.path.realpath(where)]) == self._real_root

    @cached_property
    def _real_root(self) -> str:
        return os.path.realpath(resolve(self._root)[1])


def _lost(error: OSError, path: str, shown: str) -> Lost:
    if error.errno in _NO_SUCH:
        return Lost("not_found", f"{shown}: {os.strerror(error.errno or 0).lower()}")
    known = translated(error, path)
    if isinstance(known, InputError):
        return Lost(known.cause, f"{shown}: {known}")
    raise known
