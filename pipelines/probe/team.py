"""The workers of a probe: started once, then run together, a barrier at every step.

Each is a process that stands for accelerators: it takes batches from its loader, and sleeps. A
thread loads batches ahead while it "computes", as the workers of a training loader do.

    parent   Train              go      go      …  STOP
    worker          … READY        READY   …        Finished
"""

import contextlib
import multiprocessing
import queue
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.cache import fetched
from tokenmill.pipelines.probe.checkpoints import CheckpointFile, Written
from tokenmill.pipelines.probe.loader import Counters, Loader, Reading, StoppedError

GO, STOP, READY = "go", "stop", "ready"
POLL_S = 0.05
PATIENCE_S = 1.0  # with workers that are to end
COUNTED = ("logical_bytes", "useful_bytes", "reads", "requests", "again")  # of all ranks
GRACE_S = 20.0  # for a read that is under way when a run ends
_DIED = (
    "a worker of the probe died; in a script, call it beneath if __name__ == '__main__', else see"
    " the system's log"
)


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


def serve(connection: Connection) -> None:
    """Do what the parent sends until it sends None or is gone; what fails is sent, to be raised."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):  # a shuffle has thousands of files open
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
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
            except ConfigError as e:  # the user's mistake, rather than the storage's
                connection.send(ConfigError(str(e)))
            except OSError as e:
                connection.send(ProbeError(str(e)))


class _Training:
    """One run of a rank."""

    def __init__(self, connection: Connection, order: Train) -> None:
        self._connection, self._order = connection, order
        self._loader = order.loader(order.reading)
        self._ready: queue.Queue[object] = queue.Queue(maxsize=order.prefetch)
        self._stop = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        before, cpu = self._loader.device_bytes(), time.process_time()
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
        finished = Finished(
            counters=self._loader.counters,
            device_bytes=fetched(before, self._loader.device_bytes()),
            cpu_s=time.process_time() - cpu,
        )
        self._connection.send(finished)

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


class ProbeError(OSError):
    """The storage failed under the probe, or a worker did not come back."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of all ranks.

    steps: after the first, which is not counted.  elapsed_s: of these.  compute_s: in all of them.
    step_s, step_bytes: compute of one step, and ids that all ranks use in it.
    read_s: from the first read to the end of the last step.
    whole_s: to the last worker's end; all counters are of this time.
    device_bytes: None where the kernel does not tell.
    """

    steps: int
    elapsed_s: float
    compute_s: float
    step_s: float
    step_bytes: int
    read_s: float
    whole_s: float
    logical_bytes: int
    useful_bytes: int
    device_bytes: int | None
    reads: int
    requests: int
    again: int
    cpu_s: float

    @property
    def bytes_per_s(self) -> float:
        """Of ids that were used; where no step was counted, of those that were fetched."""
        if self.steps and self.elapsed_s:
            return self.steps * self.step_bytes / self.elapsed_s
        return self.useful_bytes / self.whole_s

    @property
    def reads_per_s(self) -> float:
        """Runs of rows that brought these ids, by the same clock as `bytes_per_s`."""
        return self.bytes_per_s * self.reads / self.useful_bytes if self.useful_bytes else 0.0

    @property
    def au(self) -> float:
        """Accelerator utilisation: compute / total time, the first step excluded."""
        return min(1.0, self.compute_s / self.elapsed_s) if self.elapsed_s else 0.0

    @property
    def fed(self) -> float:
        """Share of the compute that what was fetched allows, the first step's time included.

        A short run could else live on what its first step has fetched, a whole record batch.
        """
        if not self.steps:
            return 0.0
        asked = self.step_bytes * self.read_s / self.step_s if self.step_s else 0.0
        return min(1.0, self.useful_bytes / asked) if asked else 1.0

    @property
    def kept(self) -> float:
        """Utilisation that lasts: the lower of both."""
        return min(self.au, self.fed)


class Team:
    """Workers by number; those that a run does not need wait."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")  # a fork would take threads' locks
        self._workers: list[tuple[BaseProcess, Connection]] = []

    def train(self, orders: Sequence[Train], *, steps: int, most_s: float) -> Run:
        """Run ranks together for so many steps after the first, or until the time is up.

        ConfigError: a file of the dataset is damaged.
        ProbeError: reading failed.
        """
        connections = self.started(len(orders))
        with self._ended_if_it_fails():
            begun = time.perf_counter()
            for connection, order in zip(connections, orders, strict=True):
                connection.send(order)
            marks, end = _take_steps(connections, steps, begun + most_s)
            for connection in connections:
                connection.send(STOP)
            ended = [self._finished(connection) for connection in connections]
        whole_s = time.perf_counter() - begun
        r, step_s, done = orders[0].reading, orders[0].compute_s, max(len(marks) - 1, 0)
        devices = [e.device_bytes for e in ended if e.device_bytes is not None]
        cut_s = end - marks[-1] if marks else 0.0  # what a step cut off has taken
        counted = {n: sum(getattr(e.counters, n) for e in ended) for n in COUNTED}
        return Run(
            steps=done,
            elapsed_s=end - (marks[0] if marks else begun),
            compute_s=done * step_s + min(step_s, cut_s),
            step_s=step_s,
            step_bytes=r.ranks * r.sequences * r.seq_len * r.shards.width,
            read_s=end - begun,
            whole_s=whole_s,
            device_bytes=sum(devices) if len(devices) == len(ended) else None,
            cpu_s=sum(e.cpu_s for e in ended),
            **counted,
        )

    @contextlib.contextmanager
    def writing(self, files: Sequence[CheckpointFile], *, after: int) -> Iterator[list[Written]]:
        """Write checkpoints while the block runs; the list is filled when it has ended.

        after: workers that the block itself needs.
        ProbeError: writing failed.
        """
        connections = self.started(after + len(files))[after:]
        written: list[Written] = []
        with self._ended_if_it_fails():
            for connection, file in zip(connections, files, strict=True):
                connection.send(file)
            yield written
            written += [_answer(connection) for connection in connections]

    def write(self, files: Sequence[CheckpointFile]) -> list[Written]:
        """Write, read back and verify checkpoints, all ranks at once."""
        with self.writing(files, after=0) as written:
            pass
        return written

    def train_and_write(
        self, orders: Sequence[Train], files: Sequence[CheckpointFile], *, steps: int, most_s: float
    ) -> tuple[Run, list[Written]]:
        """Training and checkpoints at once: files are written again until training has ended."""
        until = files[0].folder / f"{files[0].name}-until"
        repeated = [replace(file, until=until) for file in files]
        try:
            with self.writing(repeated, after=len(orders)) as written:
                try:
                    run = self.train(orders, steps=steps, most_s=most_s)
                finally:
                    until.touch()
        finally:
            until.unlink(missing_ok=True)
        return run, written

    def close(self) -> None:
        """End all workers: each by itself if it can, else by signals that let it clean up first."""
        for _, connection in self._workers:
            with contextlib.suppress(OSError):
                connection.send(None)
            connection.close()  # the end of what a worker waits for, whatever it waits for
        processes = [process for process, _ in self._workers]
        self._workers.clear()
        for ended_by in (None, BaseProcess.terminate, BaseProcess.kill):
            until = time.perf_counter() + PATIENCE_S
            for process in processes:
                if ended_by is not None and process.is_alive():
                    ended_by(process)
            for process in processes:
                process.join(max(0.0, until - time.perf_counter()))

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def started(self, count: int) -> list[Connection]:
        """The first workers, started where they were not."""
        started: list[Connection] = []
        while len(self._workers) < count:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=serve, args=(theirs,), daemon=True)
            with _interrupts_held(), ThreadPoolExecutor(1) as starter:
                starter.submit(process.start).result()  # an interrupt, raised here, leaves it whole
            theirs.close()
            self._workers.append((process, ours))
            started.append(ours)
        for ours in started:
            _answer(ours)  # it has imported what it needs: no run waits for that
        return [connection for _, connection in self._workers[:count]]

    @contextlib.contextmanager
    def _ended_if_it_fails(self) -> Iterator[None]:
        """Workers that may still have something to say are of no further use."""
        try:
            yield
        except ConnectionError as e:
            self.close()
            raise ProbeError(_DIED) from e
        except (ConfigError, ProbeError):
            self.close()
            raise

    def _finished(self, connection: Connection) -> Finished:
        """What a worker counted; batches it had ready before it heard of the end are passed by."""
        until = time.perf_counter() + GRACE_S
        while connection.poll(max(0.0, until - time.perf_counter())):
            answer = _answer(connection)
            if isinstance(answer, Finished):
                return answer
        raise ProbeError(f"a read did not return within {GRACE_S:g} s after the end of a run")


def _take_steps(
    connections: Sequence[Connection], steps: int, until: float
) -> tuple[list[float], float]:
    """When all ranks had their batch, step by step; when the last step ended, or the time."""
    marks: list[float] = []
    while _all_ready(connections, until):
        marks.append(time.perf_counter())
        if len(marks) > steps:
            return marks, marks[-1]
        for connection in connections:
            connection.send(GO)
    return marks, time.perf_counter()


def together(runs: Sequence[Run]) -> Run:
    """Several runs of the same steps as one."""
    sums: dict[str, Any] = {
        f.name: sum(getattr(run, f.name) or 0 for run in runs) for f in fields(Run)
    }
    sums |= {"step_s": runs[0].step_s, "step_bytes": runs[0].step_bytes}
    if any(run.device_bytes is None for run in runs):
        sums["device_bytes"] = None
    return Run(**sums)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes started here never hear of Ctrl-C: it is for this one, which then ends them."""
    resource_tracker.ensure_running()  # which would let them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _all_ready(connections: Sequence[Connection], until: float) -> bool:
    """Wait until every worker has its batch; False where the time is up before."""
    waiting = set(connections)
    while waiting:
        left = until - time.perf_counter()
        if left <= 0:
            return False
        for ready in wait(waiting, timeout=left):
            if isinstance(ready, Connection):
                _answer(ready)
                waiting.discard(ready)
    return True


def _answer(connection: Connection) -> Any:
    """What a worker sends, unless it failed."""
    try:
        answer = connection.recv()
    except (EOFError, ConnectionError):
        raise ProbeError(_DIED) from None
    if isinstance(answer, Exception):
        raise answer
    return answer
