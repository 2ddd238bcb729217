"""A run directory on an object store, as a folder here that holds some of its files.

    work ── writes ──► FOLDER/name ── publish ──► s3://bucket/run/name
    work ◄── maps ──── FOLDER/name ◄── present ──┘

Whoever reads a file of a run directory asks for `present(path)`, whoever has written one says
`publish(path)`; where a run directory lies here both do nothing.

What lies here is bounded (`Cache`): of the files that the store has, those longest unused go first.
A file that the store has cannot be written here; one that can be is a work's own, and stays. What
goes while it is mapped into memory stays readable to who has mapped it.

The process that drives a run makes the folder (`mirrored`), workers join it (`join_run`), and it
goes at the end. It has another name each time that a run is begun or continued: nothing of an
earlier attempt is taken for this one's.
"""

import hashlib
import os
import shutil
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from tokenmill.pipelines.core.errors import ConfigError, TokenmillError
from tokenmill.pipelines.core.places import Place, check_links, is_remote, place, within_roots
from tokenmill.pipelines.storage import atomic
from tokenmill.pipelines.storage.atomic import PARTIAL
from tokenmill.pipelines.storage.aws import optional
from tokenmill.sizing.roots import OURS, held
from tokenmill.sizing.strict import parse_json

CACHE_BYTES = 16 * 1024**3
SWEEP_FRAC = 1 / 8  # of the bound, that is added before files go: so much less is left then
GRACE_S = 30.0  # a file that was just asked for is about to be opened
OF_STORE = 0o400


class Cache:
    """The files of one folder; several processes may share it.

    most_bytes: of files that the store has. It may be exceeded by SWEEP_FRAC for each process,
        and by what was asked for in the last GRACE_S.
    """

    def __init__(self, folder: Path, most_bytes: int = CACHE_BYTES) -> None:
        self._folder, self._most = folder, most_bytes
        self._lock = threading.Lock()
        self._busy: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)
        self._added = 0

    def touch(self, path: Path) -> bool:
        """Whether a file is here; if so, it was used now."""
        try:
            os.utime(path)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def adding(self, path: Path) -> Iterator[Path | None]:
        """A name to write a file under, which then is there; None if another was faster."""
        with self._lock:
            busy = self._busy[path]
        with busy:
            if self.touch(path):
                yield None
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f"{path.name}{PARTIAL}{uuid.uuid4().hex}")
            try:
                yield partial
                n = partial.stat().st_size
                partial.chmod(OF_STORE)
                os.replace(partial, path)
            finally:
                partial.unlink(missing_ok=True)
                with self._lock:
                    self._busy.pop(path, None)
        self._count(n)

    def published(self, path: Path, n: int) -> None:
        """The store has a file that was written here."""
        path.chmod(OF_STORE)
        self._count(n)

    def _count(self, n: int) -> None:
        with self._lock:
            self._added += n
            if self._added < self._most * SWEEP_FRAC:
                return
            self._added = 0
        self._sweep()

    def _sweep(self) -> None:
        found = sorted((s.st_mtime, s.st_size, p) for p, s in _files(self._folder))
        total, now = sum(n for _, n, _ in found), time.time()
        for used, n, path in found:
            if total <= self._most * (1 - SWEEP_FRAC):
                return
            if abs(now - used) < GRACE_S:  # one of the future was used before the clock was set
                continue
            path.unlink(missing_ok=True)
            total -= n


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Those that the store has."""
    for path in folder.rglob("*"):
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        if path.is_file() and not stat.st_mode & 0o200 and PARTIAL not in path.name:
            yield path, stat


def remove_others(folder: Path) -> None:
    """Delete what lies beside a folder: those of earlier attempts."""
    for other in folder.parent.iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


if TYPE_CHECKING:
    from tokenmill.pipelines.storage.lock import Lock
    from tokenmill.pipelines.storage.s3 import ObjectStore

mirrors: dict[Path, "Mirror"] = {}


class Mirror:
    """A folder and the prefix that it mirrors.

    lock: held by the process that drives the run; it alone, and what it has do the work, writes
        below the prefix then.
    """

    def __init__(self, folder: Path, remote: str, most_bytes: int) -> None:
        self.folder = folder
        self.store: ObjectStore = _of_s3("s3").ObjectStore(remote)
        self.cache = Cache(folder, most_bytes)
        self.lock: Lock | None = None
        self._listing: dict[str, int] | None = None
        self._asking = threading.Lock()  # a listing is asked for once, by whichever thread

    def name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def listing(self, *, anew: bool = False) -> dict[str, int]:
        """Bytes of each object by name; asked for once, and kept up with what is done here."""
        self.check()
        with self._asking:
            if self._listing is None or anew:
                self._listing = dict(self.store.names())
            return self._listing

    def size(self, name: str) -> int | None:
        """Of an object of a finished work."""
        return self.store.size(name) if self.lock is None else self.listing().get(name)

    def written(self, name: str, n: int) -> None:
        self.check()
        if self._listing is not None:
            self._listing[name] = n

    def delete(self, names: Iterable[str]) -> None:
        gone = list(names)
        self.check()
        self.store.delete(gone)
        for name in gone:
            (self.folder / name).unlink(missing_ok=True)
            if self._listing is not None:
                self._listing.pop(name, None)

    def check(self) -> None:
        """Raise ConfigError if another run has taken the lock: it stood still for too long."""
        if self.lock is not None and self.lock.lost.is_set():
            raise ConfigError(
                f"{self.store.address}: another run took over, since this one did not say for a"
                " while that it was at work"
            )


def of(path: Path) -> Mirror | None:
    """The mirror that a path lies in; None where there is none."""
    if not mirrors:
        return None
    return next((m for folder, m in list(mirrors.items()) if path.is_relative_to(folder)), None)


def present(path: Path) -> Path:
    """The path, once the file is there; FileNotFoundError where there is none."""
    mirror = of(path)
    if mirror is None:
        within_roots(str(path))
    elif not mirror.cache.touch(path):
        with mirror.cache.adding(path) as partial:
            if partial is not None:
                mirror.store.fetch(mirror.name(path), partial)
    return path


def read_bytes(path: Path) -> bytes:
    """A small file, as it is now; FileNotFoundError where there is none."""
    return read_dated(path)[0]


def read_dated(path: Path) -> tuple[bytes, float]:
    """As `read_bytes`, and the seconds since it was written, in a mirror by the store's clock."""
    mirror = of(path)
    if mirror is None:
        with held(path) as known, open(known, "rb") as f:
            return f.read(), time.time() - os.fstat(f.fileno()).st_mtime
    found = mirror.store.get(mirror.name(path))
    if found is None:
        raise FileNotFoundError(address(path))
    return found.data, found.age_s


def read_text(path: Path) -> str:
    """As `read_bytes`, of a text in UTF-8."""
    return read_bytes(path).decode()


def read_json(path: Path) -> Any:
    """As `read_bytes`, of JSON; ConfigError where it is none."""
    try:
        return parse_json(read_bytes(path))
    except ValueError as e:
        raise ConfigError(f"{address(path)}: not JSON ({e})") from e


def write_text(path: Path, text: str) -> None:
    """As `write_bytes`, in UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a small file; in a mirror, to the store alone."""
    mirror = of(path)
    if mirror is None:
        atomic.write_bytes(path, data)
        return
    mirror.check()
    mirror.store.put(mirror.name(path), data)
    mirror.written(mirror.name(path), len(data))


def write_changed(path: Path, text: str) -> None:
    """As `write_text`, unless the file says so already."""
    if not exists(path) or read_text(path) != text:
        write_text(path, text)


def create(path: Path) -> bool:
    """Make a file where there is none; whether it was this call that did."""
    mirror, mine = of(path), uuid.uuid4().hex.encode()
    if mirror is not None:
        name = mirror.name(path)
        if mirror.store.put(name, mine, IfNoneMatch="*") is None:
            found = mirror.store.get(name)  # it was ours, and the answer lost
            return found is not None and found.data == mine
        return True
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.open("xb").close()
    except FileExistsError:
        return False
    return True


def may_exist(path: Path) -> bool:
    """Whether it is worth while to look for the receipt of a work; asks nothing."""
    mirror = of(path)
    return mirror is None or mirror.lock is None or mirror.name(path) in mirror.listing()


def exists(path: Path) -> bool:
    """Whether there is such a file."""
    mirror = of(path)
    if mirror is None or path.exists():
        return path.exists()
    name = mirror.name(path)
    is_listed = mirror.lock is not None and name in mirror.listing()
    return is_listed or mirror.store.size(name) is not None


def size(path: Path) -> int | None:
    """Bytes of a file that a finished work has written; None if it is not there."""
    mirror = of(path)
    if mirror is not None:
        return mirror.size(mirror.name(path))
    return path.stat().st_size if path.is_file() else None


def publish(path: Path, digest: str | None = None) -> None:
    """Put a file that was written into the store. digest: xxh3-128 of it, hex, if it is known."""
    mirror = of(path)
    if mirror is None:
        return
    n, name = path.stat().st_size, mirror.name(path)
    if digest is None:
        digest = xxhash.xxh3_128_hexdigest(path.read_bytes())
    mirror.store.upload(name, path, digest)
    mirror.written(name, n)
    mirror.cache.published(path, n)


def find(folder: Path, pattern: str) -> list[Path]:
    """Files in a folder whose names match a pattern, "*/*" those of its folders, in order."""
    mirror = of(folder)
    if mirror is None:
        return sorted(folder.glob(pattern))
    deep = len(folder.parts) + len(Path(pattern).parts)
    found = (path for path, _ in sizes(folder) if len(path.parts) == deep and path.match(pattern))
    return sorted(found)


def files(folder: Path) -> Iterator[Path]:
    """All files below a folder of a run."""
    return (path for path, _ in sizes(folder))


def sizes(folder: Path) -> Iterator[tuple[Path, int]]:
    """All files below a folder of a run, with their bytes; of a file itself, that one.

    In a mirror what finished works have written; of a run that this process drives it is known.
    """
    mirror = of(folder)
    if mirror is None:
        below_it = (Path(above, name) for above, _, names in os.walk(folder) for name in names)
        for path in [folder] if folder.is_file() else below_it:
            if (n := size(path)) is not None:  # a link to nothing is no file
                yield path, n
        return
    name = mirror.name(folder)
    below = f"{name}/"
    known = mirror.store.names(below) if mirror.lock is None else list(mirror.listing().items())
    yield from ((mirror.folder / n, b) for n, b in known if n.startswith(below) or n == name)


def look_anew(folder: Path) -> None:
    """Ask again what there is of a run: workers elsewhere wrote too."""
    mirror = of(folder)
    if mirror is not None:
        mirror.listing(anew=True)


def remove(paths: Iterable[Path]) -> None:
    """Delete files; one that is not there is no mistake."""
    wanted = list(paths)
    mirror = of(wanted[0]) if wanted else None
    if mirror is not None:
        mirror.delete(mirror.name(path) for path in wanted)
        return
    for path in wanted:
        with suppress(FileNotFoundError), held(path.parent) as folder:
            Path(folder, path.name).unlink()


def remove_folders(out: Path, pattern: str) -> None:
    """Delete the folders of a run directory whose names match."""
    mirror = of(out)
    for folder in out.glob(pattern):
        shutil.rmtree(folder)
    if mirror is not None:
        tops = ((name, name.partition("/")[0]) for name in mirror.listing())
        mirror.delete([name for name, top in tops if fnmatch(top, pattern)])


def address(path: Path) -> str:
    """Where a file lies for the user."""
    mirror = of(path)
    return str(path) if mirror is None else f"{mirror.store.address}/{mirror.name(path)}"


def remote_of(folder: Path) -> str | None:
    """What a folder mirrors."""
    mirror = mirrors.get(folder)
    return None if mirror is None else mirror.store.address


@contextmanager
def named_by_address() -> Iterator[None]:
    """Have errors name what lies in the store, and not its copy here."""
    try:
        yield
    except TokenmillError as e:
        for folder, mirror in list(mirrors.items()):
            told = str(folder), mirror.store.address
            e.args = tuple(a.replace(*told) if isinstance(a, str) else a for a in e.args)
        raise


def _of_s3(module: str) -> Any:
    """A module here that needs boto3."""
    return optional(f"tokenmill.pipelines.storage.{module}", "a run directory on s3://", "s3")


MOST_NAMES = 100


@contextmanager
def mirrored(
    remote: str, *, scratch: str | None = None, most_bytes: int = CACHE_BYTES
) -> Iterator[Path]:
    """A folder that mirrors a prefix for the length of a block.

    scratch: where it is made. None: where temporary files go.  most_bytes: see `Cache`.
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
        OURS.discard(os.path.realpath(folder))
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            of_run.rmdir()


@contextmanager
def viewed(out: Place) -> Iterator[Path]:
    """A run directory to be read, wherever it lies; of one on an object store a folder."""
    if not is_remote(out):
        check_links(Path(out))
        yield Path(out)
        return
    temporary = tempfile.TemporaryDirectory(prefix="tokenmill-view-")
    with temporary as above, mirrored(str(out), scratch=above) as folder:
        yield folder


@contextmanager
def fetched(address: str, name: str) -> Iterator[Path]:
    """The JSON file of an address, or of `name` below it, to be read; ConfigError: none there."""
    above, _, last = address.rpartition("/")
    if last.endswith(".json"):
        address, name = above, last
    with viewed(place(address)) as folder:
        try:
            yield present(folder / name)
        except FileNotFoundError:
            raise ConfigError(f"{address}: has no {name}; name a run that has finished") from None


def join(folder: Path, remote: str, most_bytes: int = CACHE_BYTES) -> Mirror:
    """Let a folder mirror a prefix in this process, once; ConfigError where it cannot be made."""
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
    OURS.add(os.path.realpath(folder))
    return mirrors.setdefault(folder, Mirror(folder, remote, most_bytes))


def join_run(folder: Path, remote: str, most_bytes: int) -> None:
    """Work on another process's run: its folder is the same here; ConfigError: no run there."""
    if folder in mirrors:
        return
    join(folder, remote, most_bytes)
    if not exists(folder / "manifest.json"):
        raise ConfigError(f"{remote}: no run there, as AWS_ENDPOINT_URL_S3 has it here")
    remove_others(folder)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold what a folder mirrors, one run at a time; what killed runs left is swept.

    ConfigError: held, or its store is unfit.
    """
    mirror = mirrors[folder]
    locks = _of_s3("lock")
    locks.check_store(mirror.store)
    with locks.held_lock(mirror.store) as lock:
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
