"""Folders that mirror a run directory on an object store: made, joined by workers, held, gone."""

import hashlib
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.mirror import Mirror, exists, mirrors, named_by_address, optional, present
from tokenmill.pipelines.mirror_cache import CACHE_BYTES, remove_others
from tokenmill.pipelines.object_store_settings import is_remote
from tokenmill.pipelines.place import Place, place

MOST_NAMES = 100


@contextmanager
def mirrored(
    remote: str, *, scratch: str | None = None, most_bytes: int = CACHE_BYTES
) -> Iterator[Path]:
    """A folder that mirrors a prefix for the length of a block.

    scratch: where it is made. None: where temporary files go.  most_bytes: see `Cache`.

    Raises:
        ConfigError: it cannot be made; or see `ObjectStore`.
    """
    above = Path(scratch or tempfile.gettempdir()).absolute()
    of_run = above / f"tokenmill-{hashlib.sha256(remote.encode()).hexdigest()[:16]}"
    folder = of_run / uuid.uuid4().hex[:16]
    try:
        join(folder, remote, most_bytes)
        with named_by_address():
            yield folder
    finally:
        mirrors.pop(folder, None)
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            of_run.rmdir()


@contextmanager
def viewed(out: Place) -> Iterator[Path]:
    """A run directory to be read, wherever it lies; of one on an object store a folder."""
    if not is_remote(out):
        yield Path(out)
        return
    temporary = tempfile.TemporaryDirectory(prefix="tokenmill-view-")
    with temporary as above, mirrored(str(out), scratch=above) as folder:
        yield folder


@contextmanager
def fetched(address: str, name: str) -> Iterator[Path]:
    """The JSON file of an address, or the file of this name below it, to be read.

    Raises:
        ConfigError: there is none.
    """
    above, _, last = address.rpartition("/")
    if last.endswith(".json"):
        address, name = above, last
    with viewed(place(address)) as folder:
        try:
            yield present(folder / name)
        except FileNotFoundError:
            raise ConfigError(f"{address}: has no {name}; name a run that has finished") from None


def join(folder: Path, remote: str, most_bytes: int = CACHE_BYTES) -> Mirror:
    """Let a folder mirror a prefix, in this process from now on; once is enough.

    Raises:
        ConfigError: the folder cannot be made.
    """
    if folder in mirrors:
        return mirrors[folder]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.parent.chmod(0o700)  # fails if somebody else made it
    except OSError as e:
        raise ConfigError(
            f"{folder}: cannot hold files of {remote} ({e.strerror}); name a folder that can be"
            " made on every machine, as run.scratch"
        ) from e
    return mirrors.setdefault(folder, Mirror(folder, remote, most_bytes))


def join_run(folder: Path, remote: str, most_bytes: int) -> None:
    """Work on a run that another process drives: its folder is the same here.

    Raises:
        ConfigError: the folder cannot be made, or no run is there.
    """
    if folder in mirrors:
        return
    join(folder, remote, most_bytes)
    if not exists(folder / "manifest.json"):
        raise ConfigError(f"{remote}: no run there, as AWS_ENDPOINT_URL_S3 has it here")
    remove_others(folder)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold what a folder mirrors: one run at a time. What killed runs left is swept.

    Raises:
        ConfigError: another run is at work in it.
    """
    mirror = mirrors[folder]
    with optional("tokenmill.pipelines.object_store_lock").held_lock(mirror.store) as lock:
        mirror.lock = lock
        remove_others(folder)
        mirror.store.abort_uploads()
        try:
            yield
            mirror.store.abort_uploads()  # whose beginning was answered too late, and asked again
        finally:
            mirror.lock = None


def top_names(folder: Path) -> list[str]:
    """Names of some of what lies in a mirrored folder, or of folders in it; a request."""
    names = mirrors[folder].store.names(most=MOST_NAMES)
    return sorted({name.partition("/")[0] for name, _ in names})
