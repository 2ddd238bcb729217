"""A Dask cluster as a user starts one: a scheduler and workers, each its own process."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from tests.cluster.processes import Program, answers, free_port

START_S, ORPHAN_S = 120, 10
# `--no-dashboard` leaves an HTTP server that listens to the whole world, unless it is told where
LOOPBACK = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
MODULE = (sys.executable, "-m")
QUIET = ("distributed.admin.tick.interval", "distributed.worker.profile.enabled")
SPAWNED = "spawn_main"  # stands in the command line of the process that a nanny starts


def quiet() -> dict[str, str]:
    """An environment for what is set in a run's own cluster, else a tenth of a core a process."""
    from tokenmill.flows.pools.dask import SETTINGS  # not without the extra `cluster`

    return {f"DASK_{name.upper().replace('.', '__')}": str(SETTINGS[name]) for name in QUIET}


class DaskCluster:
    """A scheduler at `address` and named workers of one thread, each with its nanny."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: dict[str, Program] = {}
        self.scheduler = self._scheduler()

    def _scheduler(self) -> Program:
        command = [*MODULE, "distributed.cli.dask_scheduler", *LOOPBACK]
        command += ["--port", str(self.port)]
        started = Program(command, log=self.folder / "scheduler.log", cwd=self.folder, env=quiet())
        started.wait_until(lambda: answers(self.port), within_s=START_S)
        return started

    def start_worker(
        self,
        name: str,
        *options: str,
        before: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
    ) -> Program:
        """Start a worker, again if it was there; returns its nanny once the worker runs.

        before: a command that runs the worker's, as `faketime`.
        """
        command = [*before, *MODULE, "distributed.cli.dask_worker", self.address, *LOOPBACK]
        command += ["--nthreads", "1", "--name", name, "--nanny"]
        command += ["--memory-limit", "0", "--local-directory", str(self.folder / name), *options]
        log = self.folder / f"{name}.log"
        log.unlink(missing_ok=True)
        nanny = Program(command, log=log, cwd=self.folder, env={**quiet(), **(env or {})})
        self.workers[name] = nanny
        nanny.wait_until(lambda: "Registered to" in log.read_text(), within_s=START_S)
        return nanny

    def worker_processes(self, name: str) -> list[psutil.Process]:
        """The worker's own process, the one that does the work; none while it is restarted."""
        nanny = self.workers[name]
        return [p for p in nanny.children() if SPAWNED in " ".join(_command_line(p))]

    def kill_worker(self, name: str) -> None:
        """SIGKILL to the process that does the work; its nanny starts another."""
        for process in self.worker_processes(name):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def kill_nanny(self, name: str) -> None:
        """SIGKILL to a nanny and its worker, as when their node is lost; nobody starts another."""
        self.workers[name].kill_all()

    def kill_scheduler(self) -> None:
        self.scheduler.kill_all()

    def start_scheduler(self) -> None:
        """Start the scheduler again, at the same address; it knows nothing of before."""
        self.scheduler = self._scheduler()

    def restore(self) -> None:
        """Start again whatever is dead; workers whose scheduler died end by themselves."""
        if not self.scheduler.living:
            for nanny in self.workers.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    nanny.process.wait(ORPHAN_S)
                nanny.stop()
            self.start_scheduler()
        for name, nanny in list(self.workers.items()):
            if not nanny.living:
                self.start_worker(name)

    def stop(self) -> None:
        for program in [*self.workers.values(), self.scheduler]:
            program.stop()


def _command_line(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


@contextlib.contextmanager
def dask_cluster_in(folder: Path, workers: int = 2) -> Iterator[DaskCluster]:
    """A cluster for the length of the block, with all its files in a folder."""
    cluster = DaskCluster(folder)
    try:
        for number in range(workers):
            cluster.start_worker(f"worker-{number}")
        yield cluster
    finally:
        cluster.stop()
