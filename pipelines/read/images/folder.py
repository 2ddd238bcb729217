"""The files that documents refer to, below the folder of their input or a folder named beside it.

    reference "../img/a.png" of manuals/en/a.md  ──►  manuals/img/a.png
              "/img/a.png", roots: [static]      ──►  static/img/a.png
              "/data/img/a.png", input in /data  ──►  /data/img/a.png

Nothing else is opened: what leads elsewhere, be it by a link, is an image that is lost, with the
way to name where it lies.
"""

import base64
import binascii
import errno
import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import nullcontext
from typing import NamedTuple
from urllib.parse import unquote, unquote_to_bytes

import pyarrow as pa
from pyarrow import fs

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import SourceShard, folder_of
from tokenmill.pipelines.read.batch import Claims, Lost, SourceImage
from tokenmill.pipelines.read.images.facts import too_large
from tokenmill.pipelines.read.images.layouts import Value
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.storage.inputs import resolve, translated
from tokenmill.sizing.roots import held

_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://|//", re.IGNORECASE)
_DRIVE = re.compile(r"[a-zA-Z]:[\\/]")
# What a name that stands in a document can meet, and no fault of the disk or the network.
_NO_SUCH = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
SHOWN = 200
NO_CLAIMS = Claims()
LONGEST_PATH = 4096  # characters; Linux' PATH_MAX
NO_PATH = "too long for a path; what is base64 is read behind data:image/jpeg;base64,"
OUTSIDE = "is not below the input's folder; name the one it lies in, as {path: …, roots: [FOLDER]}"


class Place(NamedTuple):
    """Where a document stands: for the paths of its images, and for messages."""

    path: str
    where: str


def unsigned(data: pa.Buffer) -> memoryview:
    """The bytes of an Arrow buffer as numbers from 0 to 255; its own view has them from -128."""
    return memoryview(data).cast("B")


def is_url(reference: str) -> bool:
    """Whether a reference is an address on the network.

    >>> [is_url(r) for r in ("https://a.org/b.png", "//a.org/b.png", "b.png", "file:///b.png")]
    [True, True, False, False]
    """
    return _URL.match(reference) is not None


def located(folder: str, path: str) -> str:
    """Where a file lies. path: from the folder, out of which it may lead.

    >>> located("s3://b/docs/", "../img/a.png"), located("docs/", "img/a.png")
    ('s3://b/img/a.png', 'docs/img/a.png')
    """
    if not path.startswith("../"):
        return f"{folder}{path}"
    scheme, mark, rest = folder.rpartition("://")
    return f"{scheme}{mark}{posixpath.normpath(f'{rest}{path}')}"


class Folder:
    """An input's folder, and in it the one references are relative to; row: the file's number."""

    def __init__(self, shard: SourceShard, options: Images, row: int = 0) -> None:
        self._root = folder_of(shard.paths[row], shard.names[row])
        self._base = posixpath.dirname(shard.names[row])
        self._options = options
        self._others = [f"{root.rstrip('/')}/" for root in shard.roots]

    def image(
        self, value: Value, place: Place, url: str | None = None, claims: Claims = NO_CLAIMS
    ) -> SourceImage:
        """The image that a value stands for.  url, claims: what else is known of it."""
        reference = value.reference
        if value.other is not None:
            lost = Lost("not_an_image", f"{place.where}: {value.other}, not an image")
            return SourceImage(*place, url, claims=claims, lost=lost)
        if reference is not None and is_url(reference):
            return SourceImage(*place, reference, value.data, claims=claims)
        if value.data is not None or reference is None:
            return SourceImage(*place, url, value.data, claims=claims)
        if reference[:5].lower() == "data:":
            return self._inline(reference, place)
        return self._file(reference, place, url)

    def _inline(self, reference: str, place: Place) -> SourceImage:
        head, comma, body = reference.partition(",")
        data, wrong = unquote_to_bytes(body), "" if comma else "no data"
        try:
            if head.lower().endswith(";base64"):
                data = base64.b64decode(data)
        except binascii.Error as e:
            wrong = str(e)
        if wrong:
            lost = Lost("invalid_data_url", f"{place.where}: {head[:SHOWN]!r}: {wrong}")
            return SourceImage(*place, lost=lost)
        return SourceImage(*place, data=data)

    def _file(self, reference: str, place: Place, url: str | None) -> SourceImage:
        shown = f"{place.where}: {reference[:SHOWN]!r}"
        if len(reference) > LONGEST_PATH:
            lost = Lost("not_found", f"{shown}…: {len(reference):,} characters, {NO_PATH}")
            return SourceImage(*place, url, lost=lost)
        path, lost = place.path, Lost("outside_input", f"{shown} {OUTSIDE}")
        for number, (root, name) in enumerate(self._places(reference)):
            own = name if root == self._root else posixpath.relpath(f"{root}{name}", self._root)
            read = self._read(root, name, shown)
            if not isinstance(read, Lost):
                return SourceImage(own, f"{place.where}: {own}", url, read, source_offset=0)
            if number == 0 or read.cause != "not_found":
                path, lost = own, read
            if read.cause != "not_found":
                break
        return SourceImage(path, place.where, url, lost=lost)

    def _places(self, reference: str) -> Iterator[tuple[str, str]]:
        """Where the file may lie, the likeliest first: a folder that may be read, and its name."""
        if reference.startswith("file:///"):
            reference = unquote(reference.removeprefix("file://"))
        if reference.startswith("file:") or _DRIVE.match(reference):
            return
        name = posixpath.normpath(posixpath.join(self._base, reference))
        if not reference.startswith("/") and not _leads_out(name):
            yield self._root, name
        for root in (self._root, *self._others):
            whole = posixpath.normpath(reference.removeprefix(root))
            if reference.startswith(root) and not _leads_out(whole):
                yield root, whole
        for root in self._others:
            if name.startswith("../"):
                own = posixpath.relpath(located(self._root, name), root)
                if not _leads_out(own):
                    yield root, own
            below = posixpath.normpath(reference.lstrip("/"))
            if not _leads_out(below):
                yield root, below

    def _read(self, root: str, name: str, shown: str) -> memoryview | Lost:
        """The bytes of a file below a folder."""
        path = f"{root}{name}"
        try:
            store, where = resolve(path)
            is_here = isinstance(store, fs.LocalFileSystem)
            real = _real(root) if is_here else ""
            if is_here and os.path.commonpath([real, os.path.realpath(where)]) != real:
                return Lost("outside_input", f"{shown} is a link that leaves {root}")
            info = store.get_file_info(where)
            if info.type != fs.FileType.File:
                what = "no such file" if info.type == fs.FileType.NotFound else "not a file"
                return Lost("not_found", f"{shown}: {what}")
            if info.size > self._options.max_bytes:
                lost = too_large(info.size, self._options)
                return Lost(lost.cause, f"{shown}: {lost.detail}", info.size)
            name_held = held(where, within=real) if is_here else nullcontext(where)
            with name_held as known, store.open_input_file(known) as file:
                return unsigned(file.read_buffer())
        except ValueError as e:  # a name that no file system takes
            return Lost("not_found", f"{shown}: {e}")
        except OSError as e:
            return _lost(e, path, shown)


def _leads_out(name: str) -> bool:
    return name.startswith("../") or name in ("..", ".")


def _real(root: str) -> str:
    return os.path.realpath(resolve(root)[1])


def _lost(error: OSError, path: str, shown: str) -> Lost:
    if error.errno in _NO_SUCH:
        return Lost("not_found", f"{shown}: {os.strerror(error.errno or 0).lower()}")
    known = translated(error, path)
    if isinstance(known, InputError):
        return Lost(known.cause, f"{shown}: {known}")
    raise known
