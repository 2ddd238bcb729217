"""Files of an object store that lie here, too: bounded, those longest unused go first.

A file that the store has cannot be written here; one that can be is a work's own, and stays.
What goes while it is mapped into memory stays readable to who has mapped it.
"""

import os
import shutil
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenmill.pipelines.storage.atomic import PARTIAL

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
            if total <= self._most * (1 - SWEEP_FRAC) or used > now - GRACE_S:
                return
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
