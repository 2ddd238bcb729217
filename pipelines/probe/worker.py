"""A process that stands for accelerators: it takes batches from its loader, and sleeps.

    parent   Train              go      go      …  STOP
    worker          … READY        READY   …        Finished

A thread loads batches ahead while the process "computes", as the workers of a training loader do.
"""

import contextlib
import queue
import resource
import signal
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.cache import device_bytes, fetched_since
from tokenmill.pipelines.probe.checkpoints import CheckpointFile
from tokenmill.pipelines.probe.loader import Counters, Loader, Reading, StoppedError

GO, STOP, READY = "go", "stop", "ready"
POLL_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Train:
    """prefetch: batches loaded ahead.  loader: reads them."""

    reading: Reading
    compute_s: float
    prefetch: int = 2
    loader: type[Loader] = Loader


@dataclass(frozen=True, kw_only=True)
class Finished:
    """device_bytes: fetched from disks while it ran.  cpu_s: of the process."""

    counters: Counters
    device_bytes: int | None
    cpu_s: float


@dataclass(frozen=True, kw_only=True)
class Failed:
    """message: for the user.  mistake: the user's, rather than the storage's."""

    message: str
    mistake: bool


def serve(connection: Connection) -> None:
    """Do what the parent sends until it sends None or is gone."""
    _allow_many_files()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's, which then closes the connection
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as an exception: files are deleted
    with contextlib.suppress(EOFError, ConnectionError):
        connection.send(READY)
        while (order := connection.recv()) is not None:
            try:
                if isinstance(order, Train):
                    _Training(connection, order).run()
                elif isinstance(order, CheckpointFile):
                    connection.send(order.run())
            except ConfigError as e:
                connection.send(Failed(message=str(e), mistake=True))
            except OSError as e:
                connection.send(Failed(message=str(e), mistake=False))


class _Training:
    """One run of a rank."""

    def __init__(self, connection: Connection, order: Train) -> None:
        self._connection, self._order = connection, order
        self._loader = order.loader(order.reading)
        self._ready: queue.Queue[object] = queue.Queue(maxsize=order.prefetch)
        self._stop = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        before, cpu = device_bytes(), time.process_time()
        thread = threading.Thread(target=self._load, daemon=True)
        thread.start()
        try:
            while self._take():
                self._connection.send(READY)
                if self._connection.recv() != GO:
                    break
                time.sleep(self._order.compute_s)
        finally:
            self._stop.set()
            self._loader.stopped = True
            thread.join()
            self._loader.close()
        if self._error is not None:
            raise self._error
        fetched, cpu = fetched_since(before), time.process_time() - cpu
        counters = self._loader.counters
        self._connection.send(Finished(counters=counters, device_bytes=fetched, cpu_s=cpu))

    def _take(self) -> bool:
        """Wait for the next batch; False where the parent says stop, or loading has failed."""
        while self._error is None:
            try:
                self._ready.get(timeout=POLL_S)
                return True
            except queue.Empty:
                if self._connection.poll():
                    self._connection.recv()
                    return False
        return False

    def _load(self) -> None:
        try:
            for batch in self._loader.batches():
                while not self._stop.is_set():
                    with contextlib.suppress(queue.Full):
                        self._ready.put(batch, timeout=POLL_S)
                        break
                if self._stop.is_set():
                    return
        except StoppedError:
            return
        except (OSError, ConfigError) as e:
            self._error = e


def _allow_many_files() -> None:
    """A dataset may have thousands of files, and a shuffle has all of them open."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
