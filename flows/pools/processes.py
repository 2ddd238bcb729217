"""Processes of this machine do the works: threads of one wait for each other's interpreter.

    lane ── ProcessPool ── pipe ── a worker, forked from a process that has imported

Nothing that this process holds is forked: the one that forks is started anew, imports what works
take, and ends with this one, as each worker does. A worker has this one's environment of when it
begins, not of when that one did: plug-ins and credentials may be named in between.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection

from tokenmill.flows.pools.pool import ThreadPool, WorkerDiedError
from tokenmill.pipelines.read.stream import parking
from tokenmill.pipelines.runs.bundle import do_bundle, sendable, versions
from tokenmill.pipelines.runs.work import Job, Outcome, Work

IMPORTED = (__name__, "tokenmill.pipelines.prepare.phases", "numba")
_FORKS = multiprocessing.get_context("forkserver")


class ProcessPool(ThreadPool):
    """Has works done by as many processes as there are lanes, each of which waits for one.

    A worker that ended is told by what it was at, and another is begun.
    """

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        _FORKS.set_forkserver_preload([*IMPORTED])
        self._lock, self._closed = threading.Lock(), False
        self._free = [_Worker() for _ in range(n_workers)]
        self._all = {*self._free}

    def do(self, job: Job, works: Sequence[Work]) -> list[Outcome]:
        with self._lock:  # who did what comes before in a file has it open
            chain = works[0].chain
            before = (w for w in self._free if chain and w.chain == chain)
            worker = next(before, self._free[0])
            self._free.remove(worker)
        try:
            return worker.do(job, works)
        except WorkerDiedError:
            worker = self._another(worker)
            raise
        finally:
            with self._lock:
                self._free.append(worker)

    def _another(self, worker: "_Worker") -> "_Worker":
        """In place of one that ended, unless all are to."""
        with self._lock:
            if self._closed:
                return worker
            self._all.discard(worker)  # it is none of them where no other could be begun before
            worker.kill()
            self._all.add(anew := _Worker())
            return anew

    def close(self) -> None:
        """End all of them; what one is at still is not wanted any more."""
        with self._lock:
            self._closed = True
            for worker in self._all:
                worker.kill()


class _Worker:
    """A process that waits for works. chain: of the last that it was given."""

    def __init__(self) -> None:
        self.chain = ""
        self._pipe, theirs = _FORKS.Pipe()
        self._process = _FORKS.Process(target=_work, args=(theirs, {**os.environ}), daemon=True)
        self._process.start()
        theirs.close()

    def do(self, job: Job, works: Sequence[Work]) -> list[Outcome]:
        """How the works ended; WorkerDiedError where the process died, else what ends the run."""
        self.chain = works[0].chain
        made: list[Outcome] | BaseException
        try:
            self._pipe.send((job, works, versions()))
            made = self._pipe.recv()
        except (EOFError, OSError) as e:
            raise WorkerDiedError(f"its process ended: {type(e).__name__}") from e
        if isinstance(made, BaseException):
            raise made
        return made

    def kill(self) -> None:
        self._process.kill()


def _work(pipe: Connection, environment: dict[str, str]) -> None:
    """Do works as they come, in the process of a worker, until nobody sends any more.

    What asks a command to end asks whoever started this: he has what is at work end.
    """
    os.environ.clear()
    os.environ.update(environment)
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    runs = set[str]()
    with ExitStack() as stack, suppress(EOFError, OSError):
        while True:
            job, works, wanted = pipe.recv()
            if job.identity not in runs:
                stack.enter_context(parking(job.identity))
                runs.add(job.identity)
            made: list[Outcome] | BaseException
            try:
                made = do_bundle(job, works, wanted)
            except Exception as e:  # noqa: BLE001 - raised where it was asked
                made = sendable(e)
            pipe.send(made)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
