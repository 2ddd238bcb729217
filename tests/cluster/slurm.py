"""SLURM on one machine: munged, slurmctld and slurmd of the system, as root, on the loopback.

Nothing of the machine's own SLURM is touched: configuration, key, state and sockets lie in one
folder, and the ports are free ones.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.cluster.processes import environment, eventually, free_port, running

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
START_S, KEY_BYTES = 120, 1024
LOOK_EVERY_S = 0.25  # each look is a process
PARTITION = "main"

CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,bf_interval=2
NodeName=localhost NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory}
PartitionName={partition} Nodes=localhost Default=YES State=UP OverSubscribe=FORCE:8
"""


@dataclass(frozen=True)
class Slurm:
    """A working SLURM. env: what a program needs to find it."""

    folder: Path
    env: dict[str, str]
    partition: str = PARTITION

    def call(self, *command: str) -> str:
        """What a command of SLURM prints."""
        made = subprocess.run(
            command, env=environment(**self.env), capture_output=True, text=True, timeout=60
        )
        if made.returncode:
            raise RuntimeError(f"{command}: {made.stderr.strip()}")
        return made.stdout

    def jobs(self, state: str = "PENDING,RUNNING,COMPLETING") -> list[str]:
        """Ids of the jobs in these states, of arrays of their tasks, oldest first."""
        found = self.call("squeue", "-h", "-r", "-o", "%i", "-t", state).split()
        return sorted(found, key=lambda job: [int(n) for n in job.split("_")])

    def kill(self, job: str, name: str = "KILL") -> None:
        """A signal to all processes of a job; SIGKILL is as when its node is lost."""
        self.call("scancel", f"--signal={name}", "--full", job)

    def clear(self) -> None:
        """Cancel all jobs, and wait until they are gone."""
        for job in self.jobs():
            with contextlib.suppress(RuntimeError):  # it ended by itself
                self.call("scancel", job)
        self.wait(START_S)

    def wait(self, within_s: float) -> None:
        """Wait until there is no job."""
        none = lambda: not self.jobs()  # noqa: E731
        eventually("no SLURM job left", none, within_s=within_s, pause_s=LOOK_EVERY_S)


def why_not() -> str | None:
    """Why SLURM cannot be started here; None where it can be tried."""
    if os.geteuid() != 0:
        return "SLURM's daemons run jobs of others and need root"
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if missing:
        return f"{', '.join(missing)} not installed: sh tests/cluster/install.sh"
    return None


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


@contextlib.contextmanager
def slurm_in(folder: Path) -> Iterator[Slurm]:
    """Start SLURM with all its files in a folder.

    Raises:
        RuntimeError: a daemon did not start; says what it logged.
    """
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(KEY_BYTES))
    names = {n: f"{folder}/munge.{n}" for n in ("log", "pid", "seed")}
    munged = ["munged", "-F", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock"]
    munged += [f"--{n}-file={path}" for n, path in names.items()]
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(
            host=os.uname().nodename,
            controller=free_port(),
            daemon=free_port(),
            folder=folder,
            cores=os.cpu_count(),
            memory=psutil.virtual_memory().total // 2**20 * 9 // 10,
            partition=PARTITION,
        )
    )
    env = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": _path()}
    slurm = Slurm(folder, env)
    with contextlib.ExitStack() as stack:
        start = lambda command: stack.enter_context(  # noqa: E731
            running(command, log=folder / f"{command[0]}.out", env=env)
        )
        start(munged).wait_until((folder / "munge.sock").exists, within_s=START_S)
        controller = start(["slurmctld", "-D", "-c"])
        daemon = start(["slurmd", "-D", "-N", "localhost", "-c"])
        stack.callback(_cleared, slurm)
        controller.wait_until(lambda: _idle(slurm) or not daemon.living, within_s=START_S)
        daemon.wait_until(lambda: True, within_s=1)
        yield slurm


def _idle(slurm: Slurm) -> bool:
    with contextlib.suppress(RuntimeError):  # the controller does not answer yet
        return slurm.call("sinfo", "-h", "-o", "%T").strip() == "idle"
    return False


def _cleared(slurm: Slurm) -> None:
    with contextlib.suppress(RuntimeError, TimeoutError):
        slurm.clear()
