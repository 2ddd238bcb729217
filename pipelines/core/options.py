"""How the work of a run is done: where, by how many, with how much memory; and what there is of it.

Nothing here changes a byte of the dataset: a run may be begun one way and finished another.

A job of a cluster, or a container, sees all of its host and is given a part. Linux tells which: the
processors that the process may run on, and the limits of its control group and of all above it
(cgroup v2: cpu.max and memory.max; v1: cpu.cfs_quota_us, cpu.cfs_period_us, memory.limit_in_bytes).
"""

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tokenmill.pipelines.core.config import Bytes, Config, PathHere
from tokenmill.pipelines.core.places import allowed_address, allowed_directives
from tokenmill.sizing.units import format_bytes, format_memory

ROOT = Path("/")
CPU, MEMORY = "cpu", "memory"  # controllers
_UNIFIED = ""  # the name of v2's in /proc/self/cgroup
Runner = Literal["auto", "threads", "processes", "dask", "slurm", "array"]
PROCESS_BYTES = 300_000_000  # of a process besides memory_budget: 0.13 GiB of imports, and batches
BUDGET_BYTES = 4 * 1024**3  # unless a job has less
LEAST_BUDGET = 25_000_000  # of a worker in a job; `exact` holds 800,000 documents with it
# no shell may find more in it than a word: it stands in the script of a job
Word: TypeAlias = Annotated[str, Field(pattern=r"^[\w.,:@%+=-]+$")]


def cores(root: Path = ROOT) -> int:
    """Processors that this process may use, 1 at least; root: where /proc and /sys are."""
    affinity = getattr(os, "sched_getaffinity", None)
    found = (os.cpu_count() or 1) if affinity is None else len(affinity(0))
    return max(math.ceil(min([found, *_quotas(root)])), 1)


def memory_bytes(root: Path = ROOT) -> int:
    """Bytes of memory that this process may have, with all others of its control group."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    names = {_UNIFIED: "memory.max", MEMORY: "memory.limit_in_bytes"}
    told = (_number(group / names[of]) for of, group in _groups(root, MEMORY))
    return int(min([physical, *(n for n in told if n is not None)]))


def _quotas(root: Path) -> Iterator[float]:
    """Processors' worth of time, of each control group that has a limit."""
    for controller, group in _groups(root, CPU):
        if controller == _UNIFIED:
            quota, period = _number(group / "cpu.max"), _number(group / "cpu.max", 1)
        else:
            quota = _number(group / "cpu.cfs_quota_us")
            period = _number(group / "cpu.cfs_period_us")
        if quota is not None and period and quota > 0:  # -1 is no limit
            yield quota / period


def _groups(root: Path, controller: str) -> Iterator[tuple[str, Path]]:
    """(controller, folder) of the control groups from its own up; of v2 the controller is ""."""
    mounts = root / "sys" / "fs" / "cgroup"
    try:
        lines = (root / "proc" / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, names, path = line.split(":", 2)
        if controller not in names.split(",") and names != _UNIFIED:
            continue
        top = mounts if names == _UNIFIED else mounts / controller
        group = top / path.lstrip("/")
        # within a container the path may be the host's, and the mount is the group itself
        for folder in (group, *group.parents) if group.is_dir() else (top,):
            yield (_UNIFIED if names == _UNIFIED else controller), folder
            if folder == top:
                break


def _number(file: Path, field: int = 0) -> float | None:
    """A field of a file, if it is there and a number: "max" is no limit."""
    try:
        return float(file.read_text().split()[field])
    except (OSError, ValueError, IndexError):
        return None


def _walltime(value: Any) -> str:
    """As sbatch takes it; YAML makes seconds of 10:00:00 without quotes."""
    if isinstance(value, int) and value > 0:
        minutes, seconds = divmod(value, 60)
        return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    if not re.fullmatch(r"(\d+-)?\d{1,2}:\d{2}(:\d{2})?", str(value)):
        raise ValueError(f"{value!r} is no time; write HH:MM:SS, as 04:00:00")
    return str(value)


class Slurm(Config):
    """Jobs of SLURM that hold workers; as many are submitted as are wanted.

    cores: of one job.
    memory: of one job. Less than 0.3 GB for each process, and run.memory_budget for each, or 25 MB
        for each worker where that is not stated, is refused; of an array a task is one process.
    processes: workers in a job, which share its cores and memory; None is one for each core. Of an
        array they are threads of one process.
    walltime: HH:MM:SS, after which SLURM ends a job; what it was at is done again by another.
    queue, account: as `sbatch --partition`, `--account`.
    directives: further lines of its script, as "--constraint=rome".
    interface: of the network that workers and scheduler talk over, as "ib0"; an array has none.
    minimum, maximum: jobs at a time; between them as many as there is work for. Where they are
        equal, so many from the beginning. An array has `maximum` tasks, or as many as works.
    """

    cores: Annotated[int, Field(ge=1)] = 1
    processes: Annotated[int, Field(ge=1)] | None = None
    memory: Bytes = 4 * 1024**3
    walltime: Annotated[
        str, BeforeValidator(_walltime), Field(examples=["04:00:00", "2-00:00:00"])
    ] = "04:00:00"
    queue: Word | None = None
    account: Word | None = None
    directives: Annotated[tuple[str, ...], AfterValidator(allowed_directives)] = ()
    interface: Word | None = None
    minimum: Annotated[int, Field(ge=0)] = 0
    maximum: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _least_is_not_most(self) -> "Slurm":
        if self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum} jobs are more than maximum {self.maximum}")
        return self

    @property
    def workers(self) -> int:
        return self.processes or self.cores


class RunOptions(Config):
    """How the work is done; nothing here changes a byte of the dataset.

    runner: who does the work. Workers of a cluster need this package and the run directory: on a
        file system that all share, or on S3.
        "auto": by threads of this process up to four, by processes of this machine beyond.
        "threads": by threads of this process; they share what is in memory, and wait for each
        other the more, the more there are.
        "processes": by processes of this machine, one for each core.
        "dask": by a Dask cluster that is there (`--address tcp://…`), or one that is started on
        this machine for the run.
        "slurm": in jobs that dask-jobqueue submits, as many as there is work for (`run.slurm`).
        "array": in job arrays of SLURM, one a phase, without Dask, ports or a process that waits
        for them: `tokenmill prepare` submits the first job and ends (`run.slurm`).
    workers: pieces of work done at a time; None is one per processor, or as many as a cluster has.
    address: of a Dask scheduler, as tcp://10.0.0.1:8786.
    slurm: the jobs that hold workers; as many are submitted as are wanted.
    task_seconds: that a task of a cluster takes, about: shards are bundled until they do.
    scratch: of a run directory on S3, the folder for files on their way, which can be made on
        every machine; None is where temporary files go.
    scratch_bytes: of those there that the store has, on each machine, about.
    keep_intermediates: do not delete what only later steps read.
    keep_index: leave the keys of the documents that the dataset has in OUT/index, so that a later
        run can stand `against` this one.
    memory_budget: for the arrays of corpus-wide steps, all at work together on this machine, or in
        one process of a cluster; None is 4 GiB, or what a job of SLURM has for each process, less
        0.3 GB, where that is less. Keys beyond it are read in parts; what cannot be had in parts is
        refused before anything is done. The process takes some 0.3 GB besides, and pages of mapped
        files.
    """

    runner: Runner = "auto"
    workers: Annotated[int, Field(ge=1)] | None = None
    address: Annotated[str, AfterValidator(allowed_address)] | None = None
    slurm: Slurm = Slurm()
    task_seconds: Annotated[float, Field(gt=0.0)] = 60.0
    scratch: PathHere | None = None
    scratch_bytes: Bytes = 16 * 1024**3
    keep_intermediates: bool = False
    keep_index: bool = False
    memory_budget: Bytes | None = None

    @model_validator(mode="after")
    def _address_is_of_dask(self) -> "RunOptions":
        if self.address is not None and self.runner != "dask":
            raise ValueError(
                f"address {self.address} is of a Dask scheduler, and runner is {self.runner!r};"
                " take runner: dask"
            )
        return self

    @model_validator(mode="after")
    def _jobs_hold_their_processes(self) -> "RunOptions":
        of_job = self._processes_of_job
        budget = self.memory_budget or LEAST_BUDGET * self.slurm.workers // of_job
        needed = of_job * (PROCESS_BYTES + budget)
        if self.has_jobs and self.slurm.memory < needed:
            way = f"{format_bytes(LEAST_BUDGET)} a worker; state more"
            if self.memory_budget:
                way = "memory_budget; state so much, or a smaller memory_budget"
            raise ValueError(
                f"slurm.memory of a job is {format_bytes(self.slurm.memory)}, and its {of_job}"
                f" process{'es' if of_job > 1 else ''} may take {format_bytes(needed)}:"
                f" {format_bytes(PROCESS_BYTES)} each and {way}"
            )
        return self

    @property
    def _processes_of_job(self) -> int:
        return 1 if self.runner == "array" else self.slurm.workers

    @property
    def budget_bytes(self) -> int:
        """`memory_budget`, or what it is where it is not stated."""
        if self.memory_budget is not None:
            return self.memory_budget
        of_job = self.slurm.memory // self._processes_of_job - PROCESS_BYTES
        return min(BUDGET_BYTES, of_job) if self.has_jobs else BUDGET_BYTES

    @property
    def budget_key(self) -> str:
        """The key that decides `budget_bytes`."""
        of_job = self.memory_budget is None and self.budget_bytes < BUDGET_BYTES
        return "run.slurm.memory" if of_job else "run.memory_budget"

    @property
    def budget_told(self) -> str:
        verb = "leaves" if self.budget_key == "run.slurm.memory" else "is"
        return f"{self.budget_key} {verb} {format_memory(self.budget_bytes)}"

    @property
    def n_workers(self) -> int:
        """As many as are told, else one per processor."""
        return self.workers or cores()

    @property
    def is_here(self) -> bool:
        """Whether all works are done on this machine, without a cluster."""
        return self.runner in ("auto", "threads", "processes")

    @property
    def has_jobs(self) -> bool:
        """Whether works are done in jobs of SLURM."""
        return self.runner in ("slurm", "array")

    @property
    def works_at_once(self) -> int | None:
        """Pieces of work that share `budget_bytes`; None is one per processor."""
        if self.runner == "array":
            return self.slurm.workers
        return self.workers if self.is_here else 1
