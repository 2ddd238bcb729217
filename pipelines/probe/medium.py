"""What a dataset lies on, a folder or a bucket: how it is opened, filled and let go.

Of a folder headers come from the file, the page cache is emptied, and the kernel counts what was
fetched. Of a bucket headers are ranges of objects, this host holds nothing, and all answers count.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import xxhash

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place, check_links, is_remote
from tokenmill.pipelines.probe.cache import Mount, Sight, evict, mount_of, read_ahead_bytes, sight
from tokenmill.pipelines.probe.checkpoints import check_writable
from tokenmill.pipelines.storage.aws import endpoint, optional
from tokenmill.pipelines.storage.stores import Sized
from tokenmill.sizing.strict import parse_json
from tokenmill.sizing.units import format_bytes

MOST_STATE_BYTES = 64 * 1024**2
AHEAD_BYTES = 4096  # read of an object with a header: most hold all of it
ROOM = 1.02  # of the size: other columns and headers, and what a file system keeps for itself
WAY_OUT = "give the folder that `tokenmill prepare` wrote, or one that `datasets` saved to disk"


@dataclass(frozen=True)
class Folder:
    """On a file system. Names are of files directly in it; errors name it by its string."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def below(self, name: str) -> "Folder":
        return Folder(self.path / name)

    def check(self) -> None:
        """Raise ConfigError where nothing is."""
        check_links(self.path)
        if not self.path.is_dir():
            why = "a file, not a folder" if self.path.exists() else "no such folder"
            raise ConfigError(f"{self}: {why}; {WAY_OUT}")

    def holds(self, name: str) -> bool:
        return (self.path / name).is_file()

    def has_below(self, name: str) -> bool:
        """Whether a name is a folder's."""
        return (self.path / name).is_dir()

    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir() if path.is_file())

    def size(self, name: str) -> int:
        return (self.path / name).stat().st_size

    def part(self, name: str, start: int, stop: int) -> pa.Buffer:
        """Bytes [start, stop) of a file."""
        with pa.memory_map(str(self.path / name)) as mapped:
            return mapped.read_buffer().slice(start, stop - start)

    def opened(self, name: str) -> pa.NativeFile:
        return pa.OSFile(str(self.path / name))

    def text(self, name: str) -> bytes:
        """A small file, cut at `MOST_STATE_BYTES`."""
        with (self.path / name).open("rb") as f:
            return f.read(MOST_STATE_BYTES)

    def mount(self) -> Mount:
        return mount_of(self.path.resolve())

    def sight(self, names: Sequence[str]) -> Sight:
        """Whether what is fetched of these files is counted."""
        return sight([self.path / name for name in names], self.mount())

    def evict(self, names: Sequence[str]) -> None:
        """Let this host forget what it holds of these files."""
        evict(self.path / name for name in names)

    def read_ahead(self) -> int | None:
        """Bytes that are fetched around what is asked for; None where nobody tells."""
        return read_ahead_bytes(self.path)

    def check_free(self, n_bytes: int) -> None:
        """Raise ConfigError unless it is empty or new, writable, and has room."""
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise ConfigError(f"{self}: something is there; --fill needs a new or an empty folder")
        there = next(p for p in (self.path, *self.path.absolute().parents) if p.exists())
        free = shutil.disk_usage(there).free
        if free < n_bytes * ROOM:
            raise ConfigError(
                f"{self}: {format_bytes(free)} are free, {format_bytes(n_bytes)} were asked for;"
                " give a smaller --fill"
            )
        check_writable(self.path, "cannot be written")

    @contextlib.contextmanager
    def written(self) -> Iterator[Path]:
        """A folder of this machine, for files that `take` then puts where they belong."""
        yield self.path

    def take(self, path: Path) -> None:
        pass

    def delete(self, names: Sequence[str]) -> None:
        """Delete files that may be there, and then the place itself if it is empty."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)
        if self.path.exists() and not any(self.path.iterdir()):
            self.path.rmdir()


@dataclass(frozen=True)
class Bucket:
    """Objects below s3://bucket/prefix, in the words of `Folder`.  Needs the extra `s3`."""

    address: str

    def __str__(self) -> str:
        return self.address

    @cached_property
    def store(self) -> Any:
        return optional("tokenmill.pipelines.storage.s3", "s3://", "s3").ObjectStore(self.address)

    def below(self, name: str) -> "Bucket":
        return Bucket(f"{self.address}/{name}")

    def check(self) -> None:
        if not any(self.store.names("", most=1)):
            raise ConfigError(f"{self}: nothing is there; {WAY_OUT}")

    def holds(self, name: str) -> bool:
        return self.store.size(name) is not None

    def has_below(self, name: str) -> bool:
        return any(self.store.names(f"{name}/", most=1))

    def names(self) -> list[str]:
        return [name for name, _ in self.store.names() if name and "/" not in name]

    def size(self, name: str) -> int:
        return self.store.size(name) or 0

    def part(self, name: str, start: int, stop: int) -> pa.Buffer:
        return pa.py_buffer(self.store.part(name, start, stop).data)

    def opened(self, name: str) -> pa.NativeFile:
        return pa.PythonFile(_Ranged(self, name), mode="r")

    def text(self, name: str) -> bytes:
        return bytes(self.store.part(name, 0, min(self.size(name), MOST_STATE_BYTES)).data)

    def mount(self) -> Mount:
        return Mount("S3", endpoint() or "AWS")

    def sight(self, _: Sequence[str]) -> Sight:
        return Sight(True, "")

    def evict(self, _: Sequence[str]) -> None:
        pass  # nothing of it is held here

    def read_ahead(self) -> int | None:
        return None

    def check_free(self, _: int) -> None:
        if any(self.store.names("", most=1)):
            raise ConfigError(f"{self}: something is there; --fill needs a prefix without objects")

    @contextlib.contextmanager
    def written(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="tokenmill-fill-") as folder:
            yield Path(folder)

    def take(self, path: Path) -> None:
        with path.open("rb") as f:
            digest = xxhash.xxh3_128()
            while block := f.read(1 << 20):
                digest.update(block)
        self.store.upload(path.name, path, digest.hexdigest())
        path.unlink()

    def delete(self, names: Sequence[str]) -> None:
        self.store.delete(names)


class _Ranged(Sized):
    """An object read at some places only, each with a little of what follows."""

    def __init__(self, bucket: Bucket, name: str) -> None:
        super().__init__(bucket.size(name))
        self._bucket, self._name = bucket, name
        self._held, self._from = b"", 0

    def between(self, start: int, stop: int) -> bytes:
        if not self._from <= start <= stop <= self._from + len(self._held):
            ahead = min(max(stop, start + AHEAD_BYTES), self._size)
            self._from = start
            self._held = self._bucket.store.part(self._name, start, ahead).data
        return self._held[start - self._from : stop - self._from]


Medium: TypeAlias = Folder | Bucket


def medium_of(place: Place) -> Medium:
    """What a dataset lies on."""
    return Bucket(str(place)) if is_remote(place) else Folder(Path(place))


def read_json(medium: Medium, name: str) -> dict[str, Any]:
    """A file that describes a dataset, empty if it is of something else; ConfigError: no JSON."""
    try:
        data = parse_json(medium.text(name))
    except (OSError, ValueError) as e:
        raise ConfigError(f"{medium}/{name}: cannot be read as JSON ({e}); {WAY_OUT}") from None
    return data if isinstance(data, dict) else {}
